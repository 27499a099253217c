/* A program that uses the queue: one thread puts numbers in, two take them out. */
#include <stdio.h>

#include "queue.h"

static struct queue queue;

static void *take_one(void *sum)
{
    *(int *)sum = queue_take(&queue);
    return NULL;
}

int main(void)
{
    pthread_t takers[2];
    int taken[2];
    queue_init(&queue);
    for (int i = 0; i < 2; i++)
        pthread_create(&takers[i], NULL, take_one, &taken[i]);
    queue_put(&queue, 20);
    queue_put(&queue, 22);
    for (int i = 0; i < 2; i++)
        pthread_join(takers[i], NULL);
    printf("%d\n", taken[0] + taken[1]);
    return taken[0] + taken[1] != 42;
}
