/* Memory that is read before it is written, or not. A way to get memory and a use of it make a case. The argument
   selects the cases that are wrong, those that are right, or the single ones of either kind. */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shared.h"

#define SIZE 64
#define NOINLINE __attribute__((noinline))

static int volatile sink;
static unsigned char *shared;
static atomic_int is_ready;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Uses of memory: the line with the name of a use in a comment is that of its read. */
static NOINLINE void use_byte(void *at)
{
    if (*(uint8_t *)at == 7) /* byte */
        sink = 1;
}

static NOINLINE void use_half(void *at)
{
    if (*(uint16_t *)at == 7) /* half */
        sink = 1;
}

static NOINLINE void use_word(void *at)
{
    if (*(uint32_t *)at == 7) /* word */
        sink = 1;
}

static NOINLINE void use_double(void *at)
{
    if (*(uint64_t *)at == 7) /* double */
        sink = 1;
}

static NOINLINE void use_sum(void *at)
{
    sink = *(int *)at + 1; /* sum */
}

static NOINLINE void use_pointer(void *at)
{
    sink = *(void **)at != NULL; /* pointer */
}

static NOINLINE void load_atomically(void *at)
{
    sink = atomic_load((atomic_int *)at); /* atomic-load */
}

static NOINLINE void add_atomically(void *at)
{
    atomic_fetch_add((atomic_long *)at, 1); /* atomic-add */
}

static NOINLINE void compare_atomically(void *at)
{
    int expected = 3;
    atomic_compare_exchange_strong((atomic_int *)at, &expected, 4); /* atomic-compare */
}

static NOINLINE void swap_byte(void *at)
{
    sink = atomic_exchange((_Atomic char *)at, 1); /* atomic-byte */
}

static const struct use {
    const char *name;
    void (*run)(void *at);
} uses[] = {
    {"byte", use_byte},
    {"half", use_half},
    {"word", use_word},
    {"double", use_double},
    {"sum", use_sum},
    {"pointer", use_pointer},
    {"atomic-load", load_atomically},
    {"atomic-add", add_atomically},
    {"atomic-compare", compare_atomically},
    {"atomic-byte", swap_byte},
};

/* Memory that nothing has written where it is used. */
static NOINLINE void from_malloc(void (*use)(void *))
{
    unsigned char *block = malloc(SIZE); /* from-malloc */
    use(block);
    free(block);
}

static NOINLINE void from_middle(void (*use)(void *))
{
    unsigned char *block = malloc(SIZE); /* from-middle */
    for (int i = 0; i < SIZE; i++)
        if (i / 8 != 3)
            block[i] = i;
    use(block + 24);
    free(block);
}

static NOINLINE void from_end(void (*use)(void *))
{
    unsigned char *block = malloc(SIZE); /* from-end */
    memset(block, 0, SIZE - 8);
    use(block + SIZE - 8);
    free(block);
}

static NOINLINE void from_large(void (*use)(void *))
{
    unsigned char *block = malloc(1 << 20); /* from-large */
    use(block + (1 << 19));
    free(block);
}

static NOINLINE void from_aligned(void (*use)(void *))
{
    void *block = aligned_alloc(64, SIZE); /* from-aligned */
    use(block);
    free(block);
}

static NOINLINE void from_memalign(void (*use)(void *))
{
    void *block;
    if (posix_memalign(&block, 256, SIZE)) /* from-memalign */
        abort();
    use(block);
    free(block);
}

static NOINLINE void from_tail(void (*use)(void *))
{
    unsigned char *block = calloc(1, SIZE);
    block = realloc(block, 2 * SIZE); /* from-tail */
    use(block + SIZE);
    free(block);
}

static NOINLINE void from_kept(void (*use)(void *))
{
    unsigned char *block = malloc(SIZE);
    memset(block, 0, SIZE / 2);
    block = realloc(block, 2 * SIZE); /* from-kept */
    use(block + SIZE / 2);
    free(block);
}

static void *make(void *unused)
{
    shared = malloc(SIZE); /* from-thread */
    return unused;
}

static NOINLINE void from_thread(void (*use)(void *))
{
    pthread_t thread;
    pthread_create(&thread, NULL, make, NULL);
    pthread_join(thread, NULL);
    use(shared);
    free(shared);
}

static NOINLINE void from_stack(void (*use)(void *))
{
    _Alignas(8) unsigned char block[SIZE];
    use(block + 16);
}

