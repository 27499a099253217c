/* Threads that are cancelled end where they may, and clean up. The name of a test is the argument; with BUG
 * they do not clean up. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "shared.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condvar = PTHREAD_COND_INITIALIZER;
static sem_t semaphore;
static int value, is_clean;
static atomic_int count;

static void clean(void *unused)
{
    is_clean = 1;
}

static void unlock(void *lock)
{
    pthread_mutex_unlock(lock);
}

/* Starts a thread, cancels it, and waits for it. */
static void *cancelled(void *(*function)(void *), void *argument)
{
    pthread_t thread;
    void *result;
    pthread_create(&thread, NULL, function, argument);
    assert(pthread_cancel(thread) == 0);
    assert(pthread_join(thread, &result) == 0);
    return result;
}

/* At a point where it may, however late the request comes. */
static void *test_often(void *unused)
{
    pthread_cleanup_push(clean, NULL);
    for (int i = 0; i < 3; i++) {
        count++;
        pthread_testcancel();
    }
    pthread_cleanup_pop(0);
    return unused;
}

static void points(void)
{
    void *result = cancelled(test_often, NULL);
    assert(result == PTHREAD_CANCELED ? is_clean && count >= 1 : !is_clean && count == 3);
}

/* A thread is not cancelled while its cancellation is disabled. */
static void *refuse(void *unused)
{
    int old;
    assert(pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old) == 0 && old == PTHREAD_CANCEL_ENABLE);
    assert(pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &old) == 0 && old == PTHREAD_CANCEL_DEFERRED);
    pthread_testcancel();
    usleep(1);
    value = 1;
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &old);
    assert(old == PTHREAD_CANCEL_DISABLE);
    sleep(1);
    return unused;
}

static void disabled(void)
{
    void *result = cancelled(refuse, NULL);
    assert(value == 1 && (result == NULL || result == PTHREAD_CANCELED));
}

/* Who waits is woken, and has the mutex when it cleans up. */
static void *wait_for_ever(void *unused)
{
    pthread_mutex_lock(&mutex);
    pthread_cleanup_push(unlock, &mutex);
#ifdef BUG
    pthread_cleanup_pop(0);
    while (!value)
        pthread_cond_wait(&condvar, &mutex);
    pthread_mutex_unlock(&mutex);
#else
    while (!value)
        pthread_cond_wait(&condvar, &mutex);
    pthread_cleanup_pop(1);
#endif
    return unused;
}

static void waits(void)
{
    assert(cancelled(wait_for_ever, NULL) == PTHREAD_CANCELED);
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
}

/* A notification is not lost with a thread that is cancelled. */
static void *wait_for_value(void *unused)
{
    pthread_mutex_lock(&mutex);
    pthread_cleanup_push(unlock, &mutex);
    while (!value)
        pthread_cond_wait(&condvar, &mutex);
    pthread_cleanup_pop(1);
    return unused;
}

static void passes_on(void)
{
    pthread_t one, other;
    pthread_create(&one, NULL, wait_for_value, NULL);
    pthread_create(&other, NULL, wait_for_value, NULL);
    pthread_cancel(one);
    pthread_mutex_lock(&mutex);
    value = 1;
    pthread_cond_signal(&condvar);
    pthread_mutex_unlock(&mutex);
    pthread_join(one, NULL);
    pthread_cond_signal(&condvar);
    pthread_join(other, NULL);
}

static void *take_permit(void *unused)
{
    pthread_cleanup_push(clean, NULL);
    sem_wait(&semaphore);
    pthread_cleanup_pop(0);
    return unused;
}

static void permits(void)
{
    sem_init(&semaphore, 0, 0);
    assert(cancelled(take_permit, NULL) == PTHREAD_CANCELED && is_clean);
    sem_post(&semaphore);
    is_clean = 0;
    assert((cancelled(take_permit, NULL) == PTHREAD_CANCELED) == is_clean);
}

/* Who joins may be cancelled, and the other is still there to be joined. */
static pthread_t waiting;

static void *join_other(void *unused)
{
    pthread_join(waiting, NULL);
    return unused;
}

static void joins(void)
{
    sem_init(&semaphore, 0, 0);
    pthread_create(&waiting, NULL, take_permit, NULL);
    assert(cancelled(join_other, NULL) == PTHREAD_CANCELED);
    sem_post(&semaphore);
    assert(pthread_join(waiting, NULL) == 0);
}

/* Whether it may be at once is forgotten with the thread. */
static void *at_once(void *unused)
{
    int old;
    assert(pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &old) == 0 && old == PTHREAD_CANCEL_DEFERRED);
    assert(pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &old) == 0 && old == PTHREAD_CANCEL_ASYNCHRONOUS);
    pthread_testcancel();
    return unused;
}

static void types(void)
{
    void *result = cancelled(at_once, NULL);
    assert(result == NULL || result == PTHREAD_CANCELED);
}

#include "table.h"

static const struct test tests[] = {
    {"points", points},       {"disabled", disabled}, {"waits", waits},
    {"passes-on", passes_on}, {"permits", permits},   {"joins", joins},
    {"types", types},
};

/* Passes cancellation points all the time. */
static void *test_again_and_again(void *unused)
{
    for (;;)
        pthread_testcancel();
    return unused;
}

/* With a second argument, beside a thread that is not controlled. */
int main(int count, char **arguments)
{
    pthread_t beside;
    if (count > 2)
        pthread_create(&beside, NULL, test_again_and_again, NULL);
    return choose(tests, LENGTH(tests), count, arguments);
}
