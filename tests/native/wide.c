/* Atomics of 16 bytes. The name of a test is the argument. */
#include <string.h>

#include "shared.h"

typedef unsigned __int128 wide;

/* No half of it is enough. */
#define STEP (((wide)1 << 100) + 1)

static wide value;

static void *load_and_store(void *unused)
{
    wide seen = __atomic_load_n(&value, __ATOMIC_SEQ_CST);
    __atomic_store_n(&value, seen + STEP, __ATOMIC_SEQ_CST);
    return unused;
}

static void *compare_exchange(void *unused)
{
    wide seen = __atomic_load_n(&value, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(&value, &seen, seen + STEP, 0, __ATOMIC_SEQ_CST,
                                        __ATOMIC_RELAXED)) {
    }
    return unused;
}

static void *fetch_add(void *unused)
{
    __atomic_fetch_add(&value, STEP, __ATOMIC_SEQ_CST);
    return unused;
}

static void *exchange(void *mine)
{
    wide before = __atomic_exchange_n(&value, (wide)(size_t)mine << 80, __ATOMIC_SEQ_CST);
    assert(before == 0 || before >> 80 == 1 || before >> 80 == 2);
    return mine;
}

/* In one thread: the result of each operation, and the value that it leaves. */
static void alone(void)
{
    wide big = ~(wide)0 - 5, expected = 7;
    __atomic_store_n(&value, big, __ATOMIC_SEQ_CST);
    assert(!__atomic_compare_exchange_n(&value, &expected, 1, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
    assert(expected == big);
    assert(__atomic_compare_exchange_n(&value, &expected, 1, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
    assert(__atomic_exchange_n(&value, big, __ATOMIC_SEQ_CST) == 1);
    assert(__atomic_fetch_add(&value, 7, __ATOMIC_SEQ_CST) == big);
    assert(__atomic_fetch_sub(&value, 2, __ATOMIC_SEQ_CST) == 1);
    assert(__atomic_fetch_and(&value, (wide)0xff << 90, __ATOMIC_SEQ_CST) == ~(wide)0);
    assert(__atomic_fetch_or(&value, 3, __ATOMIC_SEQ_CST) == (wide)0xff << 90);
    assert(__atomic_fetch_xor(&value, (wide)0xff << 90, __ATOMIC_SEQ_CST) == (((wide)0xff << 90) | 3));
    assert(__atomic_fetch_nand(&value, 1, __ATOMIC_SEQ_CST) == 3);
    assert(__atomic_load_n(&value, __ATOMIC_SEQ_CST) == ~(wide)1);
}

static void test(void *function)
{
    if (!function)
        return alone();
    pthread_t one, other;
    pthread_create(&one, NULL, *(void *(**)(void *))function, (void *)1);
    pthread_create(&other, NULL, *(void *(**)(void *))function, (void *)2);
    pthread_join(one, NULL);
    pthread_join(other, NULL);
    if (*(void *(**)(void *))function != exchange)
        assert(__atomic_load_n(&value, __ATOMIC_SEQ_CST) == 2 * STEP);
}

static struct {
    const char *name;
    void *(*function)(void *);
} tests[] = {
    {"load-and-store", load_and_store},
    {"compare-exchange", compare_exchange},
    {"fetch-add", fetch_add},
    {"exchange", exchange},
};

int main(int count, char **arguments)
{
    for (size_t i = 0; i < LENGTH(tests); i++)
        if (count > 1 && !strcmp(arguments[1], tests[i].name))
            return raddle_check(test, &tests[i].function);
    return raddle_check(test, NULL);
}
