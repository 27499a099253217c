/* Small programs with relaxed accesses whose values decide nothing, and with some that do. The number of arguments
   chooses one, so that no function of the C library reads memory. */
#include <pthread.h>
#include <stdatomic.h>

#define RELAXED memory_order_relaxed

static atomic_int hits, x, y, seen, ready;
int plain, kept, copied;

static void *count(void *unused)
{
    atomic_fetch_add_explicit(&hits, 1, RELAXED);
    atomic_fetch_add_explicit(&hits, 1, RELAXED);
    return unused;
}

static void *store_x_look_at_y(void *unused)
{
    atomic_store_explicit(&x, 1, RELAXED);
    if (atomic_load_explicit(&y, RELAXED))
        atomic_fetch_add_explicit(&hits, 1, RELAXED);
    return unused;
}

static void *store_y_load_x(void *unused)
{
    atomic_store_explicit(&y, 1, RELAXED);
    int unneeded = atomic_load_explicit(&x, RELAXED);
    (void)unneeded;
    return unused;
}

static void *publish(void *unused)
{
    plain = 1;
    atomic_store_explicit(&ready, 1, memory_order_release);
    return unused;
}

static void *read_after_unused_flag(void *unused)
{
    int unneeded = atomic_load_explicit(&ready, memory_order_acquire);
    (void)unneeded;
    kept = plain;
    return unused;
}

static void *set_twice(void *unused)
{
    atomic_store_explicit(&x, 1, RELAXED);
    atomic_store_explicit(&x, 2, RELAXED);
    return unused;
}

static void *pass_on(void *unused)
{
    atomic_store_explicit(&seen, atomic_load_explicit(&x, RELAXED), RELAXED);
    return unused;
}

static void *look_at_seen(void *unused)
{
    if (atomic_load_explicit(&seen, RELAXED) == 2)
        atomic_fetch_add_explicit(&hits, 1, RELAXED);
    return unused;
}

static void *copy(void *unused)
{
    kept = atomic_load_explicit(&x, RELAXED);
    copied = kept;
    return unused;
}

static void *copy_and_look(void *unused)
{
    copy(unused);
    if (copied == 2)
        atomic_fetch_add_explicit(&hits, 1, RELAXED);
    return unused;
}

static void *fence_and_load(void *unused)
{
    int unneeded = atomic_load_explicit(&x, RELAXED);
    (void)unneeded;
    atomic_thread_fence(memory_order_seq_cst);
    return unused;
}

static void *wait_and_count(void *unused)
{
    while (!atomic_load_explicit(&ready, RELAXED)) {
        int unneeded = atomic_load_explicit(&hits, RELAXED);
        (void)unneeded;
    }
    return unused;
}

static void *let_go(void *unused)
{
    atomic_fetch_add_explicit(&hits, 1, RELAXED);
    atomic_store_explicit(&ready, 1, RELAXED);
    return unused;
}

static void *(*const programs[][3])(void *) = {
    {count, count, count},
    {store_x_look_at_y, store_y_load_x, 0},
    {publish, read_after_unused_flag, 0},
    {pass_on, set_twice, 0},
    {pass_on, set_twice, look_at_seen},
    {copy, set_twice, 0},
    {copy_and_look, set_twice, 0},
    {fence_and_load, set_twice, 0},
    {wait_and_count, let_go, 0},
};

int main(int count, char **arguments)
{
    (void)arguments;
    pthread_t threads[3];
    void *(*const *program)(void *) = programs[count - 1];
    for (int i = 0; i < 3 && program[i]; i++)
        pthread_create(&threads[i], 0, program[i], 0);
    for (int i = 0; i < 3 && program[i]; i++)
        pthread_join(threads[i], 0);
    return 0;
}
