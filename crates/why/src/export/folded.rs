//! Folded stacks: a line for each stack, `frame;frame;… nanoseconds`, as
//! `flamegraph.pl`, inferno and speedscope read them.

use std::collections::BTreeMap;
use std::io::{self, Write};

use unjank_units::Nanos;

use super::words::wait_of;
use crate::history::Wait;
use crate::path::{Activity, Segment};
use crate::report::{Explained, place, thread_name};
use crate::split::Cell;

/// Writes the path as stacks `way;activity;thread;call`. Their weights are
/// nanoseconds, and add up to the window. The call is there where the thread
/// slept in one.
///
/// # Errors
/// A failed write.
pub fn folded(launch: &Explained, out: &mut impl Write) -> io::Result<()> {
    let mut stacks: BTreeMap<String, Nanos> = BTreeMap::new();
    for segment in &launch.path().segments {
        let time = stacks.entry(stack(launch, segment)).or_default();
        *time = *time + segment.length();
    }
    for (stack, time) in stacks {
        writeln!(out, "{stack} {}", time.get())?;
    }
    Ok(())
}

fn stack(launch: &Explained, segment: &Segment) -> String {
    let activity = Cell::Of(segment.activity).name();
    let thread = thread_name(launch.history(), segment.thread);
    let mut frames = vec![segment.way.name().to_owned(), activity.to_owned(), frame(&thread)];
    let is_awake =
        matches!(segment.activity, Activity::Computing | Activity::Waking | Activity::RunQueue);
    let wait = wait_of(launch, segment).filter(|_| !is_awake);
    frames.extend(wait.map(|wait| frame(&call(&wait))));
    frames.join(";")
}

/// A call without its arguments, so that calls of one kind are one frame.
fn call(wait: &Wait) -> String {
    let place = place(wait);
    match wait {
        Wait::Fault { .. } => "page fault".to_owned(),
        Wait::Call { .. } => place.split(" 0x").next().unwrap_or_default().to_owned(),
        Wait::Unknown | Wait::Lost => place,
    }
}

/// A name without the separator of frames.
fn frame(name: &str) -> String {
    name.replace(';', ",")
}

#[cfg(test)]
mod tests {
    use unjank_host::sched::ThreadId;
    use unjank_host::tracefs::script::{Script, at};
    use unjank_host::tracefs::{Context, EventKind, SystemCall};

    use super::*;
    use crate::report::Clocks;

    fn folded_text(script: &Script, window: (u64, u64)) -> String {
        let window = (at(window.0), at(window.1));
        let launch = Explained::new(script.trace(), ThreadId(7), window, Clocks::default());
        let mut text = Vec::new();
        folded(&launch, &mut text).unwrap();
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn equal_stacks_are_one_line_and_add_up_to_the_window() {
        let poll = SystemCall::Begins { number: libc::SYS_ppoll, arguments: [0; 6] };
        let script = Script::new()
            .runs(0, 0, 9, 7)
            .runs(0, 100, 7, 9)
            .runs(0, 300, 9, 7)
            .happens(0, 310, Context::Thread, EventKind::SystemCall(poll))
            .sleeps(0, 320, 7, 0)
            .expires(0, 700)
            .wakes(0, 700, 7, 0)
            .runs(0, 710, 0, 7)
            .sleeps(0, 1_000, 7, 0);
        let text = folded_text(&script, (0, 1_000));
        assert!(text.contains("own;computing;victim (7) "), "{text}");
        assert!(text.contains("own;run-queue;victim (7) "), "{text}");
        assert!(text.contains(";victim (7);ppoll "), "{text}");
        let sum: u64 =
            text.lines().map(|line| line.rsplit(' ').next().unwrap().parse::<u64>().unwrap()).sum();
        assert_eq!(sum, 1_000, "{text}");
    }

    #[test]
    fn a_name_cannot_add_frames_or_lines() {
        let mut trace = Script::new().runs(0, 0, 9, 7).sleeps(0, 100, 7, 0).trace();
        for event in trace.cpus.iter_mut().flat_map(|cpu| &mut cpu.events) {
            if let EventKind::Switch { prev, next, .. } = &mut event.kind {
                for task in [prev, next] {
                    task.comm = "a;b\nc 1".into();
                }
            }
        }
        let window = (at(0), at(100));
        let launch = Explained::new(trace, ThreadId(7), window, Clocks::default());
        let mut text = Vec::new();
        folded(&launch, &mut text).unwrap();
        assert_eq!(String::from_utf8(text).unwrap(), "own;computing;a,b\\nc 1 (7) 100\n");
    }
}
