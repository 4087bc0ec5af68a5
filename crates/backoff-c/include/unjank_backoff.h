/*
 * Locks, waits and a thread pool for C and C++ that spin for as long as that is
 * cheaper than being parked and woken on this machine, and no longer.
 *
 * Rules for all functions:
 *
 * - A pointer that is NULL ends the process with a message (SIGABRT), except
 *   where it is said to be allowed. Any other pointer is believed.
 * - A lock, a condition variable and a signal must not move while they are in
 *   use, and belong to one process. They need not be destroyed.
 * - Callbacks may call everything here, unless said otherwise. They must
 *   return: a C++ exception that leaves one ends the process (SIGABRT), and
 *   neither longjmp(3) nor pthread_exit(3) nor pthread_cancel(3) may.
 * - Lengths of time are in nanoseconds.
 *
 * Linux and Android. Made by cbindgen: change crates/backoff-c/src instead.
 */

#ifndef UNJANK_BACKOFF_H
#define UNJANK_BACKOFF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A free mutex, a condition variable and a signal that nobody waits for: all
 * zero, so those of static storage and from calloc(3) are ready as well. */
#define UNJANK_MUTEX_INIT {{0}}
#define UNJANK_CONDVAR_INIT {{0}}
#define UNJANK_SIGNAL_INIT {{0}}

/**
 * How large an `unjank_mutex` is, in bytes.
 */
#define UNJANK_MUTEX_SIZE 64

/**
 * By what the address of an `unjank_mutex` is divisible.
 */
#define UNJANK_MUTEX_ALIGN 4

/**
 * How large an `unjank_condvar` is, in bytes.
 */
#define UNJANK_CONDVAR_SIZE 16

/**
 * By what the address of an `unjank_condvar` is divisible.
 */
#define UNJANK_CONDVAR_ALIGN 4

/**
 * How large an `unjank_signal` is, in bytes.
 */
#define UNJANK_SIGNAL_SIZE 16

/**
 * By what the address of an `unjank_signal` is divisible.
 */
#define UNJANK_SIGNAL_ALIGN 4

/**
 * How large an `unjank_backoff` is, in bytes.
 */
#define UNJANK_BACKOFF_SIZE 64

/**
 * By what the address of an `unjank_backoff` is divisible.
 */
#define UNJANK_BACKOFF_ALIGN 8

/**
 * Threads that run what they are given, first in, first out. An idle one uses
 * no CPU.
 */
typedef struct unjank_pool unjank_pool;

/**
 * A lock. It spins while that is worth it, lets a thread run on that keeps it
 * busy by itself, and hands over to whoever has waited for some milliseconds.
 *
 * It is not recursive, does not lend priority, and is not for memory that
 * processes share. Nothing has to be destroyed. `UNJANK_MUTEX_INIT` is a free
 * one.
 */
typedef struct unjank_mutex {
  uint32_t _opaque[16];
} unjank_mutex;

/**
 * Lets threads that hold an `unjank_mutex` wait for a change of what it
 * protects. Waiters park at once; for short waits there is `unjank_signal`.
 *
 * As with every condition variable, a wait may end for no reason: look at the
 * condition in a loop. Notifying without a waiter makes no system call.
 * `UNJANK_CONDVAR_INIT` is one that nobody waits for.
 */
typedef struct unjank_condvar {
  uint32_t _opaque[4];
} unjank_condvar;

/**
 * Lets threads wait for a condition that other threads make true, and wakes
 * them when it may have become true.
 *
 * A waiter spins while that is worth it, and learns how long waits last here.
 * Notifying costs no system call unless a thread is parked.
 * `UNJANK_SIGNAL_INIT` is one that nobody waits for.
 */
typedef struct unjank_signal {
  uint32_t _opaque[4];
} unjank_signal;

/**
 * A question that is asked until the answer is true.
 *
 * It is asked often, by the thread that waits, and does its own ordering:
 * load with `memory_order_acquire` what was stored with
 * `memory_order_release`.
 */
