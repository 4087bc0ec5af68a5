//! Runs a load profile on this machine.

use std::thread;

use unjank_host::sched::{AffinityGuard, CpuSet};
use unjank_host::{Nanos, Timestamp};

use crate::model::Profile;
use crate::model::profile::{Begins, Step, Task};

/// Length of a short piece of work before the load.
const PIECE: Nanos = Nanos(1_000_000);

/// Runs the profile on `cpus`, from a lead of this length to its tail, and
/// returns the end of the tail. In the lead each CPU works for a moment twice,
/// with silence around: after the second time a governor remembers nothing from
/// before the lead, not even the load that it uses once more. The background
/// lasts until the launch is over. All work counts as wall time, since the real
/// clock decides how much of it is done.
pub(super) fn play(
    profile: &Profile,
    lead: Nanos,
    cpus: &CpuSet,
    stop: &(dyn Fn() -> bool + Sync),
) -> Timestamp {
    let start = Timestamp::now();
    let launch = start + lead;
    let over = std::sync::atomic::AtomicBool::new(false);
    let ended = || over.load(std::sync::atomic::Ordering::Relaxed) || stop();
    thread::scope(|scope| {
        for cpu in cpus.iter() {
            scope.spawn(move || {
                let _where = AffinityGuard::pin_to(cpu);
                for share in [30, 65] {
                    (start + Nanos(lead.0 / 100 * share)).sleep_until_or(stop);
                    work_for(PIECE);
                }
            });
        }
        let mut launching = Vec::new();
        for task in &profile.tasks {
            let from = match task.begins {
                Begins::AtStart => start,
                Begins::AtLaunch => launch,
            } + task.delay;
            for _ in 0..task.threads {
                let ended = &ended;
                let thread = scope.spawn(move || {
                    // If it cannot be pinned, it runs where the scheduler puts it.
                    let _where = AffinityGuard::pin(cpus);
                    from.sleep_until_or(ended);
                    do_steps(task, from, ended);
                });
                if task.begins == Begins::AtLaunch && task.times.is_some() {
                    launching.push(thread);
                }
            }
        }
        for thread in launching {
            // A thread that panicked has ended as well.
            let _ended = thread.join();
        }
        over.store(true, std::sync::atomic::Ordering::Relaxed);
    });
    let end = Timestamp::now() + profile.tail;
    end.sleep_until_or(stop);
    end
}

fn do_steps(task: &Task, from: Timestamp, ended: &dyn Fn() -> bool) {
    let mut deadline = from;
    let mut round = 0;
    while task.times.is_none_or(|times| round < times) && !ended() {
        for step in &task.steps {
            match *step {
                Step::Run(length) | Step::Runtime(length) => work_for(length),
                Step::Sleep(length) => {
                    (Timestamp::now() + length).sleep_until_or(ended);
                }
                Step::Timer(period) => {
                    deadline = deadline + period;
                    if deadline > Timestamp::now() {
                        deadline.sleep_until_or(ended);
                    } else {
                        deadline = Timestamp::now();
                    }
                }
            }
        }
        round += 1;
    }
}

fn work_for(length: Nanos) {
    let end = Timestamp::now() + length;
    while Timestamp::now() < end {
        std::hint::spin_loop();
    }
}
