//! Names of the system calls in which threads wait.

use syscalls::Sysno;

/// The name of a call, by the numbers of this machine's architecture.
pub(super) fn call_name(number: i64) -> Option<&'static str> {
    Sysno::new(usize::try_from(number).ok()?).map(|call| call.name())
}
