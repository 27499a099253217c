/* A unit test of the queue: what goes in comes out, in this order. */
#include <assert.h>
#include <raddle.h>

#include "queue.h"

static struct queue queue;

static void *put_two(void *unused)
{
    queue_put(&queue, 1);
    queue_put(&queue, 2);
    return unused;
}

static void comes_out_in_order(void *unused)
{
    pthread_t thread;
    (void)unused;
    queue_init(&queue);
    pthread_create(&thread, NULL, put_two, NULL);
    assert(queue_take(&queue) == 1);
    assert(queue_take(&queue) == 2);
    pthread_join(thread, NULL);
}

int main(void)
{
    return raddle_check(comes_out_in_order, NULL);
}
