//! The effect of the machine's load on the verdict on page-ins.

use unjank_host::surroundings::GroupWaits;
use unjank_measure::load::Program;
use unjank_measure::{Answer, Bound, Load, Quantity, Unit, Verdict};

/// The largest healthy share of time in which some task waits for memory.
///
/// A share of time is the same on a phone and on a server: it is what programs lose. Three services
/// take nearly the same share for the first sign of too little memory: Android's lmkd, and on
/// desktops `low-memory-monitor` (`triggers`, level low), 70 ms in 1 s; on servers systemd
/// (`MemoryPressureThresholdSec=`), 200 ms in 2 s, a tenth.
const MEMORY: f64 = 0.07;
const MEMORY_SOURCE: &str = "from 70 ms in a second on, Android's lmkd (psi_partial_stall_ms) and \
                             the desktop's low-memory-monitor consider memory short";
/// Major faults a second from which on a program is named.
const FAULTS: f64 = 10.0;

const NEXT: &str = "sudo unjank swap record --for 60s --out swap.parquet";

/// Names of the shares of time.
const WAITED_FOR_MEMORY: &str = "share of the time in which some task waited for memory";
const WAITED_BEFORE: &str = "share of the 10 s before in which some task waited for memory";
const WAITED_FOR_SWAP: &str =
    "share of the time that pages from swap took, at the probe's median for each";

/// Judges waits of other programs for memory, and names the group and the program with most of
/// them. A slow row whose pages come from swap ends in `remedy`, the command that makes page-ins of
/// this machine faster.
pub fn beside_load(mut verdict: Verdict, load: &Load, remedy: Option<&str>) -> Verdict {
    let Some((name, share)) = waited(load, &verdict).filter(|(_, share)| *share > MEMORY) else {
        if load.calm.swapped_in > 0 {
            let is_slow = verdict.answer == Answer::Slow;
            let next = remedy.filter(|_| is_slow).unwrap_or(NEXT);
            verdict.next = verdict.next.map(|_| next.to_owned());
        } else if !lead_to_files(&mut verdict, load) {
            load.lead_to_switching(&mut verdict, "whether it waits for pages");
        }
        return verdict;
    };
    let mut said = Vec::new();
    if verdict.answer == Answer::Slow {
        said.push(format!("{name}: {}", Unit::Ratio.show(share)));
    } else {
        let probe = verdict.measured.take();
        verdict.reason = match probe {
            Some(probe) => format!(
                "the probe's own pages came back in {} (median), those of other programs did not",
                probe.unit.show(probe.value)
            ),
            None => verdict.reason,
        };
        verdict.measured = Some(Quantity::counted_share(name, share, load.parts));
        verdict.healthy = Some(Bound { at_most: MEMORY, source: MEMORY_SOURCE.to_owned() });
        verdict.answer = Answer::Slow;
    }
    if let Some((group, share)) = group_short_of_memory(load) {
        said.push(format!("{} of the time in control group {group}", Unit::Ratio.show(share)));
    }
    let swapped = load.swapped_in();
    if swapped >= 1.0 {
        said.push(format!("{} came from swap each second", counted_pages(swapped)));
    }
    if let Some((program, rate)) = load.most(|program| program.major_faults, FAULTS, |_| true) {
        said.push(format!("{program} waited for most of them, {rate:.0} a second"));
    }
    for text in said {
        verdict.also(&text);
    }
    let next = remedy.filter(|_| swapped >= 1.0).unwrap_or(NEXT);
    verdict.next = Some(next.to_owned());
    verdict
}

/// Leads a slow row to the program that waits for most pages. None of them come from swap.
fn lead_to_files(verdict: &mut Verdict, load: &Load) -> bool {
    let say = |program: &Program, rate: f64| {
        format!("{program} waited for {rate:.0} pages from files a second; why names the files")
    };
    load.lead_to_why(verdict, |program| program.major_faults, FAULTS, say)
}

