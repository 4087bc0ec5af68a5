// The first thread ends; another sleeps, and ends the process.
#include <pthread.h>
#include <unistd.h>

static void *sleep_on(void *nothing) {
    usleep(300000);
    return nothing;
}

int main(void) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, sleep_on, NULL) != 0) return 1;
    pthread_exit(NULL);
}
