//! The stacks of the threads of a program, as functions: the records of a
//! [`StackRecorder`](crate::perf_event::StackRecorder), decoded.
//!
//! ```text
//! records ─► mappings at that time ─► frames by .eh_frame, then by frame pointers ─► names
//! ```

mod addresses;
mod code_file;
mod decode;
mod mappings;
mod names;
mod place;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod unwind;
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
#[path = "unwind_not.rs"]
mod unwind;

use std::collections::BTreeMap;

use crate::clock::Timestamp;
pub use crate::perf_event::StackCause;
use crate::sched::ThreadId;

/// The recorded stacks of all threads.
#[derive(Debug, Clone, Default)]
pub struct Stacks {
    /// The stacks of each thread, in order of time.
    pub(crate) threads: BTreeMap<ThreadId, Vec<Stack>>,
    pub(crate) frames: Vec<Frame>,
    /// Number of records that the kernel dropped because a buffer was full.
    pub lost: u64,
}

/// The stack of a thread at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stack {
    /// Time of the record.
    pub at: Timestamp,
    /// Why it was recorded.
    pub cause: StackCause,
    /// Whether it reaches the thread's first function.
    pub is_whole: bool,
    /// Indices into [`Stacks::frames`], the innermost function first.
    pub(crate) frames: Vec<u32>,
}

/// A function on a stack.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// Its name; without one, the file and the offset in it, or the address. It has
    /// no control characters.
    pub text: String,
    /// Whether `text` is the function's name.
    pub is_named: bool,
    /// Whether it is a function of the kernel.
    pub is_kernel: bool,
}

impl Stacks {
    /// Stacks that were made up, for tests: of each thread the moments, causes and
    /// functions, the innermost first.
    pub fn made_up(of: &[(ThreadId, Timestamp, StackCause, &[&str])]) -> Self {
        let mut stacks = Self::default();
        for (thread, at, cause, functions) in of {
            let first = stacks.frames.len() as u32;
            stacks.frames.extend(functions.iter().map(|text| Frame {
                text: (*text).to_owned(),
                is_named: !text.contains('+'),
                is_kernel: false,
            }));
            let frames = (first..stacks.frames.len() as u32).collect();
            let stack = Stack { at: *at, cause: *cause, is_whole: true, frames };
            stacks.threads.entry(*thread).or_default().push(stack);
        }
        stacks
    }

    /// The stacks of a thread, in order of time.
    pub fn of(&self, thread: ThreadId) -> &[Stack] {
        self.threads.get(&thread).map_or(&[], Vec::as_slice)
    }

    /// All of them, in no order.
    pub fn all(&self) -> impl Iterator<Item = &Stack> {
        self.threads.values().flatten()
    }

    /// The functions of one of these stacks, the innermost first.
    pub fn frames_of(&self, stack: &Stack) -> impl Iterator<Item = &Frame> {
        stack.frames.iter().filter_map(|&frame| self.frames.get(frame as usize))
    }
}
