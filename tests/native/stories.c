/* More bugs as they are in the wild, each with a twin that is right: compiled with -DRIGHT, all are. The
 * name of one is the argument. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared.h"

#ifdef RIGHT
#define IS_RIGHT 1
#else
#define IS_RIGHT 0
#endif

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t locks[3] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER,
                                   PTHREAD_MUTEX_INITIALIZER};
static pthread_cond_t condvar = PTHREAD_COND_INITIALIZER;
static sem_t semaphore;
static atomic_int x, y, turn;
static int value;

static void both(void *(*one)(void *), void *(*other)(void *))
{
    void *(*const functions[])(void *) = {one, other};
    run_all(functions, 2);
}

/* A stack of nodes, whose top is exchanged for the next if it is still the same; but it may be the same
 * again, with another next. The twin counts how often it was changed. */
static struct node {
    atomic_int next;
} nodes[3];
static atomic_int top;

static int pop(void)
{
    for (;;) {
        int seen = atomic_load(&top);
        if (!(seen & 255))
            return 0;
        int next = atomic_load(&nodes[(seen & 255) - 1].next);
        int tag = IS_RIGHT ? (seen & ~255) + 256 : 0;
        if (atomic_compare_exchange_strong(&top, &seen, next | tag))
            return seen & 255;
    }
}

static void push(int node)
{
    int seen = atomic_load(&top);
    int tag;
    do {
        atomic_store(&nodes[node - 1].next, seen & 255);
        tag = IS_RIGHT ? (seen & ~255) + 256 : 0;
    } while (!atomic_compare_exchange_strong(&top, &seen, node | tag));
}

static int taken[2];

static void *pop_one(void *unused)
{
    taken[0] = pop();
    return unused;
}

static void *pop_two_push_one(void *unused)
{
    int first = pop();
    taken[1] = pop();
    if (first)
        push(first);
    return unused;
}

static void aba(void)
{
    push(2);
    push(1);
    both(pop_one, pop_two_push_one);
    assert(!taken[0] || taken[0] != taken[1]);
    int left = pop();
    assert(!left || (left != taken[0] && left != taken[1]));
}

/* A barrier that is used twice: who is quick is counted again before the slow one has left. */
static int arrived, generation;

static void meet(void)
{
    pthread_mutex_lock(&mutex);
    int mine = generation;
    if (++arrived == 2) {
        arrived = 0;
        generation++;
        pthread_cond_broadcast(&condvar);
    } else {
        while (IS_RIGHT ? mine == generation : arrived != 0)
            pthread_cond_wait(&condvar, &mutex);
    }
    pthread_mutex_unlock(&mutex);
}

static void *meet_twice(void *unused)
{
    meet();
    meet();
    return unused;
}

static void barrier_reuse(void)
{
    both(meet_twice, meet_twice);
}

/* A permit is not given back when there is nothing to do. */
static void *with_permit(void *unused)
{
    sem_wait(&semaphore);
    if (atomic_fetch_add(&x, 1) == 1 && !IS_RIGHT)
        return unused;
    sem_post(&semaphore);
    return unused;
}

static void permit_leak(void)
{
    void *(*const functions[])(void *) = {with_permit, with_permit, with_permit};
    sem_init(&semaphore, 0, 1);
    run_all(functions, 3);
}

/* A thread that comes late uses what is freed by then. */
static int *settings;

static void *use_settings(void *unused)
{
    if (atomic_load(&x))
        value = *settings;
    return unused;
}

static void late_thread(void)
{
    pthread_t thread;
    settings = malloc(sizeof *settings);
    *settings = 1;
    pthread_create(&thread, NULL, use_settings, NULL);
    if (IS_RIGHT)
        pthread_join(thread, NULL);
    free(settings);
    atomic_store(&x, 1);
    if (!IS_RIGHT)
        pthread_join(thread, NULL);
}

/* A queue takes one item more than it has room for. */
static char *items;
static int count;

static void *put(void *unused)
{
    pthread_mutex_lock(&mutex);
    while (IS_RIGHT ? count >= 2 : count > 2)
        pthread_cond_wait(&condvar, &mutex);
    items[count++] = 1;
    pthread_mutex_unlock(&mutex);
    return unused;
}

static void *get(void *unused)
{
    pthread_mutex_lock(&mutex);
    if (count > 0)
        count--;
    pthread_cond_broadcast(&condvar);
    pthread_mutex_unlock(&mutex);
    return unused;
}

static void off_by_one(void)
{
    void *(*const functions[])(void *) = {put, get};
    items = malloc(2);
    items[count++] = 1;
    if (!IS_RIGHT)
        items[count++] = 1;
    run_all(functions, 2);
}

/* The owner of a queue and a thief take the last item, each believing to be alone. */
static atomic_int head, tail = 1;

static void *own(void *unused)
{
    int last = atomic_load(&tail) - 1;
    atomic_store(&tail, last);
    int first = atomic_load(&head);
    if (first < last)
        taken[0] = last + 1;
    else if (first == last) {
        if (!IS_RIGHT || atomic_compare_exchange_strong(&head, &first, first + 1))
            taken[0] = last + 1;
    }
    return unused;
}

