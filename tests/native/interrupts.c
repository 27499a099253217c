/* Handlers of interrupts. The name of a test is the argument. */
#include <string.h>

#include "shared.h"

static atomic_int value, handled;
static int plain;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct raddle_interrupts source = RADDLE_INTERRUPTS;

static void set(void *to)
{
    value = (int)(size_t)to;
}

static void add(void *unused)
{
    (void)unused;
    value++;
    handled = 1;
}

/* It comes before both reads, between them, or after them. */
static void anytime(void)
{
    int first, second;
    raddle_interrupt(set, (void *)1);
    first = value;
    second = value;
    assert(first <= second);
}

/* It comes between a read and a write, so its own write is lost. */
static void lost(void)
{
    int before;
    raddle_interrupt(add, NULL);
    before = value;
    value = before + 1;
    if (handled)
        assert(value == 2); /* lost */
}

/* Two of one source come one after the other. */
static void in_order(void)
{
    int first, second;
    assert(raddle_interrupt_from(&source, set, (void *)1) == 0);
    assert(raddle_interrupt_from(&source, set, (void *)2) == 0);
    first = value;
    second = value;
    assert(first <= second); /* ordered */
}

/* Two without a source come in any order. */
static void unordered(void)
{
    int first, second;
    raddle_interrupt(set, (void *)1);
    raddle_interrupt(set, (void *)2);
    first = value;
    second = value;
    assert(first <= second); /* unordered */
}

static void write_plain(void *unused)
{
    (void)unused;
    plain = 1; /* writes */
}

static void races(void)
{
    raddle_interrupt(write_plain, NULL);
    assert(plain <= 1);
}

static void with_lock(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&mutex);
    plain++;
    pthread_mutex_unlock(&mutex);
}

/* A handler waits for the lock that the interrupted code holds. */
static void locked(void)
{
    raddle_interrupt(with_lock, NULL);
    pthread_mutex_lock(&mutex);
    plain++;
    pthread_mutex_unlock(&mutex);
}

int main(int count, char **arguments)
{
    static const struct {
        const char *name;
        void (*test)(void);
    } tests[] = {
        {"anytime", anytime},     {"lost", lost},   {"in-order", in_order},
        {"unordered", unordered}, {"races", races}, {"locked", locked},
    };
    for (int i = 0; i < LENGTH(tests); i++)
        if (count > 1 && strcmp(tests[i].name, arguments[1]) == 0)
            tests[i].test();
    return 0;
}
