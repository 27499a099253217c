/* Waits for several descriptors that a timer of the kernel ends, or that nothing ends. */

#define _GNU_SOURCE
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "shared.h"

static int ends[2], timer;

static void *poll_both(void *unused)
{
    struct pollfd asked[] = {{ends[0], POLLIN, 0}, {timer, POLLIN, 0}};
    assert(poll(asked, 2, -1) > 0);
    return unused;
}

static void *select_both(void *unused)
{
    fd_set asked;
    FD_ZERO(&asked);
    FD_SET(ends[0], &asked);
    FD_SET(timer, &asked);
    int most = ends[0] > timer ? ends[0] : timer;
    assert(select(most + 1, &asked, 0, 0, 0) > 0);
    return unused;
}

static void *epoll_both(void *unused)
{
    struct epoll_event event = {.events = EPOLLIN}, found[2];
    int set = epoll_create1(0);
    assert(epoll_ctl(set, EPOLL_CTL_ADD, ends[0], &event) == 0);
    assert(epoll_ctl(set, EPOLL_CTL_ADD, timer, &event) == 0);
    assert(epoll_wait(set, found, 2, -1) > 0);
    return unused;
}

static void with(void *(*wait)(void *), int is_set)
{
    pthread_t thread;
    struct itimerspec soon = {.it_value = {0, 20 * 1000 * 1000}};
    assert(pipe(ends) == 0);
    timer = timerfd_create(CLOCK_MONOTONIC, 0);
    assert(timer >= 0);
    if (is_set)
        assert(timerfd_settime(timer, 0, &soon, 0) == 0);
    pthread_create(&thread, 0, wait, 0);
    pthread_join(thread, 0);
}

static void polls(void) { with(poll_both, 1); }
static void selects(void) { with(select_both, 1); }
static void epolls(void) { with(epoll_both, 1); }
static void never_polls(void) { with(poll_both, 0); }
static void never_selects(void) { with(select_both, 0); }
static void never_epolls(void) { with(epoll_both, 0); }

#include "table.h"

static const struct test tests[] = {
    {"polls", polls}, {"selects", selects}, {"epolls", epolls},
    {"never_polls", never_polls}, {"never_selects", never_selects}, {"never_epolls", never_epolls},
};

MAIN(tests)
