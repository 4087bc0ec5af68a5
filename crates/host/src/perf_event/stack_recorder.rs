//! Records the stacks of a program's threads: each time one of them loses its CPU,
//! and at intervals of its CPU time.

use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd as _;

use rustix::process::{Resource, getrlimit};

use super::ring::Ring;
use super::switch_budget::{MOST_SWITCHES, STACK, is_too_much};
use super::{Attributes, SIZE_WITH_CLOCK, Target, open};
use crate::address_space::AddressSpace;
use crate::clock::Timestamp;
use crate::error::{Error, Result};
use crate::memory::page_size;
use crate::root::Root;
use crate::sched::{CpuSet, ThreadId};
use crate::threads::process_of;
use unjank_units::{Bytes, Nanos};

/// `PERF_TYPE_SOFTWARE`, and of its events `PERF_COUNT_SW_CPU_CLOCK` and
/// `PERF_COUNT_SW_CONTEXT_SWITCHES`.
const SOFTWARE: u32 = 1;
const CPU_CLOCK: u64 = 0;
const CONTEXT_SWITCHES: u64 = 3;

/// Parts of a sample, `enum perf_event_sample_format`.
const TID: u64 = 1 << 1;
const TIME: u64 = 1 << 2;
const CALLCHAIN: u64 = 1 << 5;
const PERIOD: u64 = 1 << 8;
const REGS_USER: u64 = 1 << 12;
const STACK_USER: u64 = 1 << 13;
/// Bytes of TID and TIME at the end of all records but samples.
pub(super) const TRAILER: usize = 16;

/// Flags of `struct perf_event_attr`.
const DISABLED: u64 = 1;
const INHERIT: u64 = 1 << 1;
const MMAP: u64 = 1 << 8;
const COMM: u64 = 1 << 9;
const FREQUENCY: u64 = 1 << 10;
const ENABLE_ON_EXEC: u64 = 1 << 12;
const TASK: u64 = 1 << 13;
const SAMPLE_ID_ALL: u64 = 1 << 18;
const MMAP2: u64 = 1 << 23;
const COMM_EXEC: u64 = 1 << 24;
const USE_CLOCK_ID: u64 = 1 << 25;

/// `PERF_EVENT_IOC_ENABLE`, `PERF_EVENT_IOC_DISABLE` and
/// `PERF_EVENT_IOC_SET_OUTPUT`.
const ENABLE: libc::c_ulong = 0x2400;
const DISABLE: libc::c_ulong = 0x2401;
const SET_OUTPUT: libc::c_ulong = 0x2405;

/// The registers in a sample, `enum perf_event_x86_regs` and
/// `perf_event_arm_regs`: frame pointer, on ARM the link register, stack pointer,
/// instruction pointer.
#[cfg(target_arch = "x86_64")]
pub(crate) const REGISTERS: [u32; 3] = [6, 7, 8];
#[cfg(target_arch = "aarch64")]
pub(crate) const REGISTERS: [u32; 4] = [29, 30, 31, 32];
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub(crate) const REGISTERS: [u32; 0] = [];

const SUBJECT: &str = "the stacks of a program";
/// Files that the rest of this process may need.
const RESERVED_FILES: u64 = 256;
/// The file with the kernel's own limit on samples per second.
const LIMIT: &str = "/proc/sys/kernel/perf_event_max_sample_rate";
/// The least period of CPU time. The period in a sample shows which event took it:
/// a number of switches stays below this, a number of nanoseconds does not.
pub(super) const FEWEST_NANOS: u64 = 100_000;

/// Records the stacks of a program's threads on each CPU.
#[derive(Debug)]
pub struct StackRecorder {
    settings: Settings,
    cpus: Vec<OfCpu>,
    /// Memory maps of processes that ran before, until the first [`take`](StackRecorder::take).
    found: Vec<AddressSpace>,
}

#[derive(Debug, Clone, Copy)]
struct Settings {
    /// CPU time between two samples of a thread.
    every: Nanos,
    /// The most recorded switches of a thread per second.
    most_switches: u64,
    /// Pages of each CPU's ring buffer.
    pages: usize,
}

#[derive(Debug)]
struct OfCpu {
    cpu: usize,
    // Closing these ends the recording.
    threads: Vec<OfThread>,
    /// The ring buffer of the first event, to which all others write, too.
    ring: Option<Ring>,
    began: Timestamp,
    taken: u64,
    /// Whether there were too many switches to record each of them.
    skips: bool,
}

