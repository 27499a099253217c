/* Accesses of memory that one thread alone seems to use, or that it has just used: its stack, its thread-local
 * variables, a word that it has written, a block that it has freed. The name of one is the argument. */
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "shared.h"

static _Atomic(long *) lent;
static atomic_int answered;
static _Thread_local long own;
static union {
    uint64_t word;
    uint8_t bytes[8];
} shared;

static void *read_lent(void *variable)
{
    return *(volatile long *)variable ? variable : NULL;
}

/* The caller writes its variable before, beside and after a thread that reads it. */
static void lend(volatile long *variable, int beside)
{
    pthread_t reader;
    *variable = 1;
    *variable = 2;
    pthread_create(&reader, NULL, read_lent, (void *)variable);
    if (beside)
        *variable = 3; /* beside */
    pthread_join(reader, NULL);
    *variable = 4;
}

static void *lend_own(void *beside)
{
    lend(&own, beside != NULL);
    return NULL;
}

static void run_one(void *(*function)(void *), void *argument)
{
    pthread_t thread;
    pthread_create(&thread, NULL, function, argument);
    pthread_join(thread, NULL);
}

static void *lend_until_answered(void *unused)
{
    volatile long variable = 5;
    atomic_store(&lent, (long *)&variable);
    while (!atomic_load(&answered))
        sched_yield();
    return unused;
}

/* The same variable is read twice, and its thread has ended in between. */
static void borrow_too_long(void)
{
    pthread_t lender;
    pthread_create(&lender, NULL, lend_until_answered, NULL);
    volatile long *variable;
    while (!(variable = atomic_load(&lent)))
        sched_yield();
    long before = *variable;
    atomic_store(&answered, 1);
    pthread_join(lender, NULL);
    assert(before == *variable); /* ended */
}

static void *use_stack(void *to)
{
    volatile long variables[64];
    for (int i = 0; i < LENGTH(variables); i++)
        variables[i] = i;
    return variables[63] ? to : NULL;
}

static void *read_byte(void *unused)
{
    return shared.bytes[3] ? unused : NULL;
}

static void write_word_then_byte(int beside)
{
    pthread_t reader;
    pthread_create(&reader, NULL, read_byte, NULL);
    if (!beside)
        pthread_join(reader, NULL);
    shared.word = 1; /* word */
    shared.bytes[3] = 2;
    if (beside)
        pthread_join(reader, NULL);
}

static void write_freed(void)
{
    volatile long *block = malloc(sizeof *block);
    *block = 1;
    free((void *)block);
    *block = 2; /* freed */
}

static const char *name;

static void test(void *unused)
{
    volatile long variable = 0;
    (void)unused;
    lent = NULL;
    answered = 0;
    if (!strcmp(name, "stack"))
        lend(&variable, 0);
    else if (!strcmp(name, "stack-beside"))
        lend(&variable, 1);
    else if (!strcmp(name, "own"))
        run_one(lend_own, NULL);
    else if (!strcmp(name, "own-beside"))
        run_one(lend_own, (void *)1);
    else if (!strcmp(name, "ended"))
        borrow_too_long();
    else if (!strcmp(name, "reused"))
        for (int i = 0; i < 3; i++)
            run_one(use_stack, NULL);
    else if (!strcmp(name, "word"))
        write_word_then_byte(0);
    else if (!strcmp(name, "word-beside"))
        write_word_then_byte(1);
    else
        write_freed();
}

int main(int count, char **arguments)
{
    name = count > 1 ? arguments[1] : "";
    return raddle_check(test, NULL);
}
