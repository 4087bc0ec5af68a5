//! Policy and priority of one thread: `sched_setattr(2)`.

use std::io;
use std::sync::OnceLock;
use std::thread;

use super::fair::Fair;
use super::policy::{Policy, Priority, ThreadId};
use crate::error::{Error, Result};
use unjank_units::Nanos;

/// `struct sched_attr` of `include/uapi/linux/sched/types.h`, version 1
/// (56 bytes, with the utilisation clamps).
#[repr(C)]
#[derive(Default)]
struct SchedAttr {
    size: u32,
    policy: u32,
    flags: u64,
    nice: i32,
    priority: u32,
    /// Run time of a deadline, slice of a fair thread.
    runtime: u64,
    deadline: u64,
    period: u64,
    util_min: u32,
    util_max: u32,
}

impl SchedAttr {
    fn be_fair(&mut self, policy: i32, fair: Fair) {
        self.policy = policy as u32;
        self.nice = fair.nice;
        self.runtime = fair.slice.map_or(0, Nanos::get);
    }
}

/// Size of the first version of the structure, which every kernel since 3.14
/// accepts. This crate sets no utilisation clamps.
const ATTR_SIZE_V0: u32 = 48;
const RESET_ON_FORK: u64 = 0x01;

/// The policy of a thread, and whether children fall back to `SCHED_OTHER`
/// (`SCHED_RESET_ON_FORK`).
///
/// # Errors
/// `ESRCH` if the thread does not exist; `Unsupported` for an unknown policy (a
/// `sched_ext` class of a newer kernel).
pub fn policy_of(thread: ThreadId) -> Result<(Policy, bool)> {
    let attr = attributes_of(thread)?;
    let priority = Priority(attr.priority.min(99) as u8);
    let policy = match attr.policy as i32 {
        libc::SCHED_OTHER => Policy::Other(fair_of(attr.nice, attr.runtime)),
        libc::SCHED_BATCH => Policy::Batch(fair_of(attr.nice, attr.runtime)),
        libc::SCHED_IDLE => Policy::Idle,
        libc::SCHED_FIFO => Policy::Fifo(priority),
        libc::SCHED_RR => Policy::RoundRobin(priority),
        libc::SCHED_DEADLINE => {
            Policy::Deadline { runtime: attr.runtime, deadline: attr.deadline, period: attr.period }
        }
        other => {
            return Err(Error::Unsupported(format!(
                "{thread} has scheduling policy {other}, which unjank does not know"
            )));
        }
    };
    Ok((policy, attr.flags & RESET_ON_FORK != 0))
}

/// The parameters of the fair class, as `sched_getattr(2)` reports them;
/// kernels before 6.12 report no slice.
fn fair_of(nice: i32, slice: u64) -> Fair {
    let is_own = slice == 0 || kernels_slice().is_none_or(|kernels| kernels.get() == slice);
    Fair { nice, slice: (!is_own).then_some(Nanos(slice)) }
}

/// The slice of a thread that requests none; `None` if it cannot be determined.
/// The file with the value (`sched/base_slice_ns` of debugfs) is for root only,
/// so a new thread resets its slice and reads that.
fn kernels_slice() -> Option<Nanos> {
    static SLICE: OnceLock<Option<Nanos>> = OnceLock::new();
    *SLICE.get_or_init(|| {
        let look = || {
            let me = ThreadId::current();
            let ordinary = Policy::other(attributes_of(me).ok()?.nice);
            set_policy(me, ordinary, false).or_else(|_| set_policy(me, ordinary, true)).ok()?;
            Some(Nanos(attributes_of(me).ok()?.runtime))
        };
        thread::Builder::new().name("slice".to_owned()).spawn(look).ok()?.join().ok()?
    })
}

/// The attributes of a thread, from `sched_getattr(2)`.
fn attributes_of(thread: ThreadId) -> Result<SchedAttr> {
    let mut attr = SchedAttr::default();
    // SAFETY: sched_getattr(2) writes at most `size` bytes into the structure,
    // which is plain data of exactly that size.
    let answer = unsafe {
        libc::syscall(
            libc::SYS_sched_getattr,
            thread.0,
            &raw mut attr,
            size_of::<SchedAttr>() as u32,
            0_u32,
        )
    };
    if answer != 0 {
        return Err(Error::syscall(
            "sched_getattr",
            thread.to_string(),
            io::Error::last_os_error(),
        ));
    }
    Ok(attr)
}

