/* Two threads write a variable, and nothing puts them in order. */
#include "shared.h"

static int balance;

static void *pay(void *unused)
{
    balance += 1;
    return unused;
}

static void *ask(void *unused)
{
    return balance > 0 ? &balance : unused;
}

static void test(void *unused)
{
    void *(*const functions[])(void *) = {pay, ask};
    (void)unused;
    run_all(functions, 2);
}

int main(void)
{
    return raddle_check(test, NULL);
}
