/* Threads that wait for several descriptors at once. The name of a test is the argument; the last is wrong. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <unistd.h>

#include "shared.h"

static int one[2], other[2], seen;

static void *write_one(void *unused)
{
    assert(write(one[1], "a", 1) == 1);
    return unused;
}

static void *write_other(void *unused)
{
    assert(write(other[1], "b", 1) == 1);
    return unused;
}

static void take(int end)
{
    char letter;
    assert(read(end, &letter, 1) == 1);
    seen++;
}

static void *poll_both(void *unused)
{
    struct pollfd both[] = {{one[0], POLLIN, 0}, {other[0], POLLIN, 0}};
    while (seen < 2) {
        assert(poll(both, 2, -1) > 0);
        for (int i = 0; i < 2; i++)
            if (both[i].revents & POLLIN)
                take(both[i].fd);
    }
    return unused;
}

static void *select_both(void *unused)
{
    while (seen < 2) {
        fd_set both;
        FD_ZERO(&both);
        FD_SET(one[0], &both);
        FD_SET(other[0], &both);
        assert(select(other[1] + 1, &both, NULL, NULL, NULL) > 0);
        if (FD_ISSET(one[0], &both))
            take(one[0]);
        if (FD_ISSET(other[0], &both))
            take(other[0]);
    }
    return unused;
}

static void *epoll_both(void *unused)
{
    struct epoll_event event = {.events = EPOLLIN}, found[2];
    int set = epoll_create1(0);
    event.data.fd = one[0];
    assert(epoll_ctl(set, EPOLL_CTL_ADD, one[0], &event) == 0);
    event.data.fd = other[0];
    assert(epoll_ctl(set, EPOLL_CTL_ADD, other[0], &event) == 0);
    while (seen < 2) {
        int count = epoll_wait(set, found, 2, -1);
        assert(count > 0);
        for (int i = 0; i < count; i++)
            take(found[i].data.fd);
    }
    return unused;
}

static void with(void *(*function)(void *))
{
    void *(*const functions[])(void *) = {function, write_one, write_other};
    assert(pipe(one) == 0 && pipe(other) == 0);
    run_all(functions, 3);
    assert(seen == 2);
}

static void polls(void)
{
    with(poll_both);
}

static void selects(void)
{
    with(select_both);
}

static void epolls(void)
{
    with(epoll_both);
}

/* The time may be over first. */
static void *poll_soon(void *unused)
{
    struct pollfd asked = {one[0], POLLIN, 0};
    int count = poll(&asked, 1, 1000);
    assert(count == 0 || (count == 1 && asked.revents == POLLIN));
    return unused;
}

static void limits(void)
{
    void *(*const functions[])(void *) = {poll_soon, write_one};
    assert(pipe(one) == 0);
    run_all(functions, 2);
}

/* No thread writes to the second pipe. */
static void nobody(void)
{
    void *(*const functions[])(void *) = {poll_both, write_one};
    assert(pipe(one) == 0 && pipe(other) == 0);
    run_all(functions, 2);
}

#include "table.h"

static const struct test tests[] = {
    {"polls", polls}, {"selects", selects}, {"epolls", epolls}, {"limits", limits}, {"nobody", nobody},
};

MAIN(tests)
