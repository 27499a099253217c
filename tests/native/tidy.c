/* A test that leaves everything as it was, and can be run again without anything being put back. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "raddle.h"

static atomic_int times;

static void *add(void *shared)
{
    atomic_int *counter = shared;
    atomic_store(counter, atomic_load(counter) + 1);
    return NULL;
}

static void test(void *unused)
{
    pthread_t threads[2];
    atomic_int *counter = malloc(sizeof *counter);
    atomic_init(counter, 0);
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, add, counter);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    assert(*counter > 0);
    free(counter);
}

/* The same, but it remembers that it was run. */
static void remember(void *unused)
{
    static int runs;
    if (runs++)
        atomic_fetch_add(&times, 1);
    test(unused);
}

int main(int count, char **arguments)
{
    return raddle_check(count > 1 ? remember : test, NULL);
}
