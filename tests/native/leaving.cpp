// Threads that leave, or are cancelled, run the destructors of what is on their stacks.
#include <atomic>
#include <cassert>
#include <cstdio>
#include <cstring>
#include <cxxabi.h>
#include <mutex>
#include <pthread.h>
#include <random>
#include <semaphore.h>
#include <thread>

extern "C" {
#include "raddle.h"
}

static std::mutex lock;
static sem_t semaphore;
static std::atomic<int> caught;

static void leave(void *result)
{
    std::lock_guard<std::mutex> guard(lock);
    pthread_exit(result);
}

static void *leaves(void *result)
{
    try {
        leave(result);
    } catch (abi::__forced_unwind &) {
        caught++;
        throw;
    }
    return nullptr;
}

static void *waits(void *unused)
{
    std::lock_guard<std::mutex> guard(lock);
    sem_wait(&semaphore);
    return unused;
}

static void *swallows(void *unused)
{
    try {
        pthread_exit(unused);
    } catch (...) {
    }
    return unused;
}

static void exits(void *)
{
    pthread_t thread;
    void *result;
    pthread_create(&thread, nullptr, leaves, &lock);
    pthread_join(thread, &result);
    assert(result == &lock && caught == 1);
    assert(lock.try_lock());
    lock.unlock();
}

static void cancels(void *)
{
    pthread_t thread;
    void *result;
    sem_init(&semaphore, 0, 0);
    pthread_create(&thread, nullptr, waits, nullptr);
    pthread_cancel(thread);
    pthread_join(thread, &result);
    assert(result == PTHREAD_CANCELED);
    assert(lock.try_lock());
    lock.unlock();
}

static void swallowed(void *)
{
    pthread_t thread;
    pthread_create(&thread, nullptr, swallows, nullptr);
    pthread_join(thread, nullptr);
}

// What throws is begun again by another.
static std::once_flag once;
static int begun;

static void throws_once()
{
    try {
        std::call_once(once, [] {
            if (++begun == 1)
                throw 7;
        });
    } catch (int thrown) {
        assert(thrown == 7);
    }
}

static void once_again(void *)
{
    std::thread one(throws_once), other(throws_once);
    one.join();
    other.join();
    assert(begun == 2);
}

// The same numbers in every execution, so the same memory of them too.
static unsigned first;

static void random_numbers(void *)
{
    unsigned drawn = std::random_device()();
    assert(drawn != std::random_device()());
    std::thread([drawn] { first = drawn; }).join();
    fprintf(stderr, "drawn %u\n", drawn);
}

int main(int, char **arguments)
{
    const char *name = arguments[1];
    if (!strcmp(name, "exits"))
        return raddle_check(exits, nullptr);
    if (!strcmp(name, "cancels"))
        return raddle_check(cancels, nullptr);
    if (!strcmp(name, "swallowed"))
        return raddle_check(swallowed, nullptr);
    if (!strcmp(name, "once-again"))
        return raddle_check(once_again, nullptr);
    return raddle_check(random_numbers, nullptr);
}
