/* Two checks, one after the other, in a thread that is not the first. After a check everything is as it
 * was before. */
#include "shared.h"

static atomic_int counter;

static void *load_and_store(void *unused)
{
    int seen = atomic_load(&counter);
    atomic_store(&counter, seen + 1);
    return unused;
}

static void *add_only(void *unused)
{
    atomic_fetch_add(&counter, 1);
    return unused;
}

static void lossy(void *local)
{
    void *(*const functions[])(void *) = {load_and_store, load_and_store};
    assert(*(int *)local == 5);
    *(int *)local = 6;
    run_all(functions, 2);
    assert(counter == 2);
}

static void lossless(void *local)
{
    void *(*const functions[])(void *) = {add_only, add_only};
    assert(*(int *)local == 5);
    *(int *)local = 6;
    run_all(functions, 2);
    assert(counter == 2);
}

static void *checks(void *unused)
{
    volatile int local = 5;
    int failed = raddle_check(lossy, (void *)&local);
    assert(local == 5 && counter == 0);
    assert(failed == 1);
    failed = raddle_check(lossless, (void *)&local);
    assert(local == 5 && counter == 0);
    assert(failed == 0);
    return unused;
}

int main(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, checks, NULL);
    pthread_join(thread, NULL);
    return counter;
}
