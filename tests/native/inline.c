/* A lock that waits by system calls of its own, or with BY_NAME by those of the C library; and threads
 * that are created without the C library. The name of a test is the argument. */
#define _GNU_SOURCE
#include <linux/futex.h>
#include <linux/sched.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "shared.h"

static long call(long number, long first, long second, long third, long fourth)
{
#ifdef BY_NAME
    return syscall(number, first, second, third, fourth, 0, 0);
#else
    long result;
    register long in_r10 __asm__("r10") = fourth;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(first), "S"(second), "d"(third), "r"(in_r10)
                     : "rcx", "r11", "memory");
    return result;
#endif
}

/* Free, taken, or taken with others waiting. */
static atomic_int lock;
static int counter;

static void take(void)
{
    int seen = 0;
    if (atomic_compare_exchange_strong(&lock, &seen, 1))
        return;
    while (atomic_exchange(&lock, 2) != 0)
        call(SYS_futex, (long)&lock, FUTEX_WAIT_PRIVATE, 2, 0);
}

static void give_back(void)
{
    if (atomic_exchange(&lock, 0) == 2)
        call(SYS_futex, (long)&lock, FUTEX_WAKE_PRIVATE, 1, 0);
}

static void *add(void *unused)
{
    take();
    counter++;
    give_back();
    return unused;
}

static void locked(void)
{
    void *(*const functions[])(void *) = {add, add};
    run_all(functions, 2);
    assert(counter == 2);
}

static void *forget(void *unused)
{
    take();
    counter++;
    return unused;
}

static void forgotten(void)
{
    void *(*const functions[])(void *) = {forget, forget};
    run_all(functions, 2);
}

/* What is not for raddle is done as ever, and says its error as ever. */
static void others(void)
{
    assert(call(SYS_getpid, 0, 0, 0, 0) == getpid());
    assert(call(SYS_close, -1, 0, 0, 0) < 0);
}

static int live(void *unused)
{
    (void)unused;
    return 0;
}

static void by_clone(void)
{
    char *stack = malloc(1 << 16);
    clone(live, stack + (1 << 16), CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD,
          NULL);
}

static void by_system_call(void)
{
    struct clone_args arguments = {.flags = CLONE_VM | CLONE_SIGHAND | CLONE_THREAD};
    call(SYS_clone3, (long)&arguments, sizeof arguments, 0, 0);
}

/* The word is written without any order; the kernel compares it in the order of waits and wake-ups. */
static void *announce(void *unused)
{
    atomic_store_explicit(&lock, 1, memory_order_relaxed);
    call(SYS_futex, (long)&lock, FUTEX_WAKE_PRIVATE, 1, 0);
    return unused;
}

static void *await(void *unused)
{
    while (atomic_load_explicit(&lock, memory_order_relaxed) == 0)
        call(SYS_futex, (long)&lock, FUTEX_WAIT_PRIVATE, 0, 0);
    return unused;
}

static void relaxed(void)
{
    void *(*const functions[])(void *) = {announce, await};
    run_all(functions, 2);
}

static const struct {
    const char *name;
    void (*run)(void);
} tests[] = {
    {"locked", locked}, {"forgotten", forgotten}, {"others", others}, {"relaxed", relaxed},
    {"clone", by_clone}, {"clone3", by_system_call},
};

static void test(void *number)
{
    tests[(size_t)number].run();
}

static void *sleep_long(void *unused)
{
    sleep(1000);
    return unused;
}

int main(int count, char **arguments)
{
    pthread_t early;
    if (count > 2) {
        pthread_create(&early, NULL, sleep_long, NULL);
        pthread_setname_np(early, "early");
    }
    for (int i = 0; i < LENGTH(tests); i++)
        if (count > 1 && !strcmp(arguments[1], tests[i].name))
            return raddle_check(test, (void *)(size_t)i);
    return 2;
}
