//! The system calls with which threads wait and wake each other.
#![allow(
    clippy::unnecessary_cast,
    reason = "numbers are c_long, which has 32 bits on some machines"
)]

use std::fs::File;
use std::io::Read as _;

use crate::root::Root;
use crate::sched::ThreadId;

/// `EI_CLASS` of an ELF file, and its value for 32-bit programs: `elf(5)`.
const CLASS: usize = 4;
const CLASS_32: u8 = 1;

/// Operations of `futex(2)`, without their flags: `include/uapi/linux/futex.h`.
const OPERATION: u64 = 0x7f;
const PRIVATE: u64 = 128;
const WAIT: u64 = 0;
const WAKE: u64 = 1;
const WAKE_OP: u64 = 5;
const LOCK_PI: u64 = 6;
const WAIT_BITSET: u64 = 9;
const WAKE_BITSET: u64 = 10;
const WAIT_REQUEUE_PI: u64 = 11;
const LOCK_PI2: u64 = 13;

/// `futex_wake(2)` and `futex_wait(2)` of Linux 6.7: the same number on every
/// architecture that unjank supports.
const SYS_FUTEX_WAKE: i64 = 454;
const SYS_FUTEX_WAIT: i64 = 455;

/// A system call that waits or wakes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WaitingCall {
    /// `sched_yield(2)`.
    Yield,
    /// `nanosleep(2)`, `clock_nanosleep(2)`.
    Sleep,
    /// `poll(2)`, `select(2)`, `epoll_wait(2)` and similar calls. The result is
    /// zero after a timeout.
    Poll,
    /// A wait on this futex; the result is zero after a wake-up.
    Wait(FutexWord),
    /// A wake-up of waiters on a futex; the result is the number of woken
    /// threads.
    Wake {
        /// The futex on which the waiters sleep.
        word: FutexWord,
        /// The largest number of threads to wake.
        most: u32,
    },
}

/// A futex as a call names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FutexWord {
    /// Address of the word in the calling process.
    pub address: u64,
    /// Whether the caller declares that no other process uses it
    /// (`FUTEX_PRIVATE_FLAG`).
    pub private: bool,
}

/// The end of a wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// The awaited event occurred, or the thread was woken.
    Woken,
    /// The time was up.
    TimeUp,
    /// It returned at once: the futex had another value (`EAGAIN`).
    AtOnce,
    /// A signal, or an error.
    Otherwise,
}

impl WaitingCall {
    /// The call with this number and these arguments; `None` for other calls.
    pub fn of(number: i64, arguments: &[u64; 6]) -> Option<Self> {
        if number == SYS_FUTEX_WAIT {
            return Some(Self::Wait(word(arguments, arguments[3])));
        }
        if number == SYS_FUTEX_WAKE {
            return Some(Self::wake(arguments, arguments[3]));
        }
        let call = CALLS.iter().find(|(known, _)| *known == number)?.1;
        match call {
            CallKind::Yield => Some(Self::Yield),
            CallKind::Sleep => Some(Self::Sleep),
            CallKind::Poll => Some(Self::Poll),
            CallKind::Futex => match arguments[1] & OPERATION {
                WAIT | WAIT_BITSET | LOCK_PI | LOCK_PI2 | WAIT_REQUEUE_PI => {
                    Some(Self::Wait(word(arguments, arguments[1])))
                }
                WAKE | WAKE_BITSET | WAKE_OP => Some(Self::wake(arguments, arguments[1])),
                _ => None,
            },
        }
    }

    fn wake(arguments: &[u64; 6], flags: u64) -> Self {
        Self::Wake { word: word(arguments, flags), most: arguments[2] as u32 }
    }

    /// The end of a wait with this result. `Wake` never waits.
    pub fn ended(self, result: i64) -> Ended {
        let timed_out = -i64::from(libc::ETIMEDOUT);
        match (self, result) {
            (Self::Sleep | Self::Poll, 0) => Ended::TimeUp,
            (Self::Wait(_), _) if result == timed_out => Ended::TimeUp,
            (Self::Wait(_), _) if result == -i64::from(libc::EAGAIN) => Ended::AtOnce,
            (_, 0..) => Ended::Woken,
            _ => Ended::Otherwise,
        }
    }

