/* There is always another schedule. */
#include "shared.h"

static atomic_int turns;

static void *turn(void *unused)
{
    for (int i = 0; i < 100; i++)
        atomic_fetch_add(&turns, 1);
    return unused;
}

int main(void)
{
    void *(*const functions[])(void *) = {turn, turn, turn};
    run_all(functions, 3);
    return 0;
}
