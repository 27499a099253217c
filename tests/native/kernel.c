/* What belongs to the process and is not in its memory: mapped pages, open files, the process itself. */
#define _GNU_SOURCE
#include <assert.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "raddle.h"

static atomic_int counter;
static const char *wanted;
static void *const PLACE = (void *)0x700000000000;

static void *add(void *unused)
{
    atomic_fetch_add(&counter, 1);
    return unused;
}

static void test(void *unused)
{
    pthread_t thread;
    if (!strcmp(wanted, "map")) {
        /* Only once in a process. */
        void *page = mmap(PLACE, 4096, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
        assert(page == PLACE);
    }
    if (!strcmp(wanted, "open")) {
        int file = open("/dev/null", O_RDONLY);
        assert(dup2(file, 100) == 100);
        assert(fcntl(101, F_GETFD) == -1);
        assert(dup2(100, 101) == 101);
    }
    pthread_create(&thread, NULL, add, NULL);
    int seen = atomic_fetch_add(&counter, 1);
    if (!strcmp(wanted, "kill") && seen)
        syscall(SYS_kill, getpid(), SIGKILL);
    if (!strcmp(wanted, "leave") && seen)
        syscall(SYS_exit_group, 3);
    pthread_join(thread, NULL);
    assert(counter == 2);
}

int main(int count, char **arguments)
{
    wanted = count > 1 ? arguments[1] : "";
    int result = raddle_check(test, NULL);
    assert(counter == 0);
    return result;
}
