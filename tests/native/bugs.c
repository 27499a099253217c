/* Bugs as they are in the wild, each with a twin that is right: compiled with -DRIGHT, all are. The name of
 * one is the argument. */
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
static pthread_mutex_t other = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condvar = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static sem_t first_done, second_done;
static atomic_int a, b, inside;
static int value;

/* A withdrawal looks at the balance and takes the money under the lock, but not under the same one. */
static int balance;

static void *withdraw(void *unused)
{
    pthread_mutex_lock(&mutex);
    int enough = balance >= 10;
    if (!IS_RIGHT) {
        pthread_mutex_unlock(&mutex);
        pthread_mutex_lock(&mutex);
    }
    if (enough)
        balance -= 10;
    pthread_mutex_unlock(&mutex);
    return unused;
}

static void check_then_act(void)
{
    void *(*const functions[])(void *) = {withdraw, withdraw};
    balance = 10;
    run_all(functions, 2);
    assert(balance >= 0);
}

/* A wake-up comes before the wait, and the waiter does not check the predicate. */
static void *wake(void *unused)
{
    pthread_mutex_lock(&mutex);
    value = 1;
    pthread_cond_signal(&condvar);
    pthread_mutex_unlock(&mutex);
    return unused;
}

static void *sleep_until_woken(void *unused)
{
    pthread_mutex_lock(&mutex);
    while (IS_RIGHT ? !value : 1) {
        pthread_cond_wait(&condvar, &mutex);
        if (!IS_RIGHT)
            break;
    }
    pthread_mutex_unlock(&mutex);
    return unused;
}

static void lost_wakeup(void)
{
    void *(*const functions[])(void *) = {wake, sleep_until_woken};
    run_all(functions, 2);
}

/* Who waits for an item does not look again when it wakes up. */
static int items;

static void *put(void *unused)
{
    pthread_mutex_lock(&mutex);
    items++;
    pthread_cond_signal(&condvar);
    pthread_mutex_unlock(&mutex);
    return unused;
}

static void *take(void *unused)
{
    pthread_mutex_lock(&mutex);
    if (IS_RIGHT)
        while (!items)
            pthread_cond_wait(&condvar, &mutex);
    else if (!items)
        pthread_cond_wait(&condvar, &mutex);
    items--;
    assert(items >= 0);
    pthread_mutex_unlock(&mutex);
    return unused;
}

static void if_not_while(void)
{
    void *(*const functions[])(void *) = {put, put, take, take};
    run_all(functions, 4);
}

/* One signal for two sorts of waiters reaches the wrong one. */
static int is_open, is_closed;

static void *wait_for_open(void *unused)
{
    pthread_mutex_lock(&mutex);
    while (!is_open)
        pthread_cond_wait(&condvar, &mutex);
    pthread_mutex_unlock(&mutex);
    return unused;
}

static void *wait_for_closed(void *unused)
{
    pthread_mutex_lock(&mutex);
    while (!is_closed)
        pthread_cond_wait(&condvar, &mutex);
    pthread_mutex_unlock(&mutex);
    return unused;
}

static void *open_and_close(void *unused)
{
    for (int i = 0; i < 2; i++) {
        pthread_mutex_lock(&mutex);
        *(i ? &is_closed : &is_open) = 1;
        if (IS_RIGHT)
            pthread_cond_broadcast(&condvar);
        else
            pthread_cond_signal(&condvar);
        pthread_mutex_unlock(&mutex);
    }
    return unused;
}

static void wrong_waiter(void)
{
    void *(*const functions[])(void *) = {wait_for_open, wait_for_closed, open_and_close};
    run_all(functions, 3);
}

/* A transfer locks its two accounts in the order of its arguments. */
static pthread_mutex_t accounts[2] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};

static void transfer(int from, int to)
{
    int first = from, second = to;
    if (IS_RIGHT && first > second)
        first = to, second = from;
    pthread_mutex_lock(&accounts[first]);
    pthread_mutex_lock(&accounts[second]);
    value++;
    pthread_mutex_unlock(&accounts[second]);
    pthread_mutex_unlock(&accounts[first]);
}

static void *forth(void *unused)
{
    transfer(0, 1);
    return unused;
}

static void *back(void *unused)
{
    transfer(1, 0);
    return unused;
}

static void transfers(void)
{
    void *(*const functions[])(void *) = {forth, back};
    run_all(functions, 2);
}

/* An early return forgets the lock. */
static void *update(void *unused)
{
    pthread_mutex_lock(&mutex);
    if (value++ && !IS_RIGHT)
        return unused;
    pthread_mutex_unlock(&mutex);
    return unused;
}

static void forgotten_unlock(void)
{
    void *(*const functions[])(void *) = {update, update, update};
    run_all(functions, 3);
}

/* A reader wants to write without letting go. */
static void *read_then_write(void *unused)
{
    pthread_rwlock_rdlock(&rwlock);
    int is_set = value;
    if (IS_RIGHT)
        pthread_rwlock_unlock(&rwlock);
    if (!is_set) {
        pthread_rwlock_wrlock(&rwlock);
        value = 1;
        pthread_rwlock_unlock(&rwlock);
    }
    if (!IS_RIGHT)
        pthread_rwlock_unlock(&rwlock);
    return unused;
}

