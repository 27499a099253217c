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
static uint32_t programs[2][LENGTH_OF_THREAD];
static volatile uint64_t sink;

static void step(uint32_t draw)
{
    uint32_t at = draw >> 8;
    switch (draw % 20) {
    case 0: case 1: sink = memory.bytes[at % BYTES]; break;
    case 2: memory.bytes[at % BYTES] = 1; break;
    case 3: case 4: sink = memory.halves[at % (BYTES / 2)]; break;
    case 5: memory.halves[at % (BYTES / 2)] = 1; break;
    case 6: case 7: sink = memory.words[at % (BYTES / 4)]; break;
    case 8: memory.words[at % (BYTES / 4)] = 1; break;
    case 9: case 10: sink = memory.doubles[at % (BYTES / 8)]; break;
    case 11: memory.doubles[at % (BYTES / 8)] = 1; break;
    case 12: sink = __atomic_load_n(&memory.words[at % (BYTES / 4)], __ATOMIC_RELAXED); break;
    case 13: __atomic_store_n(&memory.words[at % (BYTES / 4)], 2, __ATOMIC_RELAXED); break;
    case 14: __atomic_fetch_add(&memory.doubles[at % (BYTES / 8)], 1, __ATOMIC_RELAXED); break;
    case 15: atomic_store_explicit(&flag, 1, memory_order_release); break;
    case 16: sink = atomic_load_explicit(&flag, memory_order_acquire); break;
    case 17: pthread_mutex_lock(&mutex); pthread_mutex_unlock(&mutex); break;
    default: pthread_mutex_lock(&mutex); memory.bytes[at % BYTES]++; pthread_mutex_unlock(&mutex); break;
    }
}

static void *run(void *program)
{
    for (int i = 0; i < LENGTH_OF_THREAD; i++)
        step(((uint32_t *)program)[i]);
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
    uint32_t state = 2463534242u + 97 * (uint32_t)(count > 1 ? atoi(arguments[1]) : 0);
    for (int i = 0; i < 2 * LENGTH_OF_THREAD; i++) {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        programs[i / LENGTH_OF_THREAD][i % LENGTH_OF_THREAD] = state;
    }
    return raddle_check(test, NULL);
}
