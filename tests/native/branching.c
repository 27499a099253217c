/* Examples of Setiadi, "Debugging and Testing Concurrent Programs with Efficient Test Case Generation", 2015, as
 * programs of our own. The name of a test is the argument. */
#include <string.h>

#include "shared.h"

static atomic_int x, y, marks;
/* Not static, so that no write of them is left out. */
int plain, other, which;
static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER,
                       c = PTHREAD_MUTEX_INITIALIZER, checked;

/* A step of a branch that no other branch reads. */
static void mark(void)
{
    marks = 1;
}

/* A lost update: the final value is 9, 10 or 11. */
static void *adds(void *unused)
{
    int value = atomic_load_explicit(&x, memory_order_relaxed);
    atomic_store_explicit(&x, value + 1, memory_order_relaxed);
    return unused;
}

static void *subtracts(void *unused)
{
    int value = atomic_load_explicit(&x, memory_order_relaxed);
    atomic_store_explicit(&x, value - 1, memory_order_relaxed);
    return unused;
}

static int updated(void)
{
    void *(*const functions[])(void *) = {adds, subtracts};
    x = 10;
    run_all(functions, 2);
    return x;
}

static void update(void)
{
    int value = updated();
    assert(value >= 9 && value <= 11);
}

static void update_to_9(void)
{
    assert(updated() != 9); /* nine */
}

static void update_to_11(void)
{
    assert(updated() != 11); /* eleven */
}

/* Critical sections. */
static int section(pthread_mutex_t *mutex, int *value, int new)
{
    int old;
    pthread_mutex_lock(mutex);
    old = *value;
    *value = new;
    pthread_mutex_unlock(mutex);
    return old;
}

static void *two_sections(void *unused)
{
    section(&a, &plain, 1);
    section(&b, &other, 1);
    return unused;
}

static void *sections_and_branch(void *unused)
{
    int found = section(&a, &plain, 1);
    section(&b, &other, 1);
    if (found == 0)
        mark();
    return unused;
}

static void *other_sections(void *unused)
{
    section(&a, &plain, 2);
    section(&b, &other, 2);
    return unused;
}

static void sections(void)
{
    void *(*const functions[])(void *) = {two_sections, other_sections};
    run_all(functions, 2);
}

static void sections_branch(void)
{
    void *(*const functions[])(void *) = {sections_and_branch, other_sections};
    run_all(functions, 2);
}

/* A branch on the sum of two values. */
static void *sums(void *unused)
{
    int sum = x;
    sum += y;
    if (sum == 0)
        mark();
    return unused;
}

static void *writes_both(void *unused)
{
    x = 1;
    y = 1;
    return unused;
}

static void groups(void)
{
    void *(*const functions[])(void *) = {sums, writes_both};
    run_all(functions, 2);
}

/* A branch that selects the access without a lock. */
static void *branches(void *unused)
{
    int found;
    pthread_mutex_lock(&a);
    found = plain;
    pthread_mutex_unlock(&a);
    if (found == 0) {
        pthread_mutex_lock(&a);
        plain = 1;
        pthread_mutex_unlock(&a);
    } else {
        plain = 1;
    }
    return unused;
}

static void *writes_with_both(void *unused)
{
    pthread_mutex_lock(&a);
    pthread_mutex_lock(&b);
    plain = 2;
    pthread_mutex_unlock(&b);
    pthread_mutex_unlock(&a);
    return unused;
}

static void hidden(void)
{
    void *(*const functions[])(void *) = {branches, writes_with_both};
    run_all(functions, 2);
}

/* A loop that gives a lock back in each round and has taken it once. */
static int rounds;

static void *unlocks(void *unused)
{
    pthread_mutex_lock(&checked);
    for (int i = 0; i < rounds; i++) {
        plain = 1;
        pthread_mutex_unlock(&checked);
    }
    return unused;
}

static void *reads_locked(void *unused)
{
    pthread_mutex_lock(&checked);
    which = plain;
    pthread_mutex_unlock(&checked);
    return unused;
}

