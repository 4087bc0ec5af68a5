//! The service itself: one thread sees launches and acts; this one talks.

use std::io::Read as _;
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::thread;

use anyhow::{Context as _, Result};
use sd_notify::NotifyState;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::low_level::pipe;
use unjank_host::control_socket::ControlSocket;
use unjank_host::files::Destination;
use unjank_host::journal::Session;
use unjank_host::memory::{self, MemoryLock};
use unjank_host::sched::Realtime;
use unjank_host::wait::{Doorbell, until_readable};
use unjank_host::{ErrorClass, Nanos, Root, Timestamp, process::pid};
use unjank_launch::remedy::engine::{Engine, Limits};
use unjank_launch::remedy::learned::Learned;
use unjank_launch::remedy::report::{Note, Status};
use unjank_launch::remedy::{Config, Order, Service, Switch, metrics};
use unjank_measure::Store;

use super::args::ServiceArgs;
use super::log;
use super::requests::{self, Action, Request};
use super::setup::{self, Clocks};
use crate::commands::leftovers::unusable;
use crate::commands::{keeper, measured};
use crate::{exit, output};

/// How often the state is looked at: for the watchdog, the metrics' file, and
/// clocks that have appeared.
const PULSE: Nanos = Nanos::from_millis(15_000);
/// How long after a knob was lost the machine is looked at again.
const LOOK_AGAIN: Nanos = Nanos::from_millis(1_000);
/// Under which name the store remembers what was learned.
const LEARNED: &str = "launch/boost/learned";

/// Others that change clocks, as the kernel shortens their names.
const OTHERS: [&str; 9] = [
    "gamemoded",
    "power-profiles-",
    "tuned",
    "auto-cpufreq",
    "tlp-pd",
    "ananicy-cpp",
    "system76-schedu",
    "cpufreqd",
    "uperf",
];