static void *steal(void *unused)
{
    int first = atomic_load(&head);
    if (first < atomic_load(&tail) && atomic_compare_exchange_strong(&head, &first, first + 1))
        taken[1] = first + 1;
    return unused;
}

static void stealing(void)
{
    both(own, steal);
    assert(!taken[0] || taken[0] != taken[1]);
}

/* A pool is shut down while a worker is between its look and its sleep. */
static atomic_int is_down;

static void *work(void *unused)
{
    pthread_mutex_lock(&mutex);
    while (!atomic_load(&is_down))
        pthread_cond_wait(&condvar, &mutex);
    pthread_mutex_unlock(&mutex);
    return unused;
}

static void *shut_down(void *unused)
{
    if (IS_RIGHT)
        pthread_mutex_lock(&mutex);
    atomic_store(&is_down, 1);
    pthread_cond_broadcast(&condvar);
    if (IS_RIGHT)
        pthread_mutex_unlock(&mutex);
    return unused;
}

static void shutdown_pool(void)
{
    both(work, shut_down);
}

/* Who comes first initialises; the second only looks at a flag. */
static int is_initialised, table[4];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void fill_table(void)
{
    for (int i = 0; i < 4; i++)
        table[i] = i;
}

static void *look_up(void *unused)
{
    if (IS_RIGHT)
        pthread_once(&once, fill_table);
    else if (!is_initialised) {
        fill_table();
        is_initialised = 1;
    }
    assert(table[3] == 3);
    return unused;
}

static void once_by_hand(void)
{
    both(look_up, look_up);
}

/* A ring whose index is published without release and acquire, so the item may be stale. */
static int ring[2];
static atomic_int written;

static void *produce(void *unused)
{
    ring[0] = 7;
    atomic_store_explicit(&written, 1, IS_RIGHT ? memory_order_release : memory_order_relaxed);
    return unused;
}

static void *consume(void *unused)
{
    if (atomic_load_explicit(&written, IS_RIGHT ? memory_order_acquire : memory_order_relaxed))
        assert(ring[0] == 7);
    return unused;
}

static void relaxed_ring(void)
{
    both(produce, consume);
}

/* A reference is taken if the count was not zero, although it may be zero by then. */
static struct shared_thing {
    atomic_int references;
    int data;
} *thing;
static atomic_int references;

static void *drop(void *unused)
{
    if (atomic_fetch_sub(&references, 1) == 1)
        free(thing);
    return unused;
}

static void *borrow(void *unused)
{
    int seen = atomic_load(&references);
    if (IS_RIGHT) {
        while (seen > 0 && !atomic_compare_exchange_strong(&references, &seen, seen + 1))
            ;
        if (!seen)
            return unused;
    } else {
        if (!seen)
            return unused;
        atomic_fetch_add(&references, 1);
    }
    thing->data++;
    return drop(unused);
}

static void resurrected(void)
{
    thing = calloc(1, sizeof *thing);
    atomic_store(&references, 1);
    both(drop, borrow);
}

/* A thread leaves with the lock. */
static void *leave_locked(void *unused)
{
    pthread_mutex_lock(&mutex);
    if (value++ && !IS_RIGHT)
        pthread_exit(unused);
    pthread_mutex_unlock(&mutex);
    return unused;
}

static void exit_locked(void)
{
    void *(*const functions[])(void *) = {leave_locked, leave_locked, leave_locked};
    run_all(functions, 3);
}

/* Three locks in a circle. */
static void lock_pair(int one, int two)
{
    int first = IS_RIGHT && two < one ? two : one, second = first == one ? two : one;
    pthread_mutex_lock(&locks[first]);
    pthread_mutex_lock(&locks[second]);
    value++;
    pthread_mutex_unlock(&locks[second]);
    pthread_mutex_unlock(&locks[first]);
}

static void *lock_01(void *unused) { return lock_pair(0, 1), unused; }
static void *lock_12(void *unused) { return lock_pair(1, 2), unused; }
static void *lock_20(void *unused) { return lock_pair(2, 0), unused; }

static void circle(void)
{
    void *(*const functions[])(void *) = {lock_01, lock_12, lock_20};
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
    run_all(functions, IS_RIGHT ? 2 : 3);
}

/* Two numbers that belong together are changed one after the other. */
static void *move_both(void *unused)
{
    if (IS_RIGHT)
        pthread_mutex_lock(&mutex);
    atomic_fetch_sub(&x, 1);
    atomic_fetch_add(&y, 1);
    if (IS_RIGHT)
        pthread_mutex_unlock(&mutex);
    return unused;
}

static void *add_up(void *unused)
{
    if (IS_RIGHT)
        pthread_mutex_lock(&mutex);
    assert(atomic_load(&x) + atomic_load(&y) == 10);
    if (IS_RIGHT)
        pthread_mutex_unlock(&mutex);
    return unused;
}

