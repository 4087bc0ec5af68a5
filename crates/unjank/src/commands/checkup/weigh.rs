//! What an answer takes into account beside its probe: what the machine lived
//! through meanwhile. A probe brings its own memory and its own threads, so it
//! may be well in the midst of programs that are not.
//!
//! Pure functions: a row and what was seen in, a row out.

use std::borrow::Cow;
use std::fmt;

use unjank_host::surroundings::{Deeds, GroupWaits, Meanwhile, Throttled};
use unjank_measure::{Answer, Bound, Fact, Quantity, Unit, Verdict};

/// The largest healthy share of time in which some task waits for memory.
const MEMORY: f64 = 0.07;
const MEMORY_SOURCE: &str = "70 ms of a second, from which on Android's lmkd takes memory for short \
                             (psi_partial_stall_ms)";
/// The largest healthy share of a quota's periods in which it stops a group.
const THROTTLED: f64 = 0.25;
const THROTTLED_SOURCE: &str =
    "from there on the alert CPUThrottlingHigh of kubernetes-mixin fires";
/// Shares of time that are worth a word: of waits for CPUs and storage, and of
/// CPU time that the hypervisor took.
const WAITED: f64 = 0.1;
const STOLEN: f64 = 0.01;
/// What a program must do in a second to be named: wait for pages, and give
/// its CPU away.
const FAULTS: f64 = 10.0;
const SWITCHES: f64 = 100.0;
/// From as many switches in a second on it is named though the lock's probe is
/// well.
const MANY_SWITCHES: f64 = 1_000.0;

/// What a share of time that was waited for memory is.
const WAITED_FOR_MEMORY: &str = "share of the time in which some task waited for memory";
const WAITED_BEFORE: &str = "share of the 10 s before in which some task waited for memory";
const WAITED_FOR_SWAP: &str =
    "share of the time that pages from swap took, at the probe's median for each";

const SWAP_NEXT: &str = "sudo unjank swap record --for 60s --out swap.parquet";
const CAUSE_NEXT: &str = "sudo unjank jitter native --cause --for 60s --html jitter.html";
const IPC_NEXT: &str =
    "sudo unjank ipc latency --transport unix --deadline 2500us --trace late.txt";
const LOCK_NEXT: &str = "unjank lock bench";

/// What the machine lived through while the probes ran.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Lived {
    /// The whole run.
    pub(super) whole: Meanwhile,
    /// The run without the parts in which a probe of ours evicted memory.
    pub(super) calm: Meanwhile,
    /// How many parts that are.
    pub(super) parts: u64,
    /// The share of the 10 s before the run in which some task waited for
    /// memory.
    pub(super) memory_before: Option<f64>,
    /// What programs did in the whole run, without ours.
    pub(super) deeds: Vec<Deeds>,
}

/// The row of a checkup with what is to be said of the machine.
pub(super) fn weigh(verdict: Verdict, lived: &Lived) -> Verdict {
    match verdict.subject.as_str() {
        "launch" => launch(verdict, lived),
        "swap" => swap(verdict, lived),
        "jitter" => jitter(verdict, lived),
        "lock" => lock(verdict, lived),
        "ipc" => ipc(verdict, lived),
        _ => verdict,
    }
}

/// What was seen, as numbers of the record.
pub(super) fn facts(lived: &Lived) -> Vec<Fact> {
    let (whole, calm) = (&lived.whole, &lived.calm);
    let ratio = |name: &str, share| Fact::new(format!("checkup/{name}"), share, Unit::Ratio);
    let mut facts = Vec::new();
    for (what, span, waited) in
        [("cpu", whole, whole.cpu), ("memory", calm, calm.memory), ("io", whole, whole.io)]
    {
        for (who, time) in waited.into_iter().flat_map(|it| [("some", it.some), ("all", it.all)]) {
            let fact = ratio("waited", span.share(time));
            facts.push(fact.with_label("for", what).with_label("who", who));
        }
    }
    for (name, pages) in [("swapped_in", calm.swapped_in), ("swapped_out", calm.swapped_out)] {
        let rate = a_second(pages, calm);
        facts.push(Fact::new(format!("checkup/{name}"), rate, Unit::PerSecond));
    }
    facts.push(ratio("stolen", whole.stolen()));
    if let Some((group, throttled)) = lived.most_throttled() {
        facts.push(ratio("throttled", throttled.share()).with_label("group", group));
    }
    facts
}

