/* Random programs of plain and atomic accesses of all sizes, of some bytes that two threads share. The
 * argument is where to begin with drawing. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "shared.h"

enum { LENGTH_OF_THREAD = 8, BYTES = 16 };

static union {
    uint8_t bytes[BYTES];
    uint16_t halves[BYTES / 2];
    uint32_t words[BYTES / 4];
    uint64_t doubles[BYTES / 8];
} memory;
static atomic_int flag;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct step {
    uint32_t what, at;
} programs[2][LENGTH_OF_THREAD];
static _Thread_local volatile uint64_t sink;

static void do_step(uint32_t what, uint32_t at)
{
    switch (what) {
    case 0: case 1: sink = memory.bytes[at]; break;
    case 2: memory.bytes[at] = 1; break;
    case 3: case 4: sink = memory.halves[at / 2]; break;
    case 5: memory.halves[at / 2] = 1; break;
    case 6: case 7: sink = memory.words[at / 4]; break;
    case 8: memory.words[at / 4] = 1; break;
    case 9: case 10: sink = memory.doubles[at / 8]; break;
    case 11: memory.doubles[at / 8] = 1; break;
    case 12: sink = __atomic_load_n(&memory.words[at / 4], __ATOMIC_RELAXED); break;
    case 13: __atomic_store_n(&memory.words[at / 4], 2, __ATOMIC_RELAXED); break;
    case 14: __atomic_fetch_add(&memory.doubles[at / 8], 1, __ATOMIC_RELAXED); break;
    case 15: atomic_store_explicit(&flag, 1, memory_order_release); break;
    case 16: sink = atomic_load_explicit(&flag, memory_order_acquire); break;
    case 17: pthread_mutex_lock(&mutex); pthread_mutex_unlock(&mutex); break;
    default: pthread_mutex_lock(&mutex); memory.bytes[at]++; pthread_mutex_unlock(&mutex); break;
    }
}

static void *run(void *program)
{
    for (int i = 0; i < LENGTH_OF_THREAD; i++)
        do_step(((struct step *)program)[i].what, ((struct step *)program)[i].at);
    return NULL;
}

static void test(void *unused)
{
    pthread_t threads[2];
    memory.bytes[3] = 1;
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, run, programs[i]);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    sink = memory.doubles[0];
}

int main(int count, char **arguments)
{
    uint32_t seed = (uint32_t)(count > 1 ? atoi(arguments[1]) : 0), state = 2463534242u + 97 * seed;
    for (int i = 0; i < 2 * LENGTH_OF_THREAD; i++) {
        uint32_t thread = (uint32_t)i / LENGTH_OF_THREAD;
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        /* In most programs each thread has bytes of its own, but for one step of the second. */
        int strays = seed % 3 == 0 || (seed % 3 == 1 && i == LENGTH_OF_THREAD + 4);
        programs[thread][i % LENGTH_OF_THREAD] = (struct step){
            .what = (state >> 4) % 20,
            .at = strays ? (state >> 16) % BYTES : thread * 8 + (state >> 16) % 8,
        };
    }
    return raddle_check(test, NULL);
}
