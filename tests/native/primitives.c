/* Every primitive does what POSIX says, whatever the schedule. Each test is right; the name of one is the
 * argument. */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "shared.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condvar = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_barrier_t barrier;
static pthread_spinlock_t spin;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key;
static sem_t semaphore;
static int value, leaders;
static atomic_int destroyed;
static __thread int local = 7;

static const struct timespec LATER = {1, 0};

/* Results of threads, and what detached ones must not be asked. */
static void *twice(void *argument)
{
    return (char *)argument + (size_t)argument;
}

static void *leave(void *argument)
{
    pthread_exit(twice(argument));
}

static void threads(void)
{
    pthread_t returns, leaves;
    void *result;
    pthread_create(&returns, NULL, twice, (void *)21);
    pthread_create(&leaves, NULL, leave, (void *)4);
    assert(!pthread_equal(returns, leaves));
    assert(pthread_join(pthread_self(), NULL) == EDEADLK);
    assert(pthread_join(returns, &result) == 0 && result == (void *)42);
    assert(pthread_join(leaves, &result) == 0 && result == (void *)8);
    pthread_create(&leaves, NULL, leave, NULL);
    assert(pthread_detach(leaves) == 0);
    assert(pthread_detach(leaves) == EINVAL);
    assert(pthread_join(leaves, NULL) == EINVAL);
}

/* The types of mutexes. */
static void init(pthread_mutex_t *lock, int type)
{
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, type);
    pthread_mutex_init(lock, &attributes);
    pthread_mutexattr_destroy(&attributes);
}

static void *try_it(void *lock)
{
    int result = pthread_mutex_trylock(lock);
    if (result == 0)
        pthread_mutex_unlock(lock);
    return (void *)(size_t)result;
}

static int tried_by_another(pthread_mutex_t *lock)
{
    pthread_t thread;
    void *result;
    pthread_create(&thread, NULL, try_it, lock);
    pthread_join(thread, &result);
    return (int)(size_t)result;
}

static void mutexes(void)
{
    pthread_mutex_t lock;
    init(&lock, PTHREAD_MUTEX_RECURSIVE);
    assert(pthread_mutex_lock(&lock) == 0 && pthread_mutex_lock(&lock) == 0);
    assert(pthread_mutex_trylock(&lock) == 0);
    assert(pthread_mutex_unlock(&lock) == 0 && pthread_mutex_unlock(&lock) == 0);
    assert(tried_by_another(&lock) == EBUSY);
    assert(pthread_mutex_unlock(&lock) == 0);
    assert(tried_by_another(&lock) == 0);
    assert(pthread_mutex_unlock(&lock) == EPERM);
    pthread_mutex_destroy(&lock);
    init(&lock, PTHREAD_MUTEX_ERRORCHECK);
    assert(pthread_mutex_unlock(&lock) == EPERM);
    assert(pthread_mutex_lock(&lock) == 0);
    assert(pthread_mutex_lock(&lock) == EDEADLK);
    assert(pthread_mutex_trylock(&lock) == EBUSY);
    assert(pthread_mutex_timedlock(&lock, &LATER) == EDEADLK);
    assert(pthread_mutex_unlock(&lock) == 0);
    assert(pthread_mutex_timedlock(&lock, &LATER) == 0);
    pthread_mutex_unlock(&lock);
    pthread_mutex_destroy(&lock);
}

/* A value is handed over. */
static void *produce(void *unused)
{
    pthread_mutex_lock(&mutex);
    value = 1;
    pthread_mutex_unlock(&mutex);
    pthread_cond_signal(&condvar);
    return unused;
}

static void *consume(void *unused)
{
    pthread_mutex_lock(&mutex);
    while (!value)
        pthread_cond_wait(&condvar, &mutex);
    pthread_mutex_unlock(&mutex);
    return unused;
}

static void *consume_soon(void *unused)
{
    int result = 0;
    pthread_mutex_lock(&mutex);
    while (!value && result != ETIMEDOUT)
        result = pthread_cond_timedwait(&condvar, &mutex, &LATER);
    pthread_mutex_unlock(&mutex);
    return unused;
}

static void condvars(void)
{
    void *(*const functions[])(void *) = {produce, consume};
    run_all(functions, 2);
}

static void timed_condvars(void)
{
    void *(*const functions[])(void *) = {produce, consume_soon};
    run_all(functions, 2);
}

/* A writer excludes all readers. */
static void *write_value(void *unused)
{
    pthread_rwlock_wrlock(&rwlock);
    value++;
    assert(pthread_rwlock_tryrdlock(&rwlock) == EBUSY);
    pthread_rwlock_unlock(&rwlock);
    return unused;
}

static void *read_value(void *unused)
{
    pthread_rwlock_rdlock(&rwlock);
    assert(pthread_rwlock_trywrlock(&rwlock) == EBUSY);
    assert(value == 0 || value == 1);
    pthread_rwlock_unlock(&rwlock);
    return unused;
}

static void rwlocks(void)
{
    void *(*const functions[])(void *) = {write_value, read_value, read_value};
    run_all(functions, 3);
}

static void *spin_and_add(void *unused)
{
    pthread_spin_lock(&spin);
    value++;
    pthread_spin_unlock(&spin);
    return unused;
}

