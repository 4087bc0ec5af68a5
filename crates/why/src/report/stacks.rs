//! The functions in which threads slept or computed, by the stacks that were recorded beside the
//! trace.

use std::collections::BTreeMap;

use unjank_host::sched::ThreadId;
use unjank_host::stacks::{Frame, Stack, StackCause, Stacks};
use unjank_host::{Support, Timestamp};
use unjank_units::Nanos;

use super::explained::Explained;
use crate::history::State;

/// The most functions in a chain.
const NAMED: usize = 4;
/// How long after a switch its stack may be recorded. The stack of a thread that is woken sooner
/// comes after the end of its sleep.
const JUST_AFTER: Nanos = Nanos(20_000);

/// Functions in which threads begin. Their callers are not shown.
const ENTRY_FUNCTIONS: [&str; 10] = [
    "_start",
    "__libc_start_main",
    "__libc_start_call_main",
    "start_thread",
    "clone",
    "__clone",
    "clone3",
    "__clone3",
    "runtime.goexit",
    "runtime.goexit.abi0",
];

impl Explained {
    fn known_stacks(&self) -> Option<&Stacks> {
        match &self.stacks {
            Some(Support::Yes(stacks)) => Some(stacks),
            _ => None,
        }
    }

    /// Whether stacks were recorded.
    pub(crate) fn has_stacks(&self) -> bool {
        self.known_stacks().is_some()
    }

    /// The stack with which `thread` fell asleep or lost its CPU, if it did not run
    /// at the moment before `to`.
    pub(crate) fn stack_off_cpu(&self, thread: ThreadId, to: Timestamp) -> Option<&Stack> {
        let span = self.history.life(thread, to)?.before(to)?;
        let stacks = self.known_stacks()?.of(thread);
        let is_switch = |stack: &&Stack| stack.cause == StackCause::Switch;
        match span.state {
            State::Running { .. } => None,
            State::Asleep { .. } => {
                let first = stacks.partition_point(|stack| stack.at < span.from);
                let stack = stacks.get(first..)?.iter().find(is_switch)?;
                (stack.at < span.to.max(span.from + JUST_AFTER)).then_some(stack)
            }
            // Either it was preempted, or it was woken from the sleep before.
            State::Woken { .. } | State::Ready { .. } => {
                let end = stacks.partition_point(|stack| stack.at < to);
                stacks.get(..end)?.iter().rfind(is_switch)
            }
        }
    }

    /// The stacks of `thread` at intervals of its CPU time between two moments.
    pub(crate) fn stacks_computing(
        &self,
        thread: ThreadId,
        (from, to): (Timestamp, Timestamp),
    ) -> impl Iterator<Item = &Stack> {
        let all = self.stacks_between(thread, (from, to));
        all.filter(|stack| stack.cause == StackCause::Clock)
    }

    fn stacks_between(
        &self,
        thread: ThreadId,
        (from, to): (Timestamp, Timestamp),
    ) -> impl Iterator<Item = &Stack> {
        let stacks = self.known_stacks().map_or(&[][..], |stacks| stacks.of(thread));
        let first = stacks.partition_point(|stack| stack.at < from);
        stacks[first..].iter().take_while(move |stack| stack.at < to)
    }

    /// The functions of a stack, the innermost first: those of the kernel, and those
    /// of the program.
    pub(crate) fn functions_of(&self, stack: &Stack) -> (Vec<&Frame>, Vec<&Frame>) {
        let Some(stacks) = self.known_stacks() else { return (Vec::new(), Vec::new()) };
        stacks.frames_of(stack).partition(|frame| frame.is_kernel)
    }

    /// `pthread_mutex_lock <- cache_get <- main`: the program's functions, the
    /// innermost first; empty if none is known.
    pub(super) fn chain(&self, stack: &Stack) -> String {
        chain(&self.functions_of(stack).1, stack.is_whole)
    }

    /// The chain of [`stack_off_cpu`](Self::stack_off_cpu); empty if there is none.
    pub(crate) fn chain_off_cpu(&self, thread: ThreadId, to: Timestamp) -> String {
        self.stack_off_cpu(thread, to).map(|stack| self.chain(stack)).unwrap_or_default()
    }

    /// The most frequent chain of a thread between two moments: of its samples while it computed,
    /// or, without samples, of the stacks with which it fell asleep or lost its CPU.
    pub(super) fn chain_between(
        &self,
        thread: ThreadId,
        (from, to): (Timestamp, Timestamp),
    ) -> Option<String> {
        let most = |cause: StackCause| {
            let mut counts: BTreeMap<String, usize> = BTreeMap::new();
            for stack in self.stacks_between(thread, (from, to)).filter(|it| it.cause == cause) {
                *counts.entry(self.chain(stack)).or_default() += 1;
            }
            counts.remove("");
            counts.into_iter().max_by_key(|(_, count)| *count).map(|(chain, _)| chain)
        };
        most(StackCause::Clock).or_else(|| most(StackCause::Switch))
    }
}

/// The last element of a chain that has more functions, and of one whose callers are not known.
const MORE: &str = "…";
const CUT: &str = "?";

