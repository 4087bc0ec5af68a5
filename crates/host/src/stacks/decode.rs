//! Decodes the records in order of time. Mappings come and go, so each sample is
//! resolved with the mappings of its moment.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::addresses::{DEEPEST, continued};
use super::code_file::CodeFiles;
use super::mappings::{Mapping, Mappings};
use super::place::Place;
use super::unwind::Unwinders;
use super::{Stack, Stacks, names};
use crate::address_space::{AddressSpace, MappedFile, Region};
use crate::clock::Timestamp;
use crate::perf_event::{Mapped, RecordedEvent, Sample, StackRecords, times};
use crate::root::Root;
use crate::sched::ThreadId;

/// Marks in a chain of addresses, `enum perf_callchain_context`, and the first of
/// them.
const USER: u64 = 512_u64.wrapping_neg();
const KERNEL: u64 = 128_u64.wrapping_neg();
const FIRST_MARK: u64 = 4095_u64.wrapping_neg();

impl StackRecords {
    /// The stacks of these threads. The files of programs are read, so it takes some
    /// tens of milliseconds, and longer for large programs.
    pub fn stacks_of(&self, root: &Root, threads: &BTreeSet<ThreadId>) -> Stacks {
        let mut order: Vec<(Timestamp, usize, usize)> = Vec::new();
        for (cpu, bytes) in self.cpus.iter().enumerate() {
            order.extend(times(bytes).map(|(at, offset)| (at, cpu, offset)));
        }
        order.sort_unstable();
        let began = order.first().map_or_else(Timestamp::now, |(at, ..)| *at);
        let mut decoder = Decoder::default();
        self.found.iter().for_each(|space| decoder.add_running(space));
        for (_, cpu, offset) in order {
            let bytes = self.cpus.get(cpu).and_then(|bytes| bytes.get(offset..));
            if let Some(event) = bytes.and_then(RecordedEvent::first) {
                decoder.apply(root, &event, threads);
            }
        }
        decoder.finish(root, began)
    }
}

#[derive(Default)]
struct Decoder {
    files: CodeFiles,
    processes: HashMap<u32, Mappings>,
    unwinders: Unwinders,
    /// The number of each place.
    places: HashMap<Place, u32>,
    /// Processes that ran before the recording began.
    ran_before: BTreeSet<u32>,
    threads: BTreeMap<ThreadId, Vec<Stack>>,
    lost: u64,
}

impl Decoder {
    fn apply(&mut self, root: &Root, event: &RecordedEvent<'_>, threads: &BTreeSet<ThreadId>) {
        match event {
            RecordedEvent::Mapped(mapped) => self.map(mapped),
            RecordedEvent::Forked(fork) if fork.process != fork.parent => {
                let inherited = self.processes.get(&fork.parent).cloned().unwrap_or_default();
                self.processes.insert(fork.process, inherited);
                self.unwinders.forget(fork.process);
            }
            RecordedEvent::Executed { process } => {
                self.processes.remove(process);
                self.unwinders.forget(*process);
            }
            RecordedEvent::Sample(sample) if threads.contains(&sample.thread) => {
                self.sample(root, sample);
            }
            RecordedEvent::Forked(_) | RecordedEvent::Sample(_) => {}
            RecordedEvent::Lost { count } => self.lost = self.lost.saturating_add(*count),
        }
    }

    fn add_running(&mut self, space: &AddressSpace) {
        let process = space.process();
        self.ran_before.insert(process);
        for region in space.regions().iter().filter(|region| region.executable) {
            let Region { start, end, offset, device, inode, .. } = *region;
            let file = MappedFile { device, inode };
            let path = region.name.as_deref().unwrap_or_default().as_bytes();
            self.map(&Mapped { process, start, length: end - start, offset, file, path });
        }
    }

    fn map(&mut self, mapped: &Mapped<'_>) {
        let Mapped { process, start, length, offset, file, path } = *mapped;
        let file = self.files.number(path, file, process);
        let end = start.saturating_add(length);
        self.processes.entry(process).or_default().map(Mapping { start, end, file, offset });
        self.unwinders.forget(process);
    }

    fn sample(&mut self, root: &Root, sample: &Sample<'_>) {
        let (kernel, user) = split(sample.chain);
        let none = Mappings::default();
        let mappings = self.processes.get(&sample.process).unwrap_or(&none);
        let is_code = |address: u64| mappings.at(address.saturating_sub(1)).is_some();
        let frames = self.unwinders.frames(root, sample, mappings, &self.files);
        // The kernel follows frame pointers wherever they lead.
        let frames = continued(frames.of_code(is_code), &user).of_code(is_code);
        let kernel = before_returns(&kernel).map(Place::Kernel);
        let user = before_returns(&frames.addresses).map(|address| {
            let mapping = mappings.at(address);
            match mapping.and_then(|it| Some((it.file?, it.offset_of(address)))) {
                Some((file, offset)) => Place::File(file, offset),
                None => Place::Made(sample.process, address),
            }
        });
        let places = &mut self.places;
        let frames_of_stack = kernel.chain(user).take(2 * DEEPEST).map(|place| {
            let next = places.len() as u32;
            *places.entry(place).or_insert(next)
        });
        let stack = Stack {
            at: sample.at,
            cause: sample.cause,
            is_whole: frames.is_whole,
            frames: frames_of_stack.collect(),
        };
        self.threads.entry(sample.thread).or_default().push(stack);
    }