/// The largest share of time spent waiting for memory, and its name.
///
/// Pressure counts only those pages from swap that were in use when they were
/// evicted (`swap_read_folio` of `mm/page_io.c`). So the number of pages from
/// swap times the probe's median is considered as well.
fn waited(load: &Load, probe: &Verdict) -> Option<(&'static str, f64)> {
    let pressure = match load.calm.memory.filter(|_| load.parts > 0) {
        Some(waited) => Some((WAITED_FOR_MEMORY, load.calm.share(waited.some))),
        // Our own probe evicted memory all the time, or the kernel does not count.
        None => load.memory_before.map(|share| (WAITED_BEFORE, share)),
    };
    let median = probe.measured.as_ref().filter(|it| it.unit == Unit::Nanoseconds);
    let swapped = median
        .filter(|_| load.parts > 0)
        .map(|median| (WAITED_FOR_SWAP, (load.swapped_in() * median.value / 1e9).min(1.0)));
    pressure.into_iter().chain(swapped).max_by(|a, b| a.1.total_cmp(&b.1))
}

/// The deepest control group whose waits for memory are at least 80 % of the
/// largest, if the largest is too much.
fn group_short_of_memory(load: &Load) -> Option<(&str, f64)> {
    let share = |waits: &GroupWaits| load.calm.share(waits.memory.some);
    let most = load.calm.groups.values().map(share).fold(0.0, f64::max);
    let near = load.calm.groups.iter().filter(|(_, waits)| share(waits) >= 0.8 * most);
    let depth = |path: &str| path.matches('/').count();
    let (path, waits) = near.max_by_key(|(path, _)| depth(path))?;
    (most > MEMORY).then(|| (path.as_str(), share(waits)))
}

fn counted_pages(rate: f64) -> String {
    if rate.round() <= 1.0 { "one page".to_owned() } else { format!("{rate:.0} pages") }
}

#[cfg(test)]
mod tests {
    use unjank_host::Nanos;
    use unjank_host::surroundings::{MachineActivity, ProgramActivity, Waited};

    use super::*;

    fn row(answer: Answer) -> Verdict {
        let measured = Quantity {
            name: "p".to_owned(),
            value: 95_700.0,
            unit: Unit::Nanoseconds,
            interval: Some([95_000.0, 96_000.0]),
            at_least: None,
            n: 100,
        };
        Verdict {
            measured: Some(measured),
            healthy: Some(Bound { at_most: 1e5, source: "x".to_owned() }),
            next: (answer != Answer::Healthy).then(|| "unjank swap probe".to_owned()),
            ..Verdict::new("swap", "?", answer, "as the probe says")
        }
    }

    fn waited(some: u64) -> Waited {
        Waited { some: Nanos(some * 10_000_000), all: Nanos::ZERO }
    }

    /// A run of one second with waits for memory of so many percent.
    fn load(memory: u64) -> Load {
        let length = Nanos(1_000_000_000);
        let memory = Some(waited(memory));
        let calm = MachineActivity { length, memory, ..MachineActivity::default() };
        Load { whole: calm.clone(), calm, parts: 4, ..Load::default() }
    }

    fn program(process: u32, name: &str, threads: u64) -> ProgramActivity {
        ProgramActivity { process, name: name.to_owned(), threads, ..ProgramActivity::default() }
    }

    #[test]
    fn a_calm_machine_changes_nothing() {
        for calm in [load(2), Load::default()] {
            assert_eq!(beside_load(row(Answer::Healthy), &calm, None), row(Answer::Healthy));
        }
        assert_eq!(beside_load(row(Answer::Slow), &load(0), None), row(Answer::Slow));
    }

