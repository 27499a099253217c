/* Threads that add to one counter: their additions come in any order. The arguments are the number of threads, the
 * number of additions of each, and how the program ends if all additions of the last thread come first. */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

int step(void);

enum { MOST = 8 };

static atomic_int counter;
static int additions;
/* The value that each thread saw last. */
static int seen[MOST];

static void *add(void *own)
{
    /* Time to disturb a search. */
    for (volatile int spent = 0; spent < 4000; spent++)
        ;
    for (int i = 0; i < additions; i++)
        *(int *)own = atomic_fetch_add(&counter, step());
    return NULL;
}

int main(int count, char **arguments)
{
    pthread_t all[MOST];
    int threads = atoi(arguments[1]);
    const char *end = count > 3 ? arguments[3] : "";
    additions = atoi(arguments[2]);
    int ends[2];
    /* Descriptors have the numbers that they have without raddle. */
    if (pipe(ends) || ends[0] != 3 || ends[1] != 4)
        return 4;
    for (int i = 0; i < threads; i++)
        pthread_create(&all[i], NULL, add, &seen[i]);
    for (int i = 0; i < threads; i++)
        pthread_join(all[i], NULL);
    if (atomic_load(&counter) != threads * additions * step())
        return 3;
    if (seen[threads - 1] != (additions - 1) * step())
        return 0;
    if (!strcmp(end, "segv"))
        *(volatile int *)NULL = 1;
    if (!strcmp(end, "abort"))
        abort();
    if (!strcmp(end, "status"))
        return 7;
    if (!strcmp(end, "kill"))
        syscall(SYS_kill, getpid(), SIGKILL);
    return 0;
}