/// Programs are read from storage when they start.
fn launch(mut verdict: Verdict, lived: &Lived) -> Verdict {
    let waited = lived.whole.io.map(|waited| lived.whole.share(waited.some));
    if let Some(share) = waited.filter(|share| *share >= WAITED) {
        add(
            &mut verdict,
            format!("some task waited for storage in {} of the time", percent(share)),
        );
    }
    verdict
}

fn swap(mut verdict: Verdict, lived: &Lived) -> Verdict {
    let Some((name, share)) = lived.memory(&verdict).filter(|(_, share)| *share > MEMORY) else {
        let swaps = lived.calm.swapped_in > 0;
        verdict.next = verdict.next.map(|next| if swaps { SWAP_NEXT.to_owned() } else { next });
        return verdict;
    };
    let mut said = Vec::new();
    if verdict.answer == Answer::Slow {
        said.push(format!("{name}: {}", percent(share)));
    } else {
        let probe = verdict.measured.take();
        verdict.reason = match probe {
            Some(probe) => format!(
                "the probe's own pages came back in {} (median), those of other programs did not",
                probe.unit.show(probe.value)
            ),
            None => verdict.reason,
        };
        verdict.measured = Some(counted(name, share, lived.parts));
        verdict.healthy = Some(Bound { at_most: MEMORY, source: MEMORY_SOURCE.to_owned() });
        verdict.answer = Answer::Slow;
    }
    if let Some((group, share)) = lived.group_short_of_memory() {
        said.push(format!("{} of the time in control group {group}", percent(share)));
    }
    let swapped = a_second(lived.calm.swapped_in, &lived.calm);
    if swapped >= 1.0 {
        said.push(format!("{} came from swap each second", counted_pages(swapped)));
    }
    if let Some((program, rate)) = lived.most(|deeds| deeds.major_faults, FAULTS, |_| true) {
        said.push(format!("{program} waited for most of them, {rate:.0} a second"));
    }
    for text in said {
        add(&mut verdict, text);
    }
    verdict.next = Some(SWAP_NEXT.to_owned());
    verdict
}

fn jitter(mut verdict: Verdict, lived: &Lived) -> Verdict {
    let throttled = lived.most_throttled().filter(|(_, it)| it.share() > THROTTLED);
    if let Some((group, throttled)) = throttled {
        if verdict.answer == Answer::Slow {
            let share = percent(throttled.share());
            add(&mut verdict, format!("its quota stopped {group} in {share} of the periods"));
        } else {
            if let Some(probe) = verdict.measured.take() {
                let probe = format!("{}: {}", probe.name, probe.unit.show(probe.value));
                verdict.reason = format!(
                    "the probe is not in that group ({probe}); threads in it are late by up to a \
                     period of the quota"
                );
            }
            let name = format!("share of periods in which its CPU quota stopped {group}");
            verdict.measured = Some(counted(name, throttled.share(), throttled.periods));
            verdict.healthy =
                Some(Bound { at_most: THROTTLED, source: THROTTLED_SOURCE.to_owned() });
            verdict.answer = Answer::Slow;
            verdict.next = Some(format!("grep . {}", quoted(group)));
        }
    }
    contention(&mut verdict, lived);
    let stolen = lived.whole.stolen();
    if stolen >= STOLEN {
        add(&mut verdict, format!("the hypervisor took {} of all CPU time", percent(stolen)));
    }
    verdict
}

fn lock(mut verdict: Verdict, lived: &Lived) -> Verdict {
    // A program of one thread switches for other reasons.
    let switching = lived.most(|deeds| deeds.switches, SWITCHES, |deeds| deeds.threads > 1);
    match switching {
        Some((program, rate)) if verdict.next.is_some() || rate >= MANY_SWITCHES => {
            verdict.next = Some(format!("sudo unjank lock doctor {}", program.number));
            add(
                &mut verdict,
                format!(
                    "{program} gave its CPUs away most often, {rate:.0} times a second; lock doctor \
                     says whether for locks"
                ),
            );
        }
        _ => verdict.next = verdict.next.map(|_| LOCK_NEXT.to_owned()),
    }
    verdict
}

fn ipc(mut verdict: Verdict, lived: &Lived) -> Verdict {
    let contended = contention(&mut verdict, lived);
    let next = if contended { CAUSE_NEXT } else { IPC_NEXT };
    verdict.next = verdict.next.map(|_| next.to_owned());
    verdict
}

