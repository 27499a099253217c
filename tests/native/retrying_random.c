/* A program that the arguments describe: the maximum rounds of each loop that waits, 0 for any number, and for each
 * thread its statements, of four letters each. What the threads of an execution have read is added as a line to the file
 * that `RETRYING_OUTCOMES` names, unless a loop has had too many rounds.
 *
 * A<place><notify><inside>  adds one to a count and notifies no waiter, one or all, under the lock or after it
 * W<place><count><kind>     waits until a count is large enough
 * R<place>__                reads a count and the marks of a place
 * L___, S<value>__          load and store a variable
 *
 * Kinds of waits: `n` of some milliseconds, `s` of a second, `u` with the time in microseconds, `m` counts up to two
 * time-outs, `l` ends by the variable as well, `g` and `b` give up after an hour, by a deadline in static memory and by
 * the time of the beginning on the heap. With a maximum of rounds, these give up after it. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "shared.h"

#define PLACES 2
#define THREADS 3
#define STATEMENTS 4
#define HOUR 3600
#define SECOND 1000000000l

static struct place {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    int count, marks;
} places[PLACES];

static struct thread {
    const char *statements;
    char read[STATEMENTS + 1];
    int is_cut;
} threads[THREADS];

static atomic_int variable;
static int rounds;
static time_t deadlines[THREADS], *beginnings[THREADS];

static struct timespec time_after(char kind)
{
    struct timespec time;
    if (kind == 'u') {
        struct timeval now;
        gettimeofday(&now, NULL);
        long microseconds = now.tv_sec * 1000000l + now.tv_usec + 20000;
        time.tv_sec = microseconds / 1000000;
        time.tv_nsec = microseconds % 1000000 * 1000;
        return time;
    }
    clock_gettime(CLOCK_REALTIME, &time);
    if (kind == 's') {
        time.tv_sec++;
        return time;
    }
    time.tv_nsec += 30000000;
    if (time.tv_nsec >= SECOND) {
        time.tv_nsec -= SECOND;
        time.tv_sec++;
    }
    return time;
}

/* The count; 'x' if it gives up, 0 if there were too many rounds. */
static char wait_for(int thread, struct place *place, int count, char kind)
{
    int left = rounds, gives_up = kind == 'g' || kind == 'b';
    char result;
    if (kind == 'g')
        deadlines[thread] = time(NULL) + HOUR;
    if (kind == 'b') {
        beginnings[thread] = malloc(sizeof(time_t));
        *beginnings[thread] = time(NULL);
    }
    pthread_mutex_lock(&place->mutex);
    for (;;) {
        result = '0' + place->count;
        if (place->count >= count || (kind == 'l' && atomic_load(&variable)))
            break;
        if (rounds && !left--) {
            result = gives_up ? 'x' : 0;
            break;
        }
        if ((kind == 'g' && !rounds && time(NULL) > deadlines[thread])
            || (kind == 'b' && !rounds && time(NULL) - *beginnings[thread] > HOUR)) {
            result = 'x';
            break;
        }
        struct timespec until = time_after(kind);
        int error = pthread_cond_timedwait(&place->changed, &place->mutex, &until);
        if (kind == 'm' && error == ETIMEDOUT && place->marks < 2)
            place->marks++;
    }
    pthread_mutex_unlock(&place->mutex);
    return result;
}

static void notify(struct place *place, char how)
{
    if (how == '1')
        pthread_cond_signal(&place->changed);
    if (how == '2')
        pthread_cond_broadcast(&place->changed);
}

static char perform(int thread, const char *statement)
{
    struct place *place = &places[(statement[1] - '0') % PLACES];
    char result = '.';
    switch (statement[0]) {
    case 'A':
        pthread_mutex_lock(&place->mutex);
        place->count++;
        if (statement[3] == '1')
            notify(place, statement[2]);
        pthread_mutex_unlock(&place->mutex);
        if (statement[3] != '1')
            notify(place, statement[2]);
        break;
    case 'W':
        return wait_for(thread, place, statement[2] - '0', statement[3]);
    case 'R':
        pthread_mutex_lock(&place->mutex);
        result = 'A' + 3 * place->count + place->marks;
        pthread_mutex_unlock(&place->mutex);
        break;
    case 'L':
        result = '0' + atomic_load(&variable);
        break;
    case 'S':
        atomic_store(&variable, statement[1] - '0');
        break;
    }
    return result;
}

static void *run(void *which)
{
    int thread = (int)(long)which;
    struct thread *own = &threads[thread];
    for (int i = 0; own->statements[4 * i]; i++) {
        own->read[i] = perform(thread, own->statements + 4 * i);
        if (!own->read[i]) {
            own->is_cut = 1;
            break;
        }
    }
    return NULL;
}

static void body(void *count)
{
    pthread_t handles[THREADS];
    char line[THREADS * (STATEMENTS + 1) + PLACES + 1];
    int length = 0;
    for (int i = 0; i < PLACES; i++) {
        pthread_mutex_init(&places[i].mutex, NULL);
        pthread_cond_init(&places[i].changed, NULL);
    }
    for (long i = 1; i < *(int *)count; i++)
        pthread_create(&handles[i], NULL, run, (void *)i);
    run(0);
    for (int i = 1; i < *(int *)count; i++)
        pthread_join(handles[i], NULL);
    for (int i = 0; i < *(int *)count; i++) {
        if (threads[i].is_cut)
            return;
        for (int j = 0; threads[i].read[j]; j++)
            line[length++] = threads[i].read[j];
        line[length++] = ' ';
    }
    for (int i = 0; i < PLACES; i++)
        line[length++] = '0' + places[i].marks;
    line[length++] = '\n';
    int file = open(getenv("RETRYING_OUTCOMES"), O_WRONLY | O_APPEND | O_CREAT, 0600);
    assert(write(file, line, length) == length);
    close(file);
}

int main(int count, char **arguments)
{
    int number = count - 2;
    rounds = atoi(arguments[1]);
    for (int i = 0; i < number; i++)
        threads[i].statements = arguments[i + 2];
    return raddle_check(body, &number);
}
