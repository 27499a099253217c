/* A loop that a compiler would like to do several steps of at once. */
#include "shared.h"

static int numbers[64];

static void *add(void *unused)
{
    for (int i = 0; i < 64; i++)
        numbers[i] += i;
    return unused;
}

static void *look(void *unused)
{
    int sum = 0;
    for (int i = 0; i < 64; i++)
        sum += numbers[i];
    assert(sum >= 0);
    return unused;
}

static void test(void *unused)
{
    (void)unused;
    void *(*const functions[])(void *) = {add, look};
    run_all(functions, 2);
}

int main(void)
{
    return raddle_check(test, NULL);
}
