/* Checks of C and C++ code with raddle. Compile with `-g -O0 -fsanitize=thread`, or let
 * `cargo raddle cc` and `cargo raddle c++` do it, and link with libraddle_native.so. */
#ifndef RADDLE_H
#define RADDLE_H

#include <pthread.h>
#include <stdlib.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Calls `function(argument)` many times, each time with its threads scheduled in another way and with
 * all memory of the program as it is now, until every behaviour has been seen or the budget is spent.
 * Says on standard error what it found. 0 if nothing is wrong, 1 if something is, 3 if it is
 * too long to be checked. */
int raddle_check(void (*function)(void *argument), void *argument);

/* Interrupts: handlers that run once, at any point after they were registered, or after the rest of the
 * program. A handler is a thread of its own that nothing waits for. So the code that it interrupts may go
 * on before it has ended, and it may wait for a lock which that code holds. 0, or an error of
 * `pthread_create`, or ENOMEM. */
static int raddle_interrupt(void (*handler)(void *argument), void *argument);

/* A source of interrupts: its handlers run one after another, in the order in which they were registered.
 * Threads must not register handlers of one source at the same time. */
struct raddle_interrupts {
    pthread_t raddle_last;
    int raddle_count;
};

/* The initial value of a source. `memset` to zero does as well. */
#define RADDLE_INTERRUPTS {0, 0}

/* Registers a handler of a source. */
static int raddle_interrupt_from(struct raddle_interrupts *source, void (*handler)(void *argument),
                                 void *argument);

/* The rest is how they do it. Its accesses are not those of the program, so they are not instrumented. */
#define RADDLE_OWN __attribute__((unused, noinline, no_sanitize("thread")))

struct raddle_handler {
    void (*function)(void *argument);
    void *argument;
    pthread_t after;
    int is_after;
};

RADDLE_OWN static void *raddle_handle(void *of)
{
    struct raddle_handler it = *(struct raddle_handler *)of;
    free(of);
    if (it.is_after)
        pthread_join(it.after, NULL);
    it.function(it.argument);
    return NULL;
}

RADDLE_OWN static int raddle_register(struct raddle_interrupts *source, void (*function)(void *argument),
                                      void *argument)
{
    struct raddle_handler *it = (struct raddle_handler *)calloc(1, sizeof *it);
    pthread_t thread;
    int error;
    if (it == NULL)
        return 12; /* ENOMEM */
    it->function = function;
    it->argument = argument;
    if (source != NULL && source->raddle_count > 0) {
        it->after = source->raddle_last;
        it->is_after = 1;
    }
    error = pthread_create(&thread, NULL, raddle_handle, it);
    if (error != 0) {
        free(it);
    } else if (source == NULL) {
        pthread_detach(thread);
    } else {
        source->raddle_last = thread;
        source->raddle_count++;
    }
    return error;
}

RADDLE_OWN static int raddle_interrupt(void (*handler)(void *argument), void *argument)
{
    return raddle_register(NULL, handler, argument);
}

RADDLE_OWN static int raddle_interrupt_from(struct raddle_interrupts *source,
                                            void (*handler)(void *argument), void *argument)
{
    return raddle_register(source, handler, argument);
}

#ifdef __cplusplus
}
#endif

#endif
