//! Explains one launch until the program ends: `launch COMMAND …`, as root.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "an example")]

use std::process::Command;

use unjank_host::sched::ThreadId;
use unjank_host::tracefs::{EventKind, StorageEvent, Tracefs};
use unjank_host::{Root, Timestamp};
use unjank_why::history::History;
use unjank_why::path::critical_path;
use unjank_why::record::Recording;
use unjank_why::split::{HighestClocks, Split};
use unjank_why::what_if::{Change, length};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let root = Root::system();
    let tracefs = Tracefs::open(&root).yes().unwrap();
    let recording = Recording::start(&tracefs, &root, &[ThreadId::current()]).unwrap();
    let mut child = Command::new(&arguments[0]).args(&arguments[1..]).spawn().unwrap();
    let pid = ThreadId(child.id());
    child.wait().unwrap();
    let ended = Timestamp::now();
    let trace = recording.finish().unwrap();
    let begin = Timestamp::now();
    let history = History::of(&trace);
    let executed =
        trace.cpus.iter().flat_map(|cpu| &cpu.events).find_map(|event| match event.kind {
            EventKind::Storage(StorageEvent::Executed { process, .. }) if process == pid => {
                Some(event.at)
            }
            _ => None,
        });
    let from = executed.unwrap();
    let to = history.life(pid).and_then(|life| life.end).unwrap_or(ended);
    let path = critical_path(&history, pid, from, to);
    let split = Split::of(&path, &history, &HighestClocks::new());
    println!("{} events, lost {:?}, {} threads", trace.len(), trace.lost, history.lives().count());
    println!(
        "window {}, split {}, analysed in {}",
        to.since(from),
        split.total(),
        Timestamp::now().since(begin)
    );
    for ((way, cell), time) in &split.cells {
        println!("{:>10}  {} {}", time.to_string(), way.name(), cell.name());
    }
    let same = length(&history, (pid, from, to), &Change::default(), &HighestClocks::new());
    println!("replayed without a change: {same}");
    let change = Change { no_run_queue: true, ..Change::default() };
    println!("no run queue: {}", length(&history, (pid, from, to), &change, &HighestClocks::new()));
    let change = Change { page_hit: Some(unjank_units::Nanos(1_000)), ..Change::default() };
    println!(
        "pages in memory: {}",
        length(&history, (pid, from, to), &change, &HighestClocks::new())
    );
    let mut longest: Vec<_> = path.waits.iter().collect();
    longest.sort_by_key(|wait| std::cmp::Reverse(wait.to.since(wait.from)));
    for wait in longest.iter().take(10) {
        let name = |by| match by {
            unjank_why::history::Origin::Thread(thread) => {
                format!("{} {}", thread, history.name(thread).unwrap_or_default())
            }
            other => format!("{other:?}"),
        };
        println!(
            "{} {} {:?} by {}",
            wait.to.since(wait.from),
            wait.way.name(),
            wait.wait,
            wait.wake.map_or("nobody".to_owned(), |wake| name(wake.by))
        );
    }
    for segment in path
        .segments
        .iter()
        .filter(|segment| segment.activity == unjank_why::path::Activity::Unknown)
        .take(10)
    {
        println!("{segment:?}");
    }
}
