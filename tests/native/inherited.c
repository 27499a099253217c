/* Closes, replaces and reads what it was started with, in every execution. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static atomic_int counter;

static void *add(void *unused)
{
    atomic_fetch_add(&counter, 1);
    return unused;
}

int main(void)
{
    char line[64] = "";
    if (!fgets(line, sizeof line, stdin) || strncmp(line, "/*", 2) != 0)
        return 2;
    if (write(1, line, 2) != 2 || write(2, line, 0) != 0)
        return 3;
    pthread_t thread;
    pthread_create(&thread, 0, add, 0);
    atomic_fetch_add(&counter, 1);
    pthread_join(thread, 0);
    if (close(0) != 0 || !freopen("/dev/full", "w", stdout) || fclose(stderr) != 0)
        return 4;
    return counter != 2;
}
