//! What a shortage of memory cost in a recording of the kernel's events: threads that looked for
//! pages to evict, the time of kswapd, and the pages that were read.
//!
//! The traces of [`trace`](crate::trace) are about pages, one by one; this is about the time of
//! threads.
//!
//! | module | subject |
//! |---|---|
//! | `options` | the threads and the time that count |
//! | `memory` | the events about memory, by thread and by file |
//! | `report` | findings: the answer, the series and the tables |

mod memory;
mod options;
mod report;

pub use options::Options;

use unjank_host::input::Stop;
use unjank_host::tracefs::{Roster, SearchError, Trace};
use unjank_measure::Findings;

use memory::Memory;

/// What a recording without events about memory lacks.
const MISSING: &str = "it has no events about memory; record \
                       vmscan/mm_vmscan_direct_reclaim_begin, vmscan/mm_vmscan_direct_reclaim_end \
                       and filemap/mm_filemap_add_to_page_cache (of trace-cmd, -e vmscan -e \
                       filemap; of Perfetto, as ftrace_events of the data source linux.ftrace)";

/// Finds what a shortage of memory cost.
///
/// # Errors
/// The recording has no events about memory; after a stop request.
pub fn run(
    trace: &Trace,
    roster: &Roster,
    options: &Options,
    stop: &Stop,
) -> Result<Findings, SearchError> {
    let memory = Memory::of(trace, options, stop)?;
    if memory.is_empty() {
        return Err(SearchError::lacks(MISSING));
    }
    Ok(report::findings(roster, options, &memory))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use unjank_host::block_device::DeviceNumber;
    use unjank_host::inode::FileId;
    use unjank_host::sched::ThreadId;
    use unjank_host::tracefs::script::task;
    use unjank_host::tracefs::script::{Script, at};
    use unjank_host::tracefs::{
        Context, EventKind, FilePages, PrevState, Processes, StorageEvent, Task,
    };
    use unjank_measure::Answer;

    use super::*;

    fn options() -> Options {
        Options {
            only: None,
            window: (at(0), at(1_000)),
            paths: BTreeMap::new(),
            limit: 8,
            why: Some("unjank why FILE".to_owned()),
        }
    }

    fn found(script: &Script, options: &Options) -> Result<Findings, SearchError> {
        let trace = script.trace();
        let stop = Stop::default();
        let roster = Roster::of(&trace, &Processes::default(), &stop).unwrap();
        run(&trace, &roster, options, &stop)
    }

    fn happens(script: Script, cpu: usize, nanos: u64, kind: EventKind) -> Script {
        script.happens(cpu, nanos, Context::Thread, kind)
    }

    fn reclaims(script: Script, cpus: [usize; 2], from: u64, to: u64) -> Script {
        happens(
            happens(script, cpus[0], from, EventKind::ReclaimBegins),
            cpus[1],
            to,
            EventKind::ReclaimEnds,
        )
    }

    fn reads(script: Script, nanos: u64, inode: u64, order: u8) -> Script {
        let pages = FilePages { device: DeviceNumber(8), inode, first: 0, order };
        happens(script, 0, nanos, EventKind::Storage(StorageEvent::Cached(pages)))
    }

    /// kswapd0, thread 30, has CPU 2 in this time.
    fn kswapd(script: Script, from: u64, to: u64) -> Script {
        let (prev_state, idle) = (PrevState::Asleep, task(0));
        let kswapd = Task { tid: ThreadId(30), comm: "kswapd0".into(), prio: 120 };
        let begins = EventKind::Switch { prev: idle, prev_state, next: kswapd };
        let ends = EventKind::Switch { prev: kswapd, prev_state, next: idle };
        happens(happens(script, 2, from, begins), 2, to, ends)
    }

    fn row(findings: &Findings, table: &str, row: usize) -> Vec<String> {
        let table = findings.table_named(table).unwrap();
        let json = serde_json::to_value(&table.rows[row]).unwrap();
        let cells = json.as_array().unwrap().iter().map(|cell| match cell {
            serde_json::Value::String(text) => text.clone(),
            cell => cell["value"].as_f64().map_or_else(String::new, |value| value.to_string()),
        });
        cells.collect()
    }

    #[test]
    fn stalls_of_a_thread_are_summed_up_on_whatever_cpu_they_end() {
        let script = reclaims(Script::new().runs(0, 50, 0, 7), [0, 0], 100, 130);
        let script = happens(script, 0, 200, EventKind::ReclaimBegins).runs(0, 220, 7, 0);
        let script = happens(script.runs(1, 230, 0, 7), 1, 300, EventKind::ReclaimEnds);
        let findings = found(&kswapd(script, 210, 260), &options()).unwrap();
        assert_eq!(
            row(&findings, "swap/trace/reclaim", 0),
            ["victim[7]", "", "2", "130", "30", "100"]
        );
        assert_eq!(
            row(&findings, "swap/trace/kswapd", 0),
            ["kswapd0[30]", "1", "50", "0.05", "50"]
        );
        let verdict = &findings.verdicts[0];
        assert_eq!(verdict.answer, Answer::No);
        assert_eq!(
            verdict.reason,
            "2 times a thread looked for pages to evict, for 130 ns in all; the longest: victim[7], \
             100 ns; kswapd had a CPU for 50 ns"
        );
        let next = "unjank why FILE --process 7 --thread 7 --since 0.000000200 --until 0.000000300";
        assert_eq!(verdict.next.as_deref(), Some(next));
        let later = Options { window: (at(150), at(1_000)), ..options() };
        let findings = found(&kswapd(reclaims(Script::new(), [0, 0], 100, 130), 100, 200), &later);
        let findings = findings.unwrap();
        assert_eq!(findings.table_named("swap/trace/reclaim"), None);
        assert_eq!(row(&findings, "swap/trace/kswapd", 0)[2], "50", "from 150 on");
    }

    #[test]
    fn pages_are_counted_by_file_and_by_thread() {
        let script = reads(reads(Script::new().runs(0, 50, 0, 7), 100, 12, 0), 110, 12, 2);
        let script = reads(script.runs(0, 120, 7, 9), 130, 13, 0);
        let file = |inode| FileId { device: DeviceNumber(8), inode };
        let paths = [(file(12), "/system/lib64/libhwui.so".to_owned())].into();
        let findings = found(&script, &Options { paths, ..options() }).unwrap();
        let library = "/system/lib64/libhwui.so";
        assert_eq!(row(&findings, "swap/trace/files", 0), [library, "5", "victim[7]"]);
        assert_eq!(row(&findings, "swap/trace/files", 1)[..2], ["inode 13 on 0,8", "1"]);
        assert_eq!(row(&findings, "swap/trace/readers", 0), ["victim[7]", "", "5", "1"]);
        // A recording does not say whether events of reclaim were enabled.
        assert_eq!(findings.verdicts[0].answer, Answer::CannotTell);
        let only = Options { only: Some([ThreadId(9)].into()), ..options() };
        assert_eq!(row(&found(&script, &only).unwrap(), "swap/trace/readers", 0)[0], "hog[9]");
    }

    #[test]
    fn a_trace_without_events_about_memory_says_what_to_record() {
        let why = found(&Script::new().runs(0, 10, 0, 7), &options()).unwrap_err().to_string();
        assert!(why.starts_with("it has no events about memory; record vmscan/"), "{why}");
    }

    proptest::proptest! {
        #[test]
        fn any_trace_is_searched(bytes in proptest::collection::vec(0_u8.., 0..400)) {
            if let Ok(findings) = found(&Script::invented(&bytes), &options()) {
                proptest::prop_assert_eq!(findings.verdicts.len(), 1);
            }
        }
    }
}
