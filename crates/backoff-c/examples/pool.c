/*
 * A lock, a condition variable, a work queue and a thread pool in C.
 *
 *   cargo build -p unjank-backoff-c --release
 *   cc -I crates/backoff-c/include crates/backoff-c/examples/pool.c \
 *      target/release/libunjank_backoff.a -lpthread -ldl -lm -o pool && ./pool
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "unjank_backoff.h"

_Static_assert(sizeof(unjank_mutex) == UNJANK_MUTEX_SIZE, "the size of a mutex");
_Static_assert(sizeof(unjank_condvar) == UNJANK_CONDVAR_SIZE, "the size of a condvar");
_Static_assert(sizeof(unjank_signal) == UNJANK_SIGNAL_SIZE, "the size of a signal");
_Static_assert(sizeof(unjank_backoff) == UNJANK_BACKOFF_SIZE, "the size of a back-off");
_Static_assert(_Alignof(unjank_mutex) == UNJANK_MUTEX_ALIGN, "the alignment of a mutex");
_Static_assert(_Alignof(unjank_condvar) == UNJANK_CONDVAR_ALIGN, "that of a condvar");
_Static_assert(_Alignof(unjank_signal) == UNJANK_SIGNAL_ALIGN, "that of a signal");
_Static_assert(_Alignof(unjank_backoff) == UNJANK_BACKOFF_ALIGN, "that of a back-off");

enum { NUMBERS = 10000, ROOM = 64, WORKERS = 2 };

/* A bounded queue of numbers that can be closed. */
struct queue {
    unjank_mutex mutex;
    unjank_condvar changed;
    int items[ROOM];
    unsigned head, length;
    bool is_closed;
};

static struct queue queue = {.mutex = UNJANK_MUTEX_INIT, .changed = UNJANK_CONDVAR_INIT};

static void push(struct queue *to, int item)
{
    unjank_mutex_lock(&to->mutex);
    while (to->length == ROOM)
        unjank_condvar_wait(&to->changed, &to->mutex);
    to->items[(to->head + to->length++) % ROOM] = item;
    unjank_mutex_unlock(&to->mutex);
    unjank_condvar_notify_all(&to->changed);
}

static void close_queue(struct queue *it)
{
    unjank_mutex_lock(&it->mutex);
    it->is_closed = true;
    unjank_mutex_unlock(&it->mutex);
    unjank_condvar_notify_all(&it->changed);
}

/* Returns whether it took an item: none is left once the queue is closed and empty. */
static bool pop(struct queue *from, int *item)
{
    unjank_mutex_lock(&from->mutex);
    while (from->length == 0 && !from->is_closed)
        unjank_condvar_wait(&from->changed, &from->mutex);
    bool is_there = from->length > 0;
    if (is_there) {
        *item = from->items[from->head++ % ROOM];
        from->length--;
    }
    unjank_mutex_unlock(&from->mutex);
    unjank_condvar_notify_all(&from->changed);
    return is_there;
}

/* The total of the workers, and a flag with its signal. Zeroed memory is ready. */
static struct {
    unjank_mutex mutex;
    long long sum;
    int done;
} total;
static atomic_bool begun;
static unjank_signal changed;

static bool has_begun(void *flag)
{
    return atomic_load_explicit((atomic_bool *)flag, memory_order_acquire);
}

/* One piece of work: adds up the numbers of the queue until it is closed. */
static void add_up(void *from)
{
    long long sum = 0;
    int item;

    unjank_signal_wait_until(&changed, has_begun, &begun);
    while (pop(from, &item))
        sum += item;

    unjank_mutex_lock(&total.mutex);
    total.sum += sum;
    total.done++;
    unjank_mutex_unlock(&total.mutex);
}

/* A loop with a back-off. */
static void count(void *counter)
{
    atomic_int *number = counter;
    unjank_backoff backoff;
    int seen = atomic_load(number);

    unjank_backoff_init(&backoff);
    while (!atomic_compare_exchange_weak(number, &seen, seen + 1))
        unjank_backoff_spin(&backoff);
}

int main(void)
{
    unjank_costs costs = unjank_calibrate();
    fprintf(stderr, "a pause takes %llu ns, parking %llu ns\n",
            (unsigned long long)costs.pause_ns, (unsigned long long)costs.park_ns);

    unjank_pool *pool = unjank_pool_new(WORKERS);
    if (!pool) {
        perror("unjank_pool_new");
        return EXIT_FAILURE;
    }
    for (int worker = 0; worker < WORKERS; worker++)
        unjank_pool_run(pool, add_up, &queue);
    atomic_store_explicit(&begun, true, memory_order_release);
    unjank_signal_notify_all(&changed);

    for (int number = 1; number <= NUMBERS; number++)
        push(&queue, number);
    close_queue(&queue);
    unjank_pool_wait_idle(pool);
    printf("%d workers added up %lld\n", total.done, total.sum);

    static atomic_int counter;
    for (int n = 0; n < NUMBERS; n++)
        unjank_pool_run(pool, count, &counter);
    unjank_pool_free(pool);
    printf("freeing the pool finished %d pieces of work\n", atomic_load(&counter));
    return EXIT_SUCCESS;
}