typedef bool (*unjank_condition)(void *context);

/**
 * Backs off in a loop of your own, with budgets in time. It belongs to one
 * thread, is made with `unjank_backoff_init`, and may be copied.
 *
 * Prefer `unjank_signal_wait_until` or `unjank_wait_until` where the condition
 * can be put into a function: they cannot be used wrongly.
 */
typedef struct unjank_backoff {
  uint64_t _opaque[8];
} unjank_backoff;

/**
 * What waiting costs on this machine, in nanoseconds.
 */
typedef struct unjank_costs {
  /**
   * One `unjank_pause`.
   */
  uint64_t pause_ns;
  /**
   * One `sched_yield(2)` with nobody to yield to.
   */
  uint64_t yield_ns;
  /**
   * From a wake-up call until the parked thread runs on another CPU; between
   * 1 and 50 us.
   */
  uint64_t park_ns;
} unjank_costs;

/**
 * A piece of work.
 */
typedef void (*unjank_work)(void *context);

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * Makes a free mutex, where an initialiser cannot stand.
 *
 * Contract: Nobody uses it.
 */
void unjank_mutex_init(struct unjank_mutex *mutex);

/**
 * Takes the mutex, and waits for it if need be.
 *
 * Contract: A thread that holds it already waits for ever.
 */
void unjank_mutex_lock(struct unjank_mutex *mutex);

/**
 * Takes the mutex if it is free; says whether it did.
 */
bool unjank_mutex_try_lock(struct unjank_mutex *mutex);

/**
 * Releases the mutex.
 *
 * Contract: The calling thread holds it: otherwise it protects nothing any more.
 */
void unjank_mutex_unlock(struct unjank_mutex *mutex);

/**
 * Whether somebody holds the mutex, at some moment during the call.
 */
bool unjank_mutex_is_locked(const struct unjank_mutex *mutex);

/**
 * Makes one that nobody waits for, where an initialiser cannot stand.
 *
 * Contract: Nobody uses it.
 */
void unjank_condvar_init(struct unjank_condvar *condvar);

/**
 * Releases the mutex, waits for a notification, and takes the mutex.
 *
 * Contract: The calling thread holds the mutex.
 */
void unjank_condvar_wait(struct unjank_condvar *condvar, struct unjank_mutex *mutex);

/**
 * As `unjank_condvar_wait`, for `at_most_ns` at most. Says whether it was over
 * before that; the calling thread holds the mutex in both cases.
 *
 * Contract: The calling thread holds the mutex.
 */
bool unjank_condvar_wait_for(struct unjank_condvar *condvar,
                             struct unjank_mutex *mutex,
                             uint64_t at_most_ns);

/**
 * Wakes one thread that waits, if one does.
 */
void unjank_condvar_notify_one(struct unjank_condvar *condvar);

/**
 * Wakes all threads that wait.
 */
void unjank_condvar_notify_all(struct unjank_condvar *condvar);

/**
 * Makes one that nobody waits for, where an initialiser cannot stand.
 *
 * Contract: Nobody uses it.
 */
void unjank_signal_init(struct unjank_signal *signal);

/**
 * Waits until `condition(context)` is true. Whoever makes it true has to
 * notify after that.
 *
 * Contract: `condition` may be called with `context`.
 */
void unjank_signal_wait_until(struct unjank_signal *signal,
                              unjank_condition condition,
                              void *context);

/**
 * As `unjank_signal_wait_until`, for `at_most_ns` at most. Returns what the
 * condition was at last.
 *
 * Contract: `condition` may be called with `context`.
 */
bool unjank_signal_wait_until_for(struct unjank_signal *signal,
                                  unjank_condition condition,
                                  void *context,
                                  uint64_t at_most_ns);

/**
 * Wakes one thread that is parked, if one is. Threads that spin see the
 * condition by themselves, and one of them may be first.
 */
void unjank_signal_notify_one(struct unjank_signal *signal);

/**
 * Wakes all threads that are parked.
 */
