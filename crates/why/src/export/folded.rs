//! Folded stacks: a line for each stack, `frame;frame;… nanoseconds`, as
//! `flamegraph.pl`, inferno and speedscope read them.

use std::collections::BTreeMap;
use std::io::{self, Write};

use unjank_host::stacks::Stack;
use unjank_units::Nanos;

use super::words::wait_of;
use crate::history::Wait;
use crate::path::{Activity, Segment};
use crate::report::{Explained, place, thread_name};
use crate::split::Cell;

/// Writes the path as stacks `way;activity;thread;function;…;call;function of the
/// kernel;…`. Their weights are nanoseconds, and add up to the window. The call is
/// there where the thread slept in one. The functions are there if stacks were
/// recorded: of a thread that does not run, those in which it stopped; while it
/// computes, those of its samples, each with the same share of its time.
///
/// # Errors
/// A failed write.
pub fn folded(launch: &Explained, out: &mut impl Write) -> io::Result<()> {
    let mut stacks: BTreeMap<String, Nanos> = BTreeMap::new();
    let mut add = |stack: String, length: Nanos| {
        let time = stacks.entry(stack).or_default();
        *time = *time + length;
    };
    let mut computing: BTreeMap<String, Computing> = BTreeMap::new();
    for segment in &launch.path().segments {
        let begin = begin(launch, segment);
        if segment.activity.has_cpu() && launch.has_stacks() {
            let all = computing.entry(begin).or_default();
            all.time = all.time + segment.length();
            let samples = launch.stacks_computing(segment.thread, (segment.from, segment.to));
            all.samples.extend(samples.map(|stack| functions(launch, stack).concat()));
        } else {
            let [program, kernel] = match launch.stack_off_cpu(segment.thread, segment.to) {
                Some(stack) => functions(launch, stack),
                None => [Vec::new(), Vec::new()],
            };
            let frames = program.into_iter().chain(call_of(launch, segment)).chain(kernel);
            add(joined(&begin, frames), segment.length());
        }
    }
    for (begin, Computing { time, samples }) in computing {
        let count = samples.len() as u64;
        if count == 0 {
            add(joined(&begin, ["[no sample]".to_owned()]), time);
        }
        for (number, frames) in (0..).zip(samples) {
            let share = time.get() / count + u64::from(number < time.get() % count);
            add(joined(&begin, frames), Nanos(share));
        }
    }
    for (stack, time) in stacks {
        writeln!(out, "{stack} {}", time.get())?;
    }
    Ok(())
}

/// All computing of a thread on the path, with the functions of its samples.
#[derive(Default)]
struct Computing {
    time: Nanos,
    samples: Vec<Vec<String>>,
}

/// `way;activity;thread`.
fn begin(launch: &Explained, segment: &Segment) -> String {
    let activity = Cell::Of(segment.activity).name();
    let thread = thread_name(launch.history(), segment.thread);
    [segment.way.name(), activity, &frame(&thread)].join(";")
}

fn joined(begin: &str, frames: impl IntoIterator<Item = String>) -> String {
    let mut stack = begin.to_owned();
    for frame in frames {
        stack.push(';');
        stack.push_str(&frame);
    }
    stack
}

/// The functions of a stack, the outermost first: those of the program, and those of
/// the kernel, which `flamegraph.pl` colours by their ending.
fn functions(launch: &Explained, stack: &Stack) -> [Vec<String>; 2] {
    let (kernel, program) = launch.functions_of(stack);
    let program = program.iter().rev().map(|it| frame(&it.text));
    let kernel = kernel.iter().rev().map(|it| frame(&it.text) + "_[k]");
    [program.collect(), kernel.collect()]
}

/// The call in which the segment's thread sleeps.
fn call_of(launch: &Explained, segment: &Segment) -> Option<String> {
    let is_awake = segment.activity.has_cpu()
        || matches!(segment.activity, Activity::Waking | Activity::RunQueue);
    let wait = wait_of(launch, segment).filter(|_| !is_awake)?;
    Some(frame(&call(&wait)))
}

