/* Functions whose checks run beyond every limit, unless they are cut. */
#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "raddle.h"

static atomic_ulong value;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int ready;

static void with_another(void *(*function)(void *))
{
    pthread_t other;
    pthread_create(&other, NULL, function, NULL);
    function(NULL);
    pthread_join(other, NULL);
}

static void *update(void *unused)
{
    for (;;)
        atomic_fetch_add(&value, 1);
    return unused;
}

static void endless_updates(void *unused) { with_another(update); }

static void *yield(void *unused)
{
    for (volatile unsigned long round = 0;; round++)
        sched_yield();
    return unused;
}

static void endless_yields(void *unused) { with_another(yield); }

static void *sleep_on(void *unused)
{
    for (volatile unsigned long round = 0;; round++)
        usleep(1000);
    return unused;
}

static void endless_sleeps(void *unused) { with_another(sleep_on); }

static void *lock_on(void *unused)
{
    for (;;) {
        pthread_mutex_lock(&mutex);
        ready++;
        pthread_mutex_unlock(&mutex);
    }
    return unused;
}

static void endless_lock(void *unused) { with_another(lock_on); }

static void *poll_on(void *unused)
{
    pthread_mutex_lock(&mutex);
    for (volatile unsigned long round = 0; !ready; round++) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += 1000;
        pthread_cond_timedwait(&changed, &mutex, &until);
    }
    pthread_mutex_unlock(&mutex);
    return unused;
}

static void polling(void *unused) { with_another(poll_on); }

/* About 50 ms without a scheduling point. */
static void compute(void)
{
    for (volatile unsigned long round = 0; round < 10000000; round++)
        ;
}

static void computing(void *unused)
{
    for (;;) {
        compute();
        atomic_fetch_add(&value, 1);
    }
}

static void *many_locks(void *unused)
{
    for (int round = 0; round < 10000; round++) {
        pthread_mutex_lock(&mutex);
        ready++;
        pthread_mutex_unlock(&mutex);
    }
    return unused;
}

static void threads(void *unused)
{
    static pthread_t all[1000];
    for (int index = 0; index < 1000; index++)
        pthread_create(&all[index], NULL, many_locks, NULL);
    for (int index = 0; index < 1000; index++)
        pthread_join(all[index], NULL);
}

static void *half(void *unused)
{
    for (int round = 0; round < 250000; round++)
        atomic_store(&value, atomic_load(&value) + 1);
    return unused;
}

/* 1,000,000 events. */
static void events(void *unused) { with_another(half); }

static unsigned char table[1 << 16];

static void *fill(void *unused)
{
    for (int round = 0; round < 200; round++) {
        pthread_mutex_lock(&mutex);
        for (unsigned index = 0; index < sizeof table; index++)
            table[index] = table[(index * 7919) % sizeof table] + round;
        pthread_mutex_unlock(&mutex);
    }
    return unused;
}

/* Many plain accesses between two scheduling points. */
static void plain(void *unused) { with_another(fill); }

/* A call of one second that raddle does not control. `system` would ignore Ctrl-C meanwhile. */
static void calls(void *unused)
{
    for (;;) {
        FILE *pipe = popen("sleep 1", "r");
        if (pipe == NULL || pclose(pipe) != 0)
            abort();
        atomic_fetch_add(&value, 1);
    }
}

static void *half_of_some(void *unused)
{
    for (int round = 0; round < 1500; round++)
        atomic_store(&value, atomic_load(&value) + 1);
    return unused;
}

/* Fails in its first execution, which is short enough to be shortened. */
static void fails_late(void *unused)
{
    compute();
    with_another(half_of_some);
    assert(atomic_load(&value) == 1);
}

/* Fails in its first execution, of 1,000,000 events. */
static void fails_long(void *unused)
{
    with_another(half);
    assert(atomic_load(&value) == 1);
}

static int racy;

static void *increment(void *unused)
{
    racy++;
    return unused;
}

/* A data race: with `--plain promote` its accesses become operations. */
static void races(void *unused) { with_another(increment); }

static void hangs_computing(void *unused)
{
    atomic_fetch_add(&value, 1);
    for (volatile unsigned long round = 0;; round++)
        ;
}

static void hangs_in_a_call(void *unused)
{
    atomic_fetch_add(&value, 1);
    if (system("sleep 100") != 0)
        abort();
}

int main(int count, char **arguments)
{
    static const struct {
        const char *name;
        void (*function)(void *);
    } all[] = {
        {"endless_updates", endless_updates},
        {"endless_yields", endless_yields},
        {"endless_sleeps", endless_sleeps},
        {"endless_lock", endless_lock},
        {"polling", polling},
        {"computing", computing},
        {"threads", threads},
        {"events", events},
        {"plain", plain},
        {"calls", calls},
        {"fails_late", fails_late},
        {"fails_long", fails_long},
        {"races", races},
        {"hangs_computing", hangs_computing},
        {"hangs_in_a_call", hangs_in_a_call},
    };
    for (unsigned index = 0; count > 1 && index < sizeof all / sizeof *all; index++)
        if (strcmp(arguments[1], all[index].name) == 0)
            return raddle_check(all[index].function, NULL);
    fprintf(stderr, "usage: %s FUNCTION\n", arguments[0]);
    return 2;
}
