//! The measuring threads of one scheduling, started together and joined.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc;
use std::thread::{self, Scope, ScopedJoinHandle};

use unjank_host::memory::MemoryLock;
use unjank_host::sched::{AffinityGuard, Realtime, policy_of};
use unjank_host::{Error, Nanos, Result, Root, Support, Timestamp};
use unjank_measure::Series;

use super::options::{Options, Scheduling};
use super::place::{Place, places};
use super::stage::Stage;
use super::tracing::Tracing;
use super::wakeup::{Schedule, Seen, observe, warm_up, warm_up_time};

/// What the threads of one scheduling saw.
pub(crate) struct Measured {
    /// In the order of the threads.
    pub(crate) by_thread: Vec<(Place, Seen)>,
    pub(crate) start: Timestamp,
    /// Why pages could not be locked in memory, if they could not.
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

/// What the threads of one run share.
struct Shared<'a> {
    options: &'a Options,
    scheduling: Scheduling,
    realtime: Option<&'a Realtime>,
    tracing: Option<&'a Tracing>,
    /// [`WAIT`], [`ABORT`], or the nanoseconds of the first wake-up that
    /// counts. No other data hangs on it, so it is read and written relaxed.
    gate: AtomicU64,
    stop: AtomicBool,
}

/// The gate before all threads are set up.
const WAIT: u64 = 0;
/// The gate when one of them could not be.
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
        let by_thread = handles
            .into_iter()
            .filter_map(|(place, handle)| Some((place, handle.join().ok()??)))
            .collect();
        Ok(Measured { by_thread, start, unlocked, interrupted })
    })
}

type Handles<'scope> = Vec<(Place, ScopedJoinHandle<'scope, Option<Seen>>)>;

/// Starts the threads and waits until each is in its place.
fn start_threads<'scope, 'env>(
    scope: &'scope Scope<'scope, 'env>,
    shared: &'env Shared<'env>,
) -> Result<Handles<'scope>> {
    let places = places(shared.options, shared.scheduling);
    let started = places.len();
    let (tell, told) = mpsc::channel();
    let mut handles = Vec::with_capacity(started);
    for place in places {
        let tell = tell.clone();
        let Place { index, cpu, .. } = place;
        let handle = thread::Builder::new()
            .name(format!("jitter/{}", cpu.unwrap_or(index)))
            .stack_size(STACK)
            .spawn_scoped(scope, move || one_thread(shared, place, &tell))
            .map_err(|error| Error::syscall("clone", format!("thread {index}"), error))?;
        handles.push((place, handle));
    }
    // Without this sender, a thread that dies before it tells ends the loop.
    drop(tell);
    told.iter().take(started).collect::<Result<()>>()?;
    Ok(handles)
}

/// The life of one measuring thread; `None` if the run does not begin.
fn one_thread(shared: &Shared<'_>, place: Place, tell: &mpsc::Sender<Result<()>>) -> Option<Seen> {
    let options = shared.options;
    let Place { cpu, policy, period, offset, .. } = place;
    let settle = || {
        let here = cpu.map(AffinityGuard::pin_to).transpose()?;
        Ok((here, shared.realtime.map(|realtime| realtime.enter_as(policy)).transpose()?))
    };
    let (placed, guards) = match settle() {
        Ok(guards) => (Ok(()), Some(guards)),
        Err(error) => (Err(error), None),
    };
    // Where nobody listens any more, the gate says abort.
    let _told = tell.send(placed);
    let start = wait_at(&shared.gate)?;
    let series = Series::new(shared.scheduling.series_name())
        .with_label("policy", shared.scheduling.policy(options.period).to_string())
        .with_course(start, options.duration);
    let mut seen = Seen::new(series);
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

/// The moment that the gate opens for, or `None` if it never will.
fn wait_at(gate: &AtomicU64) -> Option<Timestamp> {
    loop {
        match gate.load(Ordering::Relaxed) {
            WAIT => (Timestamp::now() + Nanos::from_millis(1)).sleep_until(),
            ABORT => return None,
            start => return Some(Timestamp::from_nanos(start)),
        }
    }
}

/// Shows progress and passes on the wish to stop, until the end of the run.
/// Says whether it was cut short.
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