static void loop_of(int count)
{
    void *(*const functions[])(void *) = {unlocks, reads_locked};
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_ERRORCHECK);
    pthread_mutex_init(&checked, &attributes);
    rounds = count;
    run_all(functions, 2);
}

static void one_round(void)
{
    loop_of(1);
}

static void two_rounds(void)
{
    loop_of(2);
}

static void five_rounds(void)
{
    loop_of(5);
}

/* The order A, 1, 2 or 1, 2, A or 1, A, 3: the condition is read in the section that it selects. */
static void *selects(void *unused)
{
    section(&a, &plain, 1);
    pthread_mutex_lock(&a);
    plain = plain == 1 ? 2 : 3;
    pthread_mutex_unlock(&a);
    return unused;
}

static void *one_section(void *unused)
{
    section(&a, &plain, 7);
    return unused;
}

static void orders(void)
{
    void *(*const functions[])(void *) = {selects, one_section};
    run_all(functions, 2);
}

/* The sign of a sum. */
static void *tests_the_sign(void *unused)
{
    int sum;
    x = -3;
    y = 2;
    sum = x;
    sum += y;
    if (sum < 0)
        mark();
    return unused;
}

static void *writes_and_reads(void *unused)
{
    x = 10;
    which = x;
    return unused;
}

static void sign(void)
{
    void *(*const functions[])(void *) = {tests_the_sign, writes_and_reads};
    run_all(functions, 2);
}

/* Two objects, one of which has two names in some orders. The credit is guarded by different locks. */
int credit[2], ref2, first_x, first_y;
static atomic_int ordered[2];
static int is_ordered;

static void use_credit(int of, int new)
{
    if (is_ordered)
        atomic_store_explicit(&ordered[of], new, memory_order_relaxed);
    else
        credit[of] = new; /* credit */
}

static void *uses_first(void *unused)
{
    int sum;
    pthread_mutex_lock(&c);
    first_x = -3;
    first_y = 2;
    pthread_mutex_unlock(&c);
    pthread_mutex_lock(&c);
    sum = first_x + first_y;
    pthread_mutex_unlock(&c);
    if (sum < 0) {
        pthread_mutex_lock(&a);
        use_credit(0, 1);
        pthread_mutex_unlock(&a);
    }
    return unused;
}

static void *uses_second(void *unused)
{
    section(&c, &first_x, 10);
    section(&b, &ref2, 1);
    pthread_mutex_lock(&b);
    use_credit(ref2, 7);
    pthread_mutex_unlock(&b);
    return unused;
}

static void *refers(void *unused)
{
    section(&b, &ref2, 0);
    return unused;
}

static void closed(void)
{
    void *(*const functions[])(void *) = {uses_first, uses_second, refers};
    run_all(functions, 3);
}

static void closed_and_ordered(void)
{
    is_ordered = 1;
    closed();
}

/* A lock variable that another thread sets to the same lock. */
static pthread_mutex_t *lock;

static void *with_a(void *unused)
{
    section(&a, &plain, 1);
    return unused;
}

static void *with_variable(void *unused)
{
    pthread_mutex_t *mutex;
    pthread_mutex_lock(&c);
    mutex = lock;
    pthread_mutex_unlock(&c);
    section(mutex, &plain, 2);
    return unused;
}

static void *sets_variable(void *unused)
{
    pthread_mutex_lock(&c);
    lock = &a;
    pthread_mutex_unlock(&c);
    return unused;
}

static void lock_variable(void)
{
    void *(*const functions[])(void *) = {with_a, with_variable, sets_variable};
    lock = &b;
    run_all(functions, 3);
}

/* With the same lock from the beginning. */
static void same_lock(void)
{
    void *(*const functions[])(void *) = {with_a, with_variable, sets_variable};
    lock = &a;
    run_all(functions, 3);
}

/* A pool: the second thread uses the factory without a common lock if a third one has been faster. */
int active, factory;

