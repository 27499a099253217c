/* Plain variables that threads race for. The name of one is the argument. */
#include <stdio.h>
#include <string.h>

#include "shared.h"

static int counter, x, y, r, s;
static struct {
    int low, high;
} pair;

static void *add(void *unused)
{
    counter = counter + 1;
    return unused;
}

static void *write_x_read_y(void *unused)
{
    x = 1;
    r = y;
    return unused;
}

static void *write_y_read_x(void *unused)
{
    y = 1;
    s = x;
    return unused;
}

static void *write_pair(void *unused)
{
    pair.low = 1;
    pair.high = 1;
    return unused;
}

static void *read_pair(void *unused)
{
    int high = pair.high, low = pair.low;
    assert(low >= high);
    return unused;
}

static void *read_pair_wrongly(void *unused)
{
    int low = pair.low, high = pair.high;
    assert(low >= high);
    return unused;
}

static void counters(int count)
{
    void *(*const functions[])(void *) = {add, add, add};
    run_all(functions, count);
}

static void counter_2(void) { counters(2); }
static void counter_3(void) { counters(3); }

static void lost(void)
{
    counters(2);
    assert(counter == 2);
}

static void both(void *(*one)(void *), void *(*other)(void *))
{
    void *(*const functions[])(void *) = {one, other};
    run_all(functions, 2);
}

static void buffering(void)
{
    both(write_x_read_y, write_y_read_x);
    assert(r || s);
}

static void whole_pair(void) { both(write_pair, read_pair); }
static void torn_pair(void) { both(write_pair, read_pair_wrongly); }

static const struct {
    const char *name;
    void (*run)(void);
} tests[] = {
    {"counter-2", counter_2}, {"counter-3", counter_3},   {"lost", lost},
    {"buffering", buffering}, {"whole-pair", whole_pair}, {"torn-pair", torn_pair},
};

static void test(void *number)
{
    tests[(size_t)number].run();
}

int main(int count, char **arguments)
{
    for (size_t i = 0; i < LENGTH(tests); i++)
        if (count > 1 && !strcmp(arguments[1], tests[i].name))
            return raddle_check(test, (void *)i);
    fprintf(stderr, "which test?\n");
    return 2;
}