/// Sets the policy of a thread. With `reset_on_fork`, threads and processes
/// that it starts begin as `SCHED_OTHER`.
///
/// # Errors
/// `Permission` with the capability and the limit if the user may not do this.
pub fn set_policy(thread: ThreadId, policy: Policy, reset_on_fork: bool) -> Result<()> {
    let mut attr = SchedAttr {
        size: ATTR_SIZE_V0,
        flags: if reset_on_fork { RESET_ON_FORK } else { 0 },
        ..SchedAttr::default()
    };
    match policy {
        Policy::Other(fair) => attr.be_fair(libc::SCHED_OTHER, fair),
        Policy::Batch(fair) => attr.be_fair(libc::SCHED_BATCH, fair),
        Policy::Idle => attr.policy = libc::SCHED_IDLE as u32,
        Policy::Fifo(priority) => {
            (attr.policy, attr.priority) = (libc::SCHED_FIFO as u32, u32::from(priority.0));
        }
        Policy::RoundRobin(priority) => {
            (attr.policy, attr.priority) = (libc::SCHED_RR as u32, u32::from(priority.0));
        }
        Policy::Deadline { runtime, deadline, period } => {
            attr.policy = libc::SCHED_DEADLINE as u32;
            (attr.runtime, attr.deadline, attr.period) = (runtime, deadline, period);
        }
    }
    // SAFETY: sched_setattr(2) only reads the structure, up to the length in
    // its `size` field.
    let answer =
        unsafe { libc::syscall(libc::SYS_sched_setattr, thread.0, &raw const attr, 0_u32) };
    if answer == 0 {
        return Ok(());
    }
    let error = io::Error::last_os_error();
    if let Policy::Deadline { .. } = policy
        && let Some(refused) = deadline_refused(policy, &error)
    {
        return Err(refused);
    }
    if error.kind() == io::ErrorKind::PermissionDenied && policy.is_realtime() {
        return Err(Error::Permission {
            what: format!("scheduling policy {policy}"),
            needs: "CAP_SYS_NICE, or a real-time limit (ulimit -r) of at least that priority; \
                    under cgroup v1 also a share in cpu.rt_runtime_us"
                .to_owned(),
        });
    }
    Err(Error::syscall("sched_setattr", format!("{thread} ({policy})"), error))
}

/// The reason why the kernel refuses `SCHED_DEADLINE`, from `sched(7)` and
/// `__sched_setscheduler` of `kernel/sched/syscalls.c`.
fn deadline_refused(policy: Policy, error: &io::Error) -> Option<Error> {
    Some(match error.raw_os_error()? {
        libc::EPERM => Error::Permission {
            what: "SCHED_DEADLINE".to_owned(),
            needs: "CAP_SYS_NICE, and a thread that may run on every CPU of its root domain: \
                    neither its affinity nor its cpuset may leave any out"
                .to_owned(),
        },
        libc::EBUSY => Error::Unsupported(format!(
            "{policy}: the kernel admits no more SCHED_DEADLINE threads, because all of them \
             together would take more than kernel.sched_rt_runtime_us allows"
        )),
        libc::EINVAL => Error::Invalid(format!(
            "{policy}: the kernel requires 1024 ns <= run time <= deadline <= period, and a period \
             within kernel.sched_deadline_period_min_us and _max_us (100 µs and 4 s unless changed)"
        )),
        _ => return None,
    })
}

/// Makes the calling thread `SCHED_OTHER` if it was started with a real-time,
/// deadline or idle policy. Its nice value stays.
///
/// # Errors
/// Never for a live thread: any thread may lower its own priority.
pub fn be_ordinary() -> Result<()> {
    let thread = ThreadId::current();
    match policy_of(thread)? {
        (Policy::Other(_) | Policy::Batch(_), _) => Ok(()),
        (_, reset_on_fork) => set_policy(thread, Policy::other(0), reset_on_fork),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_thread_has_a_policy() {
        let (policy, _) = policy_of(ThreadId::current()).unwrap();
        set_policy(ThreadId::current(), policy, false).unwrap();
        assert_eq!(policy_of(ThreadId::current()).unwrap(), (policy, false));
    }

    #[test]
    fn a_thread_that_is_not_there_is_not_found() {
        assert!(policy_of(ThreadId(u32::MAX >> 1)).unwrap_err().is_not_found());
    }

    #[test]
    fn a_refused_deadline_names_the_kernels_requirement() {
        let policy = Policy::Deadline { runtime: 9, deadline: 10, period: 10 };
        let says = |errno| deadline_refused(policy, &io::Error::from_raw_os_error(errno));
        let text = |errno| says(errno).unwrap().to_string();
        assert!(text(libc::EPERM).contains("on every CPU of its root domain"));
        assert!(text(libc::EBUSY).contains("admits no more"));
        assert!(text(libc::EINVAL).starts_with("deadline:9ns/10ns/10ns: the kernel requires"));
        assert!(says(libc::ESRCH).is_none());
    }

    #[test]
    fn a_slice_is_set_and_reset() {
        thread::spawn(|| {
            let me = ThreadId::current();
            let (before, reset) = policy_of(me).unwrap();
            let Policy::Other(Fair { nice, slice: None }) = before else { panic!("{before}") };
            let short = Policy::Other(Fair { nice, slice: Some(Fair::SHORTEST) });
            set_policy(me, short, reset).unwrap();
            let now = policy_of(me).unwrap().0;
            let is_told = attributes_of(me).unwrap().runtime != 0;
            assert_eq!(now, if is_told { short } else { before });
            set_policy(me, before, reset).unwrap();
            assert_eq!(policy_of(me).unwrap().0, before);
        })
        .join()
        .unwrap();
    }
}
