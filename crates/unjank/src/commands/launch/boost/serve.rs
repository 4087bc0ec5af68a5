//! Runs the service: one thread detects launches and boosts; this one reports.

use std::io::Read as _;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::thread;

use anyhow::{Context as _, Result};
use sd_notify::NotifyState;
use unjank_host::control_socket::ControlSocket;
use unjank_host::files::Destination;
use unjank_host::memory::{self, MemoryLock};
use unjank_host::process::pid;
use unjank_host::sched::Realtime;
use unjank_host::wait::{WakeEvent, until_readable};
use unjank_host::{ErrorClass, Root, Timestamp};
use unjank_launch::remedy::engine::{Engine, Limits, PauseReason};
use unjank_launch::remedy::learned::Learned;
use unjank_launch::remedy::report::{Note, Status};
use unjank_launch::remedy::{Config, Order, Service, ServiceHandle, metrics, rivals};
use unjank_measure::Store;

use super::args::ServiceArgs;
use super::log;
use super::saver::PowerSaverWatch;
use super::setup::{self, HeldKnobs};
use crate::commands::leftovers::unusable;
use crate::commands::service::requests::{self, Action, Request};
use crate::commands::service::{between_reports, write_metrics};
use crate::commands::{session, storing};
use crate::{exit, interrupt, output};

/// The store's key for the learned lengths.
const LEARNED: &str = "launch/boost/learned";

/// Runs the service until a signal or `--for` ends it.
pub(super) fn run(args: &ServiceArgs) -> Result<ExitCode> {
    let root = args.place.root();
    let config = args.choice.config(&root)?;
    if let Some(path) = &args.metrics_file {
        Destination::open_file(path)?;
    }
    let signals = interrupt::stream().context("while listening for signals")?;
    // Programs start on this machine, even if `--root` replaces its knobs.
    let rules = config.rules(&Root::system())?;
    let state_dir = args.place.state_dir()?;
    let session = session::open(&root, Some(&state_dir))?;
    for change in session.recovered().iter().flat_map(|journal| &journal.changes) {
        output::remark(&format!("left by an earlier unjank: {change}"));
    }
    for remark in unusable(session.recovered()) {
        output::remark(&remark);
    }
    // After the keeper has started: its start would count as a launch.
    let (sources, _logcat) = setup::sources(&config)?;
    // Fails before a knob is touched if another service listens there.
    let socket = Arc::new(ControlSocket::listen(&args.socket)?);
    let mut clocks = HeldKnobs::new(&session, root, &config);
    let held = clocks.take();
    if held.is_empty() {
        return Err(clocks.nothing_to_change().into());
    }
    let mut memory = Memory::recall(args);
    let engine = Engine::new(limits(&config), memory.learned.clone(), Timestamp::now());
    let second_tap = config.boost.second_tap.0;
    let system = Root::system();
    let (service, handle) = Service::new(&system, rules, engine, held, sources, second_tap)?;
    let (requests, asked) = requests::listen(Arc::clone(&socket), &requests::SERVICE)?;
    let realtime = realtime(args)?;
    for (process, name) in pid::running(&system, &rivals::PROGRAMS) {
        output::remark(&format!(
            "{name} ({process}) also changes clocks or priorities; knobs that it changes are left \
             alone"
        ));
    }
    // The code that ran until here is hardly needed again. Without the lock,
    // memory pressure would delay a boost.
    let _costs_memory_only = memory::release_code();
    let _locked = MemoryLock::everything();
    let mut reporter = Reporter {
        args,
        handle,
        requests,
        requested: 0,
        received: 0,
        is_wanted: false,
        waiting: Vec::new(),
        failed: None,
        rescan_at: None,
        last: None,
        saver: (!config.boost.in_power_saver).then(PowerSaverWatch::start).transpose()?,
    };
    let learned = thread::scope(|scope| {
        let boosts = thread::Builder::new().name("boosts".to_owned()).spawn_scoped(scope, || {
            let entered = realtime.as_ref().map(Realtime::enter).transpose();
            if let Err(error) = &entered {
                output::remark(&format!(
                    "launches are detected without real-time priority: {error}"
                ));
            }
            service.run()
        });
        let boosts = boosts.context("while starting a thread")?;
        output::remark(&format!("boosting launches; control socket {}", socket.path().display()));
        notify(&[NotifyState::Ready]);
        let talked = reporter.until_the_end(&mut clocks, &signals, &asked);
        notify(&[NotifyState::Stopping]);
        reporter.handle.order(Order::Stop);
        let engine = boosts.join().map_err(|_| anyhow::anyhow!("the boosting thread panicked"));
        reporter.read_notes(&mut clocks);
        talked?;
        anyhow::Ok(engine?.learned().clone())
    });
    let mut still_changed = false;
    for report in session.finish() {
        still_changed |= report.outcome.is_failure();
        output::remark(&report.to_string());
    }
    // The socket thread holds it as long as the process lives.
    socket.close();
    memory.keep(learned?);
    match reporter.failed {
        Some(error) => Err(error.into()),
        None if still_changed => Ok(ExitCode::from(exit::FAILURE)),
        None => Ok(ExitCode::from(exit::FINE)),
    }
}

