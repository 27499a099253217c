/* What programs must not do. The name of one is the argument. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shared.h"

static int *volatile pointer;
static atomic_int flag;

static void *follow(void *unused)
{
    if (atomic_load(&flag))
        *pointer = 1;
    return unused;
}

static void *raise_flag(void *unused)
{
    atomic_store(&flag, 1);
    return unused;
}

static void crash(void)
{
    void *(*const functions[])(void *) = {follow, raise_flag};
    run_all(functions, 2);
}

static int deeper(int depth)
{
    volatile char room[4096];
    room[0] = (char)depth;
    return depth < 0 ? 0 : deeper(depth + 1) + room[0];
}

static void *dive(void *unused)
{
    return deeper(0) ? unused : NULL;
}

static void overflow(void)
{
    void *(*const functions[])(void *) = {dive};
    run_all(functions, 1);
}

static void *turn(void *unused)
{
    volatile int turns = 0;
    while (turns >= 0)
        turns = 1;
    return unused;
}

static void hang(void)
{
    void *(*const functions[])(void *) = {turn};
    run_all(functions, 1);
}

static void *read_nothing(void *ends)
{
    char byte;
    return read(((int *)ends)[0], &byte, 1) ? ends : NULL;
}

static void block(void)
{
    int ends[2];
    pthread_t thread;
    if (pipe(ends))
        abort();
    pthread_create(&thread, NULL, read_nothing, ends);
    pthread_join(thread, NULL);
}

static char *volatile eaten;

static void eat(void)
{
    /* More than there can be is not there. */
    assert(!malloc(1ul << 47));
    for (;;)
        *(eaten = malloc(1ul << 20)) = 1;
}

/* Memory that is used by one thread while another frees it. */









static void *use(void *piece)
{
    *(char *)piece = 1;
    return NULL;
}

static void use_and_free(void)
{
    pthread_t thread;
    char *piece = malloc(1);
    pthread_create(&thread, NULL, use, piece);
    free(piece);
    pthread_join(thread, NULL);
}

/* A call that nothing of raddle's is in the way of. */
#include <sys/syscall.h>

static void *read_by_number(void *ends)
{
    char byte;
    return syscall(SYS_read, ((int *)ends)[0], &byte, 1) ? ends : NULL;
}

static void block_by_number(void)
{
    int ends[2];
    pthread_t thread;
    if (pipe(ends))
        abort();
    pthread_create(&thread, NULL, read_by_number, ends);
    pthread_join(thread, NULL);
}

static const struct {
    const char *name;
    void (*run)(void);
} tests[] = {
    {"crash", crash}, {"overflow", overflow}, {"hang", hang},
    {"block", block}, {"eat", eat},           {"use-and-free", use_and_free},
    {"raw-block", block_by_number},
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
