//! Starts the pairs, lets them begin together, and collects their reports.

use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

use unjank_host::process::peer::{Answers, Orders, Peer};
use unjank_host::process::{Helper, HelperCommand, send_signal};
use unjank_host::sched::ThreadId;
use unjank_host::{Error, Result, Root, threads};
use unjank_measure::Monitor;

use super::report::{Message, Order, PairReport, Task};

/// How often the request to stop is checked.
const POLL: Duration = Duration::from_millis(100);
/// Polls in a row without a message after which all clients count as hung: ten
/// minutes. Clients notice a hung server by themselves long before.
const SILENT_POLLS: u32 = 6_000;
/// The same for a client that is stopped by a signal.
const STOPPED_POLLS: u32 = 100;
/// The same after a request to stop: a minute for calls under way to end.
const ENDING_POLLS: u32 = 600;
/// `SIGINT` of `signal(7)`.
const INTERRUPT: i32 = 2;

/// What one pair measured, or why it failed.
pub(super) type PairResult = Result<PairReport, String>;

/// A running client process.
struct Pair {
    process: Helper,
    orders: Orders,
    ready: bool,
    result: Option<PairResult>,
}

/// Runs a client process for each task, and collects all results.
///
/// # Errors
/// A process could not be started.
pub(super) fn run(
    tasks: &[Task],
    command: &HelperCommand,
    monitor: &dyn Monitor,
) -> Result<Vec<PairResult>> {
    let (sender, messages) = mpsc::channel();
    let mut pairs = Vec::new();
    for (number, task) in tasks.iter().enumerate() {
        let (pair, answers) = Pair::start(task, command)?;
        pairs.push(pair);
        listen(number, answers, sender.clone())?;
    }
    drop(sender);
    Ok(collect(pairs, &messages, monitor))
}

impl Pair {
    fn start(task: &Task, command: &HelperCommand) -> Result<(Self, Answers)> {
        let Peer { process, mut orders, answers } = Peer::start(command.without_task())?;
        // A client that is gone has closed its end, which is a message.
        let _gone = orders.send(&Order::Prepare(Box::new(task.clone())));
        Ok((Self { process, orders, ready: false, result: None }, answers))
    }
}

/// Reads the messages of one client on a new thread, until the client closes its
/// end.
fn listen(
    number: usize,
    mut answers: Answers,
    messages: Sender<(usize, Option<Message>)>,
) -> Result<()> {
    thread::Builder::new()
        .name("ipc/listen".to_owned())
        .spawn(move || {
            loop {
                let (message, last) = match answers.receive() {
                    Ok(Some(message)) => (message, false),
                    Ok(None) => break,
                    Err(error) => {
                        (Message::Failed(format!("an unreadable message: {error}")), true)
                    }
                };
                if messages.send((number, Some(message))).is_err() {
                    return;
                }
                if last {
                    break;
                }
            }
            // Fails at the end, when nothing receives any more.
            let _over = messages.send((number, None));
        })
        .map(|_detached| ())
        .map_err(|error| Error::syscall("clone", "a thread that listens to a client", error))
}

fn collect(
    mut pairs: Vec<Pair>,
    messages: &Receiver<(usize, Option<Message>)>,
    monitor: &dyn Monitor,
) -> Vec<PairResult> {
    let mut began = false;
    let mut stopping = false;
    let mut silence = 0;
    while pairs.iter().any(|pair| pair.result.is_none()) && !is_too_long(silence, stopping, &pairs)
    {
        match messages.recv_timeout(POLL) {
            Ok((number, message)) => {
                silence = 0;
                handle(&mut pairs[number], number, message, monitor);
            }
            Err(RecvTimeoutError::Timeout) => silence += 1,
            Err(RecvTimeoutError::Disconnected) => break,
        }
        let settled = |pair: &Pair| pair.ready || pair.result.is_some();
        if !began && pairs.iter().all(settled) {
            began = true;
            for pair in &mut pairs {
                // A client that is gone has closed its end, which is a message.
                let _gone = pair.orders.send(&Order::Begin);
            }
        }
        let missed =
            |pair: &Pair| matches!(&pair.result, Some(Ok(report)) if report.miss.is_some());
        if !stopping && (monitor.stop_requested() || pairs.iter().any(missed)) {
            stopping = true;
            for pair in pairs.iter().filter(|pair| pair.result.is_none()) {
                let _gone = send_signal(pair.process.id(), INTERRUPT);
            }
        }
    }
    let hung = || Err("its client process did not answer".to_owned());
    pairs.into_iter().map(|pair| pair.result.unwrap_or_else(hung)).collect()
}

/// Whether all clients were silent for too long; `silence` is in polls.
fn is_too_long(silence: u32, stopping: bool, pairs: &[Pair]) -> bool {
    // Checked rarely: it reads a file for each pair.
    let stopped = || {
        pairs.iter().filter(|pair| pair.result.is_none()).any(|pair| {
            let process = pair.process.id();
            threads::state(&Root::system(), process, ThreadId(process)) == Some('T')
        })
    };
    silence >= SILENT_POLLS
        || (stopping && silence >= ENDING_POLLS)
        || (silence > 0 && silence.is_multiple_of(STOPPED_POLLS) && stopped())
}

fn handle(pair: &mut Pair, number: usize, message: Option<Message>, monitor: &dyn Monitor) {
    if pair.result.is_some() {
        return;
    }
    match message {
        Some(Message::Ready) => pair.ready = true,
        Some(Message::Progress(done)) if number == 0 => monitor.progress(done, ""),
        Some(Message::Progress(_)) => {}
        Some(Message::Done(report)) => pair.result = Some(Ok(*report)),
        Some(Message::Failed(why)) => pair.result = Some(Err(why)),
        None => pair.result = Some(Err("its client process died".to_owned())),
    }
}