fn limits(config: &Config) -> Limits {
    Limits {
        idle: config.idle(),
        look: config.end.look.0,
        longest: config.boost.longest.0,
        budget: config.boost.budget.0,
        learn: config.boost.learn,
    }
}

/// The guard for real-time priority; `None` without the permission.
fn realtime(args: &ServiceArgs) -> Result<Option<Realtime>> {
    match Realtime::prepare(&Root::system(), args.priority, args.force) {
        Ok(realtime) => Ok(Some(realtime)),
        Err(error) if error.class() == ErrorClass::Permission => {
            output::remark(&format!("launches are detected without real-time priority: {error}"));
            Ok(None)
        }
        Err(error) => Err(error.into()),
    }
}

/// Notifies systemd, if it started this process.
fn notify(states: &[NotifyState<'_>]) {
    let _not_a_service_of_systemd = sd_notify::notify(states);
}

/// The reporting thread: log, control socket, systemd.
struct Reporter<'a> {
    args: &'a ServiceArgs,
    handle: ServiceHandle,
    requests: Receiver<Request<Status>>,
    /// Numbers of states requested and received; the service answers in order.
    requested: u64,
    received: u64,
    /// Whether a client needs a newer state than the one under way.
    is_wanted: bool,
    /// Requests, each with the number of the state that answers it.
    waiting: Vec<(u64, Request<Status>)>,
    failed: Option<unjank_host::Error>,
    rescan_at: Option<Timestamp>,
    last: Option<Box<Status>>,
    saver: Option<PowerSaverWatch>,
}

