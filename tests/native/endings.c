/* How a program can come to an end. The name of one is the argument. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shared.h"

static atomic_int flag, word;
static int *volatile nowhere;
static volatile int zero;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condvar = PTHREAD_COND_INITIALIZER;

/* What a thread does once the flag is up, deep inside. */
static void (*deed)(void);

static void do_it(void)
{
    deed();
}

static void *watch(void *unused)
{
    if (atomic_load(&flag))
        do_it();
    return unused;
}

static void *raise_flag(void *unused)
{
    atomic_store(&flag, 1);
    return unused;
}

static void with(void (*what)(void))
{
    void *(*const functions[])(void *) = {watch, raise_flag};
    deed = what;
    run_all(functions, 2);
}

static void write_nowhere(void) { *nowhere = 1; }
static void divide(void) { zero = 7 % zero; }
static void unknown_instruction(void) { __builtin_trap(); }
static void give_up(void) { abort(); }
static void leave(void) { exit(3); }
static void leave_quickly(void) { quick_exit(4); }
static void leave_at_once(void) { _exit(5); }
static void leave_well(void) { exit(0); }
static void use_atomically(void) { atomic_store((atomic_int *)nowhere, 1); }
static void measure_nothing(void) { zero = (int)strlen((char *)nowhere); }

static int deeper(int depth)
{
    volatile char room[4096];
    room[0] = (char)depth;
    return depth < 0 ? 0 : deeper(depth + 1) + room[0];
}

static void dive(void) { zero = deeper(0); }

static void segv(void) { with(write_nowhere); }
static void fpe(void) { with(divide); }
static void ill(void) { with(unknown_instruction); }
static void aborted(void) { with(give_up); }
static void exited(void) { with(leave); }
static void quick(void) { with(leave_quickly); }
static void at_once(void) { with(leave_at_once); }
static void atomically(void) { with(use_atomically); }
static void inside_libc(void) { with(measure_nothing); }
static void overflow(void) { with(dive); }

/* The program ends, and others wait for what never comes. */
static void *wait_for_ever(void *unused)
{
    pthread_mutex_lock(&mutex);
    for (;;)
        pthread_cond_wait(&condvar, &mutex);
    return unused;
}

static void *leave_all(void *unused)
{
    leave_well();
    return unused;
}

static void well(void)
{
    void *(*const functions[])(void *) = {wait_for_ever, leave_all};
    run_all(functions, 2);
}

/* Memory that is used after it was freed, with everything in order. */
static void *piece;

static void *use_late(void *unused)
{
    if (atomic_load(&word))
        *(int *)piece = 1;
    return unused;
}

static void *free_early(void *unused)
{
    free(piece);
    atomic_store(&word, 1);
    return unused;
}

static void freed(void)
{
    void *(*const functions[])(void *) = {use_late, free_early};
    piece = malloc(64);
    run_all(functions, 2);
}

static pthread_mutex_t pieces = PTHREAD_MUTEX_INITIALIZER;

static void *free_once_more(void *unused)
{
    pthread_mutex_lock(&pieces);
    free(piece);
    pthread_mutex_unlock(&pieces);
    return unused;
}

static void freed_twice(void)
{
    void *(*const functions[])(void *) = {free_once_more, free_once_more};
    piece = malloc(64);
    run_all(functions, 2);
}

/* What was never a block. */
static void freed_local(void)
{
    int local[16] = {0};
    void *volatile here = local;
    free(here);
}

static void freed_global(void)
{
    void *volatile here = &pieces;
    free(here);
}

static void *fill(void *unused)
{
    int count = atomic_fetch_add(&word, 4);
    ((char *)piece)[count] = 1;
    return unused;
}

static void beyond(void)
{
    void *(*const functions[])(void *) = {fill, fill, fill};
    piece = malloc(8);
    run_all(functions, 3);
}

static const struct {
    const char *name;
    void (*run)(void);
} tests[] = {
    {"segv", segv},         {"fpe", fpe},
    {"ill", ill},           {"abort", aborted},
    {"exit", exited},       {"quick-exit", quick},
    {"exit-at-once", at_once}, {"well", well},
    {"atomically", atomically}, {"inside-libc", inside_libc},
    {"overflow", overflow}, {"freed", freed},
    {"freed-twice", freed_twice}, {"beyond", beyond},
    {"freed-local", freed_local}, {"freed-global", freed_global},
};

static void test(void *number)
{
    tests[(size_t)number].run();
}

int main(int count, char **arguments)
{
    for (size_t i = 0; i < LENGTH(tests); i++)
        if (count > 1 && !strcmp(arguments[1], tests[i].name))
            return raddle_check(test, (void *)i);
    fprintf(stderr, "which test?\n");
    return 2;
}
