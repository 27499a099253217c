/* Copies of memory as the C library performs them, but seen by `serve.c`: a library, because calls of what is in the
   program itself would be analysed. */
#include <stddef.h>

void *(*copied)(void *code, char *to, char *from, long size);

void *memmove(void *to, const void *from, size_t size)
{
    if (copied) return copied(__builtin_return_address(0), to, (char *)from, (long)size);
    char *into = to;
    const char *of = from;
    if (into < of) for (size_t at = 0; at < size; at++) into[at] = of[at];
    else for (size_t at = size; at-- > 0;) into[at] = of[at];
    return to;
}

void *memcpy(void *to, const void *from, size_t size)
{
    if (copied) return copied(__builtin_return_address(0), to, (char *)from, (long)size);
    return memmove(to, from, size);
}