/// Runs the service until it is told to end.
pub(super) fn run(args: &ServiceArgs) -> Result<ExitCode> {
    let root = args.place.root();
    let config = args.choice.config(&root)?;
    if let Some(path) = &args.metrics_file {
        Destination::open(path)?;
    }
    let signals = signals().context("while listening for signals")?;
    // What starts, starts on this machine, whatever stands for its knobs.
    let rules = config.rules(&Root::system())?;
    let state_dir = args.place.state_dir()?;
    let session = Session::open(&root, &state_dir, keeper::command(&state_dir))
        .context("while making sure that everything can be put back")?;
    for change in session.recovered().iter().flat_map(|journal| &journal.changes) {
        output::remark(&format!("left by an earlier unjank: {change}"));
    }
    for told in unusable(session.recovered()) {
        output::remark(&told);
    }
    // After the keeper has started, or it would be the first launch.
    let (sources, _logcat) = setup::sources(&config)?;
    // Where another service listens, no knob is touched.
    let socket = Arc::new(ControlSocket::listen(&args.socket)?);
    let mut clocks = Clocks::new(&session, root, &config);
    let held = clocks.take();
    if held.is_empty() {
        return Err(clocks.nothing_to_change().into());
    }
    let mut memory = Memory::recall(args);
    let engine = Engine::new(limits(&config), memory.learned.clone(), Timestamp::now());
    let second_tap = config.boost.second_tap.0;
    let system = Root::system();
    let (service, switch) = Service::new(&system, rules, engine, held, sources, second_tap)?;
    let (requests, asked) = requests::listen(Arc::clone(&socket))?;
    let realtime = realtime(args)?;
    for (process, name) in pid::running(&system, &OTHERS) {
        output::remark(&format!(
            "{name} ({process}) runs here, too: what it changes meanwhile is left to it"
        ));
    }
    // What follows runs for long, and needs little of what has run until here.
    // Without the lock, a launch in the midst of memory pressure is boosted late.
    let _costs_memory_only = memory::release_code();
    let _locked = MemoryLock::everything();
    let mut talk = Talk {
        args,
        switch,
        requests,
        asked: 0,
        told: 0,
        is_wanted: false,
        waiting: Vec::new(),
        failed: None,
        look_again: None,
        last: None,
    };
    let learned = thread::scope(|scope| {
        let boosts = thread::Builder::new().name("boosts".to_owned()).spawn_scoped(scope, || {
            let entered = realtime.as_ref().map(Realtime::enter).transpose();
            if let Err(error) = &entered {
                output::remark(&format!("launches are seen without priority: {error}"));
            }
            service.run()
        });
        let boosts = boosts.context("while starting a thread")?;
        output::remark(&format!("boosting launches; asked at {}", socket.path().display()));
        notify(&[NotifyState::Ready]);
        let talked = talk.until_the_end(&mut clocks, &signals, &asked);
        notify(&[NotifyState::Stopping]);
        talk.switch.order(Order::Stop);
        let engine = boosts.join().map_err(|_| anyhow::anyhow!("the boosting thread panicked"));
        talk.hear(&mut clocks);
        talked?;
        anyhow::Ok(engine?.learned().clone())
    });
    let mut still_changed = false;
    for report in session.finish() {
        still_changed |= report.outcome.is_failure();
        output::remark(&report.to_string());
    }
    // The thread that waits for askers has it as long as the process lives.
    socket.close();
    memory.keep(learned?);
    match talk.failed {
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

/// The guard of the real-time thread; `None` for a user that may have none.
fn realtime(args: &ServiceArgs) -> Result<Option<Realtime>> {
    match Realtime::prepare(&Root::system(), args.priority, args.force) {
        Ok(realtime) => Ok(Some(realtime)),
        Err(error) if error.class() == ErrorClass::Permission => {
            output::remark(&format!("launches are seen without priority: {error}"));
            Ok(None)
        }
        Err(error) => Err(error.into()),
    }
}

/// What can be read once a signal asks for the end.
fn signals() -> std::io::Result<UnixStream> {
    let (ours, theirs) = UnixStream::pair()?;
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        if !(signal == SIGHUP && unjank_host::process::ignores_signal(signal)) {
            pipe::register(signal, theirs.try_clone()?)?;
        }
    }
    Ok(ours)
}

/// Tells systemd, if it has started this.
fn notify(states: &[NotifyState<'_>]) {
    // Nobody else waits for it.
    let _not_a_service_of_systemd = sd_notify::notify(states);
}

/// The thread that talks: to the log, to askers, to systemd.
struct Talk<'a> {
    args: &'a ServiceArgs,
    switch: Switch,
    requests: Receiver<Request>,
    /// How often the state was asked for, and told: the service answers in order.
    asked: u64,
    told: u64,
    /// Whether somebody has asked for a newer state than is on its way.
    is_wanted: bool,
    /// Who waits for which of these answers.
    waiting: Vec<(u64, Request)>,
    failed: Option<unjank_host::Error>,
    look_again: Option<Timestamp>,
    last: Option<Box<Status>>,
}

impl Talk<'_> {
    fn until_the_end(
        &mut self,
        clocks: &mut Clocks<'_>,
        mut signals: &UnixStream,
        asked: &Doorbell,
    ) -> Result<()> {
        let end = self.args.length.map(|length| Timestamp::now() + length);
        let pulse = pulse();
        let mut next_pulse = Timestamp::now();
        while self.failed.is_none() {
            let now = Timestamp::now();
            if end.is_some_and(|end| end <= now) {
                break;
            }
            if next_pulse <= now {
                next_pulse = now + pulse;
                self.ask_state();
                self.look_again = Some(now);
            }
            if self.look_again.is_some_and(|at| at <= now) {
                self.look_again = None;
                let held = clocks.take();
                if !held.is_empty() {
                    self.switch.order(Order::Take(held));
                }
            }
            let until = [end, Some(next_pulse), self.look_again].into_iter().flatten().min();
            let noted = Arc::clone(&self.switch.noted);
            let sources = [noted.as_fd(), asked.as_fd(), signals.as_fd()].map(Some);
            let [noted, asks, signal] = until_readable(sources, until)?;
            if signal {
                let _which_does_not_matter = signals.read(&mut [0]);
                break;
            }
            if asks {
                asked.quiet();
                self.ask();
            }
            if noted {
                self.switch.noted.quiet();
                self.hear(clocks);
            }
        }
        Ok(())
    }

    /// Passes questions on to the service.
    fn ask(&mut self) {
        while let Ok(request) = self.requests.try_recv() {
            match request.action {
                Action::Status => {}
                Action::Pause => self.switch.order(Order::Pause),
                Action::Resume => self.switch.order(Order::Resume),
            }
            let answer = self.want_state();
            if request.action != Action::Status && !self.args.quiet {
                let done = if request.action == Action::Pause { "paused" } else { "resumed" };
                output::remark(done);
            }
            self.waiting.push((answer, request));
        }
    }

    /// Asks for the state, once for all who want it while an answer is on its
    /// way: the number of the first answer that will do.
    fn want_state(&mut self) -> u64 {
        if self.asked > self.told {
            self.is_wanted = true;
            return self.asked + 1;
        }
        self.ask_state();
        self.asked
    }

    fn ask_state(&mut self) {
        self.switch.order(Order::Status);
        self.asked += 1;
    }

    /// Hears what the service has noted.
    fn hear(&mut self, clocks: &mut Clocks<'_>) {
        while let Ok(note) = self.switch.notes.try_recv() {
            match note {
                Note::Over(_) | Note::NotTold(_) if self.args.quiet => {}
                Note::Over(boosted) => output::remark(&log::line(&boosted)),
                Note::NotTold(times) => {
                    output::remark(&format!("{times} more boosts, of which nothing was said"));
                }
                Note::Lost { knob, reason } => {
                    output::remark(&format!("{knob} is left alone: {reason}"));
                    clocks.lose(&knob);
                    self.look_again = Some(Timestamp::now() + LOOK_AGAIN);
                }
                Note::Overrun(times) => {
                    output::remark(&format!("starts came faster than they were read ({times})"));
                }
                Note::Status(status) => self.tell(status),
                Note::Failed(error) => self.failed = Some(error),
            }
        }
    }

    /// Tells the state to everybody who has asked for it, when it is in the
    /// metrics' file. That there is one shows the watchdog that the service
    /// lives.
    fn tell(&mut self, status: Box<Status>) {
        notify(&[
            NotifyState::Watchdog,
            NotifyState::Status(&format!(
                "{} launches, {} boosted, budget left {}",
                status.counts.launches, status.counts.boosted, status.budget_left
            )),
        ]);
        if let Some(path) = &self.args.metrics_file
            && self.last.as_ref() != Some(&status)
            && let Err(error) = Destination::open(path)
                .and_then(|file| file.write(metrics::prometheus(&status).as_bytes()))
        {
            output::remark(&error.to_string());
        }
        self.told += 1;
        for (_, request) in self.waiting.extract_if(.., |(number, _)| *number <= self.told) {
            request.answer(status.clone());
        }
        self.last = Some(status);
        if self.asked == self.told && std::mem::take(&mut self.is_wanted) {
            self.ask_state();
        }
    }
}

