/* Threads that outlive main and wait for work in many ways: pools WAY THREADS [fails]. Main leaves one job
 * behind; with a third argument, the thread that takes the job calls abort. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t work = PTHREAD_COND_INITIALIZER;
static int jobs, rounds, fails;
static atomic_int word;
static sem_t permits;
static int ends[2];

static struct timespec soon(void)
{
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    time.tv_sec++;
    return time;
}

static void finish_job(void)
{
    if (fails)
        abort();
}

static void take_locked(void)
{
    if (jobs) {
        jobs--;
        finish_job();
    }
}

static void take_word(void)
{
    int expected = 1;
    if (atomic_compare_exchange_strong(&word, &expected, 0))
        finish_job();
}

static void take_byte(void)
{
    char byte;
    if (read(ends[0], &byte, 1) == 1)
        finish_job();
}

static void untimed(void)
{
    pthread_mutex_lock(&lock);
    while (!jobs)
        pthread_cond_wait(&work, &lock);
    take_locked();
    pthread_mutex_unlock(&lock);
}

static void timedwait(void)
{
    pthread_mutex_lock(&lock);
    while (!jobs) {
        struct timespec until = soon();
        pthread_cond_timedwait(&work, &lock, &until);
    }
    take_locked();
    pthread_mutex_unlock(&lock);
}

/* The same, with some housekeeping at each time-out. */
static void housekeeping(void)
{
    pthread_mutex_lock(&lock);
    struct timespec until = soon();
    if (!jobs)
        pthread_cond_timedwait(&work, &lock, &until);
    rounds++;
    take_locked();
    pthread_mutex_unlock(&lock);
}

static void nanosleeps(void)
{
    pthread_mutex_lock(&lock);
    take_locked();
    pthread_mutex_unlock(&lock);
    struct timespec time = {0, 1000000};
    nanosleep(&time, 0);
}

static void counts(void)
{
    usleep(1000);
    take_word();
    atomic_fetch_add((atomic_int *)&rounds, 1);
}

static void yields(void)
{
    take_word();
    sched_yield();
}

static void spins(void)
{
    while (!atomic_load(&word))
        ;
    take_word();
}

static void futex(void)
{
    struct timespec time = {0, 1000000};
    syscall(SYS_futex, &word, FUTEX_WAIT, 0, &time, 0, 0);
    take_word();
}

static void semaphore(void)
{
    struct timespec until = soon();
    if (sem_timedwait(&permits, &until) == 0)
        finish_job();
}

static void mutex(void)
{
    struct timespec until = soon();
    if (pthread_mutex_timedlock(&lock, &until) == 0) {
        take_locked();
        pthread_mutex_unlock(&lock);
    }
    sched_yield();
}

static void polls(void)
{
    struct pollfd asked = {ends[0], POLLIN, 0};
    if (poll(&asked, 1, 100) > 0)
        take_byte();
}

static void selects(void)
{
    fd_set set;
    FD_ZERO(&set);
    FD_SET(ends[0], &set);
    struct timeval time = {1, 0};
    if (select(ends[0] + 1, &set, 0, 0, &time) > 0)
        take_byte();
}

static void epolls(void)
{
    static _Thread_local int set;
    struct epoll_event event = {.events = EPOLLIN};
    if (!set) {
        set = epoll_create1(0);
        epoll_ctl(set, EPOLL_CTL_ADD, ends[0], &event);
    }
    if (epoll_wait(set, &event, 1, 100) > 0)
        take_byte();
}

/* No wait at all: this never ends. */
static void works(void)
{
    atomic_fetch_add((atomic_int *)&rounds, 1);
}

static const struct {
    const char *name;
    void (*wait)(void);
} ways[] = {
    {"untimed", untimed}, {"timedwait", timedwait}, {"housekeeping", housekeeping},
    {"nanosleeps", nanosleeps}, {"counts", counts}, {"yields", yields}, {"spins", spins},
    {"futex", futex}, {"semaphore", semaphore}, {"mutex", mutex}, {"polls", polls},
    {"selects", selects}, {"epolls", epolls}, {"works", works},
};

static void *idle(void *wait)
{
    for (;;)
        ((void (*)(void))wait)();
}

int main(int count, char **arguments)
{
    void (*wait)(void) = 0;
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
        if (strcmp(ways[i].name, arguments[1]) == 0)
            wait = ways[i].wait;
    fails = count > 3;
    sem_init(&permits, 0, 0);
    if (!wait || pipe2(ends, O_NONBLOCK) != 0)
        return 1;
    for (int i = 0; i < atoi(arguments[2]); i++) {
        pthread_t thread;
        pthread_create(&thread, 0, idle, (void *)wait);
        pthread_detach(thread);
    }
    pthread_mutex_lock(&lock);
    jobs++;
    pthread_cond_signal(&work);
    pthread_mutex_unlock(&lock);
    sem_post(&permits);
    atomic_store(&word, 1);
    return write(ends[1], "x", 1) != 1;
}
