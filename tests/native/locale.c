/* Asks for the locale of the environment in every execution: its files must be mapped once. */
#include <locale.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static atomic_int counter;

static void *add(void *unused)
{
    atomic_fetch_add(&counter, 1);
    return unused;
}

static int mappings(const char *file)
{
    static char line[4096];
    int found = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (fgets(line, sizeof line, maps))
        found += strstr(line, file) != 0;
    fclose(maps);
    return found;
}

int main(void)
{
    pthread_t thread;
    if (!setlocale(LC_ALL, ""))
        return 0;
    mblen("a", 1);
    pthread_create(&thread, 0, add, 0);
    atomic_fetch_add(&counter, 1);
    pthread_join(thread, 0);
    return mappings("/LC_CTYPE") > 1 || mappings("gconv-modules.cache") > 1;
}
