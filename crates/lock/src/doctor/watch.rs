//! Watching: looks at all threads, windows of a trace, samples of the busiest.

use std::collections::HashMap;

use unjank_host::address_space::FutexId;
use unjank_host::machine::{CpuTime, throttling};
use unjank_host::sched::ThreadId;
use unjank_host::tracefs::Instance;
use unjank_host::{Nanos, Result, Root, Support, Timestamp, process::pid};
use unjank_measure::{Findings, Monitor, Series};

use super::futexes::{self, Futexes};
use super::glancing::Glancing;
use super::options::Options;
use super::roster::{Look, Roster};
use super::sampling::Sampling;
use super::seen::Code;
use super::tally::Tally;
use super::tracing;
use crate::probe::prices;

/// All threads are looked at this often, unless that takes long.
const LOOK: Nanos = Nanos::from_millis(250);
/// The next look comes after so many times what the last one took.
const REST: u64 = 20;
/// How often threads are glanced at in place of a window.
const GLANCES: u64 = 5;

/// What was seen.
pub(crate) struct Watched {
    pub(crate) roster: Roster,
    /// `None` if nothing was traced.
    pub(crate) tally: Option<Tally>,
    pub(crate) code: HashMap<ThreadId, Code>,
    /// Empty if system calls were traced.
    pub(crate) glancing: Glancing,
    /// The variables in which locks lie.
    pub(crate) names: HashMap<FutexId, String>,
    /// How long each look at all threads took.
    pub(crate) looks: Series,
    pub(crate) length: Nanos,
    /// Whether the first process has ended meanwhile.
    pub(crate) ended: bool,
    /// Periods in which its control group was throttled, and its quota.
    pub(crate) throttled: Option<(u64, f64)>,
    pub(crate) stolen: Option<f64>,
    /// CPU time that watching took.
    pub(crate) own_cpu: Nanos,
    /// A `sched_yield` of a thread whose system calls are traced.
    pub(crate) traced_yield: Option<Nanos>,
}

/// Watches the processes until the time is up, it ends, or somebody says stop.
pub(crate) fn watch(
    options: &Options,
    root: &Root,
    seed: u64,
    monitor: &dyn Monitor,
    findings: &mut Findings,
) -> Result<Watched> {
    let process = options.process;
    let mut roster = Roster::of(root, process, options.tree)?;
    // This thread is traced, too: what that costs is measured on it.
    let traced = [roster.ids(), vec![ThreadId::current()]].concat();
    let instance = tracing::open(root, process, &traced);
    // A trace that cannot be had is a result: the rest can be told without.
    let instance = instance.unwrap_or_else(|error| Support::No(error.to_string()));
    let instance = findings.require("system calls (yields, sleeps, futexes)", instance);
    let traced_yield = instance.as_ref().map(price_of_tracing).transpose()?;
    // Threads that came before the trace followed.
    late(instance.as_ref(), &roster.look(root, Nanos::ZERO)?)?;
    let quota = || throttling(root, process).ok().flatten();
    let (quota_before, stolen_before) = (quota(), CpuTime::read(root).ok());
    let own = || pid::cpu_time(std::process::id()).unwrap_or_default();
    let own_before = own();

    let mut watching = Watching {
        tally: instance.as_ref().map(|_| Tally::new()),
        looks: Series::new("lock/doctor/look"),
        sampling: Sampling::default(),
        glancing: Glancing::default(),
        futexes: Futexes::default(),
        ended: false,
    };
    let start = Timestamp::now();
    let mut next_look = start + Nanos(options.duration.get() / 5).min(LOOK);
    for number in 0.. {
        let begin = tracing::begin(start, number, seed);
        if begin >= start + options.duration {
            break;
        }
        if !begin.sleep_until_or(|| monitor.stop_requested()) {
            break;
        }
        let done = begin.since(start).as_secs_f64() / options.duration.as_secs_f64();
        monitor.progress(done, "watching");
        if let Some(instance) = &instance {
            watching.window(root, &roster, instance, monitor)?;
        } else {
            watching.glances(root, monitor);
        }
        watching.sampling.drain();
        if Timestamp::now() >= next_look {
            let took = watching.look(root, &mut roster, instance.as_ref())?;
            next_look = Timestamp::now() + LOOK.max(took.times(REST));
        }
        if watching.ended {
            break;
        }
    }
    if !watching.ended && !monitor.stop_requested() {
        (start + options.duration).sleep_until_or(|| monitor.stop_requested());
    }
    watching.look(root, &mut roster, instance.as_ref())?;
    let length = Timestamp::now().since(start);
    let own_cpu = own() - own_before;
    if let Some(instance) = instance {
        instance.remove()?;
    }
    let periods = |before: u64| quota().map(|now| (now.periods.saturating_sub(before), now.cpus));
    let time = CpuTime::read(root).ok();
    let time = stolen_before.and_then(|before| Some(time?.since(before)));
    if let Some(reason) = watching.sampling.refused.take() {
        findings.not_supported("where busy threads spend their time", reason);
    }
    let locks = watching.tally.iter().flat_map(Tally::locks);
    let names = futexes::names(root, locks);
    Ok(Watched {
        throttled: quota_before.and_then(|before| periods(before.periods)),
        stolen: time.and_then(CpuTime::steal_percent).map(|percent| percent / 100.0),
        code: watching.sampling.finish(root),
        names,
        tally: watching.tally,
        looks: watching.looks,
        glancing: watching.glancing,
        ended: watching.ended,
        traced_yield,
        roster,
        length,
        own_cpu,
    })
}

