//! Helper processes of a measurement, and other processes.
//!
//! | module | subject |
//! |---|---|
//! | [`listing`] | all processes of a machine and their threads |
//! | [`pid`], [`pid_info`] | the attributes and state of another process |
//! | `stat` | the fields of `/proc/PID/stat` |
//! | `bounded_read` | reads of the memory of another process that end in any case |
//! | `helper_command` | the command that starts a helper |
//! | [`peer`] | processes of this program that measure for another one, and their protocol |
//! | [`pid_namespace`] | whether a recording has the numbers of this process |
//! | [`usage`] | resource usage of ended children |
//! | [`connector`] | the proc connector: every process that starts or ends |
//! | [`group`] | a program in its own process group |
//! | [`strays`] | descendants that left a program's process group |
//! | `signal_mask` | signals that wait until their handlers are complete |
//! | [`init`] | the tasks of the first process of a virtual machine |
//! | `end`, `outlive` | the end of another process; going on when the owner is killed |
//!
//! A helper of a measurement must not outlive it: [`Helper`].

pub(crate) mod bounded_read;
pub mod connector;
mod end;
pub mod group;
mod helper_command;
pub mod init;
pub mod listing;
mod outlive;
pub mod peer;
pub mod pid;
pub mod pid_info;
pub mod pid_namespace;
mod signal_mask;
pub(crate) mod stat;
pub mod strays;
pub mod usage;

use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus};

use rustix::process::{
    Pid, Resource, Signal, geteuid, getppid, getrlimit, kill_process, kill_process_group,
    set_parent_process_death_signal,
};

use crate::error::{Error, Result};
use crate::machine::capabilities;
use crate::root::Root;
use unjank_units::Bytes;

use stat::Stat;

pub use end::ProcessEnd;
pub use helper_command::HelperCommand;
pub use outlive::{ignore_stops, never_dump_core, outlive_owner, spare_from_oom_killer};
pub use signal_mask::with_signals_blocked;

/// The largest size of the stack of this process's first thread; `None` if it is
/// unlimited: `RLIMIT_STACK` of `getrlimit(2)`.
pub fn stack_limit() -> Option<Bytes> {
    getrlimit(Resource::Stack).current.map(Bytes)
}

/// A child process that is killed and reaped when dropped. It is in its own
/// process group: Ctrl-C at the terminal reaches only its owner, which decides
/// when it ends.
#[derive(Debug)]
pub struct Helper(Child);

impl Helper {
    /// Starts `command`.
    ///
    /// # Errors
    /// The program could not be started.
    pub fn start(command: &mut Command) -> Result<Self> {
        let program = command.get_program().to_owned();
        command
            .process_group(0)
            .spawn()
            .map(Self)
            .map_err(|error| Error::file("start", program, error))
    }

    /// Starts `command`. The kernel kills it when the calling thread ends, for
    /// whatever reason (`PR_SET_PDEATHSIG`). For programs other than unjank, which
    /// itself calls [`die_with_parent`].
    ///
    /// # Errors
    /// The program could not be started.
    pub fn start_tied(command: &mut Command) -> Result<Self> {
        Self::start_with_end(command, Signal::KILL)
    }

    /// As [`start_tied`](Self::start_tied), but the kernel asks it to end
    /// (`SIGTERM`), so that it can put back what it has changed.
    ///
    /// # Errors
    /// The program could not be started.
    pub fn start_asked_to_end(command: &mut Command) -> Result<Self> {
        Self::start_with_end(command, Signal::TERM)
    }

    fn start_with_end(command: &mut Command, signal: Signal) -> Result<Self> {
        let parent = std::process::id();
        let tie = move || match end_with_parent(parent, signal) {
            Ok(true) => Ok(()),
            _ => Err(io::Error::from_raw_os_error(libc::ESRCH)),
        };
        // SAFETY: between fork(2) and execve(2) only async-signal-safe calls
        // are allowed (signal-safety(7)): `tie` makes two system calls, and
        // neither allocates nor takes a lock unless prctl(2) fails.
        unsafe { command.pre_exec(tie) };
        Self::start(command)
    }

    /// Its stdout and stderr, if piped. Each can be taken once.
    pub fn take_output(&mut self) -> (Option<ChildStdout>, Option<ChildStderr>) {
        (self.0.stdout.take(), self.0.stderr.take())
    }

    /// Its stdin, if piped. It can be taken once.
    pub fn take_input(&mut self) -> Option<ChildStdin> {
        self.0.stdin.take()
    }

