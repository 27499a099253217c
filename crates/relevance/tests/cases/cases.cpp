// What the values of reads can do in C++; see cases.c.
#include <atomic>
#include <stdexcept>
#include <vector>

#define CASE extern "C" __attribute__((noinline))

int x, y, z;
std::atomic<int> flag;

struct Shape {
    virtual int area(int by) = 0;
};
struct Square : Shape {
    int area(int by) override { return by * by; }
};
Square square;
Shape *shape = &square;

CASE void may_throw(int kind)
{
    if (kind > 100)
        throw std::runtime_error("kind");
}

// caught: x=B
CASE void caught(int kind)
{
    int seen = x;
    try {
        may_throw(kind);
    } catch (...) {
        if (seen == 3)
            y = 1;
    }
}

// unwound: x=S|SU
struct Guard {
    int seen;
    ~Guard() { z = seen; }
};
CASE void unwound(int kind)
{
    Guard guard{x};
    may_throw(kind);
}

// The table of functions is constant, so that the pointer to it is an address.
// dispatched: shape=A|AU *=A|AU|AB|ABU x=U|SU
CASE void dispatched() { y = shape->area(x); }

// by_reference: x=BS|B
CASE void by_reference()
{
    int seen = x;
    auto decide = [&](int bound) { if (seen > bound) y = 1; };
    decide(4);
}

// atomic_class: flag=B
CASE void atomic_class() { if (flag.load(std::memory_order_relaxed) == 2) y = 1; }

int main() { return 0; }