    /// An expression for a trace filter that selects these calls at their
    /// begin, or at their end. The end of a yield is not selected.
    pub fn filter(begin: bool) -> String {
        let called = CALLS.iter().filter(|(_, call)| begin || !matches!(call, CallKind::Yield));
        let numbers = called.map(|(number, _)| *number).chain([SYS_FUTEX_WAKE, SYS_FUTEX_WAIT]);
        numbers.map(|number| format!("id == {number}")).collect::<Vec<_>>().join(" || ")
    }
}

/// `FUTEX2_PRIVATE` of the calls since Linux 6.7 is the same bit as
/// `FUTEX_PRIVATE_FLAG`.
fn word(arguments: &[u64; 6], flags: u64) -> FutexWord {
    FutexWord { address: arguments[0], private: flags & PRIVATE != 0 }
}

/// The state of a thread at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Doing {
    /// It runs, or is runnable.
    Running,
    /// It is blocked in a call that waits.
    Waiting(WaitingCall),
    /// It is blocked elsewhere in the kernel.
    Else,
}

/// A system call by its number on the thread's architecture, and its arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Call {
    /// Number of the system call on this architecture.
    pub number: i64,
    /// Its arguments; unused ones have arbitrary values.
    pub arguments: [u64; 6],
}

/// A wait on a futex without a time limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EndlessWait {
    /// The futex, as the waiting call names it.
    pub word: FutexWord,
    /// The value of the word with which it fell asleep.
    pub value: u32,
    /// Whether the futex is a lock with priority inheritance, whose holder the kernel
    /// knows.
    pub is_lock: bool,
}

impl Call {
    /// The wait on a futex without a time limit that this call is, if it is one.
    pub fn endless_wait(&self) -> Option<EndlessWait> {
        let WaitingCall::Wait(word) = WaitingCall::of(self.number, &self.arguments)? else {
            return None;
        };
        let [_, operation, value, limit, other_limit, _] = self.arguments;
        let is_new = self.number == SYS_FUTEX_WAIT;
        if is_new {
            // The value is the second argument there.
            let (value, is_lock) = (operation as u32, false);
            return (other_limit == 0).then_some(EndlessWait { word, value, is_lock });
        }
        let is_lock = matches!(operation & OPERATION, LOCK_PI | LOCK_PI2);
        (limit == 0).then_some(EndlessWait { word, value: value as u32, is_lock })
    }
}

/// The current state of `thread` of `process`: `/proc/PID/task/TID/syscall`.
/// `None` if it has ended, without the permission to look (`ptrace(2)`, access
/// mode `PTRACE_MODE_ATTACH_FSCREDS`), or without `CONFIG_HAVE_ARCH_TRACEHOOK`.
pub fn doing(root: &Root, process: u32, thread: ThreadId) -> Option<Doing> {
    parse_doing(&read(root, process, thread)?)
}

/// The system call that `thread` of `process` is blocked in. `None` if it runs,
/// or is blocked elsewhere in the kernel, and where [`doing`] is `None`.
pub fn blocked_in(root: &Root, process: u32, thread: ThreadId) -> Option<Call> {
    parse_call(&read(root, process, thread)?).filter(|call| call.number >= 0)
}

fn read(root: &Root, process: u32, thread: ThreadId) -> Option<String> {
    root.read(format!("/proc/{process}/task/{}/syscall", thread.0)).ok()
}

fn parse_doing(text: &str) -> Option<Doing> {
    if text == "running" {
        return Some(Doing::Running);
    }
    let Call { number, arguments } = parse_call(text)?;
    Some(WaitingCall::of(number, &arguments).map_or(Doing::Else, Doing::Waiting))
}

/// Parses a number, six arguments and two registers, or −1 and two registers:
/// `proc_pid_syscall(5)`.
fn parse_call(text: &str) -> Option<Call> {
    let mut words = text.split_ascii_whitespace();
    let number = words.next()?.parse().ok()?;
    let mut arguments = [0; 6];
    if number >= 0 {
        for argument in &mut arguments {
            *argument = u64::from_str_radix(words.next()?.strip_prefix("0x")?, 16).ok()?;
        }
    }
    Some(Call { number, arguments })
}