    /// Its exit status, if it has ended.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        self.0.try_wait().ok().flatten()
    }

    /// Waits until it ends, and returns its exit status.
    ///
    /// # Errors
    /// None for a child that was not waited for.
    pub fn wait(&mut self) -> Result<ExitStatus> {
        let number = self.0.id();
        self.0.wait().map_err(|error| Error::syscall("wait4", format!("process {number}"), error))
    }

    /// Whether it still runs.
    pub fn is_alive(&mut self) -> bool {
        matches!(self.0.try_wait(), Ok(None))
    }

    /// Its process id, which is also the id of its process group.
    pub fn id(&self) -> u32 {
        self.0.id()
    }
}

impl Drop for Helper {
    fn drop(&mut self) {
        // Both fail only if it has ended and been reaped already.
        let _ended = self.0.kill();
        let _reaped = self.0.wait();
    }
}

/// Makes the kernel kill this process when the thread that started it ends
/// (`PR_SET_PDEATHSIG`). Returns whether `parent`, the process that started it,
/// still lives: it may have ended before this call.
///
/// # Errors
/// None for a valid signal.
pub fn die_with_parent(parent: u32) -> Result<bool> {
    end_with_parent(parent, Signal::KILL)
}

fn end_with_parent(parent: u32, signal: Signal) -> Result<bool> {
    set_parent_process_death_signal(Some(signal))
        .map_err(|error| Error::syscall("prctl", "PR_SET_PDEATHSIG", error))?;
    Ok(self::parent() == parent)
}

/// The process that started this one, or the process that adopted this one
/// after its end: `getppid(2)`.
pub fn parent() -> u32 {
    getppid().map_or(0, |pid| pid.as_raw_nonzero().get().unsigned_abs())
}

/// Sends `signal`, by its number, to a process: `kill(2)`.
///
/// # Errors
/// `Invalid` for an unknown signal; `Syscall` if there is no such process.
pub fn send_signal(process: u32, signal: i32) -> Result<()> {
    send(process, signal, "process", kill_process)
}

/// Sends `signal` to every process of the group of `leader`, as a terminal does
/// on Ctrl-C: `killpg(3)`.
///
/// # Errors
/// `Invalid` for an unknown signal; `Syscall` if the group is empty.
pub fn send_signal_to_group(leader: u32, signal: i32) -> Result<()> {
    send(leader, signal, "process group", kill_process_group)
}

fn send(
    number: u32,
    signal: i32,
    what: &str,
    kill: fn(Pid, Signal) -> rustix::io::Result<()>,
) -> Result<()> {
    let pid = i32::try_from(number).ok().and_then(Pid::from_raw);
    match (pid, Signal::from_named_raw(signal)) {
        (Some(pid), Some(signal)) => kill(pid, signal)
            .map_err(|error| Error::syscall("kill", format!("{what} {number}"), error)),
        _ => Err(Error::Invalid(format!("cannot send signal {signal} to {what} {number}"))),
    }
}

/// Makes a write beyond `RLIMIT_FSIZE` fail (`EFBIG`) instead of ending this
/// process: a journal that may not grow must not leave a machine changed. It
/// installs a handler rather than `SIG_IGN`, because a handler is reset to the
/// default in programs that are started from here: execve(2).
pub fn survive_file_size_limit() {
    extern "C" fn only_the_write_fails(_: libc::c_int) {}
    if ignores_signal(libc::SIGXFSZ) {
        return;
    }
    let handler: extern "C" fn(libc::c_int) = only_the_write_fails;
    // SAFETY: signal(2); the handler does nothing, which any handler may do at
    // any moment.
    unsafe { libc::signal(libc::SIGXFSZ, handler as libc::sighandler_t) };
}

/// Whether this process ignores `signal`, by its number: `sigaction(2)`. A
/// started program inherits the ignored signals.
pub fn ignores_signal(signal: i32) -> bool {
    let mut action = std::mem::MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: sigaction(2) without a new action only fills the old one, which
    // is plain data and valid when zeroed.
    unsafe {
        libc::sigaction(signal, std::ptr::null(), action.as_mut_ptr()) == 0
            && action.assume_init().sa_sigaction == libc::SIG_IGN
    }
}

/// Whether `process` is `ancestor`, or is in its process group, or descends from
/// either: `proc_pid_stat(5)`.
pub fn is_descendant(root: &Root, process: u32, ancestor: u32) -> bool {
    let mut process = process;
    // A chain of parents is not longer, except for a circle, which can appear
    // if it changes meanwhile.
    for _ in 0..100 {
        if process == ancestor {
            return true;
        }
        let Ok(text) = root.read(format!("/proc/{process}/stat")) else { return false };
        let Some(stat) = Stat::parse(&text) else { return false };
        let (Some(parent), Some(group)) = (stat.number(4), stat.number::<u32>(5)) else {
            return false;
        };
        if group == ancestor {
            return true;
        }
        process = parent;
    }
    false
}

