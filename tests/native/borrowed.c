/* Random programs of plain and atomic accesses of all sizes, and of copies, of some bytes on the stack of one thread,
 * which it lends to another one. The arguments are where to begin with drawing and how often the owner does each step
 * on its own before. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "shared.h"

enum { LENGTH_OF_THREAD = 8, BYTES = 32 };

typedef union {
    uint8_t bytes[BYTES];
    uint16_t halves[BYTES / 2];
    uint32_t words[BYTES / 4];
    uint64_t doubles[BYTES / 8];
} Memory;

static struct step {
    uint32_t what, at;
} programs[2][LENGTH_OF_THREAD];
static atomic_int flag;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local volatile uint64_t sink;
static uint32_t seed;
static int repeats;

static void do_step(Memory *memory, struct step step)
{
    uint32_t at = step.at;
    switch (step.what) {
    case 0: sink = memory->bytes[at]; break;
    case 1: case 2: memory->bytes[at] = 1; break;
    case 3: sink = memory->halves[at / 2]; break;
    case 4: memory->halves[at / 2] = 1; break;
    case 5: sink = memory->words[at / 4]; break;
    case 6: memory->words[at / 4] = 1; break;
    case 7: sink = memory->doubles[at / 8]; break;
    case 8: memory->doubles[at / 8] = 1; break;
    case 9: memcpy(memory->bytes + at / 2, memory->bytes + BYTES / 2, 1 + at / 2); break;
    case 10: sink = __atomic_load_n(&memory->words[at / 4], __ATOMIC_RELAXED); break;
    case 11: __atomic_store_n(&memory->words[at / 4], 2, __ATOMIC_RELAXED); break;
    case 12: __atomic_fetch_add(&memory->doubles[at / 8], 1, __ATOMIC_RELAXED); break;
    case 13: atomic_store_explicit(&flag, 1, memory_order_release); break;
    case 14: sink = atomic_load_explicit(&flag, memory_order_acquire); break;
    default: pthread_mutex_lock(&mutex); memory->bytes[at]++; pthread_mutex_unlock(&mutex); break;
    }
}

static void *borrow(void *memory)
{
    for (int i = 0; i < LENGTH_OF_THREAD; i++)
        do_step(memory, programs[1][i]);
    return NULL;
}

static void *own(void *unused)
{
    Memory memory;
    pthread_t borrower;
    int early = seed % (LENGTH_OF_THREAD + 1);
    memset(&memory, 0, sizeof memory);
    for (int i = 0; i < early; i++)
        for (int j = 0; j <= repeats; j++)
            do_step(&memory, programs[0][i]);
    pthread_create(&borrower, NULL, borrow, &memory);
    for (int i = early; i < LENGTH_OF_THREAD; i++)
        do_step(&memory, programs[0][i]);
    pthread_join(borrower, NULL);
    sink = memory.doubles[0];
    return unused;
}

static void test(void *unused)
{
    pthread_t owner;
    pthread_create(&owner, NULL, own, unused);
    pthread_join(owner, NULL);
}

int main(int count, char **arguments)
{
    seed = (uint32_t)(count > 1 ? atoi(arguments[1]) : 0);
    repeats = count > 2 ? atoi(arguments[2]) : 0;
    uint32_t state = 2463534242u + 97 * seed;
    for (int i = 0; i < 2 * LENGTH_OF_THREAD; i++) {
        uint32_t thread = (uint32_t)i / LENGTH_OF_THREAD;
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        /* In most programs each thread has bytes of its own, but for one step of the second. */
        int strays = seed % 3 == 0 || (seed % 3 == 1 && i == LENGTH_OF_THREAD + 4);
        programs[thread][i % LENGTH_OF_THREAD] = (struct step){
            .what = (state >> 4) % 18,
            .at = strays ? (state >> 16) % BYTES : thread * 16 + (state >> 16) % 16,
        };
    }
    return raddle_check(test, NULL);
}