static void spins(void)
{
    void *(*const functions[])(void *) = {spin_and_add, spin_and_add};
    pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE);
    run_all(functions, 2);
    assert(value == 2);
    assert(pthread_spin_trylock(&spin) == 0 && pthread_spin_trylock(&spin) == EBUSY);
    pthread_spin_unlock(&spin);
}

/* One of those who meet leads. */
static void *meet(void *unused)
{
    if (pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD)
        leaders++;
    return unused;
}

static void barriers(void)
{
    void *(*const functions[])(void *) = {meet, meet};
    pthread_barrier_init(&barrier, NULL, 2);
    run_all(functions, 2);
    pthread_barrier_destroy(&barrier);
    assert(leaders == 1);
}

static void set_value(void)
{
    sched_yield();
    value++;
}

static void *do_once(void *unused)
{
    pthread_once(&once, set_value);
    assert(value == 1);
    return unused;
}

static void onces(void)
{
    void *(*const functions[])(void *) = {do_once, do_once};
    run_all(functions, 2);
}

/* Each thread has its own, and what is left is destroyed. */
static void destroy(void *left)
{
    assert(left == &local);
    destroyed++;
}

static void *keep(void *unused)
{
    assert(pthread_getspecific(key) == NULL);
    assert(local == 7);
    local = 8;
    pthread_setspecific(key, &local);
    sched_yield();
    assert(pthread_getspecific(key) == &local && local == 8);
    return unused;
}

static void keys(void)
{
    void *(*const functions[])(void *) = {keep, keep};
    pthread_key_create(&key, destroy);
    assert(local == 7);
    run_all(functions, 2);
    assert(destroyed == 2);
    assert(pthread_getspecific(key) == NULL);
    local = 9;
}

static void *take_permit(void *unused)
{
    sem_wait(&semaphore);
    value++;
    sem_post(&semaphore);
    return unused;
}

static void semaphores(void)
{
    void *(*const functions[])(void *) = {take_permit, take_permit};
    int permits;
    sem_init(&semaphore, 0, 1);
    run_all(functions, 2);
    assert(value == 2);
    assert(sem_getvalue(&semaphore, &permits) == 0 && permits == 1);
    assert(sem_trywait(&semaphore) == 0);
    assert(sem_trywait(&semaphore) == -1 && errno == EAGAIN);
    assert(sem_timedwait(&semaphore, &LATER) == -1 && errno == ETIMEDOUT);
    sem_destroy(&semaphore);
}

/* An hour is over at once. */
static void clocks(void)
{
    struct timespec before, after, hour = {3600, 0};
    clock_gettime(CLOCK_MONOTONIC, &before);
    nanosleep(&hour, NULL);
    sleep(1);
    usleep(1);
    clock_gettime(CLOCK_MONOTONIC, &after);
    assert(after.tv_sec - before.tv_sec == 3601);
}

/* Time does not go back on the way from thread to thread. */
static void *post_late(void *sent)
{
    sleep(3600);
    clock_gettime(CLOCK_MONOTONIC, sent);
    sem_post(&semaphore);
    sleep(3600);
    return NULL;
}

static void ordered_clocks(void)
{
    struct timespec before, sent, after;
    pthread_t thread;
    sem_init(&semaphore, 0, 0);
    clock_gettime(CLOCK_MONOTONIC, &before);
    pthread_create(&thread, NULL, post_late, &sent);
    sem_wait(&semaphore);
    clock_gettime(CLOCK_MONOTONIC, &after);
    assert(sent.tv_sec - before.tv_sec == 3600);
    assert(after.tv_sec == sent.tv_sec);
    sleep(1);
    clock_gettime(CLOCK_MONOTONIC, &after);
    assert(after.tv_sec - before.tv_sec == 3601);
    pthread_join(thread, NULL);
    clock_gettime(CLOCK_MONOTONIC, &after);
    assert(after.tv_sec - before.tv_sec == 7200);
    sem_destroy(&semaphore);
}

/* Memory is aligned, large enough and not shared. */
static void *allocate(void *unused)
{
    char *one = malloc(3), *other = calloc(2, 5);
    void *aligned;
    assert(posix_memalign(&aligned, 256, 8) == 0 && (size_t)aligned % 256 == 0);
    memset(one, 1, 3);
    for (int i = 0; i < 10; i++)
        assert(other[i] == 0);
    one = realloc(one, 1000);
    assert(one[0] == 1 && one[2] == 1);
    free(one);
    free(other);
    free(aligned);
    return unused;
}

static void memory(void)
{
    void *(*const functions[])(void *) = {allocate, allocate};
    run_all(functions, 2);
}

static const struct {
    const char *name;
    void (*run)(void);
} tests[] = {
    {"threads", threads},   {"mutexes", mutexes},       {"condvars", condvars},
    {"rwlocks", rwlocks},   {"timed_condvars", timed_condvars},
    {"spins", spins},       {"barriers", barriers},     {"onces", onces},
    {"keys", keys},         {"semaphores", semaphores}, {"clocks", clocks},
    {"ordered_clocks", ordered_clocks},
    {"memory", memory},
};

static void test(void *number)
{
    tests[(size_t)number].run();
}

int main(int count, char **arguments)
{
    for (size_t i = 0; i < LENGTH(tests); i++)
        if (count > 1 && !strcmp(arguments[1], tests[i].name))
            return raddle_check(test, (void *)i);
    fprintf(stderr, "which test?\n");
    return 2;
}
