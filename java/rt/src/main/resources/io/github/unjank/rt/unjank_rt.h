/* The function type of a job of io.github.unjank.rt.CriticalTask. */
#ifndef UNJANK_RT_H
#define UNJANK_RT_H

#include <stdint.h>

/* One wake-up. Moments are nanoseconds on CLOCK_MONOTONIC, like System.nanoTime() in Java. */
struct unjank_wakeup {
    uint64_t period; /* number of the period from 0, missed periods included */
    uint64_t due;    /* beginning of the period */
    uint64_t woken;  /* when the task read the clock */
    uint64_t missed; /* further periods that had passed by then */
};

/*
 * Called at each wake-up. `in` is the oldest message from Java, or null with
 * `in_bytes` 0. Returns how many bytes of `out` are a message to Java, 0 for
 * none, or a negative number to end the task. It must neither block nor
 * unwind, and has no JNIEnv.
 */
typedef int32_t (*unjank_job)(const struct unjank_wakeup *wakeup,
                              const void *in, uint32_t in_bytes,
                              void *out, uint32_t out_bytes);

#endif
