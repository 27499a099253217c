/* A whole program: what an execution opens and starts is gone when the next one begins. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int ends[2];

static void *read_word(void *unused)
{
    char word[4];
    if (read(ends[0], word, 4) != 4 || memcmp(word, "word", 4))
        exit(3);
    return unused;
}

int main(void)
{
    pthread_t reader;
    int status;
    if (pipe(ends) || ends[1] > 20)
        return 4;
    pthread_create(&reader, NULL, read_word, NULL);
    if (write(ends[1], "word", 4) != 4)
        return 5;
    pthread_join(reader, NULL);
    if (fork() == 0)
        exit(7);
    wait(&status);
    if (!fopen("/proc/self/status", "r") || system("exit 0"))
        return 6;
    return !(WIFEXITED(status) && WEXITSTATUS(status) == 7);
}
