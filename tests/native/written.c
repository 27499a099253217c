/* Every order of the threads writes other pages: of a variable, by a system call, and of the heap. Each
 * execution is to find all of them as they were. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shared.h"

#define THREADS 5
/* As many as there are orders. */
#define PAGES 120
#define PAGE 4096

static char given[PAGES][PAGE] = {"given"};
static char empty[PAGES][PAGE];
static char (*made)[PAGE];

static atomic_int next;
static int place[THREADS];

static void *come(void *argument)
{
    int *own = argument;
    *own = atomic_fetch_add(&next, 1);
    return 0;
}

/* The number of the order in which they came. */
static int order(void)
{
    int number = 0;
    for (int i = 0; i < THREADS; i++) {
        int later = 0;
        for (int j = i + 1; j < THREADS; j++)
            later += place[j] < place[i];
        number = number * (THREADS - i) + later;
    }
    return number;
}

static void test(void *unused)
{
    (void)unused;
    for (int i = 0; i < PAGES; i++) {
        assert(given[i][8] == 0);
        assert(empty[i][8] == 0);
        assert(made[i][8] == 1);
    }
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], 0, come, &place[i]);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], 0);
    int page = order();
    given[page][8] = 2;
    memset(made[page], 2, PAGE);
    int file = open("/proc/self/exe", O_RDONLY);
    assert(read(file, &empty[page][8], 4) == 4 && empty[page][8] == 0x7f);
    close(file);
}

int main(void)
{
    made = malloc(sizeof(char[PAGES][PAGE]));
    memset(made, 1, sizeof(char[PAGES][PAGE]));
    return raddle_check(test, 0);
}
