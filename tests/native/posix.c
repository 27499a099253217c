/* The rarer parts of POSIX threads do what they should, whatever the schedule. The name of one is the
 * argument. */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#include "shared.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t condvar = PTHREAD_COND_INITIALIZER;
static sem_t semaphore;
static int value;
static atomic_int steps;

/* A time that has passed long ago, one that comes, and one that is none. */
static const struct timespec PAST = {1, 0}, SOON = {1000000010, 0}, NEVER = {1000000010, 1000000000};

/* Handlers run in the reverse order, when a thread leaves and when it is told to, and not otherwise. */
static char order[8];

static void note(void *letter)
{
    strncat(order, letter, 1);
}

static void *leave_early(void *result)
{
    pthread_cleanup_push(note, "a");
    pthread_cleanup_push(note, "b");
    pthread_cleanup_push(note, "c");
    pthread_cleanup_pop(0);
    pthread_cleanup_push(note, "d");
    pthread_cleanup_pop(1);
    pthread_exit(result);
    pthread_cleanup_pop(0);
    pthread_cleanup_pop(0);
    return NULL;
}

static void *result_of(void *(*function)(void *), void *argument)
{
    pthread_t thread;
    void *result;
    assert(pthread_create(&thread, NULL, function, argument) == 0);
    assert(pthread_join(thread, &result) == 0);
    return result;
}

static void exits(void)
{
    assert(result_of(leave_early, &value) == &value);
    assert(!strcmp(order, "dba"));
}

/* Robust mutexes. */
static pthread_mutex_t robust;

static void *abandon(void *unused)
{
    assert(pthread_mutex_lock(&robust) == 0);
    value = 1;
    return unused;
}

static void *recover(void *unused)
{
    switch (pthread_mutex_lock(&robust)) {
    case EOWNERDEAD:
        assert(value == 1);
        value = 0;
        assert(pthread_mutex_consistent(&robust) == 0);
        break;
    default:
        assert(!"another result");
    case 0:
        break;
    }
    assert(value == 0);
    pthread_mutex_unlock(&robust);
    return unused;
}

static void make_robust(void)
{
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&robust, &attributes);
    pthread_mutexattr_destroy(&attributes);
}

static void robusts(void)
{
    void *(*const functions[])(void *) = {abandon, recover, recover};
    make_robust();
    assert(pthread_mutex_consistent(&robust) == EINVAL);
    run_all(functions, 3);
    recover(NULL);
}

static void lost(void)
{
    make_robust();
    result_of(abandon, NULL);
    assert(pthread_mutex_lock(&robust) == EOWNERDEAD);
    pthread_mutex_unlock(&robust);
    assert(pthread_mutex_lock(&robust) == ENOTRECOVERABLE);
    assert(pthread_mutex_trylock(&robust) == ENOTRECOVERABLE);
    assert(pthread_mutex_destroy(&robust) == 0);
    make_robust();
    assert(pthread_mutex_lock(&robust) == 0);
    assert(pthread_mutex_unlock(&robust) == 0);
    assert(pthread_mutex_unlock(&robust) == EPERM);
}

/* Limits of time pass, for who waits. */
static void *held(void *lock)
{
    struct timespec now;
    assert(pthread_mutex_timedlock(lock, &NEVER) == EINVAL);
    assert(pthread_mutex_timedlock(lock, &PAST) == ETIMEDOUT);
    clock_gettime(CLOCK_REALTIME, &now);
    assert(now.tv_sec < SOON.tv_sec);
    assert(pthread_mutex_clocklock(lock, CLOCK_MONOTONIC, &SOON) == ETIMEDOUT);
    clock_gettime(CLOCK_MONOTONIC, &now);
    assert(now.tv_sec == SOON.tv_sec);
    assert(pthread_rwlock_timedrdlock(&rwlock, &SOON) == ETIMEDOUT);
    assert(pthread_rwlock_timedwrlock(&rwlock, &SOON) == ETIMEDOUT);
    assert(pthread_rwlock_clockrdlock(&rwlock, CLOCK_REALTIME, &SOON) == ETIMEDOUT);
    assert(pthread_rwlock_clockwrlock(&rwlock, CLOCK_REALTIME, &SOON) == ETIMEDOUT);
    assert(sem_clockwait(&semaphore, CLOCK_REALTIME, &SOON) == -1 && errno == ETIMEDOUT);
    return lock;
}

static void limits(void)
{
    sem_init(&semaphore, 0, 0);
    pthread_mutex_lock(&mutex);
    pthread_rwlock_wrlock(&rwlock);
    result_of(held, &mutex);
    pthread_rwlock_unlock(&rwlock);
    assert(pthread_mutex_unlock(&mutex) == 0);
    assert(pthread_mutex_timedlock(&mutex, &PAST) == 0);
    while (pthread_cond_clockwait(&condvar, &mutex, CLOCK_MONOTONIC, &SOON) != ETIMEDOUT)
        ;
    pthread_mutex_unlock(&mutex);
    assert(pthread_rwlock_timedrdlock(&rwlock, &PAST) == 0);
    assert(pthread_rwlock_timedrdlock(&rwlock, &PAST) == 0);
    pthread_rwlock_unlock(&rwlock);
    pthread_rwlock_unlock(&rwlock);
}

/* Whether a thread has ended can be asked. */
static void *step(void *unused)
{
    steps++;
    return unused;
}

