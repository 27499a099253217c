/* A queue of a few numbers, for threads that put them in and threads that take them out. */
#ifndef QUEUE_H
#define QUEUE_H

#include <pthread.h>

#define QUEUE_SIZE 2

struct queue {
    pthread_mutex_t lock;
    pthread_cond_t not_empty;
    pthread_cond_t not_full;
    int numbers[QUEUE_SIZE];
    int first;
    int count;
};

void queue_init(struct queue *queue);

/* Waits while the queue is full. */
void queue_put(struct queue *queue, int number);

/* Waits while the queue is empty. */
int queue_take(struct queue *queue);

#endif