    #[test]
    fn a_machine_short_of_memory_is_slow_though_the_probe_is_healthy() {
        let mut load = load(42);
        load.calm.swapped_in = 1_200;
        load.programs = vec![
            ProgramActivity { major_faults: 900, ..program(4711, "java", 30) },
            ProgramActivity { major_faults: 20, ..program(9, "sh", 1) },
        ];
        let waits = |share| GroupWaits { memory: waited(share), ..Default::default() };
        load.calm.groups = [
            ("/batch.slice".to_owned(), waits(41)),
            ("/batch.slice/job".to_owned(), waits(40)),
            ("/user.slice".to_owned(), waits(5)),
        ]
        .into();
        let row = beside_load(row(Answer::Healthy), &load, None);
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
        assert_eq!(row.next.as_deref(), Some(NEXT));
    }

    #[test]
    fn a_slow_page_in_without_pages_from_swap_leads_to_a_program() {
        let mut load = load(0);
        let probe = "unjank swap probe";
        assert_eq!(beside_load(row(Answer::Slow), &load, None).next.as_deref(), Some(probe));
        let busy = ProgramActivity { switches: 5_000, ..program(9, "redis-server", 1) };
        let reads = ProgramActivity { major_faults: 60, ..program(4711, "java", 30) };
        load.programs = vec![busy];
        let slow = beside_load(row(Answer::Slow), &load, None);
        assert_eq!(slow.next.as_deref(), Some("sudo unjank why --pid 9 --for 5s"));
        assert!(slow.reason.ends_with("why shows whether it waits for pages"), "{}", slow.reason);
        load.programs.push(reads);
        let slow = beside_load(row(Answer::Slow), &load, None);
        assert_eq!(slow.next.as_deref(), Some("sudo unjank why --pid 4711 --for 5s"));
        assert!(slow.reason.contains("java[4711] waited for 60 pages from files a second"));
        // A row that cannot tell needs a longer measurement.
        let unsure = beside_load(row(Answer::CannotTell), &load, None);
        assert_eq!(unsure.next.as_deref(), Some(probe));
        load.calm.swapped_in = 1;
        assert_eq!(beside_load(row(Answer::Slow), &load, None).next.as_deref(), Some(NEXT));
        let next = |answer| beside_load(row(answer), &load, Some("remedy")).next;
        assert_eq!(next(Answer::Slow).as_deref(), Some("remedy"));
        assert_eq!(next(Answer::CannotTell).as_deref(), Some(NEXT));
    }

    #[test]
    fn a_slow_page_in_stays_what_was_measured() {
        let row = beside_load(row(Answer::Slow), &load(42), None);
        assert_eq!(row.measured.unwrap().unit, Unit::Nanoseconds);
        assert_eq!(
            row.reason,
            "as the probe says; share of the time in which some task waited for memory: 42 %"
        );
        assert_eq!(row.next.as_deref(), Some(NEXT));
    }

    #[test]
    fn if_our_own_probe_evicts_all_the_time_the_time_before_counts() {
        let mut load = load(90);
        (load.parts, load.memory_before) = (0, Some(0.02));
        assert_eq!(beside_load(row(Answer::Healthy), &load, None).answer, Answer::Healthy);
        load.memory_before = Some(0.2);
        let row = beside_load(row(Answer::Healthy), &load, None);
        assert_eq!(row.answer, Answer::Slow);
        assert!(row.measured.unwrap().name.contains("10 s before"));
    }

    #[test]
    fn pages_from_swap_count_if_pressure_leaves_them_out() {
        for memory in [None, Some(waited(3))] {
            let mut load = load(0);
            load.calm.memory = memory;
            // A thousand pages of 95.7 µs are a tenth of a second.
            load.calm.swapped_in = 1_000;
            let slow = beside_load(row(Answer::Healthy), &load, None);
            assert_eq!(slow.answer, Answer::Slow);
            let measured = slow.measured.unwrap();
            assert!((measured.value - 0.0957).abs() < 1e-9, "{measured:?}");
            assert_eq!(measured.name, WAITED_FOR_SWAP);
            load.calm.swapped_in = 500;
            assert_eq!(beside_load(row(Answer::Healthy), &load, None).answer, Answer::Healthy);
        }
    }
}