/// The events of a thread on a CPU.
#[derive(Debug)]
struct OfThread {
    /// CPU time; also new mappings, and births and execs.
    clock: File,
    /// Every switch.
    switches: File,
    /// Switches, of which the kernel skips some.
    some_switches: File,
}

impl OfThread {
    /// How many files it is.
    const FILES: usize = 3;

    fn files(&self) -> [&File; Self::FILES] {
        [&self.clock, &self.switches, &self.some_switches]
    }

    /// Makes an event write to the ring buffer of `clock`.
    fn share_ring(&self, event: &File) -> Result<()> {
        control(event, SET_OUTPUT, self.clock.as_raw_fd()).map_err(failed)
    }
}

/// Recorded events by CPU, in the kernel's binary form.
#[derive(Debug, Default)]
pub struct StackRecords {
    pub(crate) cpus: Vec<Vec<u8>>,
    /// Memory maps, at the beginning, of processes that ran before.
    pub(crate) found: Vec<AddressSpace>,
}

impl StackRecorder {
    /// Records all threads of each program that the calling thread will execute in a
    /// child, and of all processes that these start. `every` is the CPU time between
    /// two samples of a thread, at least 0.1 ms; a CPU's records take up to about
    /// `buffer` until they are taken.
    ///
    /// # Errors
    /// `Permission`; `Unsupported` for a kernel without these events.
    pub fn of_next_programs(root: &Root, every: Nanos, buffer: Bytes) -> Result<Self> {
        let mut recorder = Self::new(root, every, buffer)?;
        recorder.open(ThreadId::current(), ENABLE_ON_EXEC)?;
        Ok(recorder)
    }

    /// As [`of_next_programs`](Self::of_next_programs), of these threads and all that
    /// they start from now on. Threads that have ended are left out.
    ///
    /// # Errors
    /// As there; `Unsupported` also for more threads than this process may open events
    /// for: three files for each of them and each CPU.
    pub fn of_threads(
        root: &Root,
        threads: &[ThreadId],
        every: Nanos,
        buffer: Bytes,
    ) -> Result<Self> {
        let mut recorder = Self::new(root, every, buffer)?;
        recorder.record_also(root, threads)?;
        Ok(recorder)
    }

    fn new(root: &Root, every: Nanos, buffer: Bytes) -> Result<Self> {
        let online = root.read("/sys/devices/system/cpu/online")?;
        let online: CpuSet = online.trim().parse().unwrap_or_else(|_| CpuSet::new([0]));
        let pages = (buffer.get() / page_size().get()).max(1);
        let pages = usize::try_from(pages).unwrap_or(1).next_power_of_two();
        let limit = root.read(LIMIT).ok().and_then(|text| text.trim().parse().ok());
        let most_switches = MOST_SWITCHES.min(limit.unwrap_or(MOST_SWITCHES)).max(1);
        let began = Timestamp::now();
        let cpus = online.iter().map(|cpu| OfCpu {
            cpu,
            threads: Vec::new(),
            ring: None,
            began,
            taken: 0,
            skips: false,
        });
        let settings = Settings { every, most_switches, pages };
        Ok(Self { settings, cpus: cpus.collect(), found: Vec::new() })
    }

    /// Records these threads as well, and all that they start from now on. One that a
    /// recorded thread started is then recorded twice.
    ///
    /// # Errors
    /// As of [`of_threads`](Self::of_threads).
    pub fn record_also(&mut self, root: &Root, threads: &[ThreadId]) -> Result<()> {
        let open: usize = self.cpus.iter().map(|cpu| cpu.threads.len()).sum();
        let needed = OfThread::FILES * (open + threads.len() * self.cpus.len());
        let needed = needed as u64 + RESERVED_FILES;
        if getrlimit(Resource::Nofile).current.is_some_and(|most| needed > most) {
            return Err(refusal(io::Error::from_raw_os_error(libc::EMFILE)));
        }
        for &thread in threads {
            self.open(thread, 0)?;
        }
        // From now on, the kernel reports new mappings.
        let known: BTreeSet<u32> = self.found.iter().map(AddressSpace::process).collect();
        let processes: BTreeSet<u32> =
            threads.iter().filter_map(|&thread| process_of(root, thread)).collect();
        let new = processes.difference(&known);
        self.found.extend(new.filter_map(|&process| AddressSpace::of(root, process).ok()));
        Ok(())
    }

