//! The purposes of system calls, by which waits are classified.
#![allow(
    clippy::useless_conversion,
    reason = "numbers are c_long, which has 32 bits on some machines"
)]

use syscalls::Sysno;

/// The purpose of a system call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// Waiting for a futex, or waking its waiters.
    Futex,
    /// Taking or releasing a lock that programs share through the kernel: `flock`, `fcntl`,
    /// `semop`.
    Lock,
    /// Waiting for another process.
    Child,
    /// Waiting for a signal.
    AwaitSignal,
    /// Sending a signal.
    SendSignal,
    /// Ending the thread.
    Exit,
    /// Ending the process: the kernel kills the other threads, and so wakes them.
    ExitGroup,
    /// Becoming another program.
    Exec,
    /// Taking a message, or waiting for one.
    Receive,
    /// Giving a message.
    Send,
    /// Taking and giving messages: `ioctl` over binder, `sendfile`.
    Both,
    /// Waiting for a time.
    Sleep,
    /// Waiting for storage.
    Storage,
    /// Anything else.
    Other,
}

/// `futex_waitv`, on all architectures.
pub(super) const FUTEX_WAITV: i64 = 449;

/// Whether the call with this number is `futex(2)`, whose second argument is an operation. In newer
/// calls such as `futex_wait`, it is not.
pub(crate) fn is_futex_with_operation(number: i64) -> bool {
    plain(number) == i64::from(libc::SYS_futex)
}

/// Whether the call with this number is `clock_nanosleep`, whose second argument is flags.
pub(super) fn is_clock_nanosleep(number: i64) -> bool {
    plain(number) == i64::from(libc::SYS_clock_nanosleep)
}

/// Whether the call with this number is `ioctl`.
pub(super) fn is_ioctl(number: i64) -> bool {
    plain(number) == i64::from(libc::SYS_ioctl)
}

/// The purpose of the call with this number on this machine's architecture.
pub(super) fn purpose(number: i64) -> Purpose {
    let number = plain(number);
    let is = |calls: &[libc::c_long]| calls.iter().any(|&call| i64::from(call) == number);
    if number == FUTEX_WAITV || is(&[libc::SYS_futex, 454, 455, 456]) {
        Purpose::Futex
    } else if is(&[libc::SYS_flock, libc::SYS_fcntl, libc::SYS_semop, libc::SYS_semtimedop]) {
        Purpose::Lock
    } else if is(AWAIT_SIGNAL) {
        Purpose::AwaitSignal
    } else if is(SEND_SIGNAL) {
        Purpose::SendSignal
    } else if is(&[libc::SYS_exit]) {
        Purpose::Exit
    } else if is(&[libc::SYS_exit_group]) {
        Purpose::ExitGroup
    } else if is(CHILD) {
        Purpose::Child
    } else if is(&[libc::SYS_execve, libc::SYS_execveat]) {
        Purpose::Exec
    } else if is(RECEIVE) {
        Purpose::Receive
    } else if is(SEND_BYTES) || is(SEND) {
        Purpose::Send
    } else if is(&[libc::SYS_ioctl, libc::SYS_sendfile, libc::SYS_splice]) {
        Purpose::Both
    } else if is(&[libc::SYS_nanosleep, libc::SYS_clock_nanosleep]) {
        Purpose::Sleep
    } else if is(&[libc::SYS_fsync, libc::SYS_fdatasync, libc::SYS_sync, libc::SYS_syncfs]) {
        Purpose::Storage
    } else {
        Purpose::Other
    }
}

/// Whether the call with this number executes a program.
pub(crate) fn is_exec(number: i64) -> bool {
    purpose(number) == Purpose::Exec
}

/// Whether the call with this number gives bytes to whoever reads the other end of a file.
pub(crate) fn is_send_of_bytes(number: i64) -> bool {
    SEND_BYTES.iter().any(|&call| i64::from(call) == number)
}

/// Whether the call with this number is `listen`.
pub(crate) fn is_listen(number: i64) -> bool {
    number == i64::from(libc::SYS_listen)
}

/// The number of the call without `_time64`, on 32-bit architectures, which have both.
fn plain(number: i64) -> i64 {
    if cfg!(target_pointer_width = "32") { of_time64(number).unwrap_or(number) } else { number }
}

/// The call without `_time64` that does the same; `None` for other calls. The numbers are those of
/// `include/uapi/asm-generic/unistd.h`.
fn of_time64(number: i64) -> Option<i64> {
    let plain = match number {
        407 => libc::SYS_clock_nanosleep,
        413 => libc::SYS_pselect6,
        414 => libc::SYS_ppoll,
        416 => IO_PGETEVENTS,
        417 => libc::SYS_recvmmsg,
        418 => libc::SYS_mq_timedsend,
        419 => libc::SYS_mq_timedreceive,
        420 => libc::SYS_semtimedop,
        421 => libc::SYS_rt_sigtimedwait,
        422 => libc::SYS_futex,
        _ => return None,
    };
    Some(i64::from(plain))
}

