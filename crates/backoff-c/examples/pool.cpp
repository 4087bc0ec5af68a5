// C++ wrappers for the mutex and the pool. The mutex works with std::lock_guard,
// std::unique_lock, std::scoped_lock and std::condition_variable_any.
//
//   cargo build -p unjank-backoff-c --release
//   c++ -std=c++17 -I crates/backoff-c/include crates/backoff-c/examples/pool.cpp
//      target/release/libunjank_backoff.a -lpthread -ldl -lm -o pool && ./pool
#include <cerrno>
#include <cerrno>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <functional>
#include <iostream>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "unjank_backoff.h"

namespace unjank {

// A Lockable, as the C++ standard defines it.
class Mutex {
public:
    constexpr Mutex() noexcept = default;
    Mutex(const Mutex &) = delete;
    Mutex &operator=(const Mutex &) = delete;

    void lock() noexcept { unjank_mutex_lock(&raw_); }
    bool try_lock() noexcept { return unjank_mutex_try_lock(&raw_); }
    void unlock() noexcept { unjank_mutex_unlock(&raw_); }

private:
    unjank_mutex raw_ = UNJANK_MUTEX_INIT;
};

// Its destructor finishes all work and ends the threads.
class Pool {
public:
    explicit Pool(std::size_t threads = 0) : raw_(unjank_pool_new(threads))
    {
        if (!raw_)
            throw std::system_error(errno, std::generic_category(), "unjank_pool_new");
    }

    // Exceptions must not leave the work: the first one is kept for wait().
    void run(std::function<void()> work)
    {
        auto job = std::make_unique<Job>(Job{this, std::move(work)});
        unjank_pool_run(raw_.get(), &Job::run, job.release());
    }

    // Rethrows the first exception of the work.
    void wait()
    {
        unjank_pool_wait_idle(raw_.get());
        std::lock_guard<Mutex> held(mutex_);
        if (thrown_)
            std::rethrow_exception(std::exchange(thrown_, nullptr));
    }

private:
    struct Job {
        Pool *pool;
        std::function<void()> work;

        static void run(void *context) noexcept
        {
            std::unique_ptr<Job> job(static_cast<Job *>(context));
            try {
                job->work();
            } catch (...) {
                std::lock_guard<Mutex> held(job->pool->mutex_);
                if (!job->pool->thrown_)
                    job->pool->thrown_ = std::current_exception();
            }
        }
    };
    struct Free {
        void operator()(unjank_pool *pool) const noexcept { unjank_pool_free(pool); }
    };

    Mutex mutex_;
    std::exception_ptr thrown_;
    // Last, so that its work is done before the other members are destroyed.
    std::unique_ptr<unjank_pool, Free> raw_;
};

} // namespace unjank

int main()
{
    unjank::Mutex mutex;
    std::condition_variable_any changed;
    long sum = 0;
    bool ready = false;
    {
        unjank::Pool pool(2);
        for (int n = 1; n <= 1000; n++)
            pool.run([&, n] {
                std::lock_guard<unjank::Mutex> held(mutex);
                sum += n;
            });
        pool.wait();

        pool.run([&] {
            const std::scoped_lock<unjank::Mutex> held(mutex);
            ready = true;
            changed.notify_one();
        });
        std::unique_lock<unjank::Mutex> held(mutex);
        changed.wait(held, [&] { return ready; });
        held.unlock();
        std::cout << "the work adds up to " << sum << std::endl;

        pool.run([] { throw std::runtime_error("late"); });
        try {
            pool.wait();
        } catch (const std::runtime_error &thrown) {
            std::cout << "the work has thrown: " << thrown.what() << std::endl;
        }
    }
    std::unique_lock<unjank::Mutex> first(mutex);
    std::unique_lock<unjank::Mutex> second(mutex, std::try_to_lock);
    std::cout << "taken twice: " << (second.owns_lock() ? "yes" : "no") << std::endl;
}
