/* Memory that is used before it is freed, after that, beside that, or where there is none: one kind of use and
   one situation make a test. The first argument is the situation, the second a kind, or all of them are run. */
#include <errno.h>
#include <linux/futex.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "shared.h"

struct block {
    pthread_mutex_t mutex;
    pthread_cond_t condvar;
    pthread_rwlock_t rwlock;
    sem_t semaphore;
    pthread_spinlock_t spin;
    pthread_barrier_t barrier;
    pthread_once_t once;
    _Atomic char byte;
    atomic_int number;
    atomic_long wide;
    unsigned word;
    int plain;
    char bytes[24];
    atomic_int count;
};

static pthread_mutex_t outer = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local char elsewhere[24];
static _Thread_local int volatile sink;
static struct block *shared;

/* The line with the name of a kind in a comment is that of its use. */
static void mutex_lock(struct block *it)
{
    pthread_mutex_lock(&it->mutex); /* mutex-lock */
    pthread_mutex_unlock(&it->mutex);
}

static void mutex_trylock(struct block *it)
{
    if (!pthread_mutex_trylock(&it->mutex)) /* mutex-trylock */
        pthread_mutex_unlock(&it->mutex);
}

static void mutex_timedlock(struct block *it)
{
    struct timespec now = {0, 0};
    if (!pthread_mutex_timedlock(&it->mutex, &now)) /* mutex-timedlock */
        pthread_mutex_unlock(&it->mutex);
}

static void condvar_signal(struct block *it)
{
    pthread_cond_signal(&it->condvar); /* condvar-signal */
}

static void condvar_broadcast(struct block *it)
{
    pthread_cond_broadcast(&it->condvar); /* condvar-broadcast */
}

static void condvar_timedwait(struct block *it)
{
    struct timespec now = {0, 0};
    pthread_mutex_lock(&outer);
    pthread_cond_timedwait(&it->condvar, &outer, &now); /* condvar-timedwait */
    pthread_mutex_unlock(&outer);
}

static void rwlock_read(struct block *it)
{
    pthread_rwlock_rdlock(&it->rwlock); /* rwlock-read */
    pthread_rwlock_unlock(&it->rwlock);
}

static void rwlock_write(struct block *it)
{
    pthread_rwlock_wrlock(&it->rwlock); /* rwlock-write */
    pthread_rwlock_unlock(&it->rwlock);
}

static void rwlock_try_read(struct block *it)
{
    if (!pthread_rwlock_tryrdlock(&it->rwlock)) /* rwlock-try-read */
        pthread_rwlock_unlock(&it->rwlock);
}

static void rwlock_try_write(struct block *it)
{
    if (!pthread_rwlock_trywrlock(&it->rwlock)) /* rwlock-try-write */
        pthread_rwlock_unlock(&it->rwlock);
}

static void semaphore_post(struct block *it)
{
    sem_post(&it->semaphore); /* semaphore-post */
}

static void semaphore_wait(struct block *it)
{
    sem_wait(&it->semaphore); /* semaphore-wait */
}

static void semaphore_trywait(struct block *it)
{
    sem_trywait(&it->semaphore); /* semaphore-trywait */
}

static void spin_lock(struct block *it)
{
    pthread_spin_lock(&it->spin); /* spin-lock */
    pthread_spin_unlock(&it->spin);
}

static void spin_trylock(struct block *it)
{
    if (!pthread_spin_trylock(&it->spin)) /* spin-trylock */
        pthread_spin_unlock(&it->spin);
}

static void barrier_wait(struct block *it)
{
    pthread_barrier_wait(&it->barrier); /* barrier-wait */
}

static void do_nothing(void)
{
}

static void once_call(struct block *it)
{
    pthread_once(&it->once, do_nothing); /* once-call */
}

static void atomic_read(struct block *it)
{
    sink = atomic_load(&it->number); /* atomic-load */
}

static void atomic_read_relaxed(struct block *it)
{
    sink = atomic_load_explicit(&it->number, memory_order_relaxed); /* atomic-relaxed */
}

static void atomic_write(struct block *it)
{
    atomic_store(&it->number, 1); /* atomic-store */
}

static void atomic_add(struct block *it)
{
    atomic_fetch_add(&it->number, 1); /* atomic-add */
}

static void atomic_swap(struct block *it)
{
    atomic_exchange(&it->number, 1); /* atomic-swap */
}

