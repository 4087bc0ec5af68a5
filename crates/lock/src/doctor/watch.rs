//! Watches the processes: reads all threads, opens trace windows, samples the
//! busiest threads.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;

use unjank_host::address_space::FutexId;
use unjank_host::machine::{CpuTime, throttling};
use unjank_host::sched::ThreadId;
use unjank_host::tracefs::Instance;
use unjank_host::{Nanos, Result, Root, Support, Timestamp, process::pid, threads};
use unjank_measure::{Findings, Monitor, Series};

use super::futexes::{self, Futexes};
use super::glancing::Glancing;
use super::observed::{Code, Slept, rate};
use super::options::Options;
use super::roster::{Look, Roster};
use super::sampling::Sampling;
use super::tally::Tally;
use super::{throughout, tracing};
use crate::probe::prices;

/// The time between two looks at all threads, unless a look takes long.
const LOOK: Nanos = Nanos::from_millis(250);
/// The least pause after a look, as a multiple of its length.
const REST: u64 = 20;
/// How many glances replace a window.
const GLANCES: u64 = 5;

/// All that was observed.
pub(crate) struct Watched {
    pub(crate) roster: Roster,
    /// `None` if nothing was traced.
    pub(crate) tally: Option<Tally>,
    pub(crate) code: HashMap<ThreadId, Code>,
    /// Empty if system calls were traced.
    pub(crate) glancing: Glancing,
    /// How often a second processes of its own program woke each thread that are
    /// not watched.
    pub(crate) outsiders: HashMap<ThreadId, f64>,
    /// The threads that slept through the watch on what may be a lock.
    pub(crate) slept: BTreeMap<ThreadId, Slept>,
    /// The variables that hold the locks.
    pub(crate) names: HashMap<FutexId, String>,
    /// Duration of each look at all threads.
    pub(crate) looks: Series,
    pub(crate) length: Nanos,
    /// Whether the first process ended during the watch.
    pub(crate) ended: bool,
    /// Periods in which its control group was throttled, and the quota in CPUs.
    pub(crate) throttled: Option<(u64, f64)>,
    pub(crate) stolen: Option<f64>,
    /// CPU time of the watching process.
    pub(crate) own_cpu: Nanos,
    /// CPU time of a `sched_yield` of a traced thread.
    pub(crate) traced_yield: Option<Nanos>,
}

/// Watches until the time is up, the first process ends, or a stop is requested.
pub(crate) fn watch(
    options: &Options,
    root: &Root,
    seed: u64,
    monitor: &dyn Monitor,
    findings: &mut Findings,
) -> Result<Watched> {
    let process = options.process;
    let mut roster = Roster::of(root, process, options.tree)?;
    // This thread is traced as well, to measure the cost of tracing.
    let traced = [roster.ids(), vec![ThreadId::current()]].concat();
    let instance = tracing::open(root, process, &traced);
    // A missing trace is a result: the other sources work without it.
    let instance = instance.unwrap_or_else(|error| Support::No(error.to_string()));
    let instance = findings.require("system calls (yields, sleeps, futexes)", instance);
    let traced_yield = instance.as_ref().map(price_of_tracing).transpose()?;
    // Threads that began before the trace instance was open.
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
    let slept = throughout::look(root, &roster, &mut watching.futexes);
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
        slept,
        outsiders: watching
            .tally
            .as_ref()
            .map_or_else(HashMap::new, |tally| outsiders(root, &roster, tally)),
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

    /// Takes a few glances in place of a window.
    fn glances(&mut self, root: &Root, monitor: &dyn Monitor) {
        let from = Timestamp::now();
        for glance in 0..GLANCES {
            self.glancing.glance(root);
            let next = from + Nanos(tracing::WINDOW.get() * (glance + 1) / GLANCES);
            next.sleep_until_or(|| monitor.stop_requested());
        }
    }

    /// Reads all threads and chooses those to sample. Returns how long that took.
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
            self.sampling.choose(roster.observed().map(|(seen, _)| seen));
            if instance.is_none() {
                self.glancing.choose(roster.observed().map(|(seen, _)| seen));
            }
        }
        Ok(look.took)
    }
}

/// How often a second processes that run the same program as a thread, and are
/// not watched, woke it.
fn outsiders(root: &Root, roster: &Roster, tally: &Tally) -> HashMap<ThreadId, f64> {
    let mut programs: HashMap<u32, Option<PathBuf>> = HashMap::new();
    let mut program = |process: u32| {
        programs.entry(process).or_insert_with(|| pid::executable(root, process)).clone()
    };
    let watched = roster.processes().numbers();
    let mut all = HashMap::new();
    for thread in roster.ids() {
        let Some(own) = roster.process_of(thread).and_then(&mut program) else { continue };
        let mut count = 0;
        for (waker, times) in tally.wakers(thread) {
            let process = threads::process_of(root, waker).filter(|it| !watched.contains(it));
            if process.and_then(&mut program).is_some_and(|other| other == own) {
                count += times;
            }
        }
        all.insert(thread, rate(count, tally.traced));
    }
    all
}

/// CPU time of a `sched_yield` of this thread while it is traced.
fn price_of_tracing(instance: &Instance) -> Result<Nanos> {
    instance.start()?;
    let price = prices::yielding();
    instance.stop()?;
    let _of_the_calibration = instance.take_events()?;
    Ok(price)
}

/// Adds new threads to the trace. Most are traced already, through their parent.
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
