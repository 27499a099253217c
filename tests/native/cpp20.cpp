// What C++20 has, which waits with futexes. Each test is right; the name of one is the argument.
#include <atomic>
#include <barrier>
#include <cassert>
#include <cstdio>
#include <cstring>
#include <latch>
#include <semaphore>
#include <thread>

#include "raddle.h"

namespace {

std::atomic<int> word;
int data;

void waiting()
{
    std::thread other([] {
        data = 1;
        word = 1;
        word.notify_one();
    });
    word.wait(0);
    assert(data == 1);
    other.join();
}

void semaphores()
{
    std::counting_semaphore<2> permits(0);
    std::thread other([&] {
        data = 1;
        permits.release();
    });
    permits.acquire();
    assert(data == 1);
    other.join();
}

void latches()
{
    std::latch done(2);
    std::thread other([&] {
        data = 1;
        done.count_down();
    });
    done.arrive_and_wait();
    assert(data == 1);
    other.join();
}

void barriers()
{
    std::barrier<> meeting(2);
    std::thread other([&] {
        data = 1;
        meeting.arrive_and_wait();
    });
    meeting.arrive_and_wait();
    assert(data == 1);
    other.join();
}

// Not right: the store is not followed by a notification.
void unnotified()
{
    std::thread other([] { word = 1; });
    word.wait(0);
    other.join();
}

const struct {
    const char *name;
    void (*run)();
} tests[] = {
    {"waiting", waiting},   {"semaphores", semaphores}, {"latches", latches},
    {"barriers", barriers}, {"unnotified", unnotified},
};

void test(void *number)
{
    tests[reinterpret_cast<size_t>(number)].run();
}

} // namespace

int main(int count, char **arguments)
{
    for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++)
        if (count > 1 && !std::strcmp(arguments[1], tests[i].name))
            return raddle_check(test, reinterpret_cast<void *>(i));
    std::fprintf(stderr, "which test?\n");
    return 2;
}