static void upgrade(void)
{
    void *(*const functions[])(void *) = {read_then_write, read_then_write};
    run_all(functions, 2);
}

/* Two threads wait for each other's semaphore before they post. */
static void *first(void *unused)
{
    if (IS_RIGHT)
        sem_post(&first_done);
    sem_wait(&second_done);
    if (!IS_RIGHT)
        sem_post(&first_done);
    return unused;
}

static void *second(void *unused)
{
    sem_wait(&first_done);
    sem_post(&second_done);
    return unused;
}

static void rendezvous(void)
{
    void *(*const functions[])(void *) = {first, second};
    sem_init(&first_done, 0, 0);
    sem_init(&second_done, 0, 0);
    run_all(functions, 2);
}

/* A pointer is looked at without the lock, and set before what it points to. */
struct thing {
    int is_made;
};

static _Atomic(struct thing *) single;

static void *get_single(void *unused)
{
    struct thing *thing = atomic_load_explicit(&single, memory_order_acquire);
    if (!thing) {
        pthread_mutex_lock(&mutex);
        thing = atomic_load(&single);
        if (!thing) {
            thing = malloc(sizeof *thing);
            if (!IS_RIGHT)
                atomic_store(&single, thing);
            thing->is_made = 1;
            if (IS_RIGHT)
                atomic_store_explicit(&single, thing, memory_order_release);
        }
        pthread_mutex_unlock(&mutex);
    }
    assert(thing->is_made == 1);
    return unused;
}

static void double_check(void)
{
    void *(*const functions[])(void *) = {get_single, get_single};
    run_all(functions, 2);
}

/* The last one who gives a reference back frees; two can believe to be the last. */
struct counted {
    atomic_int references;
    int freed;
};

static struct counted counted;

static void *give_back(void *unused)
{
    int is_last;
    if (IS_RIGHT)
        is_last = atomic_fetch_sub(&counted.references, 1) == 1;
    else {
        atomic_fetch_sub(&counted.references, 1);
        is_last = atomic_load(&counted.references) == 0;
    }
    if (is_last)
        counted.freed++;
    return unused;
}

static void references(void)
{
    void *(*const functions[])(void *) = {give_back, give_back};
    atomic_store(&counted.references, 2);
    run_all(functions, 2);
    assert(counted.freed == 1);
}

/* A lock of two flags: look first, then raise one's own. */
static void enter(atomic_int *mine, atomic_int *theirs)
{
    if (IS_RIGHT) {
        atomic_store(mine, 1);
        if (atomic_load(theirs))
            return;
    } else {
        if (atomic_load(theirs))
            return;
        atomic_store(mine, 1);
    }
    assert(atomic_fetch_add(&inside, 1) == 0);
    atomic_fetch_sub(&inside, 1);
}

static void *enter_a(void *unused)
{
    enter(&a, &b);
    return unused;
}

static void *enter_b(void *unused)
{
    enter(&b, &a);
    return unused;
}

static void flags(void)
{
    void *(*const functions[])(void *) = {enter_a, enter_b};
    run_all(functions, 2);
}

/* A thread uses what its creator has on the stack, and the creator does not wait for it. */
static void *set_through(void *pointer)
{
    *(int *)pointer = 1;
    sem_post(&first_done);
    return NULL;
}

static int start(void)
{
    pthread_t thread;
    int local = 0;
    pthread_create(&thread, NULL, set_through, &local);
    pthread_detach(thread);
    if (IS_RIGHT)
        sem_wait(&first_done);
    return local;
}

static void borrowed_stack(void)
{
    sem_init(&first_done, 0, 0);
    int set = start();
    assert(set == 1);
}

/* Two locks for one variable. */
static void *add_under(void *lock)
{
    pthread_mutex_lock(lock);
    value++;
    pthread_mutex_unlock(lock);
    return NULL;
}

static void two_locks(void)
{
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, add_under, &mutex);
    pthread_create(&threads[1], NULL, add_under, IS_RIGHT ? &mutex : &other);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    assert(value == 2);
}

static const struct {
    const char *name;
    void (*run)(void);
} tests[] = {
    {"check-then-act", check_then_act},
    {"lost-wakeup", lost_wakeup},
    {"if-not-while", if_not_while},
    {"wrong-waiter", wrong_waiter},
    {"transfers", transfers},
    {"forgotten-unlock", forgotten_unlock},
    {"upgrade", upgrade},
    {"rendezvous", rendezvous},
    {"double-check", double_check},
    {"references", references},
    {"flags", flags},
    {"borrowed-stack", borrowed_stack},
    {"two-locks", two_locks},
};

static void test(void *number)
{
    tests[(size_t)number].run();
}

int main(int count, char **arguments)
{
    for (size_t i = 0; i < LENGTH(tests); i++)
        if (count > 1 && !strcmp(arguments[1], tests[i].name))
            return raddle_check(test, (void *)i);
    fprintf(stderr, "which test?\n");
    return 2;
}