    fn finish(self, root: &Root, began: Timestamp) -> Stacks {
        let mut places: Vec<(u32, Place)> =
            self.places.into_iter().map(|(place, number)| (number, place)).collect();
        places.sort_unstable_by_key(|(number, _)| *number);
        let places: Vec<Place> = places.into_iter().map(|(_, place)| place).collect();
        let frames = names::name(root, &places, &self.files, began, &self.ran_before);
        Stacks { threads: self.threads, frames, lost: self.lost }
    }
}

/// The addresses of the kernel and of the program in a chain.
fn split(chain: &[u8]) -> (Vec<u64>, Vec<u64>) {
    let (mut kernel, mut user) = (Vec::new(), Vec::new());
    let mut mark = USER;
    for word in chain.chunks_exact(8) {
        let word = u64::from_ne_bytes(word.try_into().unwrap_or_default());
        match mark {
            _ if word >= FIRST_MARK => mark = word,
            KERNEL => kernel.push(word),
            USER => user.push(word),
            _ => {}
        }
    }
    (kernel, user)
}

/// Addresses in the functions: all but the first are those behind a call, which may
/// be the last instruction of its function.
fn before_returns(addresses: &[u64]) -> impl Iterator<Item = u64> + '_ {
    let first = addresses.iter().take(1).copied();
    first.chain(addresses.iter().skip(1).map(|address| address.saturating_sub(1)))
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::process::{Command, Stdio};

    use super::*;
    use crate::perf_event::StackCause;
    use crate::perf_event::StackRecorder;
    use unjank_units::{Bytes, Nanos};

    #[test]
    fn marks_tell_the_kernel_from_the_program() {
        let words = [KERNEL, 1, 2, USER, 3, 4, FIRST_MARK, 5];
        let chain: Vec<u8> = words.iter().flat_map(|word: &u64| word.to_ne_bytes()).collect();
        assert_eq!(split(&chain), (vec![1, 2], vec![3, 4]));
        assert_eq!(before_returns(&[9, 8, 0]).collect::<Vec<_>>(), [9, 7, 0]);
    }

    #[test]
    fn a_program_that_ran_before_sleeps_in_a_named_function() {
        let root = Root::system();
        let mut child = Sleeper::start();
        let thread = ThreadId(child.0.id());
        let every = Nanos(1_009_000);
        let recorder = StackRecorder::of_threads(&root, &[thread], every, Bytes::from_mib(1));
        let mut recorder = match recorder {
            Ok(recorder) => recorder,
            Err(error) => return unjank_needs::skip(error),
        };
        let mut records = StackRecords::default();
        child.sleeps_again();
        recorder.stop();
        recorder.take(&mut records);
        let stacks = records.stacks_of(&root, &[thread].into());
        let names: Vec<&str> = stacks
            .of(thread)
            .iter()
            .flat_map(|stack| stacks.frames_of(stack))
            .filter(|frame| frame.is_named && !frame.is_kernel)
            .map(|frame| frame.text.as_str())
            .collect();
        assert!(names.iter().any(|name| name.contains("read")), "{names:?}");
    }

    /// A program that copies its input.
    struct Sleeper(std::process::Child);

    impl Sleeper {
        fn start() -> Self {
            let mut cat = Command::new("cat");
            cat.stdin(Stdio::piped()).stdout(Stdio::piped());
            let mut sleeper = Self(cat.spawn().unwrap());
            sleeper.sleeps_again();
            sleeper
        }

        /// Wakes it, and waits until it has fallen asleep again.
        fn sleeps_again(&mut self) {
            self.0.stdin.as_mut().unwrap().write_all(b"x").unwrap();
            self.0.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
            let call = format!("/proc/{}/syscall", self.0.id());
            unjank_needs::wait::until("it sleeps", || {
                !std::fs::read_to_string(&call).unwrap().starts_with("running")
            });
        }
    }

    impl Drop for Sleeper {
        fn drop(&mut self) {
            let _ended = self.0.kill();
            let _reaped = self.0.wait();
        }
    }

    #[test]
    fn a_program_that_sleeps_does_so_in_a_named_function() {
        let every = Nanos(1_009_000);
        let root = Root::system();
        let mut recorder = match StackRecorder::of_next_programs(&root, every, Bytes::from_mib(1)) {
            Ok(recorder) => recorder,
            Err(error) => return unjank_needs::skip(error),
        };
        let mut child = Command::new("sleep").arg("0.05").spawn().unwrap();
        let thread = ThreadId(child.id());
        assert!(child.wait().unwrap().success());
        recorder.stop();
        let mut records = StackRecords::default();
        recorder.take(&mut records);
        let stacks = records.stacks_of(&root, &[thread].into());
        assert_eq!(stacks.lost, 0);
        let names: Vec<&str> = stacks
            .of(thread)
            .iter()
            .filter(|stack| stack.cause == StackCause::Switch)
            .flat_map(|stack| stacks.frames_of(stack))
            .filter(|frame| frame.is_named && !frame.is_kernel)
            .map(|frame| frame.text.as_str())
            .collect();
        assert!(names.iter().any(|name| name.contains("nanosleep")), "{names:?}");
        assert!(records.stacks_of(&root, &BTreeSet::new()).all().next().is_none());
    }
}
