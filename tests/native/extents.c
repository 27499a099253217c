/* A pipe, and two atomic variables, each of which one thread uses, the second plainly as well. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "raddle.h"

static atomic_int of_one, of_other;

static void *one(void *unused)
{
    atomic_store(&of_one, 1);
    return unused;
}

static void *other(void *unused)
{
    atomic_store(&of_other, 1);
    *(int *)&of_other = 2;
    return unused;
}

static void test(void *unused)
{
    pthread_t threads[2];
    int ends[2];
    (void)unused;
    assert(pipe(ends) == 0);
    assert(write(ends[1], "x", 1) == 1);
    pthread_create(&threads[0], 0, one, 0);
    pthread_create(&threads[1], 0, other, 0);
    pthread_join(threads[0], 0);
    pthread_join(threads[1], 0);
}

int main(void)
{
    return raddle_check(test, 0);
}