static void atomic_compare(struct block *it)
{
    int expected = 7;
    atomic_compare_exchange_strong(&it->number, &expected, 1); /* atomic-compare */
}

static void atomic_byte(struct block *it)
{
    atomic_store(&it->byte, 1); /* atomic-byte */
}

static void atomic_wide(struct block *it)
{
    atomic_store(&it->wide, 1); /* atomic-wide */
}

static void futex_wait(struct block *it)
{
    syscall(SYS_futex, &it->word, FUTEX_WAIT, 7, NULL, NULL, 0); /* futex-wait */
}

static void plain_read(struct block *it)
{
    sink = it->plain; /* plain-read */
}

static void plain_write(struct block *it)
{
    it->plain = 1; /* plain-write */
}

static void copy_from(struct block *it)
{
    memcpy(elsewhere, it->bytes, sizeof elsewhere); /* copy-from */
}

static void copy_to(struct block *it)
{
    memmove(it->bytes, elsewhere, sizeof elsewhere); /* copy-to */
}

static void fill(struct block *it)
{
    memset(it->bytes, 1, sizeof it->bytes); /* fill */
}

static const struct kind {
    const char *name;
    void (*use)(struct block *);
    size_t offset;
    /* True if two threads may do so at the same time. */
    int is_shared;
} kinds[] = {
#define KIND(name, use, field) {name, use, offsetof(struct block, field), 1}
#define PLAIN(name, use, field) {name, use, offsetof(struct block, field), 0}
    KIND("mutex-lock", mutex_lock, mutex),
    KIND("mutex-trylock", mutex_trylock, mutex),
    KIND("mutex-timedlock", mutex_timedlock, mutex),
    KIND("condvar-signal", condvar_signal, condvar),
    KIND("condvar-broadcast", condvar_broadcast, condvar),
    KIND("condvar-timedwait", condvar_timedwait, condvar),
    KIND("rwlock-read", rwlock_read, rwlock),
    KIND("rwlock-write", rwlock_write, rwlock),
    KIND("rwlock-try-read", rwlock_try_read, rwlock),
    KIND("rwlock-try-write", rwlock_try_write, rwlock),
    KIND("semaphore-post", semaphore_post, semaphore),
    KIND("semaphore-wait", semaphore_wait, semaphore),
    KIND("semaphore-trywait", semaphore_trywait, semaphore),
    KIND("spin-lock", spin_lock, spin),
    KIND("spin-trylock", spin_trylock, spin),
    KIND("barrier-wait", barrier_wait, barrier),
    KIND("once-call", once_call, once),
    KIND("atomic-load", atomic_read, number),
    KIND("atomic-relaxed", atomic_read_relaxed, number),
    KIND("atomic-store", atomic_write, number),
    KIND("atomic-add", atomic_add, number),
    KIND("atomic-swap", atomic_swap, number),
    KIND("atomic-compare", atomic_compare, number),
    KIND("atomic-byte", atomic_byte, byte),
    KIND("atomic-wide", atomic_wide, wide),
    KIND("futex-wait", futex_wait, word),
    PLAIN("plain-read", plain_read, plain),
    PLAIN("plain-write", plain_write, plain),
    PLAIN("copy-from", copy_from, bytes),
    PLAIN("copy-to", copy_to, bytes),
    PLAIN("fill", fill, bytes),
};

static struct block *make(void)
{
    struct block *it = calloc(1, sizeof *it);
    pthread_mutex_init(&it->mutex, NULL);
    pthread_cond_init(&it->condvar, NULL);
    pthread_rwlock_init(&it->rwlock, NULL);
    sem_init(&it->semaphore, 0, 2);
    pthread_spin_init(&it->spin, 0);
    pthread_barrier_init(&it->barrier, NULL, 1);
    return it;
}

static const struct kind *kind;

static void *use_shared(void *unused)
{
    kind->use(shared);
    return unused;
}

static void *free_shared(void *unused)
{
    free(shared); /* thread-frees */
    return unused;
}

/* The use and the freeing are in different threads, and nothing orders them. */
static void used_by_thread(void)
{
    pthread_t thread;
    shared = make();
    pthread_create(&thread, NULL, use_shared, NULL);
    free(shared); /* main-frees */
    pthread_join(thread, NULL);
}

