/* Two writes that a lock orders in nearly every execution, although neither is under it: the other order of the two
   critical sections has the race. */
#include <sched.h>

#include "shared.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int pushed;
int last; /* not static: a compiler removes what is only written */

static void push(void)
{
    pthread_mutex_lock(&lock);
    pushed++;
    pthread_mutex_unlock(&lock);
}

static void *first(void *unused)
{
    last = 1;
    push();
    return unused;
}

static void *second(void *unused)
{
    for (int round = 0; round < 30; round++)
        sched_yield();
    push();
    last = 2;
    return unused;
}

static void test(void *unused)
{
    void *(*const functions[])(void *) = {first, second};
    (void)unused;
    run_all(functions, 2);
}

int main(void)
{
    return raddle_check(test, NULL);
}
