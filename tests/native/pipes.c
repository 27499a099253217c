/* Threads that talk through the kernel. The name of a test is the argument; the test without a writer,
 * "both" and "mixed" are wrong. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#include "shared.h"

static int ends[2], back[2];

/* What is written is read. */
static void *write_word(void *unused)
{
    assert(write(ends[1], "word", 4) == 4);
    return unused;
}

static void *read_word(void *unused)
{
    char word[4];
    assert(read(ends[0], word, 4) == 4 && !memcmp(word, "word", 4));
    return unused;
}

static void pipes(void)
{
    void *(*const functions[])(void *) = {read_word, write_word};
    assert(pipe(ends) == 0);
    run_all(functions, 2);
}

/* The end of what is written is noticed. */
static void *write_and_close(void *unused)
{
    write_word(NULL);
    assert(close(ends[1]) == 0);
    return unused;
}

static void *read_all(void *unused)
{
    char letter;
    int count = 0;
    while (read(ends[0], &letter, 1) == 1)
        count++;
    assert(count == 4);
    return unused;
}

static void closing(void)
{
    void *(*const functions[])(void *) = {read_all, write_and_close};
    assert(pipe(ends) == 0);
    run_all(functions, 2);
}

/* More than there is room for: the writer waits for the reader. */
enum { MUCH = 200000 };
static char out[MUCH], in[MUCH];

static void *write_much(void *unused)
{
    assert(write(ends[1], out, MUCH) == MUCH);
    return unused;
}

static void *read_much(void *unused)
{
    for (int count = 0, got; count < MUCH; count += got)
        assert((got = read(ends[0], in + count, MUCH - count)) > 0);
    assert(!memcmp(in, out, MUCH));
    return unused;
}

static void large(void)
{
    void *(*const functions[])(void *) = {write_much, read_much};
    for (int i = 0; i < MUCH; i++)
        out[i] = i * 7;
    assert(pipe2(ends, O_CLOEXEC) == 0);
    run_all(functions, 2);
}

/* There and back, through a pair of sockets. */
static void *answer(void *unused)
{
    int number;
    assert(recv(ends[1], &number, sizeof number, 0) == sizeof number);
    number++;
    assert(send(ends[1], &number, sizeof number, 0) == sizeof number);
    return unused;
}

static void *question(void *unused)
{
    int number = 41;
    assert(send(ends[0], &number, sizeof number, 0) == sizeof number);
    assert(recv(ends[0], &number, sizeof number, 0) == sizeof number);
    assert(number == 42);
    return unused;
}

