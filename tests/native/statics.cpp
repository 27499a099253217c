// Objects that are destroyed when the program ends. The name of a test is the argument; the whole program is
// checked.
#include <atomic>
#include <cassert>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

static int argument_is(const char *name);
static std::atomic<int> destroyed;

// Made before `main` begins.
struct Table {
    std::vector<int> values = std::vector<int>(4);

    ~Table()
    {
        destroyed++;
        if (argument_is("early"))
            assert(destroyed == 7); // early
    }
};

static Table table;

struct Later {
    int *value = new int(0);

    ~Later()
    {
        destroyed++;
        if (argument_is("local"))
            assert(destroyed == 7); // local
        delete value; // deletes
    }
};

static Later &later()
{
    static Later it;
    return it;
}

struct OfThread {
    ~OfThread()
    {
        destroyed++;
        if (argument_is("thread-local"))
            assert(destroyed == 7); // thread-local
    }
};

static thread_local OfThread of_thread;

static const char *chosen = "";

static int argument_is(const char *name)
{
    return !std::strcmp(chosen, name);
}

static void run_test()
{
    if (argument_is("local"))
        later();
    if (argument_is("thread-local"))
        (void)&of_thread;
    if (argument_is("detached")) {
        later();
        std::thread([] { *later().value = 1; /* detached */ }).detach();
    }
    if (argument_is("joined")) {
        later();
        std::thread([] { *later().value = 1; }).join();
    }
    if (argument_is("early-detached"))
        std::thread([] { table.values[0] = 1; /* early-detached */ }).detach();
    if (argument_is("joinable")) {
        static std::thread thread([] {});
    }
}

int main(int count, char **arguments)
{
    chosen = count > 1 ? arguments[1] : "";
    run_test();
    return 0;
}