const CHILD: &[libc::c_long] = &[
    libc::SYS_wait4,
    libc::SYS_waitid,
    libc::SYS_clone,
    libc::SYS_clone3,
    #[cfg(any(target_arch = "x86_64", target_arch = "arm"))]
    libc::SYS_vfork,
];

const AWAIT_SIGNAL: &[libc::c_long] = &[
    libc::SYS_rt_sigsuspend,
    libc::SYS_rt_sigtimedwait,
    #[cfg(any(target_arch = "x86_64", target_arch = "arm"))]
    libc::SYS_pause,
];

const SEND_SIGNAL: &[libc::c_long] = &[
    libc::SYS_kill,
    libc::SYS_tkill,
    libc::SYS_tgkill,
    libc::SYS_rt_sigqueueinfo,
    libc::SYS_pidfd_send_signal,
];

/// libc does not name it.
const IO_PGETEVENTS: libc::c_long = Sysno::io_pgetevents as libc::c_long;

const RECEIVE: &[libc::c_long] = &[
    libc::SYS_io_getevents,
    IO_PGETEVENTS,
    libc::SYS_io_uring_enter,
    libc::SYS_mq_timedreceive,
    libc::SYS_msgrcv,
    libc::SYS_read,
    libc::SYS_readv,
    libc::SYS_pread64,
    libc::SYS_preadv,
    libc::SYS_preadv2,
    libc::SYS_recvfrom,
    libc::SYS_recvmsg,
    libc::SYS_recvmmsg,
    libc::SYS_accept,
    libc::SYS_accept4,
    libc::SYS_ppoll,
    libc::SYS_pselect6,
    libc::SYS_epoll_pwait,
    441, // epoll_pwait2
    #[cfg(any(target_arch = "x86_64", target_arch = "arm"))]
    libc::SYS_poll,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_select,
    #[cfg(target_arch = "arm")]
    142, // _newselect
    #[cfg(any(target_arch = "x86_64", target_arch = "arm"))]
    libc::SYS_epoll_wait,
];

const SEND_BYTES: &[libc::c_long] =
    &[libc::SYS_write, libc::SYS_writev, libc::SYS_sendto, libc::SYS_sendmsg, libc::SYS_sendmmsg];

/// The other calls that give a message.
const SEND: &[libc::c_long] = &[
    libc::SYS_pwrite64,
    libc::SYS_pwritev,
    libc::SYS_pwritev2,
    libc::SYS_mq_timedsend,
    libc::SYS_msgsnd,
    libc::SYS_connect,
    libc::SYS_shutdown,
    libc::SYS_close,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_for_what_their_manual_pages_say() {
        let of = |number: libc::c_long| purpose(i64::from(number));
        assert_eq!(of(libc::SYS_futex), Purpose::Futex);
        assert_eq!(of(libc::SYS_flock), Purpose::Lock);
        assert_eq!(of(libc::SYS_wait4), Purpose::Child);
        assert_eq!(of(libc::SYS_rt_sigsuspend), Purpose::AwaitSignal);
        assert_eq!(of(libc::SYS_tgkill), Purpose::SendSignal);
        assert_eq!(of(libc::SYS_exit_group), Purpose::ExitGroup);
        assert_eq!(of(libc::SYS_ppoll), Purpose::Receive);
        assert_eq!(of(libc::SYS_io_getevents), Purpose::Receive);
        assert_eq!(of(IO_PGETEVENTS), Purpose::Receive);
        assert_eq!(of(libc::SYS_write), Purpose::Send);
        assert_eq!(of(libc::SYS_preadv2), Purpose::Receive);
        assert_eq!(of(libc::SYS_pwritev2), Purpose::Send);
        assert_eq!(of(libc::SYS_ioctl), Purpose::Both);
        assert_eq!(purpose(-1), Purpose::Other);
    }

    #[test]
    fn a_call_with_a_longer_time_does_the_same() {
        let of = |number| of_time64(number).map(purpose);
        assert_eq!(of(422), Some(Purpose::Futex));
        assert_eq!(of(414), Some(Purpose::Receive));
        assert_eq!(of(416), Some(Purpose::Receive));
        assert_eq!(of(407), Some(Purpose::Sleep));
        assert_eq!(of(403), None, "clock_gettime64 does not wait");
    }
}
