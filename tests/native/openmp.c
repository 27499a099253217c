/* OpenMP. The name of a test is the argument; with WRONG those that can be wrong are. */
#include <omp.h>
#include <stdio.h>
#include <string.h>

#include "shared.h"

static int total, other, values[8];
static omp_lock_t lock;
static omp_nest_lock_t nested;

static void reset(void)
{
    total = other = 0;
    memset(values, 0, sizeof values);
}

/* Every thread adds its part; without the reduction they race. */
static void reduction(void)
{
    int sum = 0;
#ifdef WRONG
#pragma omp parallel for shared(sum)
#else
#pragma omp parallel for reduction(+ : sum)
#endif
    for (int i = 0; i < 8; i++)
        sum += i;
    assert(sum == 28);
}

/* Which thread has which part differs; what they do together does not. */
static void dynamic(void)
{
#pragma omp parallel for schedule(dynamic, 3)
    for (int i = 0; i < 8; i++)
        values[i]++;
    for (int i = 0; i < 8; i++)
        assert(values[i] == 1);
}

static void chunks(void)
{
#pragma omp parallel for schedule(static, 1)
    for (long i = 7; i >= 0; i -= 2)
        values[i] += omp_get_thread_num() + 1;
    /* 7, 5, 3, 1 in turn. */
    assert(values[7] == 1 && values[5] == 2 && values[3] == 1 && values[1] == 2);
    assert(values[0] + values[2] + values[4] + values[6] == 0);
}

static void critical(void)
{
#pragma omp parallel
    {
#ifdef WRONG
        int seen;
#pragma omp atomic read
        seen = total;
#pragma omp atomic write
        total = seen + 1;
#else
#pragma omp critical
        total++;
#endif
    }
    assert(total == omp_get_max_threads());
}

/* Two sections that take two critical sections in different orders. */
static void order(void)
{
#pragma omp parallel sections
    {
#pragma omp section
#pragma omp critical(first)
        {
#pragma omp critical(second)
            total++;
        }
#pragma omp section
#ifdef WRONG
#pragma omp critical(second)
        {
#pragma omp critical(first)
            total++;
        }
#else
#pragma omp critical(first)
        {
#pragma omp critical(second)
            total++;
        }
#endif
    }
    assert(total == 2);
}

static void atomic(void)
{
#pragma omp parallel
#pragma omp atomic
    total++;
    assert(total == omp_get_max_threads());
}

/* Each sees what the other has written before the barrier. */
static void barrier(void)
{
#pragma omp parallel num_threads(2)
    {
        int me = omp_get_thread_num();
        values[me] = me + 1;
#ifndef WRONG
#pragma omp barrier
#endif
        assert(values[1 - me] == 2 - me);
    }
}

static void single(void)
{
    int copied = 0;
#pragma omp parallel firstprivate(copied)
    {
#pragma omp single
        total++;
#pragma omp single nowait
        other++;
#pragma omp single copyprivate(copied)
        copied = 7;
        assert(copied == 7);
#pragma omp master
        values[0]++;
    }
    assert(total == 1 && other == 1 && values[0] == 1);
}

static void ordered(void)
{
    int next = 0;
#pragma omp parallel for ordered schedule(dynamic)
    for (int i = 0; i < 4; i++) {
#pragma omp ordered
        {
            assert(next == i);
            next++;
        }
    }
    assert(next == 4);
}

/* Two tasks, and the thread that creates them. */
static void tasks(void)
{
#pragma omp parallel
#pragma omp single
    {
#pragma omp task
        values[0] = 1;
#pragma omp task
        values[1] = 2;
#ifndef WRONG
#pragma omp taskwait
#endif
        total = values[0] + values[1];
    }
    assert(total == 3);
}

/* Waiting for tasks is not waiting for those that they have made; the end of a group is. */
static void groups(void)
{
#pragma omp parallel
#pragma omp single
    {
#ifdef WRONG
#pragma omp taskgroup
        {
        }
#else
#pragma omp taskgroup
#endif
        {
#pragma omp task
            {
#pragma omp task
                values[1] = 2;
                values[0] = 1;
            }
#pragma omp taskwait
        }
        total = values[0] + values[1];
    }
    assert(total == 3);
}

static void locks(void)
{
    omp_init_lock(&lock);
    omp_init_nest_lock(&nested);
#pragma omp parallel
    {
        omp_set_lock(&lock);
        total++;
        omp_unset_lock(&lock);
        omp_set_nest_lock(&nested);
        assert(omp_test_nest_lock(&nested) == 2);
        other++;
        omp_unset_nest_lock(&nested);
        omp_unset_nest_lock(&nested);
    }
    assert(omp_test_lock(&lock));
    assert(total == 2 && other == 2);
}

/* Outside of regions there is one thread, and so there is in regions inside of others. */
static void teams(void)
{
    assert(omp_get_num_threads() == 1 && omp_get_thread_num() == 0 && !omp_in_parallel());
    omp_set_num_threads(3);
#pragma omp parallel
    {
        assert(omp_get_num_threads() == 3 && omp_in_parallel());
#pragma omp parallel
        assert(omp_get_num_threads() == 1 && omp_get_thread_num() == 0);
    }
#pragma omp parallel if (0)
    assert(omp_get_num_threads() == 1);
#pragma omp parallel num_threads(4)
#pragma omp atomic
    total++;
    assert(total == 4);
}

static void depend(void)
{
#pragma omp parallel
#pragma omp single
    {
#pragma omp task depend(out : total)
        total = 1;
#pragma omp task depend(in : total)
        other = total;
    }
}

static const struct {
    const char *name;
    void (*run)(void);
} tests[] = {
    {"reduction", reduction}, {"dynamic", dynamic}, {"chunks", chunks}, {"critical", critical},
    {"order", order},         {"atomic", atomic},   {"barrier", barrier}, {"single", single},
    {"ordered", ordered},     {"tasks", tasks},     {"groups", groups},   {"locks", locks},
    {"teams", teams},         {"depend", depend},
};

static void test(void *number)
{
    reset();
    tests[(size_t)number].run();
}

int main(int count, char **arguments)
{
    for (size_t i = 0; i < LENGTH(tests); i++)
        if (count > 1 && !strcmp(arguments[1], tests[i].name))
            return count > 2 ? (test((void *)i), 0) : raddle_check(test, (void *)i);
    fprintf(stderr, "which test?\n");
    return 2;
}