static void joins(void)
{
    pthread_t thread;
    void *result = NULL;
    pthread_create(&thread, NULL, step, &value);
    int error = pthread_tryjoin_np(thread, &result);
    if (error == EBUSY)
        error = pthread_timedjoin_np(thread, &result, &SOON);
    if (error == ETIMEDOUT)
        error = pthread_join(thread, &result);
    assert(error == 0 && result == &value && steps == 1);
    assert(pthread_join(thread, NULL) == EINVAL);
    assert(pthread_tryjoin_np(pthread_self(), NULL) == EDEADLK);
}

/* What threads are asked about. */
static void *ask(void *unused)
{
    pthread_attr_t attributes;
    void *start;
    size_t size;
    int state, policy;
    struct sched_param priority;
    cpu_set_t processors;
    char name[16];
    assert(pthread_setname_np(pthread_self(), "a name that is too long") == ERANGE);
    assert(pthread_setname_np(pthread_self(), "worker") == 0);
    assert(pthread_getname_np(pthread_self(), name, sizeof name) == 0 && !strcmp(name, "worker"));
    assert(pthread_getattr_np(pthread_self(), &attributes) == 0);
    assert(pthread_attr_getstack(&attributes, &start, &size) == 0);
    assert((char *)start < (char *)&size && (char *)&size < (char *)start + size);
    assert(pthread_attr_getdetachstate(&attributes, &state) == 0 && state == PTHREAD_CREATE_JOINABLE);
    pthread_attr_destroy(&attributes);
    assert(pthread_getschedparam(pthread_self(), &policy, &priority) == 0 && policy == SCHED_OTHER);
    assert(pthread_setschedparam(pthread_self(), policy, &priority) == 0);
    assert(pthread_getaffinity_np(pthread_self(), sizeof processors, &processors) == 0);
    assert(pthread_setaffinity_np(pthread_self(), sizeof processors, &processors) == 0);
    assert(gettid() != getpid());
    return unused;
}

static void *tell(void *to)
{
    *(pthread_t *)to = pthread_self();
    return to;
}

static void attributes(void)
{
    pthread_attr_t detached;
    pthread_t thread, told;
    assert(gettid() == getpid());
    assert(pthread_equal(pthread_self(), pthread_self()));
    result_of(ask, NULL);
    pthread_create(&thread, NULL, tell, &told);
    pthread_join(thread, NULL);
    assert(pthread_equal(thread, told) && !pthread_equal(thread, pthread_self()));
    pthread_attr_init(&detached);
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&detached, 1 << 20);
    pthread_create(&thread, &detached, step, NULL);
    assert(pthread_join(thread, NULL) == EINVAL);
    pthread_attr_destroy(&detached);
}

/* Mutexes that keep priorities are mutexes. */
static void protocols(void)
{
    pthread_mutexattr_t attributes;
    pthread_mutex_t lock;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT);
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&lock, &attributes);
    assert(pthread_mutex_lock(&lock) == 0 && pthread_mutex_lock(&lock) == 0);
    assert(pthread_mutex_unlock(&lock) == 0 && pthread_mutex_unlock(&lock) == 0);
    assert(pthread_mutex_unlock(&lock) == EPERM);
}

/* A key that comes again has nothing under it. */
static void fail(void *value)
{
    assert(!value);
}

static void keys(void)
{
    pthread_key_t key;
    tss_t other;
    pthread_key_create(&key, fail);
    pthread_setspecific(key, &value);
    assert(pthread_key_delete(key) == 0);
    tss_create(&other, NULL);
    assert(tss_get(other) == NULL);
    tss_delete(other);
}

/* What a thread has under other keys is there for a destructor, and under its own is nothing any more. */
static pthread_key_t own_key, other_key;

static void look(void *unused)
{
    assert(pthread_getspecific(own_key) == NULL);
    assert(pthread_getspecific(other_key) == &value);
    steps++;
}

static void *use_keys(void *unused)
{
    assert(pthread_setspecific(own_key, &value) == 0);
    assert(pthread_setspecific(other_key, &value) == 0);
    assert(pthread_setspecific(1 << 30, &value) == EINVAL);
    assert(pthread_getspecific(1 << 30) == NULL);
    return unused;
}

static void destructors(void)
{
    pthread_key_create(&own_key, look);
    pthread_key_create(&other_key, NULL);
    result_of(use_keys, NULL);
    assert(steps == 1);
}

/* A key from before the check is there again in the next execution, with its destructor. */
static pthread_key_t early_key;
static int destroyed;

static void destroy_early(void *unused)
{
    destroyed++;
}

__attribute__((constructor)) static void create_early(void)
{
    pthread_key_create(&early_key, destroy_early);
}

static void *use_early(void *unused)
{
    pthread_setspecific(early_key, &value);
    steps++;
    return unused;
}

static void early_keys(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, use_early, NULL);
    steps++;
    pthread_join(thread, NULL);
    assert(destroyed == 1);
    assert(pthread_key_delete(early_key) == 0);
}

#include "table.h"

static const struct test tests[] = {
    {"exits", exits},           {"robusts", robusts},     {"lost", lost}, {"limits", limits}, {"joins", joins},
    {"attributes", attributes}, {"protocols", protocols}, {"keys", keys},
    {"destructors", destructors}, {"early-keys", early_keys},
};

MAIN(tests)
