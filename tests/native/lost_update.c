/* Two threads add one to a counter, in two steps: an update may be lost. */
#include "shared.h"

static atomic_int counter;

static void *add(void *unused)
{
    int seen = atomic_load(&counter);
    atomic_store(&counter, seen + 1);
    return unused;
}

static void test(void *unused)
{
    void *(*const functions[])(void *) = {add, add};
    (void)unused;
    run_all(functions, 2);
    assert(atomic_load(&counter) == 2);
}

int main(void)
{
    return raddle_check(test, NULL);
}