/* Memory that was written, in every way. */
static NOINLINE void written_plainly(void (*use)(void *))
{
    unsigned char *block = malloc(SIZE);
    for (int i = 0; i < SIZE; i++)
        block[i] = 0x80 + 2 * i;
    use(block + 8);
    free(block);
}

static NOINLINE void written_as_words(void (*use)(void *))
{
    uint64_t *block = malloc(SIZE);
    block[3] = 0xfedcba9876543210;
    use(block + 3);
    free(block);
}

static NOINLINE void written_atomically(void (*use)(void *))
{
    atomic_long *block = malloc(SIZE);
    atomic_store_explicit(&block[2], 1, memory_order_relaxed);
    use(&block[2]);
    free(block);
}

static NOINLINE void emptied(void (*use)(void *))
{
    unsigned char *block = calloc(4, SIZE / 4);
    use(block + 16);
    free(block);
}

static NOINLINE void emptied_large(void (*use)(void *))
{
    unsigned char *block = calloc(1, 1 << 18);
    use(block + (1 << 17));
    free(block);
}

static NOINLINE void filled(void (*use)(void *))
{
    unsigned char *block = malloc(SIZE);
    memset(block, 0xa5, SIZE);
    use(block + 32);
    free(block);
}

static NOINLINE void copied(void (*use)(void *))
{
    static unsigned char from[SIZE] = {1, 2, 3};
    unsigned char *block = malloc(SIZE);
    memcpy(block, from, SIZE);
    use(block);
    free(block);
}

static NOINLINE void moved(void (*use)(void *))
{
    unsigned char *block = malloc(SIZE);
    memset(block, 1, SIZE / 2);
    memmove(block + SIZE / 2, block, SIZE / 2);
    use(block + SIZE / 2 + 8);
    free(block);
}

static NOINLINE void kept(void (*use)(void *))
{
    unsigned char *block = malloc(SIZE);
    memset(block, 1, SIZE);
    block = realloc(block, 4 * SIZE);
    use(block + SIZE - 8);
    free(block);
}

/* The C library writes. */
static NOINLINE void from_pipe(void (*use)(void *))
{
    int ends[2];
    unsigned char bytes[SIZE], *block = malloc(SIZE);
    for (int i = 0; i < SIZE; i++)
        bytes[i] = 37 * i;
    if (pipe(ends) || write(ends[1], bytes, SIZE) != SIZE || read(ends[0], block, SIZE) != SIZE)
        abort();
    close(ends[0]);
    close(ends[1]);
    use(block + 8);
    free(block);
}

static NOINLINE void formatted(void (*use)(void *))
{
    char *block = malloc(SIZE);
    snprintf(block, SIZE, "%030d", 42);
    use(block + 16);
    free(block);
}

static NOINLINE void text(void (*use)(void *))
{
    char *block = malloc(SIZE), *volatile from = "words that are longer than two words";
    strcpy(block, from);
    use(block + 8);
    free(block);
}

static int order(const void *left, const void *right)
{
    return memcmp(left, right, 16);
}

static NOINLINE void sorted(void (*use)(void *))
{
    unsigned char *block = malloc(SIZE);
    for (int i = 0; i < SIZE; i++)
        block[i] = SIZE - i;
    qsort(block, 4, 16, order);
    use(block + 16);
    free(block);
}

static void *fill_shared(void *unused)
{
    memset(shared, 5, SIZE);
    return unused;
}

static NOINLINE void written_by_thread(void (*use)(void *))
{
    pthread_t thread;
    shared = malloc(SIZE);
    pthread_create(&thread, NULL, fill_shared, NULL);
    pthread_join(thread, NULL);
    use(shared);
    free(shared);
}

static void *fill_and_release(void *unused)
{
    memset(shared, 5, SIZE);
    atomic_store_explicit(&is_ready, 1, memory_order_release);
    return unused;
}

static NOINLINE void released(void (*use)(void *))
{
    pthread_t thread;
    shared = malloc(SIZE);
    atomic_store(&is_ready, 0);
    pthread_create(&thread, NULL, fill_and_release, NULL);
    if (atomic_load_explicit(&is_ready, memory_order_acquire))
        use(shared);
    pthread_join(thread, NULL);
    free(shared);
}

static void *fill_locked(void *unused)
{
    pthread_mutex_lock(&lock);
    if (!atomic_exchange(&is_ready, 1))
        memset(shared, 5, SIZE);
    pthread_mutex_unlock(&lock);
    return unused;
}

