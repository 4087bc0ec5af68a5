//! The activity of each program between two moments: `proc_pid_stat(5)`.

use std::collections::BTreeMap;

use crate::clock::{Timestamp, user_tick};
use crate::process::stat::Stat;
use crate::root::Root;
use crate::sched::ThreadId;
use unjank_units::Nanos;

/// The number of threads whose switches are read; switches of further threads
/// count as zero.
const MOST_THREADS: usize = 10_000;

/// Counters of all programs at one moment, without threads of the kernel.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Processes(BTreeMap<u32, Process>);

/// Counters of one program since it began.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Process {
    name: String,
    parent: u32,
    began: u64,
    threads: u64,
    cpu: Nanos,
    major_faults: u64,
    /// How often each of its threads got a CPU.
    switches: BTreeMap<u32, u64>,
}

/// The activity of one program, including children with the same name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProgramActivity {
    /// Id of its eldest process; the others descend from that one.
    pub process: u32,
    /// Its name, of which the kernel keeps 15 bytes.
    pub name: String,
    /// The number of threads of all its processes.
    pub threads: u64,
    /// CPU time, to the clock tick.
    pub cpu: Nanos,
    /// Major faults: pages that it had to wait for, from storage or swap.
    pub major_faults: u64,
    /// How often one of its threads got a CPU. Threads that have ended are left out.
    pub switches: u64,
    /// The thread that got a CPU most often; `None` if none did.
    pub busiest: Option<BusiestThread>,
}

/// The thread of a program that got a CPU most often.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BusiestThread {
    /// Id of its process, which need not be the program's eldest.
    pub process: u32,
    /// The thread.
    pub thread: ThreadId,
    /// How often it got a CPU.
    pub switches: u64,
}

impl Processes {
    /// Reads all programs. Programs that end during the reading are skipped. `None`
    /// if not all were read by `end`.
    pub fn read_by(root: &Root, end: Timestamp) -> Option<Self> {
        let mut threads_left = MOST_THREADS;
        let names = root.list("/proc").unwrap_or_default();
        let numbers = names.iter().filter_map(|name| name.parse::<u32>().ok());
        let mut look = |number: u32| {
            let stat = root.read(format!("/proc/{number}/stat")).ok()?;
            let mut process = parse(&stat)?;
            if process.threads as usize <= threads_left {
                threads_left -= process.threads as usize;
                process.switches = switches(root, number);
            }
            Some((number, process))
        };
        let mut programs = BTreeMap::new();
        for number in numbers {
            if Timestamp::now() >= end {
                return None;
            }
            programs.extend(look(number));
        }
        Some(Self(programs))
    }

    /// The activity of each since `earlier`; that of new programs since their
    /// beginning. Children with the name of their parent count as part of it: a
    /// server that starts a process for each client is one program. Processes
    /// for which `is_own` returns true are skipped.
    pub fn since(&self, earlier: &Self, is_own: impl Fn(u32) -> bool) -> Vec<ProgramActivity> {
        let mut families: BTreeMap<u32, ProgramActivity> = BTreeMap::new();
        for (&number, now) in &self.0 {
            if is_own(number) {
                continue;
            }
            let then = earlier.0.get(&number).filter(|then| then.began == now.began);
            let since = |of: fn(&Process) -> u64| of(now).saturating_sub(then.map_or(0, of));
            let head = self.head(number);
            let family = families.entry(head).or_insert_with(|| ProgramActivity {
                process: head,
                name: now.name.clone(),
                ..ProgramActivity::default()
            });
            family.threads += now.threads;
            family.cpu = family.cpu + Nanos(since(|process| process.cpu.get()));
            family.major_faults += since(|process| process.major_faults);
            for (thread, switches) in now.switches_since(then) {
                family.switches = family.switches.saturating_add(switches);
                if switches > family.busiest.map_or(0, |busiest| busiest.switches) {
                    let thread = ThreadId(thread);
                    family.busiest = Some(BusiestThread { process: number, thread, switches });
                }
            }
        }
        families.into_values().collect()
    }

    /// The eldest of its ancestors in an unbroken row with the same name.
    fn head(&self, mut number: u32) -> u32 {
        // A list that was read while processes came and went may contain a
        // cycle.
        for _ in 0..64 {
            let Some(process) = self.0.get(&number) else { break };
            match self.0.get(&process.parent) {
                Some(parent) if parent.name == process.name => number = process.parent,
                _ => break,
            }
        }
        number
    }
}

impl Process {
    /// How often each thread got a CPU since `then`, an earlier look at the same process.
    fn switches_since(&self, then: Option<&Self>) -> impl Iterator<Item = (u32, u64)> {
        self.switches.iter().map(move |(thread, now)| {
            let before = then.and_then(|then| then.switches.get(thread)).copied();
            (*thread, now.saturating_sub(before.unwrap_or(0)))
        })
    }
}

/// How often each of its threads got a CPU: the third number of `schedstat`
/// (`CONFIG_SCHED_INFO`; none without).
fn switches(root: &Root, number: u32) -> BTreeMap<u32, u64> {
    let threads = root.list(format!("/proc/{number}/task")).unwrap_or_default();
    let of_thread = |thread: &String| {
        let text = root.read(format!("/proc/{number}/task/{thread}/schedstat")).ok()?;
        let switches = text.split_ascii_whitespace().nth(2)?.parse().ok()?;
        Some((thread.parse().ok()?, switches))
    };
    threads.iter().filter_map(of_thread).collect()
}

