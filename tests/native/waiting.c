/* Loops that wait for another thread. All end, whatever the schedule, but for the last. The name of one is
 * the argument. */
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "shared.h"

static atomic_int flag, turns;
static int data;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void *publish(void *unused)
{
    data = 1;
    atomic_store(&flag, 1);
    return unused;
}

static void *spin(void *unused)
{
    while (!atomic_load(&flag))
        ;
    assert(data == 1);
    return unused;
}

static void *yield(void *unused)
{
    while (!atomic_load(&flag))
        sched_yield();
    assert(data == 1);
    return unused;
}

static void *exchange(void *unused)
{
    int expected = 1;
    while (!atomic_compare_exchange_strong(&flag, &expected, 2))
        expected = 1;
    assert(data == 1);
    return unused;
}

static void *hold(void *unused)
{
    pthread_mutex_lock(&mutex);
    data++;
    pthread_mutex_unlock(&mutex);
    return unused;
}

static void *try_until(void *unused)
{
    while (pthread_mutex_trylock(&mutex))
        ;
    data++;
    pthread_mutex_unlock(&mutex);
    return unused;
}

/* Not the same each time: it gives up. */
static void *count(void *unused)
{
    for (int i = 0; i < 3 && !atomic_load(&flag); i++)
        ;
    return unused;
}

static int looks;

/* The same, with a count that is not on the stack. */
static void *count_globally(void *unused)
{
    while (looks < 3 && !atomic_load(&flag))
        looks++;
    return unused;
}

static void *nobody(void *unused)
{
    while (!atomic_load(&turns))
        ;
    return unused;
}

static const struct {
    const char *name;
    void *(*functions[2])(void *);
} tests[] = {
    {"spin", {spin, publish}},
    {"yield", {yield, publish}},
    {"exchange", {exchange, publish}},
    {"trylock", {try_until, hold}},
    {"count", {count, publish}},
    {"count-globally", {count_globally, publish}},
    {"for-ever", {nobody, publish}},
};

static void test(void *number)
{
    run_all(tests[(size_t)number].functions, 2);
}

int main(int count, char **arguments)
{
    for (size_t i = 0; i < LENGTH(tests); i++)
        if (count > 1 && !strcmp(arguments[1], tests[i].name))
            return raddle_check(test, (void *)i);
    fprintf(stderr, "which test?\n");
    return 2;
}