/// Says that threads waited for CPUs, and who had them; whether they did.
fn contention(verdict: &mut Verdict, lived: &Lived) -> bool {
    let waited = lived.whole.cpu.map(|waited| lived.whole.share(waited.some));
    let Some(share) = waited.filter(|share| *share >= WAITED) else { return false };
    add(verdict, format!("some thread waited for a CPU in {} of the time", percent(share)));
    let of_cpus = |deeds: &Deeds| deeds.cpu.get() / 1_000_000;
    if let Some((program, rate)) = lived.most(of_cpus, 100.0, |_| true) {
        add(verdict, format!("{program} had most of them ({:.1} CPUs)", rate / 1_000.0));
    }
    true
}

/// A program as it is named in a row.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Program {
    name: String,
    number: u32,
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}[{}]", self.name, self.number)
    }
}

impl Lived {
    /// The largest share of time that was waited for memory, and what that
    /// number is.
    ///
    /// Pressure leaves out most pages that come from swap: only those count
    /// that were in use when they were evicted (`swap_read_folio` of
    /// `mm/page_io.c`). So these are multiplied by the probe's median as well.
    fn memory(&self, probe: &Verdict) -> Option<(String, f64)> {
        let pressure = match self.calm.memory.filter(|_| self.parts > 0) {
            Some(waited) => Some((WAITED_FOR_MEMORY, self.calm.share(waited.some))),
            // All the time, a probe of ours evicted memory; or the kernel does not count.
            None => self.memory_before.map(|share| (WAITED_BEFORE, share)),
        };
        let median = probe.measured.as_ref().filter(|it| it.unit == Unit::Nanoseconds);
        let swapped = median.filter(|_| self.parts > 0).map(|median| {
            let pages = a_second(self.calm.swapped_in, &self.calm);
            (WAITED_FOR_SWAP, (pages * median.value / 1e9).min(1.0))
        });
        let largest = pressure.into_iter().chain(swapped).max_by(|a, b| a.1.total_cmp(&b.1));
        largest.map(|(name, share)| (name.to_owned(), share))
    }

    /// The group farthest down in which nearly as much was waited for memory
    /// as in any, if that is too much.
    fn group_short_of_memory(&self) -> Option<(&str, f64)> {
        let share = |waits: &GroupWaits| self.calm.share(waits.memory.some);
        let most = self.calm.groups.values().map(share).fold(0.0, f64::max);
        let near = self.calm.groups.iter().filter(|(_, waits)| share(waits) >= 0.8 * most);
        let depth = |path: &str| path.matches('/').count();
        let (path, waits) = near.max_by_key(|(path, _)| depth(path))?;
        (most > MEMORY).then(|| (path.as_str(), share(waits)))
    }

    fn most_throttled(&self) -> Option<(&str, Throttled)> {
        let throttled = self.whole.throttled.iter().map(|(group, it)| (group.as_str(), *it));
        throttled.max_by(|(_, a), (_, b)| a.share().total_cmp(&b.share()))
    }

    /// The program among those that `fits` that did most, if it did it so
    /// often in a second.
    fn most(
        &self,
        what: impl Fn(&Deeds) -> u64,
        at_least: f64,
        fits: impl Fn(&Deeds) -> bool,
    ) -> Option<(Program, f64)> {
        let most = self.deeds.iter().filter(|deeds| fits(deeds)).max_by_key(|deeds| what(deeds))?;
        let rate = a_second(what(most), &self.whole);
        let program = Program { name: most.name.clone(), number: most.process };
        (rate >= at_least).then_some((program, rate))
    }
}

/// A share of time that the kernel counted: no sample, so it has no interval.
fn counted(name: String, share: f64, n: u64) -> Quantity {
    Quantity { name, value: share, unit: Unit::Ratio, interval: None, n }
}

fn add(verdict: &mut Verdict, text: String) {
    verdict.reason =
        if verdict.reason.is_empty() { text } else { format!("{}; {text}", verdict.reason) };
}

fn a_second(count: u64, span: &Meanwhile) -> f64 {
    count as f64 / span.length.as_secs_f64().max(1e-3)
}

fn counted_pages(rate: f64) -> String {
    if rate.round() <= 1.0 { "one page".to_owned() } else { format!("{rate:.0} pages") }
}

fn percent(share: f64) -> String {
    Unit::Ratio.show(share)
}

/// The files of a group that say what it may have, as a shell takes them.
fn quoted(directory: &str) -> String {
    let file = |name: &str| {
        let path = format!("{directory}/{name}");
        shlex::try_quote(&path).map_or_else(|_| path.clone(), Cow::into_owned)
    };
    ["cpu.max", "cpu.stat", "cgroup.procs"].map(file).join(" ")
}

