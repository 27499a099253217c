/* Neighbours in one word, which is no race; the same memory once more for other threads, which is none
 * either, because the first ones were joined. */
#include <stdlib.h>
#include <string.h>

#include "shared.h"

struct pair {
    char first, second;
    short third;
    int fourth;
};

static struct pair *pair;

static void *write_first(void *unused)
{
    pair->first = 1;
    pair->third = 3;
    return unused;
}

static void *write_second(void *unused)
{
    pair->second = 2;
    pair->fourth = 4;
    return unused;
}

static void test(void *unused)
{
    void *(*const functions[])(void *) = {write_first, write_second};
    (void)unused;
    for (int round = 0; round < 2; round++) {
        pair = malloc(sizeof *pair);
        memset(pair, 0, sizeof *pair);
        run_all(functions, 2);
        assert(pair->first + pair->second + pair->third + pair->fourth == 10);
        free(pair);
    }
}

int main(void)
{
    return raddle_check(test, NULL);
}
