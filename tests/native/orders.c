/* Six threads come in some order: 720 behaviours. The argument is the order that is wrong, as six digits; any
 * other text is none. */
#include <stdio.h>
#include <string.h>

#include "shared.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static char order[7];
static int count;

static void come(char who)
{
    pthread_mutex_lock(&mutex);
    order[count++] = who;
    pthread_mutex_unlock(&mutex);
}

static void *come0(void *unused) { come('0'); return unused; }
static void *come1(void *unused) { come('1'); return unused; }
static void *come2(void *unused) { come('2'); return unused; }
static void *come3(void *unused) { come('3'); return unused; }
static void *come4(void *unused) { come('4'); return unused; }
static void *come5(void *unused) { come('5'); return unused; }

static void *(*const all[])(void *) = {come0, come1, come2, come3, come4, come5};

static void test(void *wrong)
{
    run_all(all, LENGTH(all));
    assert(strcmp(order, wrong));
}

int main(int argument_count, char **arguments)
{
    return raddle_check(test, argument_count > 1 ? arguments[1] : "");
}
