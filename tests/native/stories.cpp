// Bugs in C++ as they are in the wild, each with a twin that is right: compiled with -DRIGHT, all are.
// The name of one is the argument.
#include <atomic>
#include <cassert>
#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <future>
#include <latch>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "raddle.h"

namespace {

#ifdef RIGHT
constexpr bool is_right = true;
#else
constexpr bool is_right = false;
#endif

template <typename One, typename Other> void both(One one, Other other)
{
    std::thread first(one), second(other);
    first.join();
    second.join();
}

std::mutex mutex, other;
std::condition_variable condvar;

// A pointer that is shared is not a shared pointer that is locked.
void shared_pointer()
{
    auto shared = std::make_shared<int>(1);
    both(
        [&] {
            std::unique_lock lock(mutex, std::defer_lock);
            if (is_right)
                lock.lock();
            shared = std::make_shared<int>(2);
        },
        [&] {
            std::unique_lock lock(mutex, std::defer_lock);
            if (is_right)
                lock.lock();
            auto mine = shared;
            assert(*mine > 0);
        });
}

// A promise is kept twice.
void kept_twice()
{
    std::promise<int> promise;
    std::atomic<bool> is_kept = false;
    auto keep = [&] {
        if (is_right ? !is_kept.exchange(true) : !is_kept.load()) {
            is_kept = true;
            promise.set_value(1);
        }
    };
    both(keep, keep);
}

// A latch counts two, and one who fails does not count down.
void latch_count()
{
    std::latch latch(2);
    std::atomic<int> tickets = 1;
    auto arrive = [&] {
        if (tickets.fetch_sub(1) > 0 || is_right)
            latch.count_down();
    };
    std::thread waiter([&] { latch.wait(); });
    both(arrive, arrive);
    waiter.join();
}

// Two wait for one value, and one is told.
void told_one()
{
    std::atomic<int> value = 0;
    std::thread first([&] { value.wait(0); }), second([&] { value.wait(0); });
    value = 1;
    if (is_right)
        value.notify_all();
    else
        value.notify_one();
    first.join();
    second.join();
}

// Two threads make a vector longer.
void longer_vector()
{
    std::vector<int> list;
    auto add = [&] {
        std::unique_lock lock(mutex, std::defer_lock);
        if (is_right)
            lock.lock();
        list.push_back(1);
    };
    both(add, add);
    assert(list.size() == 2);
}

// A wait without asking for what it waits for.
void no_predicate()
{
    bool is_ready = false;
    both(
        [&] {
            std::unique_lock lock(mutex);
            if (is_right)
                condvar.wait(lock, [&] { return is_ready; });
            else
                condvar.wait(lock);
        },
        [&] {
            std::lock_guard lock(mutex);
            is_ready = true;
            condvar.notify_one();
        });
}

// Guards in different orders.
void guards()
{
    both(
        [] {
            std::lock_guard first(mutex);
            std::lock_guard second(other);
        },
        [] {
            std::lock_guard first(is_right ? mutex : other);
            std::lock_guard second(is_right ? other : mutex);
        });
}

// A thread that is started in a constructor calls what is not made yet.
struct Worker {
    std::thread thread;
    explicit Worker(bool starts)
    {
        if (starts)
            thread = std::thread([this] { run(); });
    }
    virtual ~Worker() = default;
    virtual void run() {}
};

struct Counter : Worker {
    int count = 0;
    Counter() : Worker(!is_right)
    {
        if (is_right)
            thread = std::thread([this] { run(); });
    }
    void run() override { count++; }
};

void half_made()
{
    Counter counter;
    counter.thread.join();
}

// An exception leaves a thread.
void uncaught()
{
    std::atomic<int> left = 1;
    auto take = [&] {
        try {
            if (left.fetch_sub(1) <= 0)
                throw std::runtime_error("none left");
        } catch (const std::logic_error &) {
        } catch (const std::runtime_error &) {
            if (!is_right)
                throw;
        }
    };
    both(take, take);
}

const struct {
    const char *name;
    void (*run)();
} tests[] = {
    {"shared-pointer", shared_pointer}, {"kept-twice", kept_twice}, {"latch-count", latch_count},
    {"told-one", told_one},             {"longer-vector", longer_vector}, {"no-predicate", no_predicate},
    {"guards", guards},                 {"half-made", half_made},   {"uncaught", uncaught},
};

void test(void *number)
{
    tests[reinterpret_cast<std::size_t>(number)].run();
}

} // namespace

int main(int count, char **arguments)
{
    for (std::size_t i = 0; i < std::size(tests); i++)
        if (count > 1 && !std::strcmp(arguments[1], tests[i].name))
            return raddle_check(test, reinterpret_cast<void *>(i));
    std::fprintf(stderr, "which test?\n");
    return 2;
}
