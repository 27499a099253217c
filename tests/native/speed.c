/* Small tests that leave everything as they found it, to see how fast they are run. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "shared.h"

static void add(atomic_int *counter)
{
    atomic_store(counter, atomic_load(counter) + 1);
}

static void *add_twice(void *counter)
{
    add(counter);
    add(counter);
    return NULL;
}

/* Two threads, ten points: eight accesses, creating and joining. */
static void count(void *unused)
{
    atomic_int counter = 0;
    pthread_t other;
    pthread_create(&other, NULL, add_twice, &counter);
    add_twice(&counter);
    pthread_join(other, NULL);
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int protected;

static void *locked_add(void *unused)
{
    pthread_mutex_lock(&mutex);
    protected++;
    pthread_mutex_unlock(&mutex);
    return unused;
}

/* Four threads, sixteen points. */
static void lock(void *unused)
{
    run_all((void *(*const[])(void *)){locked_add, locked_add, locked_add, locked_add}, 4);
}

static pthread_mutex_t forks[3] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER,
                                   PTHREAD_MUTEX_INITIALIZER};

static void *eat(int first, int second)
{
    pthread_mutex_lock(&forks[first]);
    pthread_mutex_lock(&forks[second]);
    pthread_mutex_unlock(&forks[second]);
    pthread_mutex_unlock(&forks[first]);
    return NULL;
}

static void *first(void *unused) { return eat(0, 1); }
static void *second(void *unused) { return eat(1, 2); }
static void *third(void *unused) { return eat(0, 2); }

/* Three threads, eighteen points. */
static void dine(void *unused)
{
    run_all((void *(*const[])(void *)){first, second, third}, 3);
}

static const struct {
    const char *name;
    void (*test)(void *);
} tests[] = {{"counter", count}, {"mutex", lock}, {"philosophers", dine}};

int main(int argument_count, char **arguments)
{
    for (int i = 0; i < LENGTH(tests); i++)
        if (argument_count > 1 && !strcmp(arguments[1], tests[i].name))
            return raddle_check(tests[i].test, NULL);
    /* For a runtime that runs whole programs. */
    count(NULL);
    return 0;
}
