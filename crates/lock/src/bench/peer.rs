//! The second process, or peer: it measures under a quota, or keeps CPUs busy.
//!
//! It answers each order; the protocol is that of [`unjank_host::process::peer`].

use std::io::{self, BufRead, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use serde::{Deserialize, Serialize};
use unjank_host::cgroup::cpu::CpuGroup;
use unjank_host::process::HelperCommand;
use unjank_host::process::peer::{self, receive, send};

use super::strategy::Strategy;
use super::trial::{Task, TrialResult};
use super::work;
use crate::error::{Error, Result};

/// Multiplications between two checks for the end.
const BURST: u32 = 100_000;

/// A request to the second process.
#[derive(Debug, Serialize, Deserialize)]
enum Order {
    /// Run a trial.
    Trial { strategy: String, task: Task },
    /// Keep this many threads busy until the end of the input.
    Burn { threads: usize },
}

#[derive(Debug, Serialize, Deserialize)]
enum Answer {
    /// The result of the trial.
    Measured(Box<TrialResult>),
    /// The threads are busy.
    Burning,
    /// The error message.
    Failed(String),
}

/// The first process's handle to the second one, which ends when this is dropped.
pub(crate) struct Peer(peer::Peer);

impl Peer {
    /// Starts it, in the group if there is one.
    pub(crate) fn start(command: &HelperCommand, group: Option<&CpuGroup>) -> Result<Self> {
        let mut command = command.without_task();
        if let Some(group) = group {
            group.enter(&mut command)?;
        }
        Ok(Self(peer::Peer::start(command)?))
    }

    /// Runs a trial in it.
    pub(crate) fn run_trial(&mut self, strategy: Strategy, task: Task) -> Result<TrialResult> {
        match self.ask(&Order::Trial { strategy: strategy.name.to_owned(), task })? {
            Answer::Measured(result) => Ok(*result),
            other => Err(Error::Elsewhere(format!("unexpected answer to a trial: {other:?}"))),
        }
    }

    /// Starts this many busy threads in it.
    pub(crate) fn burn(&mut self, threads: usize) -> Result<()> {
        match self.ask(&Order::Burn { threads })? {
            Answer::Burning => Ok(()),
            other => Err(Error::Elsewhere(format!("unexpected answer to a load: {other:?}"))),
        }
    }

    fn ask(&mut self, order: &Order) -> Result<Answer> {
        let answer = self.0.orders.send(order).and_then(|()| self.0.answers.receive());
        match answer {
            Ok(Some(Answer::Failed(reason))) => Err(Error::Elsewhere(reason)),
            Ok(Some(answer)) => Ok(answer),
            Ok(None) => Err(Error::Elsewhere(self.end())),
            Err(error) => Err(Error::Elsewhere(format!("{error}; {}", self.end()))),
        }
    }

    /// How it ended.
    fn end(&mut self) -> String {
        let ended = self.0.process.ended();
        ended.map_or_else(
            || "it closed its output".to_owned(),
            |status| format!("it ended: {status}"),
        )
    }
}

/// Carries out orders until the end of the input.
///
/// # Errors
/// An order that cannot be read, an answer that cannot be written.
pub fn serve(orders: impl BufRead, mut answers: impl Write) -> io::Result<()> {
    let mut orders = orders;
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let _stops = Stops(&stop);
        while let Some(order) = receive::<Order>(&mut orders)? {
            let answer = match order {
                Order::Trial { strategy, task } => run_trial(&strategy, task)
                    .unwrap_or_else(|error| Answer::Failed(error.to_string())),
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
            send(&mut answers, &answer)?;
        }
        Ok(())
    })
}

/// Ends the busy threads when it is dropped.
struct Stops<'a>(&'a AtomicBool);

impl Drop for Stops<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn run_trial(strategy: &str, task: Task) -> Result<Answer> {
    let result = Strategy::of_trial(strategy)?.run_trial(task, &|| None)?;
    Ok(Answer::Measured(Box::new(result)))
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
            let order = Order::Trial { strategy: strategy.to_owned(), task };
            serde_json::to_string(&order).unwrap() + "\n"
        };
        let burn = serde_json::to_string(&Order::Burn { threads: 1 }).unwrap() + "\n";
        let answers = answers(&(order("std") + &order("hope") + &burn + &order("no lock")));
        let [
            Answer::Measured(std),
            Answer::Failed(hope),
            Answer::Burning,
            Answer::Measured(control),
        ] = &*answers
        else {
            panic!("{answers:?}")
        };
        assert_eq!((std.operations.len(), control.operations.len()), (2, 2));
        assert!(hope.starts_with("unknown strategy \"hope\""), "{hope}");
    }

    #[test]
    fn an_invalid_order_ends_it() {
        assert!(serve("please\n".as_bytes(), Vec::new()).is_err());
    }

    #[test]
    fn a_program_that_does_not_answer_is_an_error() {
        let command = HelperCommand::new("true", [""; 0]);
        let error = Peer::start(&command, None).unwrap().burn(1).unwrap_err().to_string();
        assert!(error.starts_with("the measuring process failed: "), "{error}");
    }
}
