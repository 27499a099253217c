/* Functions that run when the program ends. The name of a test is the argument; the whole program is checked. */
#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LENGTH(array) ((int)(sizeof(array) / sizeof((array)[0])))

static int order;
static atomic_int *number;
int plain;

static void expect_first(void)
{
    assert(order++ == 0);
}

static void expect_second(void)
{
    assert(order++ == 1);
}

static void fail_second(void)
{
    assert(order++ == 7); /* second */
}

/* Handlers run in the reverse order of their registrations, and in every execution. */
static int in_order(void)
{
    atexit(expect_second);
    atexit(expect_first);
    return 0;
}

static int out_of_order(void)
{
    atexit(fail_second);
    atexit(expect_first);
    return 0;
}

static void register_more(void)
{
    expect_first();
    atexit(fail_second);
}

static int later(void)
{
    atexit(register_more);
    return 0;
}

static void with_status(int status, void *argument)
{
    assert(status == 0 && argument == &order);
    assert(order++ == 7); /* with-status */
}

static int takes_status(void)
{
    on_exit(with_status, &order);
    return 0;
}

static int by_exit(void)
{
    atexit(fail_second);
    atexit(expect_first);
    exit(0);
}

static void *exit_here(void *unused)
{
    exit(0);
    return unused;
}

static int by_thread(void)
{
    pthread_t thread;
    atexit(fail_second);
    atexit(expect_first);
    pthread_create(&thread, NULL, exit_here, NULL);
    pthread_join(thread, NULL);
    return 0;
}

static int quickly(void)
{
    atexit(abort);
    at_quick_exit(fail_second);
    at_quick_exit(expect_first);
    quick_exit(0);
}

static int at_once(void)
{
    atexit(abort);
    at_quick_exit(abort);
    _exit(0);
}

static void exit_again(void)
{
    order++;
    exit(0);
}

static int twice(void)
{
    atexit(fail_second);
    atexit(exit_again);
    return 0;
}

static void abort_here(void)
{
    abort(); /* aborts */
}

static int crashes(void)
{
    atexit(abort_here);
    return 0;
}

/* A thread that is still there uses what a handler frees. */
static void free_number(void)
{
    free(number); /* frees */
}

static void *add(void *unused)
{
    atomic_fetch_add(number, 1); /* adds */
    return unused;
}

static int detached(void)
{
    pthread_t thread;
    number = calloc(1, sizeof *number);
    atexit(free_number);
    pthread_create(&thread, NULL, add, NULL);
    pthread_detach(thread);
    return 0;
}

static int joined(void)
{
    pthread_t thread;
    number = calloc(1, sizeof *number);
    atexit(free_number);
    pthread_create(&thread, NULL, add, NULL);
    pthread_join(thread, NULL);
    return 0;
}

static void write_plain(void)
{
    plain = 2; /* writes */
}

static void *write_too(void *unused)
{
    plain = 1;
    return unused;
}

static int races(void)
{
    pthread_t thread;
    atexit(write_plain);
    pthread_create(&thread, NULL, write_too, NULL);
    pthread_detach(thread);
    return 0;
}

/* The handler sees the counter before or after the thread has added to it. */
static atomic_int seen;

static void look(void)
{
    assert(atomic_load(&seen) == 0); /* looks */
}

static void *count(void *unused)
{
    atomic_fetch_add(&seen, 1);
    return unused;
}

static int explored(void)
{
    pthread_t thread;
    atexit(look);
    pthread_create(&thread, NULL, count, NULL);
    pthread_detach(thread);
    return 0;
}

/* A handler that waits for the thread. */
static pthread_t worker;

static void wait_for_worker(void)
{
    pthread_join(worker, NULL);
    assert(atomic_load(&seen) == 1);
}

static int waits(void)
{
    atexit(wait_for_worker);
    pthread_create(&worker, NULL, count, NULL);
    return 0;
}

/* Waits are looked at when the program ends. */
static void *nap(void *unused)
{
    for (int i = 0; i < 3; i++)
        usleep(1000);
    return unused;
}

static int sleeps(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, nap, NULL);
    nap(NULL);
    pthread_join(thread, NULL);
    exit(0);
}

static const struct {
    const char *name;
    int (*run)(void);
} tests[] = {
    {"in-order", in_order}, {"out-of-order", out_of_order},
    {"later", later},       {"takes-status", takes_status},
    {"by-exit", by_exit},   {"by-thread", by_thread},
    {"quickly", quickly},   {"at-once", at_once},
    {"twice", twice},       {"crashes", crashes},
    {"detached", detached}, {"joined", joined},
    {"races", races},       {"explored", explored},
    {"waits", waits},       {"sleeps", sleeps},
};

int main(int count, char **arguments)
{
    for (int i = 0; i < LENGTH(tests); i++)
        if (count > 1 && !strcmp(arguments[1], tests[i].name))
            return tests[i].run();
    fprintf(stderr, "which test?\n");
    return 2;
}