/// Parses `text` as the state of a thread; for the fuzzer.
#[cfg(fuzzing)]
pub fn parse_for_fuzzing(text: &str) {
    let _either = parse_doing(text);
}

/// Whether `process` uses the system call numbers of this architecture: not a
/// 32-bit program under a 64-bit kernel. `None` without the permission to look.
pub fn has_our_numbers(root: &Root, process: u32) -> Option<bool> {
    let mut head = [0; CLASS + 1];
    let mut file = File::open(root.resolve(format!("/proc/{process}/exe"))).ok()?;
    file.read_exact(&mut head).ok()?;
    let wide = head[CLASS] != CLASS_32;
    Some(wide == cfg!(target_pointer_width = "64"))
}

#[derive(Debug, Clone, Copy)]
enum CallKind {
    Yield,
    Sleep,
    Poll,
    Futex,
}

/// The numbers on this architecture.
const CALLS: &[(i64, CallKind)] = &[
    (libc::SYS_sched_yield as i64, CallKind::Yield),
    (libc::SYS_nanosleep as i64, CallKind::Sleep),
    (libc::SYS_clock_nanosleep as i64, CallKind::Sleep),
    (libc::SYS_futex as i64, CallKind::Futex),
    (libc::SYS_ppoll as i64, CallKind::Poll),
    (libc::SYS_pselect6 as i64, CallKind::Poll),
    (libc::SYS_epoll_pwait as i64, CallKind::Poll),
    (libc::SYS_epoll_pwait2 as i64, CallKind::Poll),
    #[cfg(any(target_arch = "x86", target_arch = "x86_64", target_arch = "arm"))]
    (libc::SYS_poll as i64, CallKind::Poll),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_select as i64, CallKind::Poll),
    #[cfg(any(target_arch = "x86", target_arch = "x86_64", target_arch = "arm"))]
    (libc::SYS_epoll_wait as i64, CallKind::Poll),
];

#[cfg(test)]
mod tests {
    use super::*;

    const SHARED: FutexWord = FutexWord { address: 16, private: false };
    const OWN: FutexWord = FutexWord { address: 16, private: true };

    fn futex(operation: u64) -> Option<WaitingCall> {
        WaitingCall::of(libc::SYS_futex as i64, &[16, operation, 1, 0, 0, 0])
    }

    #[test]
    fn a_wait_without_a_time_limit_has_a_word_and_a_value() {
        let number = i64::from(libc::SYS_futex as i32);
        let wait = |operation: u64, value: u64, limit: u64| {
            Call { number, arguments: [0x1000, operation, value, limit, 7, 7] }.endless_wait()
        };
        let word = FutexWord { address: 0x1000, private: true };
        let expected = EndlessWait { word, value: 2, is_lock: false };
        assert_eq!(wait(WAIT | PRIVATE, 2, 0), Some(expected));
        assert_eq!(wait(WAIT_BITSET | PRIVATE | 256, 2, 0), Some(expected));
        assert_eq!(wait(WAIT | PRIVATE, 2, 0x2000), None, "it has a time limit");
        assert_eq!(wait(WAKE | PRIVATE, 2, 0), None);
        let lock = EndlessWait { value: 0, is_lock: true, ..expected };
        assert_eq!(wait(LOCK_PI | PRIVATE, 0, 0), Some(lock));
        let new = |limit| {
            let arguments = [0x1000, 2, u64::MAX, PRIVATE, limit, 1];
            Call { number: SYS_FUTEX_WAIT, arguments }.endless_wait()
        };
        assert_eq!((new(0), new(0x2000)), (Some(expected), None));
    }

    #[test]
    fn a_futex_is_waited_on_or_woken() {
        for wait in [WAIT, WAIT_BITSET | 256, LOCK_PI, WAIT_REQUEUE_PI, LOCK_PI2] {
            assert_eq!(futex(wait), Some(WaitingCall::Wait(SHARED)));
            assert_eq!(futex(wait | PRIVATE), Some(WaitingCall::Wait(OWN)));
        }
        for wake in [WAKE, WAKE_BITSET, WAKE_OP] {
            assert_eq!(futex(wake), Some(WaitingCall::Wake { word: SHARED, most: 1 }));
            assert_eq!(futex(wake | PRIVATE), Some(WaitingCall::Wake { word: OWN, most: 1 }));
        }
        assert_eq!(futex(4), None, "a requeue wakes some and moves others");
        let one = [16, 0, 1, PRIVATE, 0, 0];
        assert_eq!(WaitingCall::of(SYS_FUTEX_WAIT, &one), Some(WaitingCall::Wait(OWN)));
        assert_eq!(
            WaitingCall::of(SYS_FUTEX_WAKE, &one),
            Some(WaitingCall::Wake { word: OWN, most: 1 })
        );
        assert_eq!(WaitingCall::of(libc::SYS_getpid as i64, &one), None);
    }

