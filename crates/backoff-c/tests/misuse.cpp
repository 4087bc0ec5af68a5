// Misuse that must abort the process; the argument selects which.
#include <iostream>
#include <stdexcept>
#include <string>

#include "unjank_backoff.h"

static void work(void *)
{
    throw std::runtime_error("nobody catches it");
}

static bool condition(void *)
{
    throw std::runtime_error("nobody catches it");
}

int main(int, char **argument)
{
    const std::string what = argument[1];
    unjank_signal signal = UNJANK_SIGNAL_INIT;
    unjank_pool *pool = unjank_pool_new(1);

    if (what == "mutex")
        unjank_mutex_lock(nullptr);
    else if (what == "condvar")
        unjank_condvar_init(nullptr);
    else if (what == "condition")
        unjank_signal_wait_until(&signal, nullptr, nullptr);
    else if (what == "work")
        unjank_pool_run(pool, nullptr, nullptr);
    else if (what == "pool")
        unjank_pool_wait_idle(nullptr);
    else if (what == "throwing condition")
        unjank_signal_wait_until(&signal, condition, nullptr);
    else if (what == "throwing work")
        unjank_pool_run(pool, work, nullptr);
    unjank_pool_free(pool);
    std::cout << "still there" << std::endl;
}
