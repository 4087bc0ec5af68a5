//! What a million events take to explain: CPU time and bytes for each. Goals: one second on one
//! core, 100 bytes.
//!
//! Each round goes over an invented recording of three busy CPUs and 64 threads that wake each
//! other, once without and once with system calls.

#![expect(clippy::print_stdout, reason = "a bench")]

#[path = "../tests/load/mod.rs"]
mod load;

use std::hint::black_box;

use load::{Recorded, forget_peak, held, peak, recording};
use rustix::time::{ClockId, clock_gettime};
use unjank_host::sched::ThreadId;
use unjank_host::tracefs::Trace;
use unjank_host::tracefs::script::at;
use unjank_measure::stats::order;
use unjank_why::history::History;
use unjank_why::report::{About, Clocks, Explained, Launches, findings};

const EVENTS: usize = 1_000_000;
const ROUNDS: usize = 11;

/// One way to the answer, or a part of it.
struct Part {
    name: &'static str,
    run: fn(Trace, u64),
}

const PARTS: [Part; 3] = [
    Part { name: "history", run: |trace, _| drop(black_box(History::of(&trace))) },
    Part {
        name: "history, path and split",
        run: |trace, end| drop(black_box(explain(trace, end))),
    },
    Part { name: "all that is said", run: all },
];

fn explain(trace: Trace, end: u64) -> Explained {
    Explained::new(trace, ThreadId(7), (at(0), at(end)), Clocks::default())
}

fn all(trace: Trace, end: u64) {
    let about = About::default();
    black_box(findings(&Launches::single(explain(trace, end), &about), &about));
}

fn main() {
    println!("CPU time, n {ROUNDS} rounds, medians with 95 % intervals; most bytes at a time");
    for recorded in [Recorded::Scheduling, Recorded::Calls] {
        let before = held();
        let (trace, end) = recording(recorded, EVENTS);
        let recording_held = held() - before;
        let events = trace.len() as f64;
        println!("{recorded:?}, {events} events of {:.1} B", recording_held as f64 / events);
        for Part { name, run } in &PARTS {
            let (mut times, mut most) = (Vec::new(), 0);
            for _ in 0..ROUNDS {
                let trace = trace.clone();
                forget_peak();
                // The original is not part of what is explained.
                let others = before + recording_held;
                let begun = on_cpu();
                run(trace, end);
                times.push((on_cpu() - begun) / events);
                most = most.max(peak() - others);
            }
            let Some((median, Some([low, high]))) = order::median(&mut times) else { continue };
            println!(
                "  {name}: {median:.0} ns an event ({low:.0} to {high:.0}), {:.2} million events a \
                 second, {:.1} B an event",
                1e3 / median,
                most as f64 / events
            );
        }
    }
}

/// The CPU time of this thread in nanoseconds.
fn on_cpu() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}