void unjank_signal_notify_all(struct unjank_signal *signal);

/**
 * Waits until `condition(context)` is true, where nobody tells: a register of
 * a device, a word of somebody else's library. Spins for as long as parking
 * would cost, and then sleeps, 50 us at first and 1 ms at last.
 *
 * Contract: `condition` may be called with `context`.
 */
void unjank_wait_until(unjank_condition condition, void *context);

/**
 * As `unjank_wait_until`, for `at_most_ns` at most. Returns what the condition
 * was at last.
 *
 * Contract: `condition` may be called with `context`.
 */
bool unjank_wait_until_for(unjank_condition condition, void *context, uint64_t at_most_ns);

/**
 * Makes one that has not waited yet. Costs nothing.
 *
 * Contract: `backoff` points to room for one.
 */
void unjank_backoff_init(struct unjank_backoff *backoff);

/**
 * Backs off in a loop in which another thread has made progress, such as a
 * failed compare-and-exchange: some pauses, half as many more each time, up to
 * 64.
 *
 * Contract: It was made.
 */
void unjank_backoff_spin(struct unjank_backoff *backoff);

/**
 * Backs off in a loop that waits for another thread: pauses for as long as
 * parking would cost, then yields for as long, and then sleeps for 50 us to
 * 1 ms.
 *
 * Contract: It was made.
 */
void unjank_backoff_snooze(struct unjank_backoff *backoff);

/**
 * Whether spinning for longer would cost more than parking, so that the thread
 * had better park, if there is somebody to wake it.
 *
 * Contract: It was made.
 */
bool unjank_backoff_is_completed(const struct unjank_backoff *backoff);

/**
 * Starts again, as one that has not waited yet.
 *
 * Contract: It was made.
 */
void unjank_backoff_reset(struct unjank_backoff *backoff);

/**
 * Measures what waiting costs, the first time it is called in a process, in
 * two milliseconds and with two threads. All waits go by that from then on;
 * until then they assume that parking takes 10 us. `unjank_pool_new` does it,
 * too.
 *
 * From then on a mutex that nobody waits for is released with a store. What
 * that needs of the kernel takes up to 20 ms more in a process that has other
 * threads already.
 */
struct unjank_costs unjank_calibrate(void);

/**
 * Waits for a moment, in a way that is kind to the other hardware thread of
 * the core.
 */
void unjank_pause(void);

/**
 * Starts a pool of so many threads; 0 means as many as the process may use
 * CPUs at once, by its affinity and its CPU quota. The first pool of a process
 * takes two milliseconds to calibrate, and up to 20 ms more if there are other
 * threads (`unjank_calibrate`).
 *
 * Returns NULL, with `errno` set, if a thread could not be started; none is
 * left behind.
 */
struct unjank_pool *unjank_pool_new(size_t threads);

/**
 * Gives work to the pool: one of its threads calls `work(context)`. Work may
 * give more work. Allocates some memory, and ends the process if there is
 * none.
 *
 * Contract: `context` may be used by another thread, until the work is done.
 */
void unjank_pool_run(struct unjank_pool *pool, unjank_work work, void *context);

/**
 * Waits until all work is done that was given to the pool, also what is given
 * meanwhile. Returns at once and false where it is called by work of the pool
 * itself, which would wait for its own end; otherwise true.
 */
bool unjank_pool_wait_idle(struct unjank_pool *pool);

/**
 * How many threads the pool has.
 */
size_t unjank_pool_threads(const struct unjank_pool *pool);

/**
 * How much work of the pool has not been begun.
 */
size_t unjank_pool_waiting(const struct unjank_pool *pool);

/**
 * Finishes all work that was given, ends the threads and frees the pool. Does
 * nothing for NULL. Work of the pool itself may call it, and then is the one
 * piece of work that is not waited for.
 *
 * Contract: Nobody else uses the pool from now on.
 */
void unjank_pool_free(struct unjank_pool *pool);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* UNJANK_BACKOFF_H */