/// Whether this process may give threads any scheduling policy and priority
/// (`CAP_SYS_NICE`); false if that cannot be determined.
pub fn is_privileged_to_schedule(root: &Root) -> bool {
    capabilities::has(root, "CAP_SYS_NICE").unwrap_or(false)
}

/// Whether the effective user of this process is root.
pub fn is_root() -> bool {
    geteuid().is_root()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_helper_ends_with_its_owner() {
        let mut helper = Helper::start(Command::new("sleep").arg("600")).unwrap();
        assert!(helper.is_alive());
        let pid = helper.id();
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
        let group = stat.rsplit(") ").next().unwrap().split(' ').nth(2);
        assert_eq!(group, Some(pid.to_string().as_str()), "Ctrl-C would end it too");
        drop(helper);
        assert!(!std::path::Path::new(&format!("/proc/{pid}")).exists());
    }

    #[test]
    fn a_tied_helper_ends_with_the_thread_that_started_it() {
        let start = || {
            let helper = Helper::start_tied(Command::new("sleep").arg("600")).unwrap();
            let pid = helper.id();
            // Not dropped: the kernel has to kill it.
            (Box::leak(Box::new(helper)), pid)
        };
        let (helper, pid) = std::thread::spawn(start).join().unwrap();
        let status = helper.0.wait().unwrap();
        let signal = std::os::unix::process::ExitStatusExt::signal(&status);
        assert_eq!(signal, Some(libc::SIGKILL), "process {pid}");
    }

    #[test]
    fn a_signal_reaches_the_process() {
        let mut child = Command::new("sleep").arg("600").spawn().unwrap();
        assert!(send_signal(child.id(), 0).is_err());
        assert!(send_signal(0, libc::SIGTERM).is_err(), "not the whole process group");
        send_signal(child.id(), libc::SIGTERM).unwrap();
        let status = child.wait().unwrap();
        assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(libc::SIGTERM));
    }

    #[test]
    fn a_signal_to_a_group_reaches_the_leaders_descendants() {
        let mut command = Command::new("sh");
        command.args(["-c", "sleep 600 & echo $!; wait"]).process_group(0);
        let mut leader = command.stdout(std::process::Stdio::piped()).spawn().unwrap();
        let mut output = io::BufReader::new(leader.stdout.take().unwrap());
        let mut started = String::new();
        io::BufRead::read_line(&mut output, &mut started).unwrap();
        assert!(send_signal_to_group(started.trim().parse().unwrap(), libc::SIGTERM).is_err());
        assert!(send_signal_to_group(0, libc::SIGTERM).is_err(), "not this test's own group");
        send_signal_to_group(leader.id(), libc::SIGTERM).unwrap();
        let status = leader.wait().unwrap();
        assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(libc::SIGTERM));
        // The pipe ends when both have.
        assert_eq!(io::Read::read(&mut output, &mut [0]).unwrap(), 0);
    }

    #[test]
    fn an_ignored_signal_is_recognised() {
        // The standard library makes programs ignore SIGPIPE, and nothing else.
        assert!(ignores_signal(libc::SIGPIPE));
        assert!(!ignores_signal(libc::SIGUSR1));
        assert!(!ignores_signal(0));
    }

    #[test]
    fn a_process_descends_from_its_ancestors_and_their_groups() {
        let dir = tempfile::tempdir().unwrap();
        let root = Root::at(dir.path());
        for (pid, parent, group) in
            [(9, 8, 9), (8, 5, 8), (5, 1, 5), (7, 1, 5), (3, 4, 3), (4, 3, 4)]
        {
            let directory = dir.path().join(format!("proc/{pid}"));
            std::fs::create_dir_all(&directory).unwrap();
            let stat = format!("{pid} (a ) b) S {parent} {group} 1 0 -1");
            std::fs::write(directory.join("stat"), stat).unwrap();
        }
        for (process, ancestor, expected) in
            [(9, 5, true), (5, 5, true), (7, 5, true), (5, 9, false), (3, 5, false), (6, 5, false)]
        {
            assert_eq!(is_descendant(&root, process, ancestor), expected, "{process} {ancestor}");
        }
    }

    #[test]
    fn a_program_that_is_not_there_is_named() {
        let error = Helper::start(&mut Command::new("/no/such/program")).unwrap_err().to_string();
        assert!(error.starts_with("cannot start /no/such/program: "), "{error}");
    }
}
