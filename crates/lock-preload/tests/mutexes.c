// Uses mutexes of every kind, among several threads and processes. Prints what came out, which is
// the same with any lock that excludes.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 4, ROUNDS = 50000 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static long sum;
static int turn;

static void check(int error, const char *what) {
    if (error) {
        printf("%s: error %d\n", what, error);
        exit(1);
    }
}

static void *add(void *of) {
    pthread_mutex_t *lock = of;
    for (int i = 0; i < ROUNDS; i++) {
        check(pthread_mutex_lock(lock), "lock");
        sum++;
        check(pthread_mutex_unlock(lock), "unlock");
    }
    return NULL;
}

static void all(void *(*work)(void *), void *of) {
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        check(pthread_create(&threads[i], NULL, work, of), "create");
    for (int i = 0; i < THREADS; i++)
        check(pthread_join(threads[i], NULL), "join");
}

static void with(const char *name, int type, int robust, int protocol, int shared) {
    pthread_mutexattr_t attributes;
    pthread_mutex_t lock;
    check(pthread_mutexattr_init(&attributes), "attributes");
    check(pthread_mutexattr_settype(&attributes, type), "type");
    check(pthread_mutexattr_setrobust(&attributes, robust), "robust");
    check(pthread_mutexattr_setprotocol(&attributes, protocol), "protocol");
    check(pthread_mutexattr_setpshared(&attributes, shared), "shared");
    check(pthread_mutex_init(&lock, &attributes), "init");
    sum = 0;
    all(add, &lock);
    printf("%s: %ld\n", name, sum);
    check(pthread_mutex_destroy(&lock), "destroy");
}

// Each thread waits for its turn and gives it to the next.
static void *in_turn(void *of) {
    static int arrived;
    (void)of;
    check(pthread_mutex_lock(&mutex), "lock");
    int own = arrived++ % THREADS;
    for (int i = 0; i < 1000; i++) {
        while (turn % THREADS != own)
            check(pthread_cond_wait(&changed, &mutex), "wait");
        turn++;
        check(pthread_cond_broadcast(&changed), "broadcast");
    }
    check(pthread_mutex_unlock(&mutex), "unlock");
    return NULL;
}

static void unlock(void *lock) {
    pthread_mutex_unlock(lock);
}

static void *wait_for_ever(void *of) {
    (void)of;
    pthread_mutex_lock(&mutex);
    pthread_cleanup_push(unlock, &mutex);
    sum = -1;
    for (;;)
        pthread_cond_wait(&changed, &mutex);
    pthread_cleanup_pop(1);
    return NULL;
}

static void cancelled(void) {
    pthread_t thread;
    void *result;
    sum = 0;
    check(pthread_create(&thread, NULL, wait_for_ever, NULL), "create");
    for (int waits = 0; !waits;) {
        pthread_mutex_lock(&mutex);
        waits = sum == -1;
        pthread_mutex_unlock(&mutex);
    }
    check(pthread_cancel(thread), "cancel");
    check(pthread_join(thread, &result), "join");
    printf("cancelled: %d, free: %d\n", result == PTHREAD_CANCELED, pthread_mutex_trylock(&mutex) == 0);
    pthread_mutex_unlock(&mutex);
}

// Each time, a thread finds the mutex held for milliseconds.
static void *lock_once(void *of) {
    pthread_mutex_lock(of);
    sum++;
    pthread_mutex_unlock(of);
    return NULL;
}

static void held(void) {
    sum = 0;
    for (int i = 0; i < 10; i++) {
        pthread_t thread;
        pthread_mutex_lock(&mutex);
        check(pthread_create(&thread, NULL, lock_once, &mutex), "create");
        usleep(20000);
        pthread_mutex_unlock(&mutex);
        check(pthread_join(thread, NULL), "join");
    }
    printf("held: %ld\n", sum);
}

static void between_processes(void) {
    struct shared {
        pthread_mutex_t lock;
        long sum;
    } *shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    pthread_mutex_init(&shared->lock, &attributes);
    fflush(stdout);
    for (int i = 0; i < THREADS; i++) {
        if (fork() == 0) {
            for (int j = 0; j < ROUNDS; j++) {
                pthread_mutex_lock(&shared->lock);
                shared->sum++;
                pthread_mutex_unlock(&shared->lock);
            }
            _exit(0);
        }
    }
    while (wait(NULL) > 0)
        ;
    printf("between processes: %ld\n", shared->sum);
}

// Children of a process whose other threads wait for mutexes.
static void *fork_often(void *of) {
    (void)of;
    for (int i = 0; i < 20; i++) {
        pid_t child = fork();
        if (child == 0) {
            pthread_mutex_t own = PTHREAD_MUTEX_INITIALIZER;
            sum = 0;
            all(add, &own);
            _exit(sum == (long)THREADS * ROUNDS ? 0 : 1);
        }
        int status;
        waitpid(child, &status, 0);
        check(status, "child");
    }
    return NULL;
}

static void *fork_or_add(void *of) {
    static int number;
    if (__atomic_fetch_add(&number, 1, __ATOMIC_RELAXED) == 0)
        return fork_often(NULL);
    return add(of);
}

int main(void) {
    with("normal", PTHREAD_MUTEX_NORMAL, 0, 0, 0);
    with("adaptive", PTHREAD_MUTEX_ADAPTIVE_NP, 0, 0, 0);
    with("recursive", PTHREAD_MUTEX_RECURSIVE, 0, 0, 0);
    with("checking", PTHREAD_MUTEX_ERRORCHECK, 0, 0, 0);
    with("robust", PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_ROBUST, 0, 0);
    with("inheriting", PTHREAD_MUTEX_NORMAL, 0, PTHREAD_PRIO_INHERIT, 0);
    all(in_turn, NULL);
    printf("in turn: %d\n", turn);
    cancelled();
    held();
    between_processes();
    all(fork_or_add, &mutex);
    printf("forked\n");
    pthread_mutexattr_t attributes;
    pthread_mutex_t checking;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_ERRORCHECK);
    pthread_mutex_init(&checking, &attributes);
    pthread_mutex_lock(&checking);
    printf("taken twice: %s\n", pthread_mutex_lock(&checking) == EDEADLK ? "refused" : "allowed");
    return 0;
}