    fn open(&mut self, thread: ThreadId, begin: u64) -> Result<()> {
        let settings = self.settings;
        self.cpus.iter_mut().try_for_each(|cpu| cpu.open(thread, settings, begin))
    }

    /// Moves the buffered records to `records`.
    pub fn take(&mut self, records: &mut StackRecords) {
        records.found.append(&mut self.found);
        records.cpus.resize_with(self.cpus.len().max(records.cpus.len()), Vec::new);
        for (cpu, bytes) in self.cpus.iter_mut().zip(&mut records.cpus) {
            cpu.take(bytes);
        }
    }

    /// Stops recording.
    pub fn stop(&self) {
        for event in self.cpus.iter().flat_map(|cpu| &cpu.threads).flat_map(OfThread::files) {
            // Fails only for a file that is no event.
            let _cannot_fail = control(event, DISABLE, 0);
        }
    }
}

impl StackRecords {
    /// These bytes as the records of one CPU; for the fuzzer.
    #[cfg(fuzzing)]
    pub fn for_fuzzing(bytes: &[u8]) -> Self {
        Self { cpus: vec![bytes.to_vec()], found: Vec::new() }
    }

    /// Memory use of the records.
    pub fn size(&self) -> Bytes {
        Bytes(self.cpus.iter().map(|cpu| cpu.len() as u64).sum())
    }
}

impl OfCpu {
    /// Opens the events of a thread on this CPU. With the flag `begin` of 0 they begin at
    /// once.
    fn open(&mut self, thread: ThreadId, settings: Settings, begin: u64) -> Result<()> {
        let target = Target::ThreadOn(thread, self.cpu);
        let of_stack = if REGISTERS.is_empty() { 0 } else { REGS_USER | STACK_USER };
        let common = Attributes {
            kind: SOFTWARE,
            size: SIZE_WITH_CLOCK,
            sample_type: TID | TIME | PERIOD | CALLCHAIN | of_stack,
            flags: DISABLED | INHERIT | SAMPLE_ID_ALL | USE_CLOCK_ID,
            sample_regs_user: REGISTERS.iter().fold(0, |mask, register| mask | 1 << register),
            sample_stack_user: if of_stack == 0 { 0 } else { STACK },
            clock_id: libc::CLOCK_MONOTONIC,
            ..Attributes::default()
        };
        let clock = Attributes {
            config: CPU_CLOCK,
            sample_period: settings.every.get().max(FEWEST_NANOS),
            flags: common.flags | begin | MMAP | MMAP2 | COMM | COMM_EXEC | TASK,
            ..common.clone()
        };
        let switches = Attributes {
            config: CONTEXT_SWITCHES,
            sample_period: 1,
            flags: common.flags | begin,
            ..common.clone()
        };
        let some_switches = Attributes {
            config: CONTEXT_SWITCHES,
            // With the flag, it is a frequency.
            sample_period: settings.most_switches,
            flags: common.flags | FREQUENCY,
            ..common
        };
        let open_all = || {
            Ok::<_, io::Error>(OfThread {
                clock: open(&clock, target)?,
                switches: open(&switches, target)?,
                some_switches: open(&some_switches, target)?,
            })
        };
        let events = match open_all() {
            Err(error) if error.raw_os_error() == Some(libc::ESRCH) => return Ok(()),
            events => events.map_err(refusal)?,
        };
        match self.threads.first() {
            None => self.ring = Some(Ring::map(&events.clock, settings.pages, SUBJECT)?),
            Some(first) => first.share_ring(&events.clock)?,
        }
        let first = self.threads.first().unwrap_or(&events);
        first.share_ring(&events.switches)?;
        first.share_ring(&events.some_switches)?;
        if begin == 0 {
            let of_switches = if self.skips { &events.some_switches } else { &events.switches };
            for event in [&events.clock, of_switches] {
                control(event, ENABLE, 0).map_err(failed)?;
            }
        }
        self.threads.push(events);
        Ok(())
    }

