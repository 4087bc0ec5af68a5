//! Limits of another process, `prlimit(2)`: the run time of its real-time
//! threads without sleeping (`RLIMIT_RTTIME`), their priority (`RLIMIT_RTPRIO`),
//! and its lowest nice value (`RLIMIT_NICE`).

use std::io;
use std::ptr;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use unjank_units::Nanos;

/// A limit on running without sleeping. When a thread exceeds the soft limit,
/// and after each further second, the kernel sends `SIGXCPU`, which ends a
/// process that does not catch it; at the hard limit it sends `SIGKILL`. `None`
/// is unlimited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunLimit {
    /// The soft limit, which the kernel enforces.
    pub soft: Option<Nanos>,
    /// The hard limit, up to which the process may raise the soft one.
    pub hard: Option<Nanos>,
}

impl RunLimit {
    /// The same limit with a soft one of at most `longest`.
    #[must_use]
    pub fn at_most(self, longest: Nanos) -> Self {
        let least = |limit: Option<Nanos>| limit.map_or(longest, |limit| limit.min(longest));
        Self { soft: Some(least(self.soft).min(least(self.hard))), ..self }
    }
}

/// The limit of `process`.
///
/// # Errors
/// `ESRCH` if the process does not exist; `EPERM` for a process of another
/// user.
pub fn run_limit(process: u32) -> Result<RunLimit> {
    let limit = read(process, RUN)?;
    let nanos = |micros| (micros != libc::RLIM64_INFINITY).then(|| Nanos::from_micros(micros));
    Ok(RunLimit { soft: nanos(limit.rlim_cur), hard: nanos(limit.rlim_max) })
}

/// The lowest nice value to which threads of `process` may be raised without
/// privileges, 20 for none: `RLIMIT_NICE` of that process, not of the caller
/// (`can_nice` in `kernel/sched/syscalls.c`).
///
/// # Errors
/// As [`run_limit`].
pub(super) fn best_nice(process: u32) -> Result<i32> {
    let limit = read(process, Resource { number: libc::RLIMIT_NICE as _, name: "RLIMIT_NICE" })?;
    // The limit is 20 minus the nice value; unlimited counts as the highest.
    Ok(20 - limit.rlim_cur.min(40) as i32)
}

/// The highest real-time priority for threads of `process` without privileges, 0
/// for none: `RLIMIT_RTPRIO`.
///
/// # Errors
/// As [`run_limit`].
pub(super) fn highest_priority(process: u32) -> Result<u8> {
    let resource = Resource { number: libc::RLIMIT_RTPRIO as _, name: "RLIMIT_RTPRIO" };
    Ok(read(process, resource)?.rlim_cur.min(99) as u8)
}

/// Sets the limit of `process`, in whole microseconds.
///
/// # Errors
/// As [`run_limit`]; `EPERM` for a higher hard limit without
/// `CAP_SYS_RESOURCE`.
pub fn set_run_limit(process: u32, limit: RunLimit) -> Result<()> {
    let micros =
        |nanos: Option<Nanos>| nanos.map_or(libc::RLIM64_INFINITY, |nanos| nanos.get() / 1_000);
    let limit = libc::rlimit64 { rlim_cur: micros(limit.soft), rlim_max: micros(limit.hard) };
    prlimit(process, RUN, &raw const limit, ptr::null_mut())
}

#[derive(Clone, Copy)]
struct Resource {
    number: libc::c_int,
    name: &'static str,
}

const RUN: Resource = Resource { number: libc::RLIMIT_RTTIME as _, name: "RLIMIT_RTTIME" };

fn read(process: u32, resource: Resource) -> Result<libc::rlimit64> {
    let mut limit = libc::rlimit64 { rlim_cur: 0, rlim_max: 0 };
    prlimit(process, resource, ptr::null(), &raw mut limit)?;
    Ok(limit)
}

fn prlimit(
    process: u32,
    resource: Resource,
    new: *const libc::rlimit64,
    old: *mut libc::rlimit64,
) -> Result<()> {
    let pid = process.cast_signed();
    // SAFETY: prlimit(2) reads one structure and writes the other; each is null
    // or valid for that.
    let answer = unsafe { libc::prlimit64(pid, resource.number as _, new, old) };
    if answer == 0 {
        return Ok(());
    }
    let error = io::Error::last_os_error();
    Err(Error::syscall("prlimit", format!("{} of process {process}", resource.name), error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::Helper;

    const SECOND: Option<Nanos> = Some(Nanos::from_millis(1_000));

    #[test]
    fn a_limit_is_only_ever_lowered() {
        let longest = Nanos::from_millis(1_000);
        let limit = |soft, hard| RunLimit { soft, hard }.at_most(longest);
        assert_eq!(limit(None, None), RunLimit { soft: SECOND, hard: None });
        let short = Some(Nanos::from_millis(200));
        assert_eq!(limit(short, None).soft, short);
        assert_eq!(limit(None, short).soft, short);
        assert_eq!(limit(Some(Nanos::from_millis(5_000)), None).soft, SECOND);
    }

    #[test]
    fn the_limit_of_a_child_can_be_set_and_restored() {
        let child = Helper::start(std::process::Command::new("sleep").arg("600")).unwrap();
        let before = run_limit(child.id()).unwrap();
        let limited = before.at_most(Nanos::from_millis(900));
        set_run_limit(child.id(), limited).unwrap();
        assert_eq!(run_limit(child.id()).unwrap(), limited);
        set_run_limit(child.id(), before).unwrap();
        assert_eq!(run_limit(child.id()).unwrap(), before);
        assert!((-20..=20).contains(&best_nice(child.id()).unwrap()));
        assert!(highest_priority(child.id()).unwrap() <= 99);
        assert!(run_limit(u32::MAX >> 1).unwrap_err().is_not_found());
    }
}
