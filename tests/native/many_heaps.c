// Threads that start each other, of which each has another number of operations before it starts the next, depending
// on when `main` sets a flag. So the same thread is started after different histories. All choose a lock by the
// address of a block of their own, as hash tables of locks do.
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

enum { LEVELS = 30, BUCKETS = 4 };

static pthread_mutex_t buckets[BUCKETS];
static atomic_int flag, other;

static void use_block(void) {
    char *block = malloc(48);
    pthread_mutex_t *bucket = &buckets[((uintptr_t)block / 64) % BUCKETS];
    pthread_mutex_lock(bucket);
    pthread_mutex_unlock(bucket);
}

static void *level(void *number) {
    intptr_t next = (intptr_t)number + 1;
    if (atomic_load(&flag))
        atomic_load(&other);
    use_block();
    if (next < LEVELS) {
        pthread_t thread;
        pthread_create(&thread, NULL, level, (void *)next);
        pthread_join(thread, NULL);
    }
    return NULL;
}

int main(void) {
    for (int i = 0; i < BUCKETS; i++)
        pthread_mutex_init(&buckets[i], NULL);
    pthread_t thread;
    pthread_create(&thread, NULL, level, (void *)0);
    atomic_store(&flag, 1);
    for (int i = 0; i < 3; i++)
        use_block();
    pthread_join(thread, NULL);
    return 0;
}
