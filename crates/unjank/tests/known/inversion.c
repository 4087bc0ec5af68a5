// Three real-time threads on one CPU: the first, of the highest priority, waits for a mutex of the
// lowest, and the middle one computes. With `inherits` the mutex lends its holder the priority.
#include "clocks.h"

#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/prctl.h>

static pthread_mutex_t mutex;
static int held[2], go[2];
static pid_t holder;

static void priority(int priority) {
    struct sched_param parameters = {.sched_priority = priority};
    if (sched_setscheduler(0, SCHED_FIFO, &parameters) != 0) exit(77);
}

static void *hold(void *nothing) {
    priority(10);
    holder = gettid();
    pthread_mutex_lock(&mutex);
    if (write(held[1], "h", 1) != 1) exit(1);
    compute(100 * MILLISECOND);
    pthread_mutex_unlock(&mutex);
    // The CPU clock of a thread is readable only while the thread exists.
    pause();
    return nothing;
}

static void *disturb(void *nothing) {
    char byte;
    priority(20);
    prctl(PR_SET_NAME, "known-middle");
    if (write(held[1], "m", 1) != 1 || read(go[0], &byte, 1) != 1) exit(1);
    compute(150 * MILLISECOND);
    pause();
    return nothing;
}

static void begin(void *(*of)(void *)) {
    pthread_t thread;
    char byte;
    if (pthread_create(&thread, NULL, of, NULL) != 0) exit(1);
    if (read(held[0], &byte, 1) != 1) exit(1);
}

int main(int count, char **arguments) {
    if (count < 2 || pipe(held) != 0 || pipe(go) != 0) return 2;
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    if (count > 2 && strcmp(arguments[2], "inherits") == 0)
        pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT);
    pthread_mutex_init(&mutex, &attributes);
    stay_on_cpu();
    priority(30);
    begin(disturb);
    begin(hold);
    nanos computed = clock_now(clock_of_thread(holder));
    struct moment before = now();
    if (write(go[1], "g", 1) != 1) return 1;
    pthread_mutex_lock(&mutex);
    struct moment after = now();
    computed = clock_now(clock_of_thread(holder)) - computed;
    part("slept", slept(before, after));
    part("others-computed", computed);
    part("others-waited", slept(before, after) - computed);
    return finish(arguments);
}
