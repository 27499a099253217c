/* Loads whose values are not needed, and stores that are overwritten at once. An optimising compiler leaves
 * them out, and with them the race. */
#include <string.h>

#include "shared.h"

struct pair {
    int first, second;
};

static int number;
static struct pair both;
static int numbers[4];

static void unused(void)
{
    int seen = number;
    (void)seen;
}

static void compared(void)
{
    if (number > 3) {
    }
}

static void own_value(void)
{
    number = number;
}

static void copied(void)
{
    struct pair seen = both;
    (void)seen;
}

static void summed(void)
{
    for (int i = 0; i < 4; i++) {
        int seen = numbers[i];
        (void)seen;
    }
}

static int ignored(int seen)
{
    (void)seen;
    return 0;
}

static void passed(void)
{
    ignored(number);
}

static const struct {
    const char *name;
    void (*access)(void);
} accesses[] = {
    {"unused", unused}, {"compared", compared}, {"own_value", own_value},
    {"copied", copied}, {"summed", summed},     {"passed", passed},
};

static void (*chosen)(void);

static void *look(void *argument)
{
    chosen();
    return argument;
}

static void *change(void *argument)
{
    number = 1;
    both.second = 1;
    numbers[3] = 1;
    return argument;
}

static void test(void *argument)
{
    void *(*const functions[])(void *) = {look, change};
    (void)argument;
    run_all(functions, 2);
}

int main(int count, char **words)
{
    for (unsigned i = 0; i < sizeof accesses / sizeof accesses[0]; i++)
        if (count > 1 && !strcmp(words[1], accesses[i].name))
            chosen = accesses[i].access;
    return raddle_check(test, NULL);
}
