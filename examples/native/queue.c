#include "queue.h"

#include <assert.h>

/* `make FLAGS=-DFIXED` builds it without the bug. */
#ifdef FIXED
#define WAIT_AS_LONG_AS while
#else
#define WAIT_AS_LONG_AS if
#endif

void queue_init(struct queue *queue)
{
    pthread_mutex_init(&queue->lock, NULL);
    pthread_cond_init(&queue->not_empty, NULL);
    pthread_cond_init(&queue->not_full, NULL);
    queue->first = 0;
    queue->count = 0;
}

void queue_put(struct queue *queue, int number)
{
    pthread_mutex_lock(&queue->lock);
    while (queue->count == QUEUE_SIZE)
        pthread_cond_wait(&queue->not_full, &queue->lock);
    queue->numbers[(queue->first + queue->count) % QUEUE_SIZE] = number;
    queue->count++;
    pthread_cond_signal(&queue->not_empty);
    pthread_mutex_unlock(&queue->lock);
}

int queue_take(struct queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    WAIT_AS_LONG_AS (queue->count == 0)
        pthread_cond_wait(&queue->not_empty, &queue->lock);
    assert(queue->count > 0);
    int number = queue->numbers[queue->first];
    queue->first = (queue->first + 1) % QUEUE_SIZE;
    queue->count--;
    pthread_cond_signal(&queue->not_full);
    pthread_mutex_unlock(&queue->lock);
    return number;
}
