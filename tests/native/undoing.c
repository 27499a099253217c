/* Loops whose rounds put back what they take. The argument says which. */
#include "shared.h"
#include <stdatomic.h>
#include <string.h>

static atomic_int first, second, flag, inside;
static int plain;

static void enter(atomic_int *outer, atomic_int *inner)
{
    for (;;) {
        if (atomic_exchange(outer, 1) != 0)
            continue;
        if (atomic_exchange(inner, 1) == 0)
            return;
        atomic_store(outer, 0);
    }
}

static void stay(void)
{
    assert(atomic_fetch_add(&inside, 1) == 0);
    atomic_fetch_sub(&inside, 1);
    atomic_store(&first, 0);
    atomic_store(&second, 0);
}

static void *forwards(void *unused)
{
    enter(&first, &second);
    stay();
    return unused;
}

static void *backwards(void *unused)
{
    enter(&second, &first);
    stay();
    return unused;
}

/* Takes the lock, looks, and releases it. */
static void *wait_for_flag(void *unused)
{
    for (;;) {
        int taken = 0;
        if (!atomic_compare_exchange_strong(&first, &taken, 1))
            continue;
        if (atomic_load(&flag))
            return unused;
        atomic_store(&first, 0);
    }
}

/* As above, with a change under the lock after which it ends by itself. */
static void *wait_for_plain(void *unused)
{
    for (;;) {
        int taken = 0;
        if (!atomic_compare_exchange_strong(&first, &taken, 1))
            continue;
        if (++plain == 3)
            return unused;
        atomic_store(&first, 0);
    }
}

static void *set_flag(void *unused)
{
    atomic_store(&flag, 1);
    return unused;
}

static void *look_and_set(void *unused)
{
    int before = atomic_load(&first);
    int after = atomic_load(&first);
    atomic_store(&flag, 1);
    assert(before || !after);
    return unused;
}

static void *nothing(void *unused) { return unused; }

int main(int count, char **arguments)
{
    const char *name = count > 1 ? arguments[1] : "";
    static const struct {
        const char *name;
        void *(*functions[2])(void *);
    } all[] = {
        {"two_locks", {forwards, backwards}},
        {"looked_at", {wait_for_flag, look_and_set}},
        {"waits", {wait_for_flag, set_flag}},
        {"waits_for_ever", {wait_for_flag, nothing}},
        {"ends_by_itself", {wait_for_plain, nothing}},
    };
    for (unsigned index = 0; index < sizeof all / sizeof *all; index++)
        if (strcmp(name, all[index].name) == 0) {
            run_all(all[index].functions, 2);
            return 0;
        }
    return 2;
}
