/* Blocks that one thread allocates and another frees: each way to allocate with each way to hand the pointer
 * over. The argument is `wrong` for ways that do not order the two, `right` for the others. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared.h"

static _Atomic(void *) slot;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int is_freed;

static void *by_malloc(void)
{
    return malloc(24); /* malloc */
}

static void *by_calloc(void)
{
    return calloc(3, 8); /* calloc */
}

static void *by_realloc(void)
{
    return realloc(NULL, 24); /* realloc */
}

static void *by_alignment(void)
{
    return aligned_alloc(64, 64); /* aligned */
}

static void *by_address(void)
{
    void *block;
    return posix_memalign(&block, 32, 32) == 0 ? block : NULL; /* memalign */
}

static const struct {
    const char *name;
    void *(*allocate)(void);
} allocations[] = {
    {"malloc", by_malloc}, {"calloc", by_calloc}, {"realloc", by_realloc},
    {"aligned", by_alignment}, {"memalign", by_address},
};

static void store_relaxed(void *block)
{
    atomic_store_explicit(&slot, block, memory_order_relaxed);
}

static void store_release(void *block)
{
    atomic_store_explicit(&slot, block, memory_order_release);
}

static void store_fenced(void *block)
{
    atomic_thread_fence(memory_order_release);
    store_relaxed(block);
}

static void swap_relaxed(void *block)
{
    atomic_exchange_explicit(&slot, block, memory_order_relaxed);
}

static void swap_acquire(void *block)
{
    atomic_exchange_explicit(&slot, block, memory_order_acquire);
}

static void compare_relaxed(void *block)
{
    void *none = NULL;
    atomic_compare_exchange_strong_explicit(&slot, &none, block, memory_order_relaxed,
                                            memory_order_relaxed);
}

static void store_locked(void *block)
{
    pthread_mutex_lock(&mutex);
    store_relaxed(block);
    pthread_mutex_unlock(&mutex);
}

static void *load_relaxed(void)
{
    return atomic_load_explicit(&slot, memory_order_relaxed);
}

static void *load_acquire(void)
{
    return atomic_load_explicit(&slot, memory_order_acquire);
}

static void *load_fenced(void)
{
    void *block = load_relaxed();
    atomic_thread_fence(memory_order_acquire);
    return block;
}

static void *take_relaxed(void)
{
    return atomic_exchange_explicit(&slot, NULL, memory_order_relaxed);
}

static void *take_release(void)
{
    return atomic_exchange_explicit(&slot, NULL, memory_order_release);
}

static void *take_acquire(void)
{
    return atomic_exchange_explicit(&slot, NULL, memory_order_acquire);
}

static void *load_locked(void)
{
    pthread_mutex_lock(&mutex);
    void *block = load_relaxed();
    pthread_mutex_unlock(&mutex);
    return block;
}

static const struct way {
    const char *name;
    void (*publish)(void *);
    void *(*take)(void);
    int is_right;
} ways[] = {
    {"store-load", store_relaxed, load_relaxed, 0},
    {"store-take", store_relaxed, take_relaxed, 0},
    {"store-acquire", store_relaxed, load_acquire, 0},
    {"release-load", store_release, load_relaxed, 0},
    {"release-release", store_release, take_release, 0},
    {"swap-acquire", swap_relaxed, take_acquire, 0},
    {"acquire-acquire", swap_acquire, take_acquire, 0},
    {"compare-load", compare_relaxed, load_fenced, 0},
    {"fence-load", store_fenced, load_relaxed, 0},
    {"locked-acquire", store_locked, load_acquire, 0},
    {"release-acquire", store_release, load_acquire, 1},
    {"release-taken", store_release, take_acquire, 1},
    {"release-fence", store_release, load_fenced, 1},
    {"fence-acquire", store_fenced, load_acquire, 1},
    {"fence-fence", store_fenced, load_fenced, 1},
    {"locked", store_locked, load_locked, 1},
};

static const struct way *way;
static void *(*allocate)(void);

static void *publish(void *unused)
{
    way->publish(allocate());
    return unused;
}

static void *take(void *unused)
{
    void *block = way->take();
    is_freed = block != NULL;
    free(block); /* frees */
    return unused;
}

static void hand_over(void *unused)
{
    (void)unused;
    void *(*const functions[])(void *) = {publish, take};
    run_all(functions, 2);
    if (!is_freed)
        free(atomic_load(&slot));
}

int main(int count, char **arguments)
{
    int is_right = count > 1 && !strcmp(arguments[1], "right");
    for (int i = 0; i < LENGTH(allocations); i++)
        for (int j = 0; j < LENGTH(ways); j++)
            if (ways[j].is_right == is_right) {
                fprintf(stderr, "case %s %s\n", allocations[i].name, ways[j].name);
                allocate = allocations[i].allocate;
                way = &ways[j];
                atomic_store(&slot, NULL);
                raddle_check(hand_over, NULL);
            }
    return 0;
}
