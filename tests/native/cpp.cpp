// Threads, locks and the rest as C++ has them. Each test is right; the name of one is the argument.
#include <atomic>
#include <cassert>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <future>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "raddle.h"

namespace {

std::mutex mutex;
std::condition_variable condvar;
bool ready;
std::string text;
std::atomic<int> made, dropped;

struct Noisy {
    Noisy() { made++; }
    ~Noisy() { dropped++; }
};

void threads()
{
    std::vector<std::thread> all;
    int sum = 0;
    for (int i = 1; i <= 3; i++)
        all.emplace_back([&sum, i] {
            std::lock_guard<std::mutex> guard(mutex);
            sum += i;
        });
    for (auto &thread : all)
        thread.join();
    assert(sum == 6);
}

void condvars()
{
    std::thread producer([] {
        {
            std::lock_guard<std::mutex> guard(mutex);
            text = "a text that is too long to be kept inside the object";
            ready = true;
        }
        condvar.notify_one();
    });
    {
        std::unique_lock<std::mutex> guard(mutex);
        condvar.wait(guard, [] { return ready; });
        assert(text.size() == 52);
    }
    producer.join();
}

void timed()
{
    std::unique_lock<std::mutex> guard(mutex);
    bool came = condvar.wait_for(guard, std::chrono::hours(1), [] { return ready; });
    assert(!came);
}

void statics()
{
    auto use = [] {
        static Noisy noisy;
        assert(made == 1);
    };
    std::thread other(use);
    use();
    other.join();
    assert(made == 1 && dropped == 0);
}

void locals()
{
    auto use = [] {
        thread_local Noisy noisy;
        (void)&noisy;
        std::this_thread::yield();
    };
    std::thread one(use), other(use);
    one.join();
    other.join();
    assert(made == 2 && dropped == 2);
}

void pointers()
{
    auto shared = std::make_shared<Noisy>();
    std::thread other([shared] {});
    shared.reset();
    other.join();
    assert(made == 1 && dropped == 1);
}

void shared_locks()
{
    std::shared_mutex lock;
    int value = 0;
    std::thread writer([&] {
        std::unique_lock<std::shared_mutex> guard(lock);
        value = 1;
    });
    {
        std::shared_lock<std::shared_mutex> guard(lock);
        assert(value == 0 || value == 1);
    }
    writer.join();
}

void exceptions()
{
    std::thread thrower([] {
        try {
            Noisy noisy;
            std::lock_guard<std::mutex> guard(mutex);
            throw std::runtime_error("thrown");
        } catch (const std::exception &error) {
            assert(!std::strcmp(error.what(), "thrown"));
        }
    });
    {
        std::lock_guard<std::mutex> guard(mutex);
    }
    thrower.join();
    assert(made == 1 && dropped == 1);
}

// Not right: the exception leaves the thread's function.
void uncaught()
{
    std::thread thrower([] { throw std::runtime_error("thrown"); });
    thrower.join();
}

const struct {
    const char *name;
    void (*run)();
} tests[] = {
    {"threads", threads},   {"condvars", condvars}, {"timed", timed},
    {"statics", statics},   {"locals", locals},     {"pointers", pointers},
    {"shared_locks", shared_locks},                 {"exceptions", exceptions},
    {"uncaught", uncaught},
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
