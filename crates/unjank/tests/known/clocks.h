// A program's own clocks, and the file into which it writes the durations of its parts.
#ifndef CLOCKS_H
#define CLOCKS_H
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

typedef long long nanos;

static const nanos MILLISECOND = 1000000;

static inline nanos clock_now(clockid_t clock) {
    struct timespec now;
    if (clock_gettime(clock, &now) != 0) exit(3);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

// The clocks of the CPU time of a thread of this process, and of any process: clock_getres(2).
static inline clockid_t clock_of_thread(pid_t thread) { return (~thread << 3) | 6; }
static inline clockid_t clock_of_process(pid_t process) { return (~process << 3) | 2; }

// Reads the beginning of a file of procfs.
static inline void read_begin(const char *path, char *text, size_t size) {
    int file = open(path, O_RDONLY);
    ssize_t length = file < 0 ? 0 : read(file, text, size - 1);
    if (length <= 0) exit(3);
    close(file);
    text[length] = 0;
}

// How long this thread has waited for a CPU: proc_pid_schedstat(5).
static inline nanos waited_for_cpu(void) {
    char text[128];
    read_begin("/proc/thread-self/schedstat", text, sizeof text);
    nanos computed, waited;
    if (sscanf(text, "%lld %lld", &computed, &waited) != 2) exit(3);
    return waited;
}

// How long the host of this virtual machine has given its CPUs to others, in steps of 10 ms:
// proc_stat(5). CPU clocks leave out that time, so it looks like sleep here.
static inline nanos stolen_from_all(void) {
    char text[128];
    read_begin("/proc/stat", text, sizeof text);
    nanos ticks;
    if (sscanf(text, "cpu %*s %*s %*s %*s %*s %*s %*s %lld", &ticks) != 1) exit(3);
    return ticks * 10 * MILLISECOND;
}

struct moment {
    nanos wall, computed, waited;
};

// A moment at which this thread runs, so that all of its clocks are exact.
static inline struct moment now(void) {
    nanos waited = waited_for_cpu();
    return (struct moment){clock_now(CLOCK_MONOTONIC), clock_now(CLOCK_THREAD_CPUTIME_ID), waited};
}

// How long this thread slept between two moments: the rest of its time.
static inline nanos slept(struct moment from, struct moment to) {
    return (to.wall - from.wall) - (to.computed - from.computed) - (to.waited - from.waited);
}

// Keeps this thread, and those that it starts from now on, on the CPU where it is.
static inline void stay_on_cpu(void) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    if (sched_setaffinity(0, sizeof one, &one) != 0) exit(3);
}

static inline void compute(nanos time) {
    nanos end = clock_now(CLOCK_THREAD_CPUTIME_ID) + time;
    while (clock_now(CLOCK_THREAD_CPUTIME_ID) < end)
        for (volatile int turn = 0; turn < 1000; turn++) {}
}

static char report[4096];
static int reported;
static struct moment first;
static nanos stolen_before;

// The clocks of a process begin at its fork, before the program does.
__attribute__((constructor)) static void begin_of_program(void) {
    first = now();
    stolen_before = stolen_from_all();
}

static inline void part(const char *name, nanos time) {
    reported +=
        snprintf(report + reported, sizeof report - reported, "%s %lld\n", name, time);
}

// Opens the file that the first argument names, into which `finish_with` writes. As a program cannot
// time what it does after its last look at the clocks, this comes before.
static inline int open_report(char **arguments) {
    part("stolen", stolen_from_all() - stolen_before);
    return open(arguments[1], O_WRONLY | O_CREAT | O_TRUNC, 0600);
}

// Writes the parts: those given to `part`, and how long the program has computed and waited for a
// CPU since its fork.
static inline int finish_with(int file, nanos computed, nanos waited) {
    part("computed", computed - first.computed);
    part("computed-since-fork", computed);
    part("waited", waited - first.waited);
    part("waited-since-fork", waited);
    nanos ran = computed + waited;
    part("ran", ran - first.computed - first.waited);
    part("ran-since-fork", ran);
    return file >= 0 && write(file, report, reported) == reported ? 0 : 1;
}

// Ends the program.
static inline int finish(char **arguments) {
    int file = open_report(arguments);
    struct moment last = now();
    return finish_with(file, last.computed, last.waited);
}

#endif
