/* `main` leaves, and the program goes on. The argument says what the other thread does. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static atomic_int value;
static const char *what;

static void *other(void *unused)
{
    atomic_fetch_add(&value, 1);
    if (!strcmp(what, "fails"))
        assert(atomic_load(&value) == 1);
    if (!strcmp(what, "hangs"))
        pthread_mutex_lock(&mutex);
    return unused;
}

int main(int count, char **arguments)
{
    pthread_t thread;
    what = count > 1 ? arguments[1] : "";
    pthread_mutex_lock(&mutex);
    pthread_create(&thread, NULL, other, NULL);
    atomic_fetch_add(&value, 1);
    if (strcmp(what, "hangs"))
        pthread_mutex_unlock(&mutex);
    pthread_exit((void *)7);
}