static void freed_by_thread(void)
{
    pthread_t thread;
    shared = make();
    pthread_create(&thread, NULL, free_shared, NULL);
    kind->use(shared);
    pthread_join(thread, NULL);
}

static void resized(void)
{
    pthread_t thread;
    shared = make();
    pthread_create(&thread, NULL, use_shared, NULL);
    sink = realloc(shared, 2 * sizeof *shared) != NULL; /* main-resizes */
    pthread_join(thread, NULL);
}

static void freed_before(void)
{
    shared = make();
    free(shared);
    kind->use(shared);
}

static void outside(void)
{
    kind->use(malloc(kind->offset));
}

static void nowhere(void)
{
    kind->use((struct block *)-kind->offset);
}

/* Twins that are right. */
static void used_and_kept(void)
{
    pthread_t one, other;
    shared = make();
    pthread_create(&one, NULL, use_shared, NULL);
    if (kind->is_shared) {
        pthread_create(&other, NULL, use_shared, NULL);
        pthread_join(other, NULL);
    }
    pthread_join(one, NULL);
}

static void used_and_freed(void)
{
    used_and_kept();
    free(shared);
}

static void leave(int frees)
{
    if (atomic_fetch_sub_explicit(&shared->count, 1, memory_order_acq_rel) == 1 && frees)
        free(shared);
}

static void *use_and_leave(void *frees)
{
    kind->use(shared);
    leave(frees != NULL);
    return NULL;
}

static void counted(int frees)
{
    pthread_t thread;
    shared = make();
    atomic_store(&shared->count, 2);
    pthread_create(&thread, NULL, use_and_leave, frees ? &shared : NULL);
    leave(frees);
    pthread_join(thread, NULL);
}

static void counted_and_kept(void)
{
    counted(0);
}

static void counted_and_freed(void)
{
    counted(1);
}

/* The count is taken by the thread itself, when the last one may be gone. */
static void *take_and_leave(void *unused)
{
    atomic_fetch_add(&shared->count, 1); /* takes */
    kind->use(shared);
    leave(0);
    return unused;
}

static void taken_late(void)
{
    pthread_t thread;
    shared = make();
    atomic_store(&shared->count, 1);
    pthread_create(&thread, NULL, take_and_leave, NULL);
    leave(1);
    pthread_join(thread, NULL);
}

/* A block that is handed over by a plain flag. */
static int flag;

static void *use_and_say(void *unused)
{
    kind->use(shared);
    flag = 1;
    return unused;
}

static void told_plainly(void)
{
    pthread_t thread;
    shared = make();
    pthread_create(&thread, NULL, use_and_say, NULL);
    if (flag)
        free(shared);
    pthread_join(thread, NULL);
}

/* Objects that are destroyed or initialised while their memory stays. */
#define IS(field) (kind->offset == offsetof(struct block, field))

static void destroy(struct block *it)
{
    if (IS(mutex))
        pthread_mutex_destroy(&it->mutex);
    if (IS(condvar))
        pthread_cond_destroy(&it->condvar);
    if (IS(rwlock))
        pthread_rwlock_destroy(&it->rwlock);
    if (IS(semaphore))
        sem_destroy(&it->semaphore);
    if (IS(spin))
        pthread_spin_destroy(&it->spin);
    if (IS(barrier))
        pthread_barrier_destroy(&it->barrier);
}

static void initialise(struct block *it)
{
    if (IS(mutex))
        pthread_mutex_init(&it->mutex, NULL);
    if (IS(condvar))
        pthread_cond_init(&it->condvar, NULL);
    if (IS(rwlock))
        pthread_rwlock_init(&it->rwlock, NULL);
    if (IS(semaphore))
        sem_init(&it->semaphore, 0, 2);
    if (IS(spin))
        pthread_spin_init(&it->spin, 0);
    if (IS(barrier))
        pthread_barrier_init(&it->barrier, NULL, 1);
}

static struct block global;

static void destroyed_before(void)
{
    initialise(&global);
    destroy(&global);
    kind->use(&global);
}

static void *use_global(void *unused)
{
    kind->use(&global);
    return unused;
}

static void *destroy_global(void *unused)
{
    destroy(&global);
    return unused;
}

static void used_and_destroyed(void *(*one)(void *), void (*other)(struct block *))
{
    pthread_t thread;
    initialise(&global);
    pthread_create(&thread, NULL, one, NULL);
    other(&global);
    pthread_join(thread, NULL);
}