#[cfg(test)]
mod tests {
    use unjank_host::Nanos;
    use unjank_host::surroundings::Waited;

    use super::*;

    const SECOND: Nanos = Nanos(1_000_000_000);

    fn row(subject: &str, answer: Answer) -> Verdict {
        let measured = Quantity {
            name: "p".to_owned(),
            value: 95_700.0,
            unit: Unit::Nanoseconds,
            interval: Some([95_000.0, 96_000.0]),
            n: 100,
        };
        Verdict {
            measured: Some(measured),
            healthy: Some(Bound { at_most: 1e5, source: "x".to_owned() }),
            next: (answer != Answer::Healthy).then(|| format!("unjank {subject} probe")),
            ..Verdict::new(subject, "?", answer, "as the probe says")
        }
    }

    fn waited(some: u64) -> Waited {
        Waited { some: Nanos(some * 10_000_000), all: Nanos::ZERO }
    }

    /// A run of one second in which so many percent were waited.
    fn lived(cpu: u64, memory: u64) -> Lived {
        let span = Meanwhile {
            length: SECOND,
            cpu: Some(waited(cpu)),
            memory: Some(waited(memory)),
            io: Some(waited(0)),
            ..Meanwhile::default()
        };
        Lived { whole: span.clone(), calm: span, parts: 4, ..Lived::default() }
    }

    fn deeds(process: u32, name: &str, threads: u64) -> Deeds {
        Deeds { process, name: name.to_owned(), threads, ..Deeds::default() }
    }

    #[test]
    fn a_calm_machine_changes_nothing() {
        for subject in ["launch", "swap", "jitter", "lock", "ipc", "other"] {
            let healthy = row(subject, Answer::Healthy);
            assert_eq!(weigh(healthy.clone(), &lived(3, 2)), healthy);
            assert_eq!(weigh(healthy.clone(), &Lived::default()), healthy, "nothing was seen");
        }
        let slow = row("swap", Answer::Slow);
        assert_eq!(weigh(slow.clone(), &lived(0, 0)), slow, "nothing is swapped by others");
    }

    #[test]
    fn a_machine_short_of_memory_is_slow_though_the_probe_is_well() {
        let mut lived = lived(0, 42);
        lived.calm.swapped_in = 1_200;
        lived.deeds = vec![
            Deeds { major_faults: 900, ..deeds(4711, "java", 30) },
            Deeds { major_faults: 20, ..deeds(9, "sh", 1) },
        ];
        let waits = |share| GroupWaits { memory: waited(share), ..Default::default() };
        lived.calm.groups = [
            ("/batch.slice".to_owned(), waits(41)),
            ("/batch.slice/job".to_owned(), waits(40)),
            ("/user.slice".to_owned(), waits(5)),
        ]
        .into();
        let row = weigh(row("swap", Answer::Healthy), &lived);
        assert_eq!(row.answer, Answer::Slow);
        let measured = row.measured.unwrap();
        assert_eq!(measured.name, "share of the time in which some task waited for memory");
        assert!((measured.value - 0.42).abs() < 1e-9 && measured.interval.is_none());
        assert!(row.healthy.unwrap().source.contains("lmkd"));
        assert_eq!(
            row.reason,
            "the probe's own pages came back in 95.7 µs (median), those of other programs did not; \
             40 % of the time in control group /batch.slice/job; 1200 pages came from swap each \
             second; java[4711] waited for most of them, 900 a second"
        );
        assert_eq!(row.next.as_deref(), Some(SWAP_NEXT));
    }

    #[test]
    fn a_slow_page_in_stays_what_was_measured() {
        let row = weigh(row("swap", Answer::Slow), &lived(0, 42));
        assert_eq!(row.measured.unwrap().unit, Unit::Nanoseconds);
        assert_eq!(
            row.reason,
            "as the probe says; share of the time in which some task waited for memory: 42 %"
        );
        assert_eq!(row.next.as_deref(), Some(SWAP_NEXT));
    }

    #[test]
    fn where_our_own_probe_evicts_all_the_time_the_time_before_counts() {
        let mut lived = lived(0, 90);
        (lived.parts, lived.memory_before) = (0, Some(0.02));
        assert_eq!(weigh(row("swap", Answer::Healthy), &lived).answer, Answer::Healthy);
        lived.memory_before = Some(0.2);
        let row = weigh(row("swap", Answer::Healthy), &lived);
        assert_eq!(row.answer, Answer::Slow);
        assert!(row.measured.unwrap().name.contains("10 s before"));
    }

