/* A whole program that knows nothing of raddle. Globals, the heap and the first thread's own variables
 * must be as at first in every execution. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static atomic_int counter;
static int runs;
static __thread int own = 1;
static char *kept;

static void *add(void *by)
{
    int seen = atomic_load(&counter);
    atomic_store(&counter, seen + (int)(size_t)by);
    return NULL;
}

int main(int count, char **arguments)
{
    pthread_t one, other;
    if (runs++ != 0 || own++ != 1 || kept != NULL)
        return 7;
    kept = strdup(arguments[0]);
    pthread_create(&one, NULL, add, (void *)1);
    pthread_create(&other, NULL, add, (void *)2);
    pthread_join(one, NULL);
    pthread_join(other, NULL);
    printf("%d\n", atomic_load(&counter));
    if (count > 1 && atomic_load(&counter) != 3)
        exit(3);
    if (count > 2)
        *(volatile int *)NULL = 1;
    return 0;
}
