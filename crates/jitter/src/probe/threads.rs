//! Starts and joins the measuring threads of one scheduling.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc;
use std::thread::{self, Scope, ScopedJoinHandle};

use unjank_host::memory::MemoryLock;
use unjank_host::sched::{AffinityGuard, Realtime, policy_of};
use unjank_host::{Error, Nanos, Result, Root, Support, Timestamp};
use unjank_measure::Series;

use super::options::{Options, Scheduling};
use super::setup::{ThreadSetup, setups};
use super::stage::Stage;
use super::tracing::Tracing;
use super::wakeup::{Observed, Schedule, observe, warm_up, warm_up_time};

/// The measurements of one scheduling.
pub(crate) struct Measured {
    /// Setup and measurements of each thread, in the order of the threads.
    pub(crate) by_thread: Vec<(ThreadSetup, Observed)>,
    pub(crate) start: Timestamp,
    /// Why memory could not be locked, if it could not.
    pub(crate) unlocked: Option<String>,
    pub(crate) interrupted: bool,
}

impl Measured {
    /// Whether a wake-up later than the threshold has ended the run.
    pub(crate) fn broke(&self) -> bool {
        self.by_thread.iter().any(|(_, seen)| seen.broke.is_some())
    }
}

const STACK: usize = 256 << 10;

/// Time for all threads to reach their first sleep.
const LEAD: Nanos = Nanos::from_millis(10);

/// State shared by the threads of one run.
struct Shared<'a> {
    options: &'a Options,
    scheduling: Scheduling,
    realtime: Option<&'a Realtime>,
    tracing: Option<&'a Tracing>,
    /// [`WAIT`], [`ABORT`], or the moment of the first recorded wake-up in
    /// nanoseconds. It publishes no other data, so relaxed accesses suffice.
    gate: AtomicU64,
    stop: AtomicBool,
}

/// The gate before all threads are set up.
const WAIT: u64 = 0;
/// The gate if a thread could not be set up.
const ABORT: u64 = u64::MAX;

/// Runs the threads of one scheduling to their end.
pub(crate) fn measure(
    options: &Options,
    scheduling: Scheduling,
    root: &Root,
    tracing: Option<&Tracing>,
    stage: &Stage<'_>,
) -> Result<Measured> {
    let policy = scheduling.policy(options.period);
    let prepare = || Realtime::prepare_for(root, policy, options.force);
    let realtime = policy.is_realtime().then(prepare).transpose()?;
    let (_locked, unlocked) = match MemoryLock::everything() {
        Support::Yes(lock) => (Some(lock), None),
        Support::No(reason) => (None, Some(reason)),
    };
    let shared = Shared {
        options,
        scheduling,
        realtime: realtime.as_ref(),
        tracing,
        gate: AtomicU64::new(WAIT),
        stop: AtomicBool::new(false),
    };
    thread::scope(|scope| {
        let started = start_threads(scope, &shared);
        let start = Timestamp::now() + LEAD + warm_up_time(options.longest_period());
        let gate = if started.is_ok() { start.as_nanos() } else { ABORT };
        shared.gate.store(gate, Ordering::Relaxed);
        let handles = started?;
        let interrupted = watch(&shared, start, stage);
        let by_thread = join(handles)?;
        Ok(Measured { by_thread, start, unlocked, interrupted })
    })
}

type Handles<'scope> = Vec<(ThreadSetup, ScopedJoinHandle<'scope, Option<Observed>>)>;

/// Waits for the end of all threads.
///
/// # Errors
/// One of them panicked, so the measurement is not complete.
fn join(handles: Handles<'_>) -> Result<Vec<(ThreadSetup, Observed)>> {
    // The scope panics for a panicked thread that is not joined here.
    let ended: Vec<_> = handles.into_iter().map(|(setup, handle)| (setup, handle.join())).collect();
    let mut by_thread = Vec::with_capacity(ended.len());
    for (setup, ended) in ended {
        let panicked = |_| {
            let thread = format!("measuring thread {}", setup.index);
            Error::syscall("pthread_join", thread, io::Error::other("it panicked"))
        };
        by_thread.extend(ended.map_err(panicked)?.map(|seen| (setup, seen)));
    }
    Ok(by_thread)
}

