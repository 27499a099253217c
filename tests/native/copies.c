/* Two threads copy a structure to the same place; compilers do that without a call if they may. */
#include <string.h>

#include "shared.h"

struct pair {
    long first, second;
};

static struct pair target, source;

static void *copy(void *unused)
{
    memcpy(&target, &source, sizeof target);
    return unused;
}

static void *clear(void *unused)
{
    memset(&target, 0, sizeof target);
    return unused;
}

static void test(void *unused)
{
    void *(*const functions[])(void *) = {copy, clear};
    (void)unused;
    run_all(functions, 2);
}

int main(void)
{
    return raddle_check(test, NULL);
}
