// Loops around waits with a time limit; the first argument says which.
#include <atomic>
#include <cassert>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <memory>
#include <mutex>
#include <thread>

#include "raddle.h"

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

namespace {

struct Shared {
    std::mutex mutex;
    std::timed_mutex timed_mutex;
    std::condition_variable changed;
    std::atomic<bool> flag{false};
    bool is_ready = false;
    Clock::time_point deadline;

    void become_ready()
    {
        {
            std::lock_guard guard(mutex);
            is_ready = true;
        }
        changed.notify_one();
    }
};

template <class Other, class Wait> void beside(Other other, Wait wait)
{
    auto shared = std::make_unique<Shared>();
    std::thread thread([&] { other(*shared); });
    wait(*shared);
    thread.join();
}

void become_ready(Shared &shared) { shared.become_ready(); }

void wait_for(Shared &shared)
{
    std::unique_lock lock(shared.mutex);
    while (!shared.is_ready)
        shared.changed.wait_for(lock, 10ms);
}

void for_a_while() { beside(become_ready, wait_for); }

void until_a_time()
{
    beside(become_ready, [](Shared &shared) {
        std::unique_lock lock(shared.mutex);
        while (!shared.is_ready)
            shared.changed.wait_until(lock, std::chrono::system_clock::now() + 1s);
    });
}

void with_a_condition()
{
    beside(become_ready, [](Shared &shared) {
        std::unique_lock lock(shared.mutex);
        while (!shared.changed.wait_for(lock, 1s, [&] { return shared.is_ready; }))
            ;
    });
}

void for_ever()
{
    Shared shared;
    wait_for(shared);
}

void try_for_a_lock()
{
    beside([](Shared &shared) { std::lock_guard guard(shared.timed_mutex); },
        [](Shared &shared) {
            while (!shared.timed_mutex.try_lock_for(10ms))
                ;
            shared.timed_mutex.unlock();
        });
}

void look_and_sleep()
{
    beside([](Shared &shared) { shared.flag = true; },
        [](Shared &shared) {
            while (!shared.flag)
                std::this_thread::sleep_until(Clock::now() + 10ms);
        });
}

/* The deadline is on the heap, an hour later. */
void gives_up()
{
    beside(become_ready, [](Shared &shared) {
        shared.deadline = Clock::now() + 1h;
        std::unique_lock lock(shared.mutex);
        while (!shared.is_ready) {
            assert(Clock::now() < shared.deadline && "too late");
            shared.changed.wait_for(lock, 10ms);
        }
    });
}

/* Each round waits for what is left of the time. */
void gives_up_by_a_condition()
{
    beside(become_ready, [](Shared &shared) {
        auto until = Clock::now() + 1h;
        std::unique_lock lock(shared.mutex);
        bool in_time = true;
        while (in_time && !shared.is_ready)
            in_time = shared.changed.wait_until(lock, until) == std::cv_status::no_timeout;
        assert(in_time && "too late");
    });
}

const struct { const char *name; void (*run)(); } all[] = {
    {"for_a_while", for_a_while}, {"until_a_time", until_a_time}, {"with_a_condition", with_a_condition},
    {"for_ever", for_ever}, {"try_for_a_lock", try_for_a_lock}, {"look_and_sleep", look_and_sleep},
    {"gives_up", gives_up}, {"gives_up_by_a_condition", gives_up_by_a_condition},
};

void body(void *name)
{
    for (auto &one : all)
        if (!std::strcmp(one.name, static_cast<const char *>(name)))
            one.run();
}

} // namespace

int main(int, char **arguments) { return raddle_check(body, arguments[1]); }
