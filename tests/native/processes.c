/* Programs that start others. The name of a test is the argument. */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "shared.h"

extern char **environ;

static atomic_int value;
static char order[8];

static void *add(void *unused)
{
    value++;
    return unused;
}

/* The child has one thread, which goes on alone, with what memory was like. */
static void forks(void)
{
    pthread_t one, other;
    int ends[2], status;
    char word[4];
    assert(pipe(ends) == 0);
    pthread_create(&one, NULL, add, NULL);
    pid_t child = fork();
    assert(child >= 0);
    if (child == 0) {
        pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
        pthread_mutex_lock(&mutex);
        value += 10;
        pthread_mutex_unlock(&mutex);
        char *text = malloc(100);
        strcpy(text, "word");
        _exit(write(ends[1], text, 4) == 4 && (value == 10 || value == 11) ? 7 : 8);
    }
    pthread_create(&other, NULL, add, NULL);
    assert(read(ends[0], word, 4) == 4 && !memcmp(word, "word", 4));
    assert(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 7);
    pthread_join(one, NULL);
    pthread_join(other, NULL);
    assert(value == 2);
}

/* A thread that is not the first. */
static void *fork_and_wait(void *unused)
{
    int status;
    pid_t child = fork();
    if (child == 0)
        _exit(7);
    assert(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 7);
    return unused;
}

static void forks_aside(void)
{
    void *(*const functions[])(void *) = {fork_and_wait, add, add};
    run_all(functions, 3);
}

static void before(void)
{
    strcat(order, "b");
}

static void in_parent(void)
{
    strcat(order, "p");
}

static void in_child(void)
{
    strcat(order, "c");
}

static void before_that(void)
{
    strcat(order, "a");
}

static void handlers(void)
{
    int status;
    assert(pthread_atfork(before, in_parent, in_child) == 0);
    assert(pthread_atfork(before_that, NULL, NULL) == 0);
    pid_t child = fork();
    if (child == 0)
        _exit(strcmp(order, "abc") != 0);
    assert(!strcmp(order, "abp"));
    assert(wait(&status) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* Other programs know nothing of this. */
static void *start(void *unused)
{
    char *const arguments[] = {"sh", "-c", "test -z \"$LD_PRELOAD$RADDLE_NATIVE\" && exit 3", NULL};
    char line[16];
    pid_t child;
    int status;
    assert(posix_spawn(&child, "/bin/sh", NULL, NULL, arguments, environ) == 0);
    assert(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 3);
    status = system("exit 4");
    assert(WIFEXITED(status) && WEXITSTATUS(status) == 4);
    FILE *output = popen("echo hello", "r");
    assert(output && fgets(line, sizeof line, output) && !strcmp(line, "hello\n"));
    assert(pclose(output) == 0);
    return unused;
}

static void programs(void)
{
    void *(*const functions[])(void *) = {start, add};
    run_all(functions, 2);
}

/* One that is left behind is ended. */
static void left(void)
{
    void *(*const functions[])(void *) = {add, add};
    if (fork() == 0)
        for (;;)
            sleep(1000);
    run_all(functions, 2);
}

/* Clocks, which agree. */
static void clocks(void)
{
    struct timespec now, later;
    clock_t ticks = clock();
    timespec_get(&now, TIME_UTC);
    sleep(2);
    assert(time(NULL) == now.tv_sec + 2);
    clock_gettime(CLOCK_BOOTTIME, &later);
    assert(later.tv_sec == now.tv_sec + 2 && clock() == ticks + 2 * CLOCKS_PER_SEC);
    srand(time(NULL));
    fprintf(stderr, "drawn %d\n", rand());
}

/* A child has the handlers of its parent, with all that they block. */
static void ignore(int unused)
{
    (void)unused;
}

static void blocks(void)
{
    struct sigaction action = {.sa_handler = ignore, .sa_flags = SA_RESTART}, found;
    int status;
    sigemptyset(&action.sa_mask);
    sigaddset(&action.sa_mask, SIGUSR2);
    assert(sigaction(SIGUSR1, &action, NULL) == 0);
    pid_t child = fork();
    if (child == 0) {
        sigaction(SIGUSR1, NULL, &found);
        int is_same = found.sa_handler == ignore && sigismember(&found.sa_mask, SIGUSR2) == 1
            && sigismember(&found.sa_mask, SIGTERM) == 0;
        _exit(is_same ? 7 : 8);
    }
    assert(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 7);
}

#include "table.h"

static const struct test tests[] = {
    {"forks", forks}, {"forks-aside", forks_aside}, {"handlers", handlers}, {"programs", programs}, {"left", left}, {"clocks", clocks},
    {"blocks", blocks},
};

MAIN(tests)
