//! Waiting for a tested program, as long as it takes on a busy machine.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

/// Anything that takes longer hangs, on any machine.
pub const HANGS: Duration = Duration::from_secs(1_200);
/// The interval between checks.
const LOOK: Duration = Duration::from_millis(2);

/// Waits until `so` is true.
///
/// # Panics
/// It takes longer than [`HANGS`].
#[track_caller]
pub fn until(what: &str, mut so: impl FnMut() -> bool) {
    until_some(what, || so().then_some(()));
}

/// Waits until `find` returns a value.
///
/// # Panics
/// It takes longer than [`HANGS`].
#[track_caller]
pub fn until_some<T>(what: &str, mut find: impl FnMut() -> Option<T>) -> T {
    let begin = Instant::now();
    loop {
        if let Some(found) = find() {
            return found;
        }
        assert!(begin.elapsed() < HANGS, "waited in vain: {what}");
        thread::sleep(LOOK);
    }
}

/// A process that a test has started, as procfs shows it: `proc(5)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Process(pub u32);

impl Process {
    /// Waits until it has a child with `with` on its command line, and returns
    /// it.
    ///
    /// # Panics
    /// If it ends first.
    #[must_use]
    #[track_caller]
    pub fn child(self, with: &str) -> Self {
        self.until_some(with, || self.find_child(with))
    }

    /// Its child with `with` on its command line.
    pub fn find_child(self, with: &str) -> Option<Self> {
        let threads = self.threads().into_iter();
        let lists = threads.map(|thread| fs::read_to_string(thread.join("children")));
        let lists: String = lists.map(Result::unwrap_or_default).collect();
        let mut children = lists.split_whitespace().filter_map(|child| child.parse().ok());
        children.find(|&child| Self(child).command_line().contains(with)).map(Self)
    }

    /// Waits until it has a handler for this signal number.
    ///
    /// # Panics
    /// If it ends first.
    #[track_caller]
    pub fn until_it_handles(self, signal: u32) {
        self.until("it handles the signal", || {
            let handled =
                self.status("SigCgt:").and_then(|mask| u64::from_str_radix(&mask, 16).ok());
            handled.is_some_and(|mask| mask & 1 << (signal - 1) != 0)
        });
    }

    /// Waits until its threads have slept this often in total.
    ///
    /// # Panics
    /// If it ends first.
    #[track_caller]
    pub fn until_it_has_slept(self, times: u64) {
        self.until("it has slept", || self.sleeps() >= times);
    }

    /// Waits until it has used this CPU time, however long it takes to get a
    /// CPU.
    ///
    /// # Panics
    /// If it ends first.
    #[track_caller]
    pub fn until_it_has_computed(self, time: Duration) {
        self.until("it has computed", || self.cpu_time() >= time);
    }

    /// Waits until one of its threads has a name that begins with `name`.
    ///
    /// # Panics
    /// If it ends first.
    #[track_caller]
    pub fn until_it_has_a_thread(self, name: &str) {
        self.until(name, || {
            let mut threads = self.threads().into_iter();
            threads.any(|thread| {
                fs::read_to_string(thread.join("comm")).is_ok_and(|comm| comm.starts_with(name))
            })
        });
    }

    /// Waits until `so` is true.
    ///
    /// # Panics
    /// If it ends first.
    #[track_caller]
    pub fn until(self, what: &str, mut so: impl FnMut() -> bool) {
        self.until_some(what, || so().then_some(()));
    }

    /// Waits until `find` returns a value.
    ///
    /// # Panics
    /// If it ends first.
    #[track_caller]
    pub fn until_some<T>(self, what: &str, mut find: impl FnMut() -> Option<T>) -> T {
        until_some(what, || {
            let more_to_come = self.is_alive();
            let found = find();
            assert!(
                found.is_some() || more_to_come,
                "the process ended while waiting until {what}"
            );
            found
        })
    }

    /// Whether it runs; a zombie does not.
    pub fn is_alive(self) -> bool {
        let stat = self.file("stat");
        stat.is_some_and(|stat| !stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with('Z')))
    }

    /// Its command line, with a NUL after each argument.
    pub fn command_line(self) -> String {
        self.file("cmdline").unwrap_or_default()
    }

    /// How often its threads have slept in total.
    pub fn sleeps(self) -> u64 {
        let of = |thread: &PathBuf| {
            let status = fs::read_to_string(thread.join("status")).ok()?;
            field(&status, "voluntary_ctxt_switches:")?.parse::<u64>().ok()
        };
        self.threads().iter().filter_map(of).sum()
    }

    /// Its CPU time, to a clock tick of 10 ms.
    pub fn cpu_time(self) -> Duration {
        let stat = self.file("stat").unwrap_or_default();
        let fields = stat.rsplit(") ").next().unwrap_or_default().split(' ');
        // Fields 14 and 15; the first field here is the third of the file.
        let ticks: u64 =
            fields.skip(11).take(2).filter_map(|ticks| ticks.parse::<u64>().ok()).sum();
        Duration::from_millis(10 * ticks)
    }

    fn threads(self) -> Vec<PathBuf> {
        let tasks = fs::read_dir(format!("/proc/{}/task", self.0)).into_iter().flatten().flatten();
        tasks.map(|task| task.path()).collect()
    }

    fn status(self, name: &str) -> Option<String> {
        field(&self.file("status")?, name)
    }

    fn file(self, name: &str) -> Option<String> {
        let bytes = fs::read(Path::new("/proc").join(self.0.to_string()).join(name)).ok()?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }
}

fn field(status: &str, name: &str) -> Option<String> {
    status.lines().find_map(|line| line.strip_prefix(name)).map(|value| value.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn a_process_is_waited_for_in_every_way() {
        let script = "trap : USR1; sleep 600 & while :; do sleep 0.001; done";
        let mut shell = Command::new("bash").args(["-c", script]).spawn().unwrap();
        let process = Process(shell.id());
        process.until_it_handles(10);
        process.until_it_has_slept(5);
        process.until_it_has_computed(Duration::from_millis(10));
        process.until_it_has_a_thread("bas");
        let sleeper = process.child("600\0");
        assert_eq!(sleeper.command_line(), "sleep\x00600\0");
        let killed = Command::new("kill").arg(sleeper.0.to_string()).status();
        assert!(killed.unwrap().success());
        assert!(process.is_alive() && process.command_line().starts_with("bash\0-c\0"));
        shell.kill().unwrap();
        until("it is dead", || !process.is_alive());
        shell.wait().unwrap();
    }

    #[test]
    #[should_panic(expected = "the process ended while waiting until it has slept")]
    fn waiting_ends_with_the_process() {
        let mut child = Command::new("true").spawn().unwrap();
        let process = Process(child.id());
        until("it has ended", || !process.is_alive());
        let waited = std::panic::catch_unwind(|| process.until_it_has_slept(u64::MAX));
        child.wait().unwrap();
        std::panic::resume_unwind(waited.unwrap_err());
    }
}