    #[test]
    fn the_result_shows_how_a_wait_ended() {
        let wait = WaitingCall::Wait(OWN);
        assert_eq!(wait.ended(0), Ended::Woken);
        assert_eq!(wait.ended(-110), Ended::TimeUp);
        assert_eq!(wait.ended(-11), Ended::AtOnce);
        assert_eq!(wait.ended(-512), Ended::Otherwise);
        assert_eq!(WaitingCall::Sleep.ended(0), Ended::TimeUp);
        assert_eq!(WaitingCall::Sleep.ended(-4), Ended::Otherwise);
        assert_eq!(WaitingCall::Poll.ended(0), Ended::TimeUp);
        assert_eq!(WaitingCall::Poll.ended(2), Ended::Woken);
        assert_eq!(WaitingCall::Wake { word: OWN, most: 9 }.ended(3), Ended::Woken);
    }

    #[test]
    fn a_yield_is_traced_at_its_begin() {
        let id = format!("id == {}", libc::SYS_sched_yield);
        let has = |begin| WaitingCall::filter(begin).split(" || ").any(|term| term == id);
        assert!(has(true) && !has(false));
        let none = [0; 6];
        assert_eq!(WaitingCall::of(libc::SYS_sched_yield as i64, &none), Some(WaitingCall::Yield));
        assert_eq!(WaitingCall::of(libc::SYS_nanosleep as i64, &none), Some(WaitingCall::Sleep));
        assert_eq!(WaitingCall::of(libc::SYS_ppoll as i64, &none), Some(WaitingCall::Poll));
    }

    #[test]
    fn the_state_of_a_thread_is_one_line() {
        let sleeps = format!("{} 0x0 0x1 0x7f 0x0 0x0 0x0 0x7ffc 0x7f00", libc::SYS_nanosleep);
        assert_eq!(parse_doing(&sleeps), Some(Doing::Waiting(WaitingCall::Sleep)));
        assert_eq!(parse_doing("running"), Some(Doing::Running));
        assert_eq!(parse_doing("-1 0x7ffc 0x7f00"), Some(Doing::Else));
        for broken in ["", "x", "7 0x1", "7 1 2 3 4 5 6 7 8"] {
            assert_eq!(parse_doing(broken), None, "{broken}");
        }
        let (root, me) = (Root::system(), std::process::id());
        // A thread that reads its own file is in read(2).
        assert_eq!(doing(&root, me, ThreadId::current()), Some(Doing::Else));
        let call = blocked_in(&root, me, ThreadId::current()).unwrap();
        assert_eq!(call.number, libc::SYS_read as i64);
        assert_eq!(
            parse_call(&sleeps).map(|call| call.arguments[..3].to_vec()),
            Some(vec![0, 1, 0x7f])
        );
    }

    proptest::proptest! {
        #[test]
        fn any_line_is_parsed(line in "[-0-9a-fx ]{0,80}") {
            let _either = parse_doing(&line);
        }
    }

    #[test]
    fn this_program_has_our_numbers() {
        assert_eq!(has_our_numbers(&Root::system(), std::process::id()), Some(true));
        let top = tempfile::tempdir().unwrap();
        let exe = top.path().join("proc/7/exe");
        std::fs::create_dir_all(exe.parent().unwrap()).unwrap();
        let root = Root::at(top.path());
        assert_eq!(has_our_numbers(&root, 7), None);
        std::fs::write(&exe, b"\x7fELF\x01\x01\x01").unwrap();
        assert_eq!(has_our_numbers(&root, 7), Some(cfg!(target_pointer_width = "32")));
    }
}
