/* Checks of C and C++ code with raddle. Compile with `-g -O0 -fsanitize=thread`, or let
 * `cargo raddle cc` and `cargo raddle c++` do it, and link with libraddle_native.so. */
#ifndef RADDLE_H
#define RADDLE_H

#ifdef __cplusplus
extern "C" {
#endif

/* Calls `function(argument)` many times, each time with its threads scheduled in another way and with
 * all memory of the program as it is now, until every behaviour has been seen or the budget is spent.
 * Says on standard error what it found. 0 if nothing is wrong, 1 if something is, 3 if it is
 * too long to be checked. */
int raddle_check(void (*function)(void *argument), void *argument);

#ifdef __cplusplus
}
#endif

#endif