static NOINLINE void locked(void (*use)(void *))
{
    pthread_t thread;
    shared = malloc(SIZE);
    atomic_store(&is_ready, 0);
    pthread_create(&thread, NULL, fill_locked, NULL);
    fill_locked(NULL);
    pthread_mutex_lock(&lock);
    use(shared);
    pthread_mutex_unlock(&lock);
    pthread_join(thread, NULL);
    free(shared);
}

static NOINLINE void on_stack(void (*use)(void *))
{
    _Alignas(8) unsigned char block[SIZE];
    memset(block, 0, SIZE);
    use(block + 16);
}

static NOINLINE void formatted_on_stack(void (*use)(void *))
{
    _Alignas(8) char block[SIZE];
    snprintf(block, SIZE, "%030d", 42);
    use(block + 16);
}

static const struct way {
    const char *name;
    void (*run)(void (*use)(void *));
    int is_right;
} ways[] = {
    {"from-malloc", from_malloc, 0},
    {"from-middle", from_middle, 0},
    {"from-end", from_end, 0},
    {"from-large", from_large, 0},
    {"from-aligned", from_aligned, 0},
    {"from-memalign", from_memalign, 0},
    {"from-tail", from_tail, 0},
    {"from-kept", from_kept, 0},
    {"from-thread", from_thread, 0},
    {"from-stack", from_stack, 0},
    {"written-plainly", written_plainly, 1},
    {"written-as-words", written_as_words, 1},
    {"written-atomically", written_atomically, 1},
    {"emptied", emptied, 1},
    {"emptied-large", emptied_large, 1},
    {"filled", filled, 1},
    {"copied", copied, 1},
    {"moved", moved, 1},
    {"kept", kept, 1},
    {"from-pipe", from_pipe, 1},
    {"formatted", formatted, 1},
    {"text", text, 1},
    {"sorted", sorted, 1},
    {"written-by-thread", written_by_thread, 1},
    {"released", released, 1},
    {"locked", locked, 1},
    {"on-stack", on_stack, 1},
    {"formatted-on-stack", formatted_on_stack, 1},
};

/* Copies of what nothing has written are right, and so are fields of bits. */
struct padded {
    char letter;
    int number;
};

struct large {
    char letter;
    long number, other;
    char last;
};

struct bits {
    unsigned low : 3, high : 5, more : 9;
};

struct pair {
    int left, right;
};

static void padding(void)
{
    struct padded *block = malloc(4 * sizeof *block);
    block[0].letter = 'a';
    block[0].number = 1;
    block[1] = block[0];
    struct padded copy = block[1];
    block[2] = copy;
    assert(block[2].letter == 'a' && block[2].number == 1);
    free(block);
}

static void large_padding(void)
{
    struct large *block = malloc(4 * sizeof *block);
    block[0].letter = block[0].last = 'a';
    block[0].number = block[0].other = 1;
    block[1] = block[0];
    assert(block[1].letter == 'a' && block[1].other == 1 && block[1].last == 'a');
    free(block);
}

static void bits(void)
{
    struct bits *block = malloc(sizeof *block);
    block->low = 5;
    block->high = 17;
    block->more = 300;
    assert(block->low == 5 && block->high == 17 && block->more == 300);
    free(block);
}

static void pairs(void)
{
    struct pair *from = malloc(4 * sizeof *from), *to = malloc(8 * sizeof *to);
    from[2].left = 3;
    from[2].right = 4;
    for (int i = 0; i < 4; i++)
        to[i] = from[i];
    assert(to[2].left == 3 && to[2].right == 4);
    free(from);
    free(to);
}

/* Compilers keep the members of a local structure in registers, and read them all when it is copied. */
struct item {
    long kind, value, more;
};

static NOINLINE void look_at(const struct item *from, int is_wanted)
{
    struct item item = *from;
    if (item.kind == 1)
        sink = item.value + item.more;
    if (is_wanted)
        sink = item.more;
}

static void items(void)
{
    struct item *block = malloc(2 * sizeof *block);
    block[0].kind = 0;
    block[1].kind = 1;
    block[1].value = block[1].more = 3;
    look_at(&block[0], 0);
    look_at(&block[1], 1);
    free(block);
}

static void bytes(void)
{
    char *from = malloc(SIZE), *to = malloc(SIZE);
    from[5] = 1;
    for (int i = 0; i < SIZE; i++)
        to[i] = from[i];
    assert(to[5] == 1);
    free(from);
    free(to);
}