static void sockets(void)
{
    void *(*const functions[])(void *) = {answer, question};
    assert(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    run_all(functions, 2);
}

/* A server and a client in one program. */
static struct sockaddr_in address = {.sin_family = AF_INET};
static int server;

static void *serve(void *unused)
{
    int client = accept(server, NULL, NULL);
    char word[4];
    assert(client >= 0);
    assert(read(client, word, 4) == 4 && !memcmp(word, "ping", 4));
    assert(write(client, "pong", 4) == 4);
    close(client);
    return unused;
}

static void *visit(void *unused)
{
    int client = socket(AF_INET, SOCK_STREAM, 0);
    char word[4];
    assert(connect(client, (struct sockaddr *)&address, sizeof address) == 0);
    assert(write(client, "ping", 4) == 4);
    assert(read(client, word, 4) == 4 && !memcmp(word, "pong", 4));
    assert(read(client, word, 4) == 0);
    return unused;
}

static void servers(void)
{
    void *(*const functions[])(void *) = {serve, visit};
    socklen_t size = sizeof address;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = 0;
    server = socket(AF_INET, SOCK_STREAM, 0);
    assert(bind(server, (struct sockaddr *)&address, sizeof address) == 0);
    assert(getsockname(server, (struct sockaddr *)&address, &size) == 0);
    assert(listen(server, 1) == 0);
    run_all(functions, 2);
}

/* Counters of events. */
static void *add_event(void *unused)
{
    uint64_t one = 1;
    assert(write(ends[0], &one, sizeof one) == sizeof one);
    return unused;
}

static void *take_events(void *unused)
{
    uint64_t seen = 0, all = 0;
    while (all < 2) {
        assert(read(ends[0], &seen, sizeof seen) == sizeof seen);
        all += seen;
    }
    assert(all == 2);
    return unused;
}

static void events(void)
{
    void *(*const functions[])(void *) = {take_events, add_event, add_event};
    ends[0] = eventfd(0, 0);
    run_all(functions, 3);
}

/* Who does not want to wait is told so. */
static void *look(void *unused)
{
    char word[4];
    ssize_t got = read(ends[0], word, 4);
    assert(got == 4 || (got == -1 && errno == EAGAIN));
    return unused;
}

static void *look_until(void *unused)
{
    char word[4];
    while (read(ends[0], word, 4) != 4)
        assert(errno == EAGAIN);
    return unused;
}

static void nonblocking(void)
{
    void *(*const functions[])(void *) = {look, write_word};
    assert(pipe2(ends, O_NONBLOCK) == 0);
    run_all(functions, 2);
}

static void until(void)
{
    void *(*const functions[])(void *) = {look_until, write_word};
    assert(pipe2(ends, O_NONBLOCK) == 0);
    run_all(functions, 2);
}

/* No thread writes. */
static void *return_at_once(void *unused)
{
    return unused;
}

static void nobody(void)
{
    void *(*const functions[])(void *) = {read_word, return_at_once};
    assert(pipe(ends) == 0);
    run_all(functions, 2);
}

/* Each waits for the other to write first. */
static void *echo(void *unused)
{
    char word[4];
    assert(read(ends[0], word, 4) == 4);
    assert(write(back[1], word, 4) == 4);
    return unused;
}

static void *echo_back(void *unused)
{
    char word[4];
    assert(read(back[0], word, 4) == 4);
    assert(write(ends[1], word, 4) == 4);
    return unused;
}

static void both(void)
{
    void *(*const functions[])(void *) = {echo, echo_back};
    assert(pipe(ends) == 0 && pipe(back) == 0);
    run_all(functions, 2);
}

/* Two readers, each of which may get what was meant for the other. */
static void *read_own(void *wanted)
{
    char letter;
    assert(read(ends[0], &letter, 1) == 1);
    assert(letter == *(char *)wanted);
    return NULL;
}

static void mixed(void)
{
    pthread_t one, other;
    assert(pipe(ends) == 0);
    pthread_create(&one, NULL, read_own, "a");
    pthread_create(&other, NULL, read_own, "b");
    assert(write(ends[1], "ab", 2) == 2);
    pthread_join(one, NULL);
    pthread_join(other, NULL);
}

/* To write nothing is no mistake, and to write less than that is one. */
static void nothing(void)
{
    const struct iovec pieces[] = {{NULL, 0}, {"", 0}};
    volatile int less = -1;
    assert(write(STDERR_FILENO, NULL, 0) == 0);
    assert(writev(STDERR_FILENO, pieces, 2) == 0);
    assert(writev(STDERR_FILENO, NULL, 0) == 0);
    assert(writev(STDERR_FILENO, pieces, less) == -1 && errno == EINVAL);
}

#include "table.h"

/* As `events`, from the system itself. */
static void events_by_number(void)
{
    void *(*const functions[])(void *) = {take_events, add_event, add_event};
    ends[0] = syscall(SYS_eventfd2, 0, 0);
    run_all(functions, 3);
}

static const struct test tests[] = {
    {"pipes", pipes},   {"closing", closing},         {"large", large}, {"sockets", sockets},
    {"servers", servers}, {"events", events},         {"nonblocking", nonblocking},
    {"until", until},   {"nobody", nobody},           {"both", both},   {"mixed", mixed},
    {"nothing", nothing}, {"events-by-number", events_by_number},
};

MAIN(tests)
