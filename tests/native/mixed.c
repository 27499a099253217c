/* Plain and atomic accesses of the same memory, and how threads come to their places. The name of one is
 * the argument. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared.h"

static union {
    uint64_t word;
    uint32_t halves[2];
    uint8_t bytes[8];
} shared;

static atomic_int ready;

static void *store_word(void *unused)
{
    __atomic_store_n(&shared.word, 1, __ATOMIC_SEQ_CST);
    return unused;
}

static void *load_word(void *unused)
{
    return __atomic_load_n(&shared.word, __ATOMIC_SEQ_CST) ? unused : NULL;
}

static void *write_word(void *unused)
{
    shared.word = 2;
    return unused;
}

static void *read_word(void *unused)
{
    return shared.word ? unused : NULL;
}

static void *write_byte(void *unused)
{
    shared.bytes[5] = 2;
    return unused;
}

static void *store_half(void *unused)
{
    __atomic_store_n(&shared.halves[0], 1, __ATOMIC_SEQ_CST);
    return unused;
}

static void *fail_to_exchange(void *unused)
{
    uint64_t expected = 77;
    __atomic_compare_exchange_n(&shared.word, &expected, 1, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    return unused;
}

static void *write_and_tell(void *unused)
{
    shared.word = 3;
    atomic_store_explicit(&ready, 1, memory_order_release);
    return unused;
}

static void *hear_and_add(void *unused)
{
    if (atomic_load_explicit(&ready, memory_order_acquire))
        __atomic_fetch_add(&shared.word, 1, __ATOMIC_RELAXED);
    return unused;
}

/* One function for two threads: only the calls tell them apart. */
static int *heap;

static void add(int *to) { ++*to; }
static void deposit(void) { add(heap + 3); }
static void withdraw(void) { add(heap + 3); }

static void *depositor(void *unused)
{
    deposit();
    return unused;
}

static void *withdrawer(void *unused)
{
    withdraw();
    return unused;
}

typedef void *(*function)(void *);

static const struct {
    const char *name;
    function functions[2];
} tests[] = {
    {"store-write", {store_word, write_word}},
    {"store-read", {store_word, read_word}},
    {"load-write", {load_word, write_word}},
    {"store-byte", {store_word, write_byte}},
    {"load-read", {load_word, read_word}},
    {"half-byte", {store_half, write_byte}},
    {"failed-read", {fail_to_exchange, read_word}},
    {"failed-write", {fail_to_exchange, write_word}},
    {"told", {write_and_tell, hear_and_add}},
    {"chains", {depositor, withdrawer}},
};

static void test(void *number)
{
    heap = calloc(16, sizeof *heap);
    run_all(tests[(size_t)number].functions, 2);
    heap[3] += (int)shared.word;
}

int main(int count, char **arguments)
{
    for (size_t i = 0; i < LENGTH(tests); i++)
        if (count > 1 && !strcmp(arguments[1], tests[i].name))
            return raddle_check(test, (void *)i);
    fprintf(stderr, "which test?\n");
    return 2;
}