static void whole_copy(void)
{
    char *from = malloc(SIZE), *to = malloc(SIZE);
    from[5] = 1;
    memcpy(to, from, SIZE);
    to = realloc(to, 2 * SIZE);
    assert(to[5] == 1);
    free(from);
    free(to);
}

static void written_out(void)
{
    int ends[2];
    char *block = malloc(SIZE);
    block[0] = 1;
    if (pipe(ends) || write(ends[1], block, SIZE) != SIZE)
        abort();
    close(ends[0]);
    close(ends[1]);
    free(block);
}

/* Code that is not instrumented writes what was there, in one word of 128. */
__attribute__((noinline, no_sanitize("thread"))) static void write_unseen(unsigned char volatile *block, int size)
{
    for (int i = 0; i < size; i += 8)
        block[i] = 0xc3;
}

static void by_chance(void)
{
    int size = 1 << 15;
    unsigned char *block = malloc(size);
    write_unseen(block, size);
    for (int i = 0; i < size; i += 8)
        if (block[i] == 7)
            sink = 1;
    free(block);
}

static const struct special {
    const char *name;
    void (*run)(void);
} copies[] = {
    {"padding", padding},   {"large-padding", large_padding}, {"bits", bits},
    {"pairs", pairs},       {"bytes", bytes},                 {"whole-copy", whole_copy},
    {"written-out", written_out}, {"items", items},
    {"by-chance", by_chance},
};

/* A thread may read before another has written. */
static atomic_int *number;

static void *store_number(void *unused)
{
    atomic_store_explicit(number, 1, memory_order_relaxed);
    return unused;
}

static void unordered_atomics(void)
{
    pthread_t thread;
    number = malloc(sizeof *number);
    pthread_create(&thread, NULL, store_number, NULL);
    sink = atomic_load_explicit(number, memory_order_relaxed); /* unordered-atomics */
    pthread_join(thread, NULL);
    free(number);
}

static void *say_so(void *unused)
{
    atomic_store_explicit(number, 1, memory_order_relaxed);
    atomic_store_explicit(&is_ready, 1, memory_order_relaxed);
    return unused;
}

/* Only under a weak memory model. */
static void stale(void)
{
    pthread_t thread;
    number = malloc(sizeof *number);
    atomic_store(&is_ready, 0);
    pthread_create(&thread, NULL, say_so, NULL);
    if (atomic_load_explicit(&is_ready, memory_order_relaxed))
        sink = atomic_load_explicit(number, memory_order_relaxed); /* stale */
    pthread_join(thread, NULL);
    free(number);
}

static void at_the_end(void)
{
    int *block = malloc(sizeof *block);
    exit(*block == 7); /* at-the-end */
}

static void in_two_parts(void)
{
    struct pair *block = malloc(sizeof *block);
    block->left = 3;
    if (block->left == 3 && block->right == 4) /* in-two-parts */
        sink = 1;
    free(block);
}

static void in_loop(void)
{
    int *block = malloc(8 * sizeof *block), sum = 0;
    for (int i = 0; i < 7; i++)
        block[i] = i;
    for (int i = 0; i < 8; i++)
        sum += block[i]; /* in-loop */
    sink = sum;
    free(block);
}

static const struct special mistakes[] = {
    {"unordered-atomics", unordered_atomics},
    {"stale", stale},
    {"at-the-end", at_the_end},
    {"in-two-parts", in_two_parts},
    {"in-loop", in_loop},
};

static const struct way *way;
static const struct use *use;

static void test(void *unused)
{
    (void)unused;
    way->run(use->run);
}

static void test_special(void *run)
{
    ((void (*)(void))run)();
}

static void run_special(const struct special *all, int count)
{
    for (int i = 0; i < count; i++) {
        fprintf(stderr, "case %s\n", all[i].name);
        raddle_check(test_special, (void *)all[i].run);
    }
}

int main(int count, char **arguments)
{
    const char *which = count > 1 ? arguments[1] : "";
    if (!strcmp(which, "copies"))
        run_special(copies, LENGTH(copies));
    if (!strcmp(which, "mistakes"))
        run_special(mistakes, LENGTH(mistakes));
    for (int i = 0; i < LENGTH(ways); i++)
        for (int j = 0; j < LENGTH(uses); j++)
            if (!strcmp(which, ways[i].is_right ? "right" : "wrong")) {
                fprintf(stderr, "case %s %s\n", ways[i].name, uses[j].name);
                way = &ways[i];
                use = &uses[j];
                raddle_check(test, NULL);
            }
    return 0;
}