fn chain(frames: &[&Frame], is_whole: bool) -> String {
    let begin = frames.iter().position(|frame| ENTRY_FUNCTIONS.contains(&frame.text.as_str()));
    // If a function uses the frame pointer's register for other data, the stack walk ends there, as
    // at the outermost function.
    let ends_unnamed = frames.last().is_some_and(|frame| !frame.is_named);
    let is_whole = begin.is_some() || is_whole && ends_unnamed;
    let mut frames = &frames[..begin.unwrap_or(frames.len())];
    // Between an entry function and `main`, the C library may have a function without a symbol.
    while begin.is_some()
        && let [outer @ .., last] = frames
        && is_of_c_library(last)
    {
        frames = outer;
    }
    // Internal functions of the C library may have no symbols, either; those that programs call do.
    let inner = frames.iter().position(|frame| frame.is_named).unwrap_or(0);
    let mut names: Vec<&str> = frames[inner..].iter().map(|frame| short(frame)).collect();
    names.dedup();
    let goes_on = names.len() > NAMED;
    names.truncate(NAMED);
    if goes_on {
        names.push(MORE);
    } else if !is_whole && !names.is_empty() {
        names.push(CUT);
    }
    names.join(" <- ")
}

fn is_of_c_library(frame: &Frame) -> bool {
    !frame.is_named && ["libc.", "libc-"].iter().any(|file| frame.text.starts_with(file))
}

/// A function, or the file of one without a name.
fn short(frame: &Frame) -> &str {
    let text = frame.text.as_str();
    // The C library's own name of its function.
    let text = text.strip_prefix("__GI_").unwrap_or(text);
    if frame.is_named { text } else { text.rsplit_once("+0x").map_or(text, |(file, _)| file) }
}

#[cfg(test)]
mod tests {
    use unjank_host::tracefs::script::{Script, at};

    use super::*;
    use crate::report::scripted::explained;

    fn chain_of(functions: &[&str], is_whole: bool) -> String {
        let frame = |text: &&str| Frame {
            text: (*text).to_owned(),
            is_named: !text.contains('+'),
            is_kernel: false,
        };
        let frames: Vec<Frame> = functions.iter().map(frame).collect();
        chain(&frames.iter().collect::<Vec<_>>(), is_whole)
    }

    #[test]
    fn a_chain_begins_with_a_name_and_ends_with_the_programs_first_function() {
        let libc = "libc.so.6+0x1";
        let functions = [libc, libc, "pthread_mutex_lock", "cache_get", "main", libc, "_start"];
        assert_eq!(chain_of(&functions, false), "pthread_mutex_lock <- cache_get <- main");
        assert_eq!(chain_of(&["a", "b", "c", "d", "e", "f"], true), "a <- b <- c <- d <- …");
        assert_eq!(chain_of(&["a", "b"], false), "a <- b <- ?");
        assert_eq!(chain_of(&["a", "b"], true), "a <- b <- ?");
        assert_eq!(chain_of(&["__GI___a", "b", "x+0x1"], true), "__a <- b <- x");
        assert_eq!(chain_of(&["a", "x+0x1", "x+0x2", "b", "_start"], true), "a <- x <- b");
        assert_eq!(chain_of(&["x+0x1", "x+0x2"], false), "x <- ?");
        assert_eq!(chain_of(&["libstdc++.so.6+0x1"], false), "libstdc++.so.6 <- ?");
        assert_eq!(chain_of(&["_start"], true), "");
        assert_eq!(chain_of(&[], false), "");
    }

    #[test]
    fn a_sleep_has_the_stack_just_after_its_begin() {
        let script = Script::new()
            .runs(0, 0, 0, 7)
            .sleeps(0, 100, 7, 0)
            .wakes(1, 110, 7, 0)
            .runs(0, 120, 0, 7)
            .sleeps(0, 1_000_000, 7, 0)
            .wakes(1, 2_000_000, 7, 0)
            .runs(0, 2_000_100, 0, 7)
            .sleeps(0, 3_000_000, 7, 0);
        let mut launch = explained(&script, 3_000_000);
        let (victim, switch) = (ThreadId(7), StackCause::Switch);
        launch.add_stacks(Support::Yes(Stacks::made_up(&[
            (victim, at(115), switch, &["first", "_start"]),
            (victim, at(500_000), StackCause::Clock, &["clock", "_start"]),
            (victim, at(1_000_200), switch, &["second", "_start"]),
        ])));
        let off = |to| launch.stack_off_cpu(victim, at(to)).map(|stack| launch.chain(stack));
        assert_eq!(off(110).as_deref(), Some("first"));
        assert_eq!(off(1_000_000), None, "it runs");
        assert_eq!(off(1_500_000).as_deref(), Some("second"));
        assert_eq!(off(2_000_050).as_deref(), Some("second"));
        let computing = |from, to| launch.stacks_computing(victim, (at(from), at(to))).count();
        assert_eq!((computing(0, 500_000), computing(500_000, 500_001)), (0, 1));
    }
}
