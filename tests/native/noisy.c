/* A whole program with a race in plain accesses, whose consequence is a failed assertion, and that writes to standard
 * error in every way. */
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int counter;

static void *add(void *unused)
{
    (void)unused;
    fprintf(stderr, "noise of fprintf\n");
    counter++;
    return NULL;
}

int main(int count, char **arguments)
{
    static const char words[] = "noise of write\n";
    pthread_t one, other;
    if (write(STDERR_FILENO, words, strlen(words)) < 0)
        return 2;
    perror("noise of perror");
    fputs("noise of stdout\n", stdout);
    pthread_create(&one, NULL, add, NULL);
    if (count > 1 && !strcmp(arguments[1], "in-order"))
        pthread_join(one, NULL);
    pthread_create(&other, NULL, add, NULL);
    if (count == 1)
        pthread_join(one, NULL);
    pthread_join(other, NULL);
    assert(counter == 2);
    return 0;
}
