// Threads that take one mutex again and again:
//   cc -O2 -pthread sections.c -o sections
//   unjank lock try -- ./sections THREADS STEPS-INSIDE STEPS-OUTSIDE ROUNDS
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST = 64 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static long sections, inside, outside, rounds;

static void compute(long steps) {
    for (volatile long step = 0; step < steps; step++)
        ;
}

static void *run(void *unused) {
    for (long round = 0; round < rounds; round++) {
        pthread_mutex_lock(&mutex);
        sections++;
        compute(inside);
        pthread_mutex_unlock(&mutex);
        compute(outside);
    }
    return unused;
}

int main(int count, char **words) {
    pthread_t thread[MOST];
    int threads = count == 5 ? atoi(words[1]) : 0;
    if (threads < 1 || threads > MOST) {
        fprintf(stderr, "usage: sections THREADS STEPS-INSIDE STEPS-OUTSIDE ROUNDS\n");
        return 2;
    }
    inside = atol(words[2]);
    outside = atol(words[3]);
    rounds = atol(words[4]);
    for (int i = 0; i < threads; i++)
        if (pthread_create(&thread[i], NULL, run, NULL))
            return 1;
    for (int i = 0; i < threads; i++)
        pthread_join(thread[i], NULL);
    printf("%ld\n", sections);
    return 0;
}
