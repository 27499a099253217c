/* Loops around waits whose end is computed from the clock; the first argument says which. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "shared.h"

#define MILLISECOND 1000000l
#define SECOND (1000 * MILLISECOND)

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static pthread_cond_t other_changed = PTHREAD_COND_INITIALIZER;
static sem_t permits;
static int is_ready;
static atomic_int flag;

/* The time after this many nanoseconds. */
static struct timespec after(long nanoseconds)
{
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    time.tv_sec += nanoseconds / SECOND;
    time.tv_nsec += nanoseconds % SECOND;
    if (time.tv_nsec >= SECOND) {
        time.tv_nsec -= SECOND;
        time.tv_sec++;
    }
    return time;
}

static long long now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000ll + time.tv_nsec;
}

static void *become_ready(void *none)
{
    pthread_mutex_lock(&mutex);
    is_ready = 1;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&mutex);
    return none;
}

static void *raise_flag(void *none)
{
    atomic_store(&flag, 1);
    return none;
}

static void beside(void *(*function)(void *), void (*wait)(void))
{
    pthread_t thread;
    pthread_create(&thread, NULL, function, NULL);
    wait();
    pthread_join(thread, NULL);
}

static void wait_seconds(void)
{
    pthread_mutex_lock(&mutex);
    while (!is_ready) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_sec += 1;
        pthread_cond_timedwait(&changed, &mutex, &until);
    }
    pthread_mutex_unlock(&mutex);
}

static void wait_milliseconds(void)
{
    pthread_mutex_lock(&mutex);
    while (!is_ready) {
        struct timespec until = after(10 * MILLISECOND);
        pthread_cond_timedwait(&changed, &mutex, &until);
    }
    pthread_mutex_unlock(&mutex);
}

static void *wait_in_thread(void *none)
{
    wait_milliseconds();
    return none;
}

static void seconds(void) { beside(become_ready, wait_seconds); }

static void milliseconds(void) { beside(become_ready, wait_milliseconds); }

static void two_wait(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, wait_in_thread, NULL);
    become_ready(NULL);
    wait_milliseconds();
    pthread_join(thread, NULL);
}

static void waits_for_ever(void) { wait_milliseconds(); }

/* The deadline does not change, and no time is read in the loop. */
static void wait_until_one_time(void)
{
    struct timespec until = after(10 * MILLISECOND);
    pthread_mutex_lock(&mutex);
    while (!is_ready)
        pthread_cond_timedwait(&changed, &mutex, &until);
    pthread_mutex_unlock(&mutex);
}

static void one_time(void) { beside(become_ready, wait_until_one_time); }

static void lock_in_time(void)
{
    struct timespec until = after(MILLISECOND);
    while (pthread_mutex_timedlock(&mutex, &until))
        until = after(MILLISECOND);
    pthread_mutex_unlock(&mutex);
}

static void locks(void) { beside(become_ready, lock_in_time); }

static void *post(void *none)
{
    sem_post(&permits);
    return none;
}

static void acquire_in_time(void)
{
    struct timespec until = after(MILLISECOND);
    while (sem_timedwait(&permits, &until))
        until = after(MILLISECOND);
}

static void semaphore(void)
{
    sem_init(&permits, 0, 0);
    beside(post, acquire_in_time);
}

static void sleep_and_look(void)
{
    while (!atomic_load(&flag)) {
        volatile long long time = now();
        (void)time;
        usleep(1000);
    }
}

static void sleeps(void) { beside(raise_flag, sleep_and_look); }

/* Loops that end by the clock. The deadline is a local variable, in static memory, on the heap, or the time of the
 * beginning. */

static void give_up_locally(void)
{
    long long until = now() + 30 * MILLISECOND;
    pthread_mutex_lock(&mutex);
    while (!is_ready) {
        assert(now() < until && "too late");
        struct timespec time = after(10 * MILLISECOND);
        pthread_cond_timedwait(&changed, &mutex, &time);
    }
    pthread_mutex_unlock(&mutex);
}

static void gives_up(void) { beside(become_ready, give_up_locally); }

static long long deadline, *begun;

