// In an endless loop, the thread "asker" waits for a condition that the first thread signals after
// a sleep. Three threads called "idle" wait for a signal that never arrives.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turned = PTHREAD_COND_INITIALIZER;
static unsigned turns;

static void *ask(void *nothing) {
    prctl(PR_SET_NAME, "asker");
    unsigned seen = 0;
    pthread_mutex_lock(&mutex);
    for (;;) {
        while (turns == seen) pthread_cond_wait(&turned, &mutex);
        seen = turns;
    }
    return nothing;
}

static void *idle(void *nothing) {
    prctl(PR_SET_NAME, "idle");
    for (;;) pause();
    return nothing;
}

int main(void) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, ask, NULL) != 0) return 1;
    for (int i = 0; i < 3; i++)
        if (pthread_create(&thread, NULL, idle, NULL) != 0) return 1;
    prctl(PR_SET_PDEATHSIG, 9);
    usleep(50000);
    puts("ready");
    fflush(stdout);
    for (;;) {
        usleep(5000);
        pthread_mutex_lock(&mutex);
        turns++;
        pthread_cond_signal(&turned);
        pthread_mutex_unlock(&mutex);
    }
}
