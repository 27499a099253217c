/* Functions that run when the program is unloaded, after all handlers. The name of a test is the argument; the whole
   program is checked. */
#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern const char *expected;
void note(char letter);

static const char *test = "";
static atomic_int counter;
int plain;
static int *block;

static void handle(void)
{
    note('a');
}

static void handle_first(void)
{
    note('b');
}

__attribute__((constructor)) static void begin(void)
{
    atexit(handle_first);
}

__attribute__((destructor)) static void end(void)
{
    note('c');
    assert(strcmp(test, "none")); /* none */
    if (!strcmp(test, "explored"))
        assert(atomic_load(&counter) == 0); /* explored */
    if (!strcmp(test, "races"))
        plain = 2; /* races */
    if (!strcmp(test, "frees"))
        free(block); /* frees */
    if (!strcmp(test, "exits"))
        exit(0);
}

__attribute__((destructor(101))) static void end_last(void)
{
    note('d');
    assert(strcmp(test, "exits"));
}

__attribute__((destructor)) static void end_too(void)
{
    note('e');
}

static void *use(void *unused)
{
    if (!strcmp(test, "explored"))
        atomic_fetch_add(&counter, 1);
    if (!strcmp(test, "races"))
        plain = 1;
    if (!strcmp(test, "frees"))
        *block = 1;
    return unused;
}

int main(int count, char **arguments)
{
    pthread_t thread;
    if (count > 1)
        test = arguments[1];
    if (count > 2)
        expected = arguments[2];
    atexit(handle);
    if (!strcmp(test, "explored") || !strcmp(test, "races") || !strcmp(test, "frees")) {
        block = calloc(1, sizeof *block);
        pthread_create(&thread, NULL, use, NULL);
        pthread_detach(thread);
    }
    if (count > 3 && !strcmp(arguments[3], "quickly"))
        quick_exit(0);
    if (count > 3 && !strcmp(arguments[3], "at-once"))
        _exit(0);
    if (count > 3 && !strcmp(arguments[3], "by-exit"))
        exit(0);
    return 0;
}