static void give_up_later(void)
{
    deadline = now() + 3600 * SECOND;
    pthread_mutex_lock(&mutex);
    while (!is_ready) {
        assert(now() < deadline && "too late");
        struct timespec time = after(10 * MILLISECOND);
        pthread_cond_timedwait(&changed, &mutex, &time);
    }
    pthread_mutex_unlock(&mutex);
}

static void gives_up_by_a_static(void) { beside(become_ready, give_up_later); }

/* The time is compared in the round after it was read. */
static void give_up_with_delay(void)
{
    begun = malloc(sizeof *begun);
    *begun = now();
    long long last = *begun;
    pthread_mutex_lock(&mutex);
    while (!is_ready) {
        struct timespec time = after(SECOND);
        pthread_cond_timedwait(&changed, &mutex, &time);
        assert(last - *begun < 24 * 3600 * SECOND && "too late");
        last = now();
    }
    pthread_mutex_unlock(&mutex);
}

static void gives_up_with_delay(void) { beside(become_ready, give_up_with_delay); }

static time_t give_up_after;

static void give_up_asleep(void)
{
    give_up_after = time(NULL) + 600;
    while (!atomic_load(&flag)) {
        assert(time(NULL) <= give_up_after && "too late");
        usleep(1000);
    }
}

static void gives_up_asleep(void) { beside(raise_flag, give_up_asleep); }

/* The loop has a counter, which changes as the seconds do. */
static void counts(void)
{
    long long start = now();
    pthread_mutex_lock(&mutex);
    for (int rounds = 0; rounds < 6; rounds++) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_sec += 1;
        pthread_cond_timedwait(&changed, &mutex, &until);
    }
    pthread_mutex_unlock(&mutex);
    assert(now() - start < 7 * SECOND);
}

/* The thread looks at the flag only if little time has passed, or once in a while. */
static void look_soon(void)
{
    long long last = now();
    pthread_mutex_lock(&mutex);
    for (;;) {
        long long time = now();
        if (time - last < SECOND && atomic_load(&flag))
            break;
        last = time;
        struct timespec until = after(MILLISECOND);
        pthread_cond_timedwait(&changed, &mutex, &until);
    }
    pthread_mutex_unlock(&mutex);
}

static void looks_soon(void) { beside(raise_flag, look_soon); }

static void look_at_times(void)
{
    long long last = now();
    pthread_mutex_lock(&mutex);
    for (;;) {
        long long time = now();
        if (time - last > 5 * MILLISECOND) {
            last = time;
            if (atomic_load(&flag))
                break;
        }
        struct timespec until = after(MILLISECOND);
        pthread_cond_timedwait(&changed, &mutex, &until);
    }
    pthread_mutex_unlock(&mutex);
}

static void looks_at_times(void) { beside(raise_flag, look_at_times); }

/* The notification may come before the wait, while another thread polls. */
static void *notify(void *none)
{
    pthread_cond_signal(&other_changed);
    return none;
}

static void loses_a_wake_up(void)
{
    pthread_t polling, notifying;
    pthread_create(&polling, NULL, wait_in_thread, NULL);
    pthread_create(&notifying, NULL, notify, NULL);
    pthread_mutex_lock(&mutex);
    pthread_cond_wait(&other_changed, &mutex);
    pthread_mutex_unlock(&mutex);
    become_ready(NULL);
    pthread_join(polling, NULL);
    pthread_join(notifying, NULL);
}

static const struct { const char *name; void (*run)(void); } all[] = {
    {"seconds", seconds}, {"milliseconds", milliseconds}, {"two_wait", two_wait},
    {"waits_for_ever", waits_for_ever}, {"one_time", one_time}, {"locks", locks},
    {"semaphore", semaphore}, {"sleeps", sleeps}, {"gives_up", gives_up},
    {"gives_up_by_a_static", gives_up_by_a_static}, {"gives_up_with_delay", gives_up_with_delay},
    {"gives_up_asleep", gives_up_asleep}, {"counts", counts}, {"looks_soon", looks_soon},
    {"looks_at_times", looks_at_times}, {"loses_a_wake_up", loses_a_wake_up},
};

static void body(void *name)
{
    for (int i = 0; i < LENGTH(all); i++)
        if (!strcmp(all[i].name, name))
            all[i].run();
}

int main(int count, char **arguments)
{
    (void)count;
    return raddle_check(body, arguments[1]);
}
