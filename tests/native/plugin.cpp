// A library that a program loads, with an object that is destroyed when it is unloaded.
#include <cassert>

struct Table {
    int *values = new int[4]();

    ~Table()
    {
        assert(values[0] == 0); // unloaded
        delete[] values;
    }
};

static Table &table()
{
    static Table it;
    return it;
}

extern "C" void set(int value)
{
    table().values[0] = value;
}
