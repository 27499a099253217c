// Two threads push nodes to a stack and take them from it. Before that, as much memory is allocated as the variable
// PADDING is long, so that the nodes are elsewhere. With an argument, a thread that finds nothing is a failure.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct node {
    struct node *next;
};

static _Atomic(struct node *) top;
static int must_find;

static void push(void) {
    struct node *node = malloc(sizeof *node);
    node->next = atomic_load(&top);
    while (!atomic_compare_exchange_strong(&top, &node->next, node))
        ;
}

static struct node *pop(void) {
    struct node *node = atomic_load(&top);
    while (node && !atomic_compare_exchange_strong(&top, &node, node->next))
        ;
    return node;
}

static void *both(void *unused) {
    (void)unused;
    push();
    assert(pop());
    assert(!must_find || pop());
    return NULL;
}

int main(int count, char **words) {
    (void)words;
    must_find = count > 1;
    const char *padding = getenv("PADDING");
    char *first = malloc(padding ? strlen(padding) + 1 : 1);
    *first = 0;
    push();
    pthread_t other;
    pthread_create(&other, NULL, both, NULL);
    both(NULL);
    pthread_join(other, NULL);
    return 0;
}