struct Watching {
    tally: Option<Tally>,
    looks: Series,
    sampling: Sampling,
    glancing: Glancing,
    futexes: Futexes,
    ended: bool,
}

impl Watching {
    fn window(
        &mut self,
        root: &Root,
        roster: &Roster,
        instance: &Instance,
        monitor: &dyn Monitor,
    ) -> Result<()> {
        let (started, stopped) = tracing::record(instance, || monitor.stop_requested())?;
        let trace = instance.read_events()?;
        if let Some(tally) = &mut self.tally {
            let futexes = &mut self.futexes;
            let mut identify = |thread, word| futexes.id(root, roster, thread, word);
            tally.window(&trace, started, stopped, &mut identify);
        }
        Ok(())
    }

    /// In the place of a window, a few glances.
    fn glances(&mut self, root: &Root, monitor: &dyn Monitor) {
        let from = Timestamp::now();
        for glance in 0..GLANCES {
            self.glancing.glance(root);
            let next = from + Nanos(tracing::WINDOW.get() * (glance + 1) / GLANCES);
            next.sleep_until_or(|| monitor.stop_requested());
        }
    }

    /// Looks at all threads, and chooses those to be sampled. How long that
    /// took.
    fn look(
        &mut self,
        root: &Root,
        roster: &mut Roster,
        instance: Option<&Instance>,
    ) -> Result<Nanos> {
        let traced = self.tally.as_ref().map_or(Nanos::ZERO, |tally| tally.traced);
        let look = roster.look(root, traced)?;
        self.ended = !look.alive;
        self.looks.record(look.took);
        late(instance, &look)?;
        if look.alive {
            self.sampling.choose(roster.seen().map(|(seen, _)| seen));
            if instance.is_none() {
                self.glancing.choose(roster.seen().map(|(seen, _)| seen));
            }
        }
        Ok(look.took)
    }
}

/// A `sched_yield` of this thread while it is traced.
fn price_of_tracing(instance: &Instance) -> Result<Nanos> {
    instance.start()?;
    let price = prices::yielding();
    instance.stop()?;
    let _of_the_calibration = instance.take_events()?;
    Ok(price)
}

/// Has new threads traced. Most are already, through the thread that started
/// them.
fn late(instance: Option<&Instance>, look: &Look) -> Result<()> {
    match instance {
        Some(instance) if !look.new.is_empty() => match instance.record_also(&look.new) {
            // One of them has ended already.
            Err(error) if error.is_not_found() => Ok(()),
            other => other,
        },
        _ => Ok(()),
    }
}
