// Objects that are deleted twice, or read before they are initialised. Each case is a test; all are run.
#include <cstdio>
#include <cstdlib>
#include <new>
#include <thread>

#include "raddle.h"

namespace {

struct Object {
    long numbers[4];
    Object() { numbers[0] = 1; }
};

int *number;
Object *object;
Object *array;
volatile int sink;

void make()
{
    number = new int(3);
    object = new Object;
    array = new Object[3];
}

void delete_number()
{
    delete number; // delete-number
}

void delete_object()
{
    delete object; // delete-object
}

void delete_array()
{
    delete[] array; // delete-array
}

void free_number()
{
    free(number); // free-number
}

struct Case {
    const char *name;
    void (*first)();
    void (*second)();
};

const Case cases[] = {
    {"delete-number", delete_number, delete_number},
    {"delete-object", delete_object, delete_object},
    {"delete-array", delete_array, delete_array},
    {"free-number", delete_number, free_number},
};

void in_one_thread(void *which)
{
    const Case &one = *static_cast<const Case *>(which);
    make();
    one.first();
    one.second();
}

void in_two_threads(void *which)
{
    const Case &one = *static_cast<const Case *>(which);
    make();
    std::thread thread(one.first);
    thread.join();
    one.second();
}

void read_field(void *)
{
    Object *made = new Object;
    if (made->numbers[0] == 1 && made->numbers[2] == 2) // read-field
        sink = 1;
    delete made;
}

void read_number(void *)
{
    int *made = new int;
    if (*made == 2) // read-number
        sink = 1;
    delete made;
}

void read_initialised(void *)
{
    int *made = new int();
    Object *more = new Object();
    if (*made == 0 && more->numbers[0] == 1)
        sink = 1;
    delete made;
    delete more;
}

}

int main()
{
    for (const Case &one : cases) {
        void *which = const_cast<Case *>(&one);
        fprintf(stderr, "case %s\n", one.name);
        raddle_check(in_one_thread, which);
        fprintf(stderr, "case %s\n", one.name);
        raddle_check(in_two_threads, which);
    }
    fprintf(stderr, "case read-field\n");
    raddle_check(read_field, nullptr);
    fprintf(stderr, "case read-number\n");
    raddle_check(read_number, nullptr);
    fprintf(stderr, "case read-initialised\n");
    raddle_check(read_initialised, nullptr);
    return 0;
}
