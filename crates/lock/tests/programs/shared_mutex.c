/* Six processes that fight for one PROCESS_SHARED mutex in memory that they share. */
#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

static void fight(pthread_mutex_t *mutex)
{
    struct timespec hold = {0, 2000000};
    for (;;) {
        pthread_mutex_lock(mutex);
        nanosleep(&hold, NULL);
        pthread_mutex_unlock(mutex);
    }
}

int main(void)
{
    pthread_mutex_t *mutex = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pthread_mutexattr_t shared;
    if (mutex == MAP_FAILED)
        return 1;
    pthread_mutexattr_init(&shared);
    pthread_mutexattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
    pthread_mutex_init(mutex, &shared);
    for (int number = 0; number < 6; number++)
        if (fork() == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            fight(mutex);
        }
    puts("ready");
    fflush(stdout);
    for (;;)
        pause();
}