/// How often the state is looked at: twice as often as systemd's watchdog wants.
fn pulse() -> Nanos {
    sd_notify::watchdog_enabled().map_or(PULSE, |within| Nanos::from(within / 2).min(PULSE))
}

/// What is remembered from one start to the next.
struct Memory {
    store: Option<Store>,
    learned: Learned,
}

impl Memory {
    /// What the store remembers. A store that cannot be used is said, and no
    /// reason not to boost.
    fn recall(args: &ServiceArgs) -> Self {
        let nothing = || Self { store: None, learned: Learned::default() };
        if args.no_store {
            return nothing();
        }
        let recalled = || -> Result<Self> {
            let Some(path) = measured::store_path(args.store.as_deref()) else {
                return Ok(nothing());
            };
            let store = Store::open(&path)?;
            let text = store.recall(LEARNED)?.unwrap_or_default();
            let learned = serde_json::from_str(&text).unwrap_or_default();
            Ok(Self { store: Some(store), learned })
        };
        recalled().unwrap_or_else(|error| {
            output::remark(&format!("nothing is learned: {}", exit::sentence(&error)));
            nothing()
        })
    }

    /// Keeps what is known now.
    fn keep(&mut self, learned: Learned) {
        let Some(store) = self.store.as_mut().filter(|_| learned != self.learned) else { return };
        let text = serde_json::to_string(&learned).expect("it has only string keys");
        if let Err(error) = store.remember(LEARNED, &text) {
            output::remark(&format!("what was learned is lost: {error}"));
        }
        self.learned = learned;
    }
}