static void destroyed_by_main(void)
{
    used_and_destroyed(use_global, destroy);
}

static void destroyed_by_thread(void)
{
    used_and_destroyed(destroy_global, kind->use);
}

static void initialised_by_main(void)
{
    used_and_destroyed(use_global, initialise);
}

static void used_and_left(int destroys)
{
    pthread_t one, other;
    initialise(&global);
    pthread_create(&one, NULL, use_global, NULL);
    if (kind->is_shared) {
        pthread_create(&other, NULL, use_global, NULL);
        pthread_join(other, NULL);
    }
    pthread_join(one, NULL);
    if (destroys)
        destroy(&global);
    initialise(&global);
    kind->use(&global);
    if (destroys) {
        destroy(&global);
        /* What was overwritten is new. */
        memset(&global, 0, sizeof global);
    }
    if (!IS(barrier) && !IS(semaphore))
        kind->use(&global);
}

static void left(void)
{
    used_and_left(0);
}

static void destroyed_in_order(void)
{
    used_and_left(1);
}

/* The last to leave destroys; others may not have come back from their call. */
static pthread_barrier_t *barrier;

static void *meet(void *unused)
{
    if (pthread_barrier_wait(barrier) == PTHREAD_BARRIER_SERIAL_THREAD) {
        pthread_barrier_destroy(barrier);
        free(barrier);
    }
    return unused;
}

static void barrier_left(void)
{
    void *(*const functions[])(void *) = {meet, meet};
    barrier = malloc(sizeof *barrier);
    pthread_barrier_init(barrier, NULL, 2);
    run_all(functions, 2);
}

static pthread_cond_t *condvar;
static int is_ready;

static void *wait_until_ready(void *unused)
{
    pthread_mutex_lock(&outer);
    while (!is_ready)
        pthread_cond_wait(condvar, &outer);
    pthread_mutex_unlock(&outer);
    return unused;
}

static void *tell_all(void *unused)
{
    pthread_mutex_lock(&outer);
    is_ready = 1;
    pthread_cond_broadcast(condvar);
    pthread_cond_destroy(condvar);
    free(condvar);
    condvar = NULL;
    pthread_mutex_unlock(&outer);
    return unused;
}

static void condvar_left(void)
{
    void *(*const functions[])(void *) = {wait_until_ready, wait_until_ready, tell_all};
    condvar = malloc(sizeof *condvar);
    pthread_cond_init(condvar, NULL);
    run_all(functions, 3);
}

/* The one who gets the lock last frees it. */
static struct {
    pthread_mutex_t mutex;
    int users;
} *last;

static void *leave_last(void *unused)
{
    pthread_mutex_lock(&last->mutex);
    int is_last = --last->users == 0;
    pthread_mutex_unlock(&last->mutex);
    if (is_last) {
        pthread_mutex_destroy(&last->mutex);
        free(last);
    }
    return unused;
}

static void mutex_left(void)
{
    void *(*const functions[])(void *) = {leave_last, leave_last};
    last = malloc(sizeof *last);
    pthread_mutex_init(&last->mutex, NULL);
    last->users = 2;
    run_all(functions, 2);
}

/* A variable of a thread that ends while others know of it. */
static _Atomic(struct block *) local;
static sem_t is_used;

static void *lend(void *waits)
{
    struct block it;
    memset(&it, 0, sizeof it);
    initialise(&it);
    atomic_store(&local, &it);
    if (waits)
        sem_wait(&is_used);
    return waits;
}

static void use_local(void)
{
    struct block *it = atomic_load(&local);
    if (it)
        kind->use(it);
    sem_post(&is_used);
}

static void *use_local_too(void *unused)
{
    use_local();
    return unused;
}

static void lent(int waits)
{
    pthread_t lender, user;
    sem_init(&is_used, 0, 0);
    pthread_create(&lender, NULL, lend, waits ? &local : NULL);
    pthread_create(&user, NULL, use_local_too, NULL);
    pthread_join(lender, NULL);
    pthread_join(user, NULL);
}

static void lent_too_short(void)
{
    lent(0);
}

static void lent_long_enough(void)
{
    lent(1);
}

static void used_after_join(void)
{
    pthread_t lender;
    pthread_create(&lender, NULL, lend, NULL);
    pthread_join(lender, NULL);
    use_local();
}