    /// Moves the buffered records to `bytes`.
    fn take(&mut self, bytes: &mut Vec<u8>) {
        let Some(ring) = &mut self.ring else { return };
        let before = bytes.len();
        ring.take(bytes);
        self.taken = self.taken.saturating_add((bytes.len() - before) as u64);
        // Programs that were executed since have begun to record each switch again.
        if is_too_much(self.taken, Timestamp::now().since(self.began)) {
            for thread in &self.threads {
                // Both fail only for a file that is no event.
                let _cannot_fail = control(&thread.switches, DISABLE, 0);
                if !self.skips {
                    let _cannot_fail = control(&thread.some_switches, ENABLE, 0);
                }
            }
            self.skips = true;
        }
    }
}

fn failed(error: io::Error) -> Error {
    Error::syscall("ioctl", SUBJECT, error)
}

fn refusal(error: io::Error) -> Error {
    match error.raw_os_error() {
        Some(libc::EACCES | libc::EPERM) => Error::Permission {
            what: "recording stacks (perf_event_open)".to_owned(),
            needs: "root or CAP_PERFMON, outside containers that forbid it".to_owned(),
        },
        Some(libc::ENOSYS | libc::ENOENT | libc::EINVAL | libc::EOPNOTSUPP) => {
            Error::Unsupported("this kernel cannot record stacks (perf_event_open)".to_owned())
        }
        Some(libc::EMFILE | libc::ENFILE) => Error::Unsupported(
            "the program has too many threads: their stacks need more open files than allowed \
             (RLIMIT_NOFILE)"
                .to_owned(),
        ),
        _ => Error::syscall("perf_event_open", SUBJECT, error),
    }
}

fn control(event: &File, request: libc::c_ulong, argument: libc::c_int) -> io::Result<()> {
    // SAFETY: both requests take a number, and no memory (perf_event_open(2)).
    let result = unsafe { libc::ioctl(event.as_raw_fd(), request as _, argument) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::super::records::{RecordedEvent, StackCause, times};
    use super::*;

    #[test]
    fn a_thread_that_ended_is_left_out() {
        let (root, every) = (Root::system(), Nanos(1_009_000));
        let mut child = Command::new("true").spawn().unwrap();
        let ended = ThreadId(child.id());
        child.wait().unwrap();
        let recorder = StackRecorder::of_threads(&root, &[ended], every, Bytes::from_mib(1));
        let mut recorder = match recorder {
            Ok(recorder) => recorder,
            Err(error) => return unjank_needs::skip(error),
        };
        let mut records = StackRecords::default();
        recorder.take(&mut records);
        assert_eq!((records.size(), records.found.len()), (Bytes(0), 0));
    }

    #[test]
    fn a_program_that_is_executed_is_recorded_and_this_one_is_not() {
        let every = Nanos(1_009_000);
        let buffer = Bytes::from_mib(1);
        let mut recorder = match StackRecorder::of_next_programs(&Root::system(), every, buffer) {
            Ok(recorder) => recorder,
            Err(error) => return unjank_needs::skip(error),
        };
        let script = "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; sleep 0.01";
        let mut child = Command::new("sh").args(["-c", script]).spawn().unwrap();
        let process = child.id();
        assert!(child.wait().unwrap().success());
        recorder.stop();
        let mut records = StackRecords::default();
        recorder.take(&mut records);
        let (mut samples, mut executed, mut mapped) = (Vec::new(), 0, 0);
        for bytes in &records.cpus {
            for (_, offset) in times(bytes) {
                match RecordedEvent::first(&bytes[offset..]) {
                    Some(RecordedEvent::Sample(sample)) => {
                        samples.push((sample.process, sample.cause));
                        assert_eq!(sample.registers.is_some(), !REGISTERS.is_empty());
                    }
                    Some(RecordedEvent::Executed { .. }) => executed += 1,
                    Some(RecordedEvent::Mapped(_)) => mapped += 1,
                    _ => {}
                }
            }
        }
        let of = |cause| samples.iter().filter(|it| it.1 == cause).count();
        assert!(of(StackCause::Clock) > 5, "{} samples", samples.len());
        assert!(of(StackCause::Switch) >= 2 && executed >= 1 && mapped > 2);
        assert!(samples.iter().any(|it| it.0 == process));
        assert!(samples.iter().all(|it| it.0 != std::process::id()));
        let before = records.size();
        recorder.take(&mut records);
        assert_eq!(records.size(), before);
    }
}