/// Starts the threads and waits until each is set up.
fn start_threads<'scope, 'env>(
    scope: &'scope Scope<'scope, 'env>,
    shared: &'env Shared<'env>,
) -> Result<Handles<'scope>> {
    let setups = setups(shared.options, shared.scheduling);
    let started = setups.len();
    let (ready, readiness) = mpsc::channel();
    let mut handles = Vec::with_capacity(started);
    for setup in setups {
        let ready = ready.clone();
        let ThreadSetup { index, cpu, .. } = setup;
        let handle = thread::Builder::new()
            .name(format!("jitter/{}", cpu.unwrap_or(index)))
            .stack_size(STACK)
            .spawn_scoped(scope, move || one_thread(shared, setup, &ready))
            .map_err(|error| Error::syscall("clone", format!("thread {index}"), error))?;
        handles.push((setup, handle));
    }
    // Without this sender, the loop also ends if a thread dies before it reports.
    drop(ready);
    readiness.iter().take(started).collect::<Result<()>>()?;
    Ok(handles)
}

/// Runs one measuring thread; `None` if the run does not begin.
fn one_thread(
    shared: &Shared<'_>,
    setup: ThreadSetup,
    ready: &mpsc::Sender<Result<()>>,
) -> Option<Observed> {
    let options = shared.options;
    let ThreadSetup { cpu, policy, period, offset, .. } = setup;
    let set_up = || {
        let here = cpu.map(AffinityGuard::pin_to).transpose()?;
        Ok((here, shared.realtime.map(|realtime| realtime.enter_as(policy)).transpose()?))
    };
    let (outcome, guards) = match set_up() {
        Ok(guards) => (Ok(()), Some(guards)),
        Err(error) => (Err(error), None),
    };
    // If the receiver is gone, the gate says abort.
    let _sent = ready.send(outcome);
    let start = wait_at(&shared.gate)?;
    let series = Series::new(shared.scheduling.series_name())
        .with_label("policy", shared.scheduling.policy(options.period).to_string())
        .with_course(start, options.duration);
    let mut seen = Observed::new(series);
    let schedule = Schedule {
        first: start + offset,
        period,
        end: start + offset + options.duration,
        break_above: options.break_above.unwrap_or(Nanos(u64::MAX)),
    };
    warm_up(start, period);
    observe(schedule, &mut seen, &shared.stop, |wakeup| {
        if let Some(tracing) = shared.tracing {
            tracing.stop_at(wakeup);
        }
    });
    drop(guards);
    seen.policy_after = policy_of(seen.thread).ok().map(|(policy, _)| policy);
    Some(seen)
}

/// Waits for the gate. Returns the start of the run, or `None` if it is aborted.
fn wait_at(gate: &AtomicU64) -> Option<Timestamp> {
    loop {
        match gate.load(Ordering::Relaxed) {
            WAIT => (Timestamp::now() + Nanos::from_millis(1)).sleep_until(),
            ABORT => return None,
            start => return Some(Timestamp::from_nanos(start)),
        }
    }
}

/// Shows progress and forwards a request to stop, until the end of the run.
/// Returns true if the run was interrupted.
fn watch(shared: &Shared<'_>, start: Timestamp, stage: &Stage<'_>) -> bool {
    const LOOK: Nanos = Nanos::from_millis(100);
    let end = start + shared.options.duration;
    loop {
        let now = Timestamp::now();
        if now >= end || shared.stop.load(Ordering::Relaxed) {
            return false;
        }
        if stage.monitor.stop_requested() {
            shared.stop.store(true, Ordering::Relaxed);
            return true;
        }
        let share = now.since(start).as_secs_f64() / shared.options.duration.as_secs_f64();
        stage.progress(share, shared.scheduling);
        (now + LOOK).min(end).sleep_until();
    }
}

#[cfg(test)]
mod tests {
    use unjank_host::sched::Policy;

    use super::*;

    /// Joins two threads: the first one measures, the second one does `other`.
    fn join_two(other: fn() -> Option<Observed>) -> Result<Vec<(ThreadSetup, Observed)>> {
        let setup = |index| {
            let (policy, period) = (Policy::other(0), Nanos::from_millis(1));
            ThreadSetup { index, cpu: None, policy, period, offset: Nanos::ZERO }
        };
        let seen = || Some(Observed::new(Series::new("test/wakeup")));
        thread::scope(|scope| {
            join(vec![(setup(0), scope.spawn(seen)), (setup(1), scope.spawn(other))])
        })
    }

    #[test]
    fn a_thread_that_panics_is_an_error() {
        assert_eq!(join_two(|| None).unwrap().len(), 1, "its run did not begin");
        let error = join_two(|| panic!("on purpose")).err().unwrap();
        assert_eq!(error.to_string(), "pthread_join failed for measuring thread 1: it panicked");
        assert_eq!(error.class(), unjank_host::ErrorClass::Other);
    }
}