static void aligned(void)
{
    sink = aligned_alloc(24, 48) != NULL; /* aligned */
}

static void aligned_as_a_page(void)
{
    sink = memalign(24, 48) != NULL; /* memalign */
}

/* The size need not be a multiple of the alignment since C17. */
static void aligned_well(void)
{
    void *block;
    sink = aligned_alloc(64, 100) != NULL && memalign(64, 100) != NULL;
    assert(posix_memalign(&block, 24, 48) == EINVAL && posix_memalign(&block, 64, 100) == 0);
}

/* A block is freed in one way and then in another: by one thread, by two that are ordered, or by two that are not. */
static void *freed_block;

static void free_it(void)
{
    free(freed_block); /* free */
}

static void resize_it(void)
{
    sink = realloc(freed_block, 64) != NULL; /* realloc */
}

static void shrink_it(void)
{
    sink = realloc(freed_block, 4) != NULL; /* shrink */
}

static const struct {
    const char *name;
    void (*run)(void);
} frees[] = {{"free", free_it}, {"realloc", resize_it}, {"shrink", shrink_it}};

static int first_free, second_free, is_in_thread;

static void *free_again(void *unused)
{
    frees[second_free].run();
    return unused;
}

static void free_twice(void *unused)
{
    pthread_t thread;
    (void)unused;
    freed_block = calloc(1, 16); /* freed-twice */
    if (is_in_thread == 2)
        pthread_create(&thread, NULL, free_again, NULL);
    frees[first_free].run();
    if (is_in_thread == 0)
        free_again(NULL);
    if (is_in_thread == 1)
        pthread_create(&thread, NULL, free_again, NULL);
    if (is_in_thread)
        pthread_join(thread, NULL);
}

static int run_double_frees(void)
{
    for (first_free = 0; first_free < LENGTH(frees); first_free++)
        for (second_free = 0; second_free < LENGTH(frees); second_free++)
            for (is_in_thread = 0; is_in_thread < 3; is_in_thread++) {
                fprintf(stderr, "frees %s %s %d\n", frees[first_free].name,
                        frees[second_free].name, is_in_thread);
                raddle_check(free_twice, NULL);
            }
    return 0;
}

static const struct {
    const char *name;
    void (*run)(void);
} situations[] = {
    {"used-by-thread", used_by_thread},
    {"freed-by-thread", freed_by_thread},
    {"resized", resized},
    {"freed-before", freed_before},
    {"outside", outside},
    {"nowhere", nowhere},
    {"used-and-kept", used_and_kept},
    {"used-and-freed", used_and_freed},
    {"counted-and-kept", counted_and_kept},
    {"counted-and-freed", counted_and_freed},
    {"taken-late", taken_late},
    {"told-plainly", told_plainly},
    {"destroyed-before", destroyed_before},
    {"destroyed-by-main", destroyed_by_main},
    {"destroyed-by-thread", destroyed_by_thread},
    {"initialised-by-main", initialised_by_main},
    {"left", left},
    {"destroyed-in-order", destroyed_in_order},
    {"barrier-left", barrier_left},
    {"condvar-left", condvar_left},
    {"mutex-left", mutex_left},
    {"lent-too-short", lent_too_short},
    {"lent-long-enough", lent_long_enough},
    {"used-after-join", used_after_join},
    {"aligned", aligned},
    {"aligned-as-a-page", aligned_as_a_page},
    {"aligned-well", aligned_well},
};

static void test(void *situation)
{
    ((void (*)(void))situation)();
}

int main(int count, char **arguments)
{
    void (*run)(void) = NULL;
    if (count > 1 && !strcmp(arguments[1], "freed-twice"))
        return run_double_frees();
    for (int i = 0; i < LENGTH(situations); i++)
        if (count > 1 && !strcmp(arguments[1], situations[i].name))
            run = situations[i].run;
    if (!run) {
        fprintf(stderr, "which situation?\n");
        return 2;
    }
    int status = 0;
    for (int i = 0; i < LENGTH(kinds); i++) {
        if (count > 2 && strcmp(arguments[2], kinds[i].name))
            continue;
        kind = &kinds[i];
        fprintf(stderr, "kind %s\n", kind->name);
        status |= raddle_check(test, (void *)run);
    }
    return status;
}
