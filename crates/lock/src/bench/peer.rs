//! The second process: it measures under a quota, or keeps CPUs busy.
//!
//! It hears one order a line, as JSON, and answers each with a line. It ends
//! when nobody orders any more, and the kernel kills it with its owner.

use std::ffi::OsString;
use std::io::{self, BufRead, BufReader, PipeReader, PipeWriter, Read as _, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use serde::{Deserialize, Serialize};
use unjank_host::cgroup::cpu::CpuGroup;
use unjank_host::process::Helper;

use super::strategy::Strategy;
use super::visit::{Seen, Task};
use super::work;
use crate::error::{Error, Result};

/// The longest line that is listened to: a report has one histogram.
const LONGEST_LINE: u64 = 16 << 20;

/// Multiplications between two looks whether to stop.
const BURST: u32 = 100_000;

/// The command that starts a second process, which calls [`serve`].
#[derive(Debug, Clone)]
pub struct PeerCommand {
    /// The program.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<OsString>,
}

/// What the second process is to do.
#[derive(Debug, Serialize, Deserialize)]
enum Order {
    /// Make a visit.
    Visit { strategy: String, task: Task },
    /// Keep so many threads busy until there are no more orders.
    Burn { threads: usize },
}

/// What it answers.
#[derive(Debug, Serialize, Deserialize)]
enum Answer {
    /// What was seen in the visit.
    Seen(Box<Seen>),
    /// The threads are busy.
    Burning,
    /// It could not be done, and why.
    Failed(String),
}

/// The second process, seen from the first. It ends when this is dropped.
pub(crate) struct Peer {
    process: Helper,
    orders: PipeWriter,
    answers: BufReader<PipeReader>,
}

impl Peer {
    /// Starts it, in the group if there is one.
    pub(crate) fn start(command: &PeerCommand, group: Option<&CpuGroup>) -> Result<Self> {
        let pipe =
            || io::pipe().map_err(|error| unjank_host::Error::syscall("pipe2", "a peer", error));
        let (stdin, orders) = pipe()?;
        let (answers, stdout) = pipe()?;
        let mut peer = Command::new(&command.program);
        peer.args(&command.arguments).arg(std::process::id().to_string());
        peer.stdin(stdin).stdout(stdout).stderr(Stdio::inherit());
        if let Some(group) = group {
            group.enter(&mut peer)?;
        }
        let process = Helper::start(&mut peer)?;
        // Its ends of the pipes are closed here, so that its end is seen.
        drop(peer);
        Ok(Self { process, orders, answers: BufReader::new(answers) })
    }

    /// Makes a visit there.
    pub(crate) fn visit(&mut self, strategy: Strategy, task: Task) -> Result<Seen> {
        match self.ask(&Order::Visit { strategy: strategy.name.to_owned(), task })? {
            Answer::Seen(seen) => Ok(*seen),
            other => Err(Error::Elsewhere(format!("{other:?} is no answer to a visit"))),
        }
    }

    /// Keeps so many threads busy from now on.
    pub(crate) fn burn(&mut self, threads: usize) -> Result<()> {
        match self.ask(&Order::Burn { threads })? {
            Answer::Burning => Ok(()),
            other => Err(Error::Elsewhere(format!("{other:?} is no answer to busy threads"))),
        }
    }

    fn ask(&mut self, order: &Order) -> Result<Answer> {
        let answer = tell(&mut self.orders, order).and_then(|()| hear(&mut self.answers));
        match answer {
            Ok(Some(Answer::Failed(reason))) => Err(Error::Elsewhere(reason)),
            Ok(Some(answer)) => Ok(answer),
            Ok(None) => Err(Error::Elsewhere(self.end())),
            Err(error) => Err(Error::Elsewhere(format!("{error}; {}", self.end()))),
        }
    }

    /// What is known of its end.
    fn end(&mut self) -> String {
        let ended = self.process.ended();
        ended.map_or_else(|| "it says no more".to_owned(), |status| format!("it ended: {status}"))
    }
}

/// Follows orders until there are no more.
///
/// # Errors
/// An order that cannot be read, an answer that cannot be written.
pub fn serve(orders: impl BufRead, mut answers: impl Write) -> io::Result<()> {
    let mut orders = orders;
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let _stops = Stops(&stop);
        while let Some(order) = hear::<Order>(&mut orders)? {
            let answer = match order {
                Order::Visit { strategy, task } => {
                    visit(&strategy, task).unwrap_or_else(|error| Answer::Failed(error.to_string()))
                }
                Order::Burn { threads } => {
                    for _ in 0..threads {
                        thread::Builder::new().name("lock/load".to_owned()).spawn_scoped(
                            scope,
                            || {
                                while !stop.load(Ordering::Relaxed) {
                                    work::run(BURST);
                                }
                            },
                        )?;
                    }
                    Answer::Burning
                }
            };
            tell(&mut answers, &answer)?;
        }
        Ok(())
    })
}

/// Ends busy threads, however the order-taking ends.
struct Stops<'a>(&'a AtomicBool);

impl Drop for Stops<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn visit(strategy: &str, task: Task) -> Result<Answer> {
    let seen = Strategy::of_visit(strategy)?.visit(task, &|| None)?;
    Ok(Answer::Seen(Box::new(seen)))
}

fn tell(to: &mut impl Write, message: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    to.write_all(&line)?;
    to.flush()
}

/// The next line; `None` at the end.
fn hear<T: for<'de> Deserialize<'de>>(from: &mut impl BufRead) -> io::Result<Option<T>> {
    let mut line = String::new();
    match from.by_ref().take(LONGEST_LINE).read_line(&mut line)? {
        0 => Ok(None),
        _ => Ok(Some(serde_json::from_str(&line)?)),
    }
}

#[cfg(test)]
mod tests {
    use unjank_host::Nanos;

    use super::*;

    fn answers(orders: &str) -> Vec<Answer> {
        let mut out = Vec::new();
        serve(orders.as_bytes(), &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    #[test]
    fn orders_are_followed_in_turn() {
        let phase = Nanos::from_millis(2);
        let task = Task { threads: 2, section: 5, outside: 5, phase, pinned: None, nicer: None };
        let order = |strategy: &str| {
            let order = Order::Visit { strategy: strategy.to_owned(), task };
            serde_json::to_string(&order).unwrap() + "\n"
        };
        let burn = serde_json::to_string(&Order::Burn { threads: 1 }).unwrap() + "\n";
        let answers = answers(&(order("std") + &order("hope") + &burn + &order("no lock")));
        let [Answer::Seen(std), Answer::Failed(hope), Answer::Burning, Answer::Seen(control)] =
            &*answers
        else {
            panic!("{answers:?}")
        };
        assert_eq!((std.operations.len(), control.operations.len()), (2, 2));
        assert!(hope.starts_with("there is no strategy \"hope\""), "{hope}");
    }

    #[test]
    fn what_is_no_order_ends_it() {
        assert!(serve("please\n".as_bytes(), Vec::new()).is_err());
    }

    #[test]
    fn a_peer_that_is_none_is_told() {
        let command = PeerCommand { program: "true".into(), arguments: Vec::new() };
        let error = Peer::start(&command, None).unwrap().burn(1).unwrap_err().to_string();
        assert!(error.starts_with("the process that measures for this one: "), "{error}");
    }
}
