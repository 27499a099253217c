// As speed.c: two threads of C++'s with a lock, an atomic and a shared pointer.
#include <atomic>
#include <memory>
#include <mutex>
#include <thread>

#include "raddle.h"

namespace {

struct Shared {
    std::mutex mutex;
    int value = 0;
    std::atomic<int> count{0};
};

// Two threads: each copies and drops a pointer, locks, unlocks and adds.
void test(void *)
{
    auto shared = std::make_shared<Shared>();
    auto work = [shared] {
        std::lock_guard<std::mutex> guard(shared->mutex);
        shared->value++;
        shared->count.fetch_add(1);
    };
    std::thread one(work), other(work);
    one.join();
    other.join();
}

} // namespace

int main() { return raddle_check(test, nullptr); }