/// `None` for a thread of the kernel, and for a zombie.
fn parse(stat: &str) -> Option<Process> {
    let stat = Stat::parse(stat)?;
    let number = |field| stat.number::<u64>(field);
    if stat.has_ended() || stat.is_of_kernel() {
        return None;
    }
    let ticks = number(14)?.saturating_add(number(15)?);
    Some(Process {
        name: stat.name().to_owned(),
        parent: stat.number(4)?,
        began: number(22)?,
        threads: number(20)?,
        cpu: user_tick().times(ticks),
        major_faults: number(12)?,
        switches: BTreeMap::new(),
    })
}

/// Parses the text as the `stat` of a process; for the fuzzer.
#[cfg(fuzzing)]
pub fn parse_for_fuzzing(stat: &str) {
    let _either = parse(stat);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stat(name: &str, parent: u32, faults: u64, ticks: u64) -> String {
        format!(
            "7 ({name}) S {parent} 7 7 0 -1 4194560 1 0 {faults} 0 {ticks} 0 0 0 20 0 3 0 99 1 2"
        )
    }

    /// A process whose thread 77 got a CPU `switches` times.
    fn process(name: &str, parent: u32, faults: u64, switches: u64) -> Process {
        let switches = [(77, switches)].into();
        Process { switches, ..parse(&stat(name, parent, faults, 100)).unwrap() }
    }

    #[test]
    fn a_program_with_any_name_is_parsed() {
        let seen = parse(&stat("a) S (b", 5, 33, 150)).unwrap();
        assert_eq!((seen.name.as_str(), seen.parent, seen.threads), ("a) S (b", 5, 3));
        assert_eq!((seen.major_faults, seen.began), (33, 99));
        assert_eq!(seen.cpu, user_tick().times(150));
        assert_eq!(parse(&stat("x", 5, 1, 1).replace(" S ", " Z ")), None);
        assert_eq!(parse(&stat("kswapd0", 2, 1, 1).replace("4194560", "2097216")), None);
        assert_eq!(parse("nonsense"), None);
    }

    #[test]
    fn reading_ends_at_its_time_limit() {
        let top = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(top.path().join("proc/7")).unwrap();
        std::fs::write(top.path().join("proc/7/stat"), stat("a", 1, 0, 0)).unwrap();
        let root = Root::at(top.path());
        let late = Timestamp::from_nanos(u64::MAX);
        assert_eq!(Processes::read_by(&root, late).unwrap().0.len(), 1);
        assert_eq!(Processes::read_by(&root, Timestamp::now()), None);
    }

    #[test]
    fn a_server_and_its_workers_are_one_program() {
        let earlier = Processes(
            [
                (1, process("init", 0, 0, 0)),
                (10, process("postgres", 1, 5, 100)),
                (11, process("postgres", 10, 5, 100)),
            ]
            .into(),
        );
        let later = Processes(
            [
                (1, process("init", 0, 0, 2)),
                (10, process("postgres", 1, 6, 110)),
                (11, process("postgres", 10, 9, 300)),
                // It began in between, so all of it counts.
                (12, process("postgres", 11, 2, 40)),
                (13, process("unjank", 1, 900, 900)),
            ]
            .into(),
        );
        let deeds = later.since(&earlier, |number| number == 13);
        let found: Vec<_> = deeds
            .iter()
            .map(|deeds| (deeds.process, deeds.threads, deeds.major_faults, deeds.switches))
            .collect();
        assert_eq!(found, [(1, 3, 0, 2), (10, 9, 7, 250)]);
        let busiest = BusiestThread { process: 11, thread: ThreadId(77), switches: 200 };
        assert_eq!(deeds[1].busiest, Some(busiest));
    }

    #[test]
    fn the_busiest_thread_is_that_of_the_time_between() {
        let seen = |switches: &[(u32, u64)]| {
            let switches = switches.iter().copied().collect();
            Processes([(7, Process { switches, ..process("server", 1, 0, 0) })].into())
        };
        // Thread 9 was the busiest before, and thread 10 has ended.
        let earlier = seen(&[(7, 5), (8, 100), (9, 90_000), (10, 4_000)]);
        let later = seen(&[(7, 5), (8, 400), (9, 90_010), (11, 30)]);
        let program = &later.since(&earlier, |_| false)[0];
        let busiest = program.busiest.map(|busiest| (busiest.thread.0, busiest.switches));
        assert_eq!((program.switches, busiest), (340, Some((8, 300))));
        let idle = &later.since(&later, |_| false)[0];
        assert_eq!((idle.switches, idle.busiest), (0, None));
    }

    #[test]
    fn a_reused_process_id_is_another_process() {
        let earlier = Processes([(7, process("old", 1, 500, 500))].into());
        let new = Process { began: 200, ..process("new", 1, 3, 4) };
        let deeds = Processes([(7, new)].into()).since(&earlier, |_| false);
        assert_eq!((deeds[0].major_faults, deeds[0].switches), (3, 4));
    }

    #[test]
    fn this_process_is_found_and_a_cycle_ends() {
        let late = Timestamp::from_nanos(u64::MAX);
        let processes = Processes::read_by(&Root::system(), late).unwrap();
        assert!(processes.0.contains_key(&std::process::id()));
        let circle = Processes([(7, process("a", 8, 0, 0)), (8, process("a", 7, 0, 0))].into());
        assert!(!circle.since(&Processes::default(), |_| false).is_empty());
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_parsed(stat in ".{0,200}") {
            let _either = parse(&stat);
        }
    }
}
