//! A program whose threads are changed: the test itself, started again.
// No test file uses all of it.
#![allow(dead_code)]
#![allow(clippy::unwrap_used)]

pub(crate) mod private_state;

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::thread;

use unjank_host::sched::{Policy, ThreadId, policy_of};
use unjank_host::threads::{self, Thread};
use unjank_host::{Nanos, Root};

/// The variable that makes this test the program.
const IS_PROGRAM: &str = "UNJANK_TEST_IS_PROGRAM";

/// A running program. It ends with its standard input.
pub(crate) struct Program {
    child: Child,
    orders: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Program {
    /// Starts it with threads of these names.
    pub(crate) fn start(names: &[&str]) -> Self {
        let program = Self::command(&std::env::current_exe().unwrap());
        Self::begin(program, names)
    }

    /// The command that starts it, from a copy of this test.
    pub(crate) fn command(executable: &Path) -> Command {
        let mut command = Command::new(executable);
        command.args(["--exact", "program::is_started_as_one", "--nocapture", "--test-threads=1"]);
        command.env(IS_PROGRAM, "1");
        command
    }

    /// Starts `command`, which is or becomes the program.
    pub(crate) fn begin(mut command: Command, names: &[&str]) -> Self {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let orders = child.stdin.take().unwrap();
        let answers = BufReader::new(child.stdout.take().unwrap());
        let mut program = Self { child, orders, answers };
        for name in names {
            program.order(&format!("new {name}"));
        }
        program
    }

    /// Sends an order and waits until it is done.
    pub(crate) fn order(&mut self, order: &str) {
        writeln!(self.orders, "{order}").unwrap();
        let mut line = String::new();
        // libtest also prints that it runs a test.
        while !line.ends_with(&format!("done {order}\n")) {
            line.clear();
            assert_ne!(self.answers.read_line(&mut line).unwrap(), 0, "it has ended");
        }
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Its threads.
    pub(crate) fn threads(&self) -> Vec<Thread> {
        threads::list(&Root::system(), self.id()).unwrap().threads
    }

    /// The policy of the thread with this name, and whether its children start with an
    /// ordinary policy (`SCHED_RESET_ON_FORK`).
    pub(crate) fn policy(&self, name: &str) -> (Policy, bool) {
        let threads = self.threads();
        let thread = threads.iter().find(|thread| thread.name == name);
        policy_of(thread.unwrap_or_else(|| panic!("{threads:?} has no {name}")).id).unwrap()
    }

    pub(crate) fn thread(&self, name: &str) -> ThreadId {
        self.threads().into_iter().find(|thread| thread.name == name).unwrap().id
    }

    /// `RLIMIT_RTTIME`, which `prlimit(2)` does not show for other users' processes.
    pub(crate) fn run_limit(&self) -> Option<Nanos> {
        let limits = std::fs::read_to_string(format!("/proc/{}/limits", self.id())).unwrap();
        let line = limits.lines().find_map(|line| line.strip_prefix("Max realtime timeout"));
        let soft = line.unwrap().split_whitespace().next().unwrap();
        soft.parse().ok().map(Nanos::from_micros)
    }

    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ended = self.child.kill();
        let _reaped = self.child.wait();
    }
}

/// The program. Run as a test, it does nothing.
#[test]
fn is_started_as_one() {
    if std::env::var_os(IS_PROGRAM).is_none() {
        return;
    }
    for order in std::io::stdin().lines() {
        let order = order.unwrap();
        match order.split_once(' ').unwrap() {
            ("new", name) => spawn(name, idle),
            // It computes and never sleeps.
            ("spin", name) => spawn(name, || while std::hint::black_box(true) {}),
            // Threads that begin and end as fast as they can.
            ("churn", name) => {
                let named = name.to_owned();
                spawn(name, move || {
                    loop {
                        let thread = thread::Builder::new().name(named.clone()).spawn(|| {});
                        let _ended = thread.unwrap().join();
                    }
                });
            }
            // A number of threads.
            ("many", count) => {
                for number in 0..count.parse::<usize>().unwrap() {
                    spawn(&format!("worker-{number}"), idle);
                }
            }
            other => panic!("{other:?}"),
        }
        println!("done {order}");
    }
}

fn spawn(name: &str, does: impl FnOnce() + Send + 'static) {
    let (named, is_named) = std::sync::mpsc::channel();
    let builder = thread::Builder::new().name(name.to_owned()).stack_size(64 << 10);
    builder
        .spawn(move || {
            named.send(()).unwrap();
            does();
        })
        .unwrap();
    is_named.recv().unwrap();
}

fn idle() {
    loop {
        thread::park();
    }
}
