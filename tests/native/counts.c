/* Programs that never fail, of which it is known how many behaviours they have. The name of one is the
 * argument. */
#include <stdio.h>
#include <string.h>

#include "shared.h"

static atomic_int x, y, r[4];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int shared;
static sem_t semaphore;
static pthread_mutex_t forks[3] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER,
                                   PTHREAD_MUTEX_INITIALIZER};

static void *load_and_store(void *unused)
{
    int seen = atomic_load(&x);
    atomic_store(&x, seen + 1);
    return unused;
}

static void *add(void *unused)
{
    atomic_fetch_add(&x, 1);
    return unused;
}

static void *locked_add(void *unused)
{
    pthread_mutex_lock(&mutex);
    shared++;
    pthread_mutex_unlock(&mutex);
    return unused;
}

static void *permitted_add(void *unused)
{
    sem_wait(&semaphore);
    atomic_store(&x, atomic_load(&x) + 1);
    sem_post(&semaphore);
    return unused;
}

static void *store_x_load_y(void *unused)
{
    atomic_store(&x, 1);
    atomic_store(&r[0], atomic_load(&y));
    return unused;
}

static void *store_y_load_x(void *unused)
{
    atomic_store(&y, 1);
    atomic_store(&r[1], atomic_load(&x));
    return unused;
}

static void *relaxed_x_y(void *unused)
{
    atomic_store_explicit(&x, 1, memory_order_relaxed);
    atomic_store(&r[0], atomic_load_explicit(&y, memory_order_relaxed));
    return unused;
}

static void *relaxed_y_x(void *unused)
{
    atomic_store_explicit(&y, 1, memory_order_relaxed);
    atomic_store(&r[1], atomic_load_explicit(&x, memory_order_relaxed));
    return unused;
}

static void *publish(void *unused)
{
    shared = 1;
    atomic_store_explicit(&x, 1, memory_order_release);
    return unused;
}

static void *read_if_published(void *unused)
{
    if (atomic_load_explicit(&x, memory_order_acquire))
        assert(shared == 1);
    return unused;
}

static void dine(int first, int second)
{
    pthread_mutex_lock(&forks[first]);
    pthread_mutex_lock(&forks[second]);
    pthread_mutex_unlock(&forks[second]);
    pthread_mutex_unlock(&forks[first]);
}

static void *dine0(void *unused)
{
    dine(0, 1);
    return unused;
}

static void *dine1(void *unused)
{
    dine(1, 2);
    return unused;
}

/* The last one begins with the same fork as the first. */
static void *dine2(void *unused)
{
    dine(0, 2);
    return unused;
}

struct program {
    const char *name;
    void *(*functions[4])(void *);
};

static const struct program programs[] = {
    {"load-store-2", {load_and_store, load_and_store}},
    {"load-store-3", {load_and_store, load_and_store, load_and_store}},
    {"fetch-add-3", {add, add, add}},
    {"mutex-2", {locked_add, locked_add}},
    {"mutex-3", {locked_add, locked_add, locked_add}},
    {"mutex-4", {locked_add, locked_add, locked_add, locked_add}},
    {"semaphore-3", {permitted_add, permitted_add, permitted_add}},
    {"store-buffering", {store_x_load_y, store_y_load_x}},
    {"store-buffering-relaxed", {relaxed_x_y, relaxed_y_x}},
    {"message-passing", {publish, read_if_published}},
    {"philosophers", {dine0, dine1, dine2}},
};

static void test(void *argument)
{
    const struct program *program = argument;
    int count = 0;
    while (count < 4 && program->functions[count])
        count++;
    if (!strcmp(program->name, "semaphore-3"))
        sem_init(&semaphore, 0, 1);
    run_all(program->functions, count);
    if (!strncmp(program->name, "mutex-", 6))
        assert(shared == count);
    if (!strcmp(program->name, "store-buffering"))
        assert(r[0] + r[1] > 0);
}

int main(int count, char **arguments)
{
    for (int i = 0; i < LENGTH(programs); i++)
        if (count > 1 && !strcmp(arguments[1], programs[i].name))
            return raddle_check(test, (void *)&programs[i]);
    fprintf(stderr, "which program?\n");
    return 2;
}
