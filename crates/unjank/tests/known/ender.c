// The first thread sleeps; another sleeps, too, and ends the process.
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static void *end(void *nothing) {
    usleep(300000);
    exit(0);
    return nothing;
}

int main(void) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, end, NULL) != 0) return 1;
    for (;;) pause();
}
