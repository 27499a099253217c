/* Two locks, taken in two orders. */
#include "shared.h"

static pthread_mutex_t left = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t right = PTHREAD_MUTEX_INITIALIZER;

static void *left_first(void *unused)
{
    pthread_mutex_lock(&left);
    pthread_mutex_lock(&right);
    pthread_mutex_unlock(&right);
    pthread_mutex_unlock(&left);
    return unused;
}

static void *right_first(void *unused)
{
    pthread_mutex_lock(&right);
    pthread_mutex_lock(&left);
    pthread_mutex_unlock(&left);
    pthread_mutex_unlock(&right);
    return unused;
}

static void test(void *unused)
{
    void *(*const functions[])(void *) = {left_first, right_first};
    (void)unused;
    run_all(functions, 2);
}

int main(void)
{
    return raddle_check(test, NULL);
}