static void *uses_factory(void *unused)
{
    factory = 1; /* factory */
    return unused;
}

static void *borrows(void *unused)
{
    pthread_mutex_lock(&a);
    if (active == 0)
        mark();
    else
        factory = 2;
    pthread_mutex_unlock(&a);
    return unused;
}

static void *returns(void *unused)
{
    for (int i = 0; i < 4; i++) {
        pthread_mutex_lock(&a);
        active++;
        pthread_mutex_unlock(&a);
    }
    return unused;
}

static void pool(void)
{
    void *(*const functions[])(void *) = {uses_factory, borrows, returns};
    run_all(functions, 3);
}

/* A branch on the thread's own write, and another thread that reads. */
static void *sets_and_branches(void *unused)
{
    x = 1;
    if (x == 1)
        mark();
    return unused;
}

static void *shows(void *unused)
{
    for (int i = 0; i < 10; i++)
        which = x;
    return unused;
}

static void own(void)
{
    void *(*const functions[])(void *) = {sets_and_branches, shows};
    run_all(functions, 2);
}

/* Loops without end. */
static void *pings(void *unused)
{
    x = 1;
    for (;;) {
        if (x > 0)
            mark();
        else
            y = 1;
        x = 2;
    }
    return unused;
}

static void *sets_interval(void *unused)
{
    x = -1;
    return unused;
}

static void *looks(void *unused)
{
    x = 0;
    for (;;) {
        if (x != 0)
            mark();
        y++;
    }
    return unused;
}

static void *connects(void *unused)
{
    x = 1;
    return unused;
}

/* Takes jobs for ever. */
int jobs, served;

static void *serves(void *unused)
{
    for (;;) {
        int has_job;
        pthread_mutex_lock(&a); /* round */
        has_job = jobs > 0;
        jobs -= has_job;
        pthread_mutex_unlock(&a);
        if (has_job)
            served = 1;
    }
    return unused;
}

static void *submits(void *unused)
{
    pthread_mutex_lock(&a);
    jobs++;
    pthread_mutex_unlock(&a);
    return unused;
}

static void *submits_and_looks(void *unused)
{
    submits(unused);
    which = served; /* served */
    return unused;
}

/* A failure in a late round. */
static void *counts(void *unused)
{
    for (;;) {
        pthread_mutex_lock(&a);
        jobs++;
        assert(jobs != 30000);
        pthread_mutex_unlock(&a);
    }
    return unused;
}

static void endless(void *(*loop)(void *), void *(*end)(void *))
{
    void *(*const functions[])(void *) = {loop, end};
    run_all(functions, 2);
}

static void map(void)
{
    endless(pings, sets_interval);
}

static void crawler(void)
{
    endless(looks, connects);
}

static void server(void)
{
    endless(serves, submits);
}

static void server_race(void)
{
    endless(serves, submits_and_looks);
}

static void late_failure(void)
{
    endless(counts, submits);
}

int main(int count, char **arguments)
{
    static const struct {
        const char *name;
        void (*test)(void);
    } tests[] = {
        {"update", update},
        {"update-9", update_to_9},
        {"update-11", update_to_11},
        {"sections", sections},
        {"sections-branch", sections_branch},
        {"groups", groups},
        {"hidden", hidden},
        {"one-round", one_round},
        {"two-rounds", two_rounds},
        {"five-rounds", five_rounds},
        {"orders", orders},
        {"sign", sign},
        {"closed", closed},
        {"closed-and-ordered", closed_and_ordered},
        {"lock-variable", lock_variable},
        {"same-lock", same_lock},
        {"pool", pool},
        {"own", own},
        {"map", map},
        {"crawler", crawler},
        {"server", server},
        {"server-race", server_race},
        {"late-failure", late_failure},
    };
    for (int i = 0; i < LENGTH(tests); i++)
        if (count > 1 && strcmp(tests[i].name, arguments[1]) == 0)
            tests[i].test();
    return 0;
}