static void torn_pair(void)
{
    atomic_store(&x, 10);
    both(move_both, add_up);
}

/* Peterson's lock with its first two lines the other way round. */
static atomic_int wants[2], inside;

static void enter(int me)
{
    if (!IS_RIGHT)
        atomic_store(&turn, 1 - me);
    atomic_store(&wants[me], 1);
    if (IS_RIGHT)
        atomic_store(&turn, 1 - me);
    while (atomic_load(&wants[1 - me]) && atomic_load(&turn) == 1 - me)
        sched_yield();
    assert(atomic_fetch_add(&inside, 1) == 0);
    atomic_fetch_sub(&inside, 1);
    atomic_store(&wants[me], 0);
}

static void *enter_0(void *unused) { return enter(0), unused; }
static void *enter_1(void *unused) { return enter(1), unused; }

static void peterson(void)
{
    both(enter_0, enter_1);
}

/* Written under the lock, read without it. */
static void *write_locked(void *unused)
{
    pthread_mutex_lock(&mutex);
    value = 1;
    pthread_mutex_unlock(&mutex);
    return unused;
}

static void *read_unlocked(void *unused)
{
    if (IS_RIGHT)
        pthread_mutex_lock(&mutex);
    int seen = value;
    if (IS_RIGHT)
        pthread_mutex_unlock(&mutex);
    return seen ? unused : NULL;
}

static void unlocked_read(void)
{
    both(write_locked, read_unlocked);
}

/* A reader of a sequence lock does not look whether a writer was there all the time. */
static atomic_int sequence, left_half, right_half;

static void *write_halves(void *unused)
{
    atomic_fetch_add(&sequence, 1);
    atomic_store(&left_half, 1);
    atomic_store(&right_half, 1);
    atomic_fetch_add(&sequence, 1);
    return unused;
}

static void *read_halves(void *unused)
{
    int before = atomic_load(&sequence);
    int left = atomic_load(&left_half), right = atomic_load(&right_half);
    if (before == atomic_load(&sequence) && !(IS_RIGHT && before & 1))
        assert(left == right);
    return unused;
}

static void sequence_lock(void)
{
    both(write_halves, read_halves);
}

/* A thread is joined by a thread that holds the lock it needs. */
static void *need_lock(void *unused)
{
    pthread_mutex_lock(&mutex);
    value++;
    pthread_mutex_unlock(&mutex);
    return unused;
}

static void join_locked(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, need_lock, NULL);
    pthread_mutex_lock(&mutex);
    if (IS_RIGHT)
        pthread_mutex_unlock(&mutex);
    pthread_join(thread, NULL);
    if (!IS_RIGHT)
        pthread_mutex_unlock(&mutex);
}

/* Both see that it is time to clean up. */
static void *clean_up(void *unused)
{
    pthread_mutex_lock(&mutex);
    int is_mine = IS_RIGHT ? settings != NULL : 1;
    int *mine = settings;
    if (IS_RIGHT)
        settings = NULL;
    pthread_mutex_unlock(&mutex);
    pthread_mutex_lock(&mutex);
    if (is_mine)
        free(mine);
    pthread_mutex_unlock(&mutex);
    return unused;
}

static void freed_twice(void)
{
    settings = malloc(sizeof *settings);
    both(clean_up, clean_up);
}

/* A pointer is cleared by one and followed by the other. */
static _Atomic(int *) target;

static void *clear_target(void *unused)
{
    atomic_store(&target, NULL);
    return unused;
}

static void *follow_target(void *unused)
{
    int *seen = atomic_load(&target);
    if (seen)
        return *(IS_RIGHT ? seen : atomic_load(&target)) ? unused : NULL;
    return unused;
}

static void null_pointer(void)
{
    atomic_store(&target, &value);
    both(clear_target, follow_target);
}

static const struct {
    const char *name;
    void (*run)(void);
} tests[] = {
    {"aba", aba},
    {"barrier-reuse", barrier_reuse},
    {"permit-leak", permit_leak},
    {"late-thread", late_thread},
    {"off-by-one", off_by_one},
    {"stealing", stealing},
    {"shutdown", shutdown_pool},
    {"once-by-hand", once_by_hand},
    {"relaxed-ring", relaxed_ring},
    {"resurrected", resurrected},
    {"exit-locked", exit_locked},
    {"circle", circle},
    {"torn-pair", torn_pair},
    {"peterson", peterson},
    {"unlocked-read", unlocked_read},
    {"sequence-lock", sequence_lock},
    {"join-locked", join_locked},
    {"freed-twice", freed_twice},
    {"null-pointer", null_pointer},
};

static void test(void *number)
{
    tests[(size_t)number].run();
}

int main(int argc, char **arguments)
{
    for (size_t i = 0; i < LENGTH(tests); i++)
        if (argc > 1 && !strcmp(arguments[1], tests[i].name))
            return raddle_check(test, (void *)i);
    fprintf(stderr, "which test?\n");
    return 2;
}
