/* The threads of C11. */
#include <stdlib.h>
#include <threads.h>

#include "shared.h"

static mtx_t lock;
static cnd_t filled;
static once_flag flag = ONCE_FLAG_INIT;
static tss_t key;
static int items, inits;
static atomic_int destroyed;

static void init(void)
{
    inits++;
}

static void destroy(void *value)
{
    destroyed += value == &items;
}

static int put(void *unused)
{
    (void)unused;
    call_once(&flag, init);
    tss_set(key, &items);
    mtx_lock(&lock);
    items++;
    mtx_unlock(&lock);
    cnd_signal(&filled);
    return -7;
}

static void test(void *unused)
{
    thrd_t thread;
    int result;
    const struct timespec hour = {3600, 0};
    (void)unused;
    mtx_init(&lock, mtx_recursive);
    cnd_init(&filled);
    tss_create(&key, destroy);
    thrd_create(&thread, put, NULL);
    call_once(&flag, init);
    mtx_lock(&lock);
    assert(mtx_trylock(&lock) == thrd_success);
    mtx_unlock(&lock);
    while (!items)
        cnd_wait(&filled, &lock);
    mtx_unlock(&lock);
    thrd_sleep(&hour, NULL);
    thrd_yield();
    assert(tss_get(key) == NULL);
    assert(thrd_join(thread, &result) == thrd_success && result == -7);
    assert(destroyed == 1 && inits == 1);
    mtx_destroy(&lock);
    cnd_destroy(&filled);
}

int main(void)
{
    return raddle_check(test, NULL);
}