    #[test]
    fn pages_from_swap_tell_where_pressure_counts_few_of_them_or_none() {
        for memory in [None, Some(waited(3))] {
            let mut lived = lived(0, 0);
            lived.calm.memory = memory;
            // A thousand pages of 95.7 µs are a tenth of a second.
            lived.calm.swapped_in = 1_000;
            let slow = weigh(row("swap", Answer::Healthy), &lived);
            assert_eq!(slow.answer, Answer::Slow);
            let measured = slow.measured.unwrap();
            assert!((measured.value - 0.0957).abs() < 1e-9, "{measured:?}");
            assert_eq!(measured.name, WAITED_FOR_SWAP);
            lived.calm.swapped_in = 500;
            assert_eq!(weigh(row("swap", Answer::Healthy), &lived).answer, Answer::Healthy);
        }
    }

    #[test]
    fn a_throttled_group_is_late_though_the_probe_is_not() {
        let mut lived = lived(0, 0);
        let group = |throttled| Throttled { periods: 100, throttled };
        let path = "/sys/fs/cgroup/my app".to_owned();
        lived.whole.throttled = [(path.clone(), group(80)), ("/x".to_owned(), group(9))].into();
        let late = weigh(row("jitter", Answer::Healthy), &lived);
        assert_eq!(late.answer, Answer::Slow);
        assert!((late.measured.as_ref().unwrap().value - 0.8).abs() < 1e-9);
        assert_eq!(
            late.next.as_deref(),
            Some(
                "grep . '/sys/fs/cgroup/my app/cpu.max' '/sys/fs/cgroup/my app/cpu.stat' \
                 '/sys/fs/cgroup/my app/cgroup.procs'"
            )
        );
        lived.whole.throttled.insert(path, group(25));
        assert_eq!(weigh(row("jitter", Answer::Healthy), &lived).answer, Answer::Healthy);
    }

    #[test]
    fn late_threads_are_told_who_had_the_cpus() {
        let mut lived = lived(89, 0);
        lived.deeds = vec![
            Deeds { cpu: Nanos(1_400_000_000), ..deeds(7, "rustc", 20) },
            Deeds { cpu: Nanos(20_000_000), ..deeds(8, "sh", 1) },
        ];
        let row = weigh(row("jitter", Answer::Slow), &lived);
        assert_eq!(
            row.reason,
            "as the probe says; some thread waited for a CPU in 89 % of the time; rustc[7] had most \
             of them (1.4 CPUs)"
        );
    }

    #[test]
    fn the_lock_row_leads_to_the_program_that_switches_most() {
        let mut lived = lived(0, 0);
        lived.deeds = vec![
            Deeds { switches: 90_000, ..deeds(5, "redis-server", 1) },
            Deeds { switches: 500, ..deeds(4711, "mysqld", 40) },
        ];
        let next = |answer, lived: &Lived| weigh(row("lock", answer), lived).next;
        let doctor = Some("sudo unjank lock doctor 4711".to_owned());
        assert_eq!(next(Answer::Slow, &lived), doctor);
        assert_eq!(next(Answer::Healthy, &lived), None);
        lived.deeds[1].switches = 51_000;
        assert_eq!(next(Answer::Healthy, &lived), doctor);
        lived.deeds.clear();
        assert_eq!(next(Answer::Slow, &lived).as_deref(), Some(LOCK_NEXT));
    }

    #[test]
    fn the_ipc_row_leads_to_who_ran_instead() {
        let next = |cpu| weigh(row("ipc", Answer::Slow), &lived(cpu, 0)).next;
        assert_eq!(next(60).as_deref(), Some(CAUSE_NEXT));
        assert_eq!(next(0).as_deref(), Some(IPC_NEXT));
    }

    #[test]
    fn what_was_seen_is_in_the_record() {
        let mut lived = lived(50, 20);
        lived.calm.swapped_in = 30;
        let facts = facts(&lived);
        let told: Vec<_> = facts.iter().map(|fact| (fact.name.as_str(), fact.value)).collect();
        assert_eq!(told.iter().filter(|(name, _)| *name == "checkup/waited").count(), 6);
        assert!(told.contains(&("checkup/waited", 0.2)) && told.contains(&("checkup/stolen", 0.0)));
        assert!(told.contains(&("checkup/swapped_in", 30.0)));
        assert_eq!(super::facts(&Lived::default()).len(), 3, "no pressure, no groups");
    }
}