/// A call without its arguments, so that calls of one kind are one frame.
fn call(wait: &Wait) -> String {
    let place = place(wait);
    match wait {
        Wait::Fault { .. } => "page fault".to_owned(),
        Wait::Call { .. } | Wait::KernelLock { .. } => {
            place.split(" 0x").next().unwrap_or_default().to_owned()
        }
        Wait::Unknown | Wait::Lost | Wait::Stopped => place,
    }
}

/// A name without the separator of frames, and without a number as its last word, which
/// readers would take for the weight.
fn frame(name: &str) -> String {
    let name = name.replace(';', ",");
    let is_number =
        |word: &str| !word.is_empty() && word.chars().all(|it| it.is_ascii_digit() || it == '.');
    match name.rsplit_once(' ') {
        Some((words, last)) if is_number(last) => format!("{words}_{last}"),
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use unjank_host::Support;
    use unjank_host::sched::ThreadId;
    use unjank_host::stacks::{StackCause, Stacks};
    use unjank_host::tracefs::script::{Script, at, rename, task};
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
    fn functions_have_the_time_of_the_path() {
        let poll = SystemCall::Begins { number: libc::SYS_ppoll, arguments: [0; 6] };
        let woken = EventKind::Waking { task: task(7), cpu: 0 };
        let script = Script::new()
            .runs(0, 0, 9, 7)
            .happens(0, 310, Context::Thread, EventKind::SystemCall(poll))
            .sleeps(0, 320, 7, 0)
            .expires(1, 700)
            .happens(1, 700, Context::Irq, woken)
            .runs(0, 700, 0, 7)
            .sleeps(0, 1_001, 7, 0);
        let window = (at(0), at(1_001));
        let mut launch = Explained::new(script.trace(), ThreadId(7), window, Clocks::default());
        let (clock, switch) = (StackCause::Clock, StackCause::Switch);
        launch.add_stacks(Support::Yes(Stacks::made_up(&[
            (ThreadId(7), at(100), clock, &["sum;", "main"]),
            (ThreadId(7), at(200), clock, &["sum;", "main"]),
            (ThreadId(7), at(321), switch, &["poll", "wait", "main"]),
            (ThreadId(7), at(800), clock, &["add", "main"]),
        ])));
        let mut text = Vec::new();
        folded(&launch, &mut text).unwrap();
        assert_eq!(
            String::from_utf8(text).unwrap(),
            "own;computing;victim (7);main;add 207\n\
             own;computing;victim (7);main;sum, 414\n\
             own;timer;victim (7);main;wait;poll;ppoll 380\n"
        );
    }

    #[test]
    fn the_weight_is_the_only_number_at_the_end_of_a_line() {
        let call = SystemCall::Begins { number: 5_000, arguments: [0; 6] };
        let script = Script::new()
            .runs(0, 0, 9, 7)
            .happens(0, 310, Context::Thread, EventKind::SystemCall(call))
            .sleeps(0, 320, 7, 0)
            .expires(1, 700)
            .happens(1, 700, Context::Irq, EventKind::Waking { task: task(7), cpu: 0 })
            .runs(0, 700, 0, 7);
        let text = folded_text(&script, (320, 700));
        assert_eq!(text, "own;timer;victim (7);system call_5000 380\n");
    }

    #[test]
    fn a_name_cannot_add_frames_or_lines() {
        let mut trace = Script::new().runs(0, 0, 9, 7).sleeps(0, 100, 7, 0).trace();
        rename(&mut trace, "a;b\nc 1".into());
        let window = (at(0), at(100));
        let launch = Explained::new(trace, ThreadId(7), window, Clocks::default());
        let mut text = Vec::new();
        folded(&launch, &mut text).unwrap();
        assert_eq!(String::from_utf8(text).unwrap(), "own;computing;a,b\\nc 1 (7) 100\n");
    }
}
