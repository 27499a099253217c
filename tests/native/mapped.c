/* A whole program that maps a page at a place where it can be mapped only once, and knows its argument. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

static atomic_int counter;
static void *const PLACE = (void *)0x700000000000;

static void *add(void *unused)
{
    atomic_fetch_add(&counter, 1);
    return unused;
}

int main(int count, char **arguments)
{
    pthread_t thread;
    assert(count == 2 && !strcmp(arguments[1], "twice"));
    void *page = mmap(PLACE, 4096, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    assert(page == PLACE);
    pthread_create(&thread, NULL, add, NULL);
    atomic_fetch_add(&counter, 1);
    pthread_join(thread, NULL);
    return counter != 2;
}
