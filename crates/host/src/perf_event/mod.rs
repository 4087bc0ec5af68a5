//! Counted or sampled events of the kernel: `perf_event_open(2)`.

mod records;
mod ring;
mod samples;
mod stack_recorder;
mod switch_budget;

pub use records::StackCause;
pub(crate) use records::{Mapped, RecordedEvent, Sample, times};
pub use samples::InstructionSamples;
#[cfg(fuzzing)]
pub use samples::parse_for_fuzzing;
pub(crate) use stack_recorder::REGISTERS;
pub use stack_recorder::{StackRecorder, StackRecords};

use std::fs::File;
use std::io;
use std::os::fd::{FromRawFd as _, OwnedFd, RawFd};
use std::ptr;

use crate::sched::ThreadId;

/// `struct perf_event_attr`. Kernels before 4.1 know only its first part; it is the
/// default, as every kernel accepts it.
#[repr(C)]
#[derive(Debug, Clone)]
pub(crate) struct Attributes {
    pub(crate) kind: u32,
    pub(crate) size: u32,
    pub(crate) config: u64,
    pub(crate) sample_period: u64,
    pub(crate) sample_type: u64,
    pub(crate) read_format: u64,
    pub(crate) flags: u64,
    pub(crate) wakeup_events: u32,
    pub(crate) breakpoint_type: u32,
    pub(crate) config1: u64,
    pub(crate) config2: u64,
    pub(crate) branch_sample_type: u64,
    pub(crate) sample_regs_user: u64,
    pub(crate) sample_stack_user: u32,
    pub(crate) clock_id: i32,
}

/// `PERF_ATTR_SIZE_VER0`, and the size of the whole, `PERF_ATTR_SIZE_VER3`.
const FIRST_SIZE: u32 = 64;
pub(crate) const SIZE_WITH_CLOCK: u32 = 96;

impl Default for Attributes {
    fn default() -> Self {
        Self {
            kind: 0,
            size: FIRST_SIZE,
            config: 0,
            sample_period: 0,
            sample_type: 0,
            read_format: 0,
            flags: 0,
            wakeup_events: 0,
            breakpoint_type: 0,
            config1: 0,
            config2: 0,
            branch_sample_type: 0,
            sample_regs_user: 0,
            sample_stack_user: 0,
            clock_id: 0,
        }
    }
}

const _: () = assert!(size_of::<Attributes>() == SIZE_WITH_CLOCK as usize);

/// The target whose events are counted or sampled.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Target {
    /// All threads on this CPU.
    Cpu(usize),
    /// This thread, on any CPU.
    Thread(ThreadId),
    /// This thread, on this CPU.
    ThreadOn(ThreadId, usize),
}

/// Starts counting or sampling, which lasts as long as the file is open.
pub(crate) fn open(attributes: &Attributes, target: Target) -> io::Result<File> {
    const CLOSE_ON_EXEC: libc::c_ulong = 8;
    let (thread, cpu): (libc::pid_t, libc::c_int) = match target {
        Target::Cpu(cpu) => (-1, cpu as libc::c_int),
        Target::Thread(thread) => (thread.0 as libc::pid_t, -1),
        Target::ThreadOn(thread, cpu) => (thread.0 as libc::pid_t, cpu as libc::c_int),
    };
    let alone: libc::c_int = -1;
    // SAFETY: perf_event_open(2) reads `size` bytes of the attributes, which
    // live until the call returns, and keeps no pointer to them.
    let fd = unsafe {
        libc::syscall(
            libc::SYS_perf_event_open,
            ptr::from_ref(attributes),
            thread,
            cpu,
            alone,
            CLOSE_ON_EXEC,
        )
    };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just created this descriptor, and nothing else
    // owns it.
    Ok(File::from(unsafe { OwnedFd::from_raw_fd(fd as RawFd) }))
}