impl Reporter<'_> {
    fn until_the_end(
        &mut self,
        clocks: &mut HeldKnobs<'_>,
        mut signals: &UnixStream,
        asked: &WakeEvent,
    ) -> Result<()> {
        let end = self.args.length.map(|length| Timestamp::now() + length);
        let interval = between_reports();
        let mut next_state = Timestamp::now();
        while self.failed.is_none() {
            let now = Timestamp::now();
            if end.is_some_and(|end| end <= now) {
                break;
            }
            if next_state <= now {
                next_state = now + interval;
                self.request_state();
                self.rescan_at = Some(now);
            }
            if self.rescan_at.is_some_and(|at| at <= now) {
                self.rescan_at = None;
                let held = clocks.take();
                if !held.is_empty() {
                    self.handle.order(Order::Take(held));
                }
            }
            let until = [end, Some(next_state), self.rescan_at].into_iter().flatten().min();
            let noted = Arc::clone(&self.handle.has_notes);
            let [noted, asked_for, signal] = [noted.as_fd(), asked.as_fd(), signals.as_fd()];
            let saver = self.saver.as_ref().map(AsFd::as_fd);
            let sources = [Some(noted), Some(asked_for), Some(signal), saver];
            let [noted, asks, signal, chosen] = until_readable(sources, until)?;
            if signal {
                let _which_does_not_matter = signals.read(&mut [0]);
                break;
            }
            if chosen {
                self.follow_profile();
            }
            if asks {
                asked.reset();
                self.pass_on_requests();
            }
            if noted {
                self.handle.has_notes.reset();
                self.read_notes(clocks);
            }
        }
        Ok(())
    }

    /// Pauses in the power profile power-saver.
    fn follow_profile(&mut self) {
        let change = self.saver.as_ref().and_then(PowerSaverWatch::change);
        let Some(is_power_saver) = change else { return };
        let order = if is_power_saver { Order::Pause } else { Order::Resume };
        self.handle.order(order(PauseReason::PowerSaver));
        output::remark(if is_power_saver {
            "power profile power-saver: launches are not boosted"
        } else {
            "power profile power-saver no longer: launches are boosted again"
        });
    }

    /// Passes requests on to the service.
    fn pass_on_requests(&mut self) {
        while let Ok(request) = self.requests.try_recv() {
            match request.question.action {
                // A mark is not offered.
                Action::Status | Action::Mark => {}
                Action::Pause => self.handle.order(Order::Pause(PauseReason::Request)),
                Action::Resume => self.handle.order(Order::Resume(PauseReason::Request)),
            }
            let answer = self.want_state();
            if request.question.action != Action::Status && !self.args.quiet {
                let done =
                    if request.question.action == Action::Pause { "paused" } else { "resumed" };
                output::remark(done);
            }
            self.waiting.push((answer, request));
        }
    }

    /// Requests the state, once for all clients while one is under way.
    /// Returns the number of the first state that is new enough.
    fn want_state(&mut self) -> u64 {
        if self.requested > self.received {
            self.is_wanted = true;
            return self.requested + 1;
        }
        self.request_state();
        self.requested
    }

    fn request_state(&mut self) {
        self.handle.order(Order::Status);
        self.requested += 1;
    }

    /// Handles the service's notes.
    fn read_notes(&mut self, clocks: &mut HeldKnobs<'_>) {
        while let Ok(note) = self.handle.notes.try_recv() {
            match note {
                Note::Ended(_) | Note::NotLogged(_) if self.args.quiet => {}
                Note::Ended(boosted) => output::remark(&log::line(&boosted)),
                Note::NotLogged(times) => {
                    output::remark(&format!("{times} more boosts, not listed"));
                }
                Note::Lost { knob, reason } => {
                    output::remark(&format!("{knob} is left alone: {reason}"));
                    clocks.lose(&knob);
                    self.rescan_at = Some(Timestamp::now() + rivals::RETAKE_AFTER);
                }
                Note::Overrun(times) => {
                    output::remark(&format!(
                        "lost program starts: they came too fast ({times} times)"
                    ));
                }
                Note::Status(status) => self.publish(status),
                Note::Failed(error) => self.failed = Some(error),
            }
        }
    }

    /// Writes the metrics file, then sends the state to the clients that wait.
    /// A state proves to the watchdog that the service is alive.
    fn publish(&mut self, status: Box<Status>) {
        notify(&[
            NotifyState::Watchdog,
            NotifyState::Status(&format!(
                "{} launches, {} boosted, budget left {}",
                status.counts.launches, status.counts.boosted, status.budget_left
            )),
        ]);
        if let Some(path) = &self.args.metrics_file
            && self.last.as_ref() != Some(&status)
        {
            write_metrics(path, &metrics::prometheus(&status));
        }
        self.received += 1;
        for (_, request) in self.waiting.extract_if(.., |(number, _)| *number <= self.received) {
            request.answer(status.clone());
        }
        self.last = Some(status);
        if self.requested == self.received && std::mem::take(&mut self.is_wanted) {
            self.request_state();
        }
    }
}

/// Learned lengths of launches, kept from one start to the next.
struct Memory {
    store: Option<Store>,
    learned: Learned,
}

impl Memory {
    /// Reads the store. A store that cannot be used is reported; boosting goes
    /// on without it.
    fn recall(args: &ServiceArgs) -> Self {
        let nothing = || Self { store: None, learned: Learned::default() };
        if args.no_store {
            return nothing();
        }
        let recalled = || -> Result<Self> {
            let Some(path) = storing::store_path(args.store.as_deref()) else {
                return Ok(nothing());
            };
            let store = Store::open(&path)?;
            let text = store.recall(LEARNED)?.unwrap_or_default();
            let learned = serde_json::from_str(&text).unwrap_or_default();
            Ok(Self { store: Some(store), learned })
        };
        recalled().unwrap_or_else(|error| {
            output::remark(&format!(
                "lengths of launches are not learned: {}",
                exit::sentence(&error)
            ));
            nothing()
        })
    }

    /// Stores `learned` if it changed.
    fn keep(&mut self, learned: Learned) {
        let Some(store) = self.store.as_mut().filter(|_| learned != self.learned) else { return };
        let text = serde_json::to_string(&learned).expect("it has only string keys");
        if let Err(error) = store.remember(LEARNED, &text) {
            output::remark(&format!("learned lengths of launches are lost: {error}"));
        }
        self.learned = learned;
    }
}
