/* Loads the library that the first argument names, and unloads it before the end; the whole program is checked. */
#include <dlfcn.h>
#include <stdlib.h>

int main(int count, char **arguments)
{
    void *library = count > 2 ? dlopen(arguments[1], RTLD_NOW) : NULL;
    if (!library)
        return 2;
    void (*set)(int) = (void (*)(int))dlsym(library, "set");
    set(atoi(arguments[2]));
    dlclose(library);
    return 0;
}
