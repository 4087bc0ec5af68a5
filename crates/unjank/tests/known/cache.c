// The first thread waits for a lock in `cache_get`; its holder fills a cache in `cache_put`.
#include "clocks.h"

#include <pthread.h>

#define OWN_FRAME __attribute__((noinline, noclone))
#define AND_COMES_BACK __asm__ volatile("" ::: "memory")

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int held[2];

OWN_FRAME static void cache_fill(void) {
    compute(200 * MILLISECOND);
    AND_COMES_BACK;
}

OWN_FRAME static void cache_put(void) {
    pthread_mutex_lock(&lock);
    if (write(held[1], "p", 1) != 1) exit(1);
    cache_fill();
    pthread_mutex_unlock(&lock);
    AND_COMES_BACK;
}

OWN_FRAME static void cache_get(void) {
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    AND_COMES_BACK;
}

static void *work(void *nothing) {
    cache_put();
    pause();
    return nothing;
}

int main(int count, char **arguments) {
    pthread_t thread;
    char byte;
    if (count != 2 || pipe(held) != 0) return 2;
    if (pthread_create(&thread, NULL, work, NULL) != 0 || read(held[0], &byte, 1) != 1) return 1;
    cache_get();
    return finish(arguments);
}
