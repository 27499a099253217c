/* Random programs that look at the clock, work, sleep and wait. Each is checked: at least as much time passes as a
 * thread has slept and waited in vain, and at most that of all threads and what is allowed for each look. */
#include <errno.h>
#include <time.h>
#include <unistd.h>

#include "shared.h"

#define PROGRAMS 60
#define MICROSECOND 1000ll
#define WORKING (100 * MICROSECOND)
#define WAITING (10000 * MICROSECOND)

typedef long long nanoseconds;

struct thread {
    unsigned random;
    int works, waits, steps, has_worked;
    nanoseconds start, spent;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static sem_t never;
static atomic_int count;
/* The time that all threads together may have seen so far. It is no part of the check: no thread runs between two
 * operations of another. */
static nanoseconds allowed;

__attribute__((noinline, no_sanitize("thread"))) static nanoseconds allow(nanoseconds time)
{
    return allowed += time;
}

static unsigned draw(struct thread *thread, unsigned below)
{
    thread->random = thread->random * 1664525 + 1013904223;
    return (thread->random >> 8) % below;
}

static nanoseconds now(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return time.tv_sec * 1000000000ll + time.tv_nsec;
}

static nanoseconds look(struct thread *thread)
{
    allow(thread->has_worked ? WORKING : WAITING);
    thread->has_worked = 0;
    return now(CLOCK_MONOTONIC) - thread->start;
}

static void check(struct thread *thread)
{
    nanoseconds took = look(thread);
    assert(thread->spent <= took);
    assert(took <= allow(0));
}

static void spend(struct thread *thread, nanoseconds time)
{
    thread->spent += time;
    allow(time + 1);
}

/* A point in time, and the look at the clock that it takes. */
static struct timespec after(struct thread *thread, nanoseconds time)
{
    nanoseconds then = thread->start + look(thread) + time;
    return (struct timespec){then / 1000000000ll, then % 1000000000ll};
}

static void step(struct thread *thread)
{
    nanoseconds time = draw(thread, 10000) * MICROSECOND;
    struct timespec until;
    switch (draw(thread, 20)) {
    case 0 ... 4:
        if (thread->works) {
            atomic_fetch_add(&count, 1);
            thread->has_worked = 1;
        }
        break;
    case 5:
        if (thread->works) {
            pthread_mutex_lock(&mutex);
            pthread_cond_signal(&changed);
            pthread_mutex_unlock(&mutex);
            thread->has_worked = 1;
        }
        break;
    case 6:
        if (thread->waits) {
            usleep(time / MICROSECOND);
            spend(thread, time);
        }
        break;
    case 7:
        if (thread->waits) {
            until = after(thread, time);
            pthread_mutex_lock(&mutex);
            if (pthread_cond_timedwait(&changed, &mutex, &until) == ETIMEDOUT)
                allow(time + 1);
            pthread_mutex_unlock(&mutex);
        }
        break;
    case 8:
        if (thread->waits) {
            until = after(thread, time);
            assert(sem_timedwait(&never, &until) == -1 && errno == ETIMEDOUT);
            allow(time + 1);
        }
        break;
    case 9 ... 11:
        atomic_load(&count);
        break;
    case 12:
        check(thread);
        break;
    default:
        look(thread);
    }
}

static void *run(void *of)
{
    struct thread *thread = of;
    allow(WAITING);
    for (int i = 0; i < thread->steps; i++)
        step(thread);
    check(thread);
    return NULL;
}

static void program(void *seed)
{
    unsigned number = *(unsigned *)seed;
    int threads = 1 + number % 3;
    struct thread all[3];
    pthread_t others[3];
    sem_init(&never, 0, 0);
    for (int i = 0; i < threads; i++) {
        all[i] = (struct thread){.random = number * 10 + i, .works = number % 5 != 0, .waits = number % 4 != 0};
        all[i].steps = 1 + draw(&all[i], 300 / threads);
        all[i].start = now(CLOCK_MONOTONIC);
        allow(WAITING);
    }
    for (int i = 1; i < threads; i++)
        pthread_create(&others[i], NULL, run, &all[i]);
    run(&all[0]);
    for (int i = 1; i < threads; i++)
        pthread_join(others[i], NULL);
    sem_destroy(&never);
}

int main(void)
{
    int failed = 0;
    for (unsigned seed = 0; seed < PROGRAMS; seed++)
        failed |= raddle_check(program, &seed);
    return failed;
}
