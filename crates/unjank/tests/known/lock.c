// The first thread waits for a mutex that another holds while it sleeps.
#include <pthread.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int held[2];

static void *hold(void *nothing) {
    pthread_mutex_lock(&mutex);
    write(held[1], "h", 1);
    usleep(600000);
    pthread_mutex_unlock(&mutex);
    return nothing;
}

int main(void) {
    pthread_t thread;
    char byte;
    if (pipe(held) != 0 || pthread_create(&thread, NULL, hold, NULL) != 0) return 1;
    if (read(held[0], &byte, 1) != 1) return 1;
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
    return 0;
}
