/* Signals from thread to thread. The name of a test is the argument; the last two are wrong. */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "shared.h"

static atomic_int handled, value;
static pthread_t by;
static sem_t semaphore;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void handle(int signal)
{
    by = pthread_self();
    handled += signal;
}

static void on(int signal, void (*handler)(int), int flags)
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
    assert(sigaction(signal, &action, NULL) == 0);
}

static void block(int how, int signal)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, signal);
    assert(pthread_sigmask(how, &set, NULL) == 0);
}

/* To oneself: at once, unless it is blocked. */
static void raised(void)
{
    sigset_t pending;
    on(SIGUSR1, handle, 0);
    assert(signal(SIGUSR2, SIG_IGN) == SIG_DFL && signal(SIGUSR2, SIG_IGN) == SIG_IGN);
    raise(SIGUSR2);
    raise(SIGUSR1);
    assert(handled == SIGUSR1);
    block(SIG_BLOCK, SIGUSR1);
    raise(SIGUSR1);
    assert(handled == SIGUSR1);
    assert(sigpending(&pending) == 0 && sigismember(&pending, SIGUSR1) && !sigismember(&pending, SIGUSR2));
    block(SIG_UNBLOCK, SIGUSR1);
    assert(handled == 2 * SIGUSR1);
    assert(pthread_kill(pthread_self(), 0) == 0 && kill(getpid(), 0) == 0);
    assert(pthread_kill(pthread_self(), 1000) == EINVAL);
    kill(getpid(), SIGUSR1);
    assert(handled == 3 * SIGUSR1);
    on(SIGUSR1, handle, SA_RESETHAND);
    raise(SIGUSR1);
    assert(signal(SIGUSR1, SIG_IGN) == SIG_DFL);
}

/* To another thread, which handles it between any two of its steps. */
static void *count(void *unused)
{
    value++;
    value++;
    return unused;
}

static void sent(void)
{
    pthread_t thread;
    on(SIGUSR1, handle, 0);
    pthread_create(&thread, NULL, count, NULL);
    assert(pthread_kill(thread, SIGUSR1) == 0);
    pthread_join(thread, NULL);
    assert(value == 2);
    assert(handled == 0 || (handled == SIGUSR1 && pthread_equal(by, thread)));
}

/* Who waits is interrupted, or goes on waiting. */
static void *wait_once(void *unused)
{
    int result = sem_wait(&semaphore);
    assert(result == 0 || (result == -1 && errno == EINTR && handled));
    return unused;
}

static void interrupted(void)
{
    pthread_t thread;
    sem_init(&semaphore, 0, 0);
    on(SIGUSR1, handle, 0);
    pthread_create(&thread, NULL, wait_once, NULL);
    pthread_kill(thread, SIGUSR1);
    sem_post(&semaphore);
    pthread_join(thread, NULL);
}

static void *wait_until(void *unused)
{
    assert(sem_wait(&semaphore) == 0);
    return unused;
}

static void restarted(void)
{
    pthread_t thread;
    sem_init(&semaphore, 0, 0);
    on(SIGUSR1, handle, SA_RESTART);
    pthread_create(&thread, NULL, wait_until, NULL);
    pthread_kill(thread, SIGUSR1);
    sem_post(&semaphore);
    pthread_join(thread, NULL);
}

/* A thread for all signals. */
static void *wait_for_signals(void *unused)
{
    sigset_t set;
    int signal;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigaddset(&set, SIGTERM);
    do
        assert(sigwait(&set, &signal) == 0);
    while (signal != SIGTERM);
    return unused;
}

static void waited(void)
{
    pthread_t thread;
    block(SIG_BLOCK, SIGUSR1);
    block(SIG_BLOCK, SIGTERM);
    pthread_create(&thread, NULL, wait_for_signals, NULL);
    kill(getpid(), SIGUSR1);
    kill(getpid(), SIGTERM);
    pthread_join(thread, NULL);
}

/* Until a handler has run. */
static void *suspend(void *unused)
{
    sigset_t none;
    sigemptyset(&none);
    while (!handled)
        assert(sigsuspend(&none) == -1 && errno == EINTR);
    return unused;
}

static void suspended(void)
{
    pthread_t thread;
    on(SIGUSR1, handle, 0);
    block(SIG_BLOCK, SIGUSR1);
    pthread_create(&thread, NULL, suspend, NULL);
    pthread_kill(thread, SIGUSR1);
    pthread_join(thread, NULL);
    assert(handled == SIGUSR1);
}

/* An alarm, before or after anything. */
static void alarmed(void)
{
    on(SIGALRM, handle, 0);
    assert(alarm(10) == 0);
    value++;
    assert(handled == 0 || handled == SIGALRM);
    if (alarm(0))
        assert(!handled);
    value++;
    assert(handled == 0 || handled == SIGALRM);
}

static void paused(void)
{
    struct itimerval soon = {.it_value = {1, 0}};
    on(SIGALRM, handle, 0);
    block(SIG_BLOCK, SIGALRM);
    assert(setitimer(ITIMER_REAL, &soon, NULL) == 0);
    sigset_t none;
    sigemptyset(&none);
    assert(sigsuspend(&none) == -1 && handled == SIGALRM);
}

/* A value comes along. */
static void take_value(int signal, siginfo_t *information, void *unused)
{
    assert(signal == information->si_signo && information->si_pid == getpid());
    value = information->si_value.sival_int;
}

static void queued(void)
{
    struct sigaction action = {.sa_sigaction = take_value, .sa_flags = SA_SIGINFO};
    assert(sigaction(SIGUSR1, &action, NULL) == 0);
    assert(sigqueue(getpid(), SIGUSR1, (union sigval){.sival_int = 7}) == 0);
    assert(value == 7);
}

/* A write to a pipe whose read end is closed. */
static void broken(void)
{
    int ends[2];
    assert(pipe(ends) == 0);
    close(ends[0]);
    on(SIGPIPE, handle, 0);
    assert(write(ends[1], "a", 1) == -1 && errno == EPIPE && handled == SIGPIPE);
}

/* The handler takes the lock that it interrupted. */
static void lock_too(int unused)
{
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
}

static void *lock_and_work(void *unused)
{
    pthread_mutex_lock(&mutex);
    value++;
    pthread_mutex_unlock(&mutex);
    return unused;
}

static void locked(void)
{
    pthread_t thread;
    on(SIGUSR1, lock_too, 0);
    pthread_create(&thread, NULL, lock_and_work, NULL);
    pthread_kill(thread, SIGUSR1);
    pthread_join(thread, NULL);
}

static void ended(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, count, NULL);
    pthread_kill(thread, SIGTERM);
    pthread_join(thread, NULL);
}

#include "table.h"

static const struct test tests[] = {
    {"raised", raised},       {"sent", sent},           {"interrupted", interrupted}, {"restarted", restarted},
    {"waited", waited},       {"suspended", suspended}, {"alarmed", alarmed},         {"paused", paused},
    {"queued", queued},       {"broken", broken},       {"locked", locked},           {"ended", ended},
};

MAIN(tests)
