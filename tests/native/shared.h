/* What the programs here have in common. */
#ifndef SHARED_H
#define SHARED_H

#include <assert.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stddef.h>

#include "raddle.h"

#define LENGTH(array) ((int)(sizeof(array) / sizeof((array)[0])))

/* Runs these functions as threads and waits for all of them. */
static inline void run_all(void *(*const functions[])(void *), int count)
{
    pthread_t threads[8];
    for (int i = 0; i < count; i++)
        pthread_create(&threads[i], NULL, functions[i], NULL);
    for (int i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
}

#endif
