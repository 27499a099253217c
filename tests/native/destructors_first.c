/* A library whose functions run last of all: it is needed by everything else. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char order[64];
/* The order that is expected; if there is none, the order is printed. */
const char *expected;

void note(char letter)
{
    order[strlen(order)] = letter;
}

static void handle(void)
{
    note('h');
}

__attribute__((constructor)) static void begin(void)
{
    atexit(handle);
}

__attribute__((destructor)) static void first_end(void)
{
    note('f');
}

/* The last of all. */
__attribute__((destructor(101))) static void compare(void)
{
    note('g');
    if (expected)
        assert(!strcmp(order, expected)); /* compares */
    else
        puts(order);
}
