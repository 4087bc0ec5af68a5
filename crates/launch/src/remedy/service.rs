//! The thread that waits for launches and acts on them. Everything that takes
//! time (log, socket, store) is another thread's, which it hands notes to and
//! never waits for.

use std::collections::BTreeMap;
use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use hdrhistogram::Histogram;
use unjank_host::pid::{self, Waits};
use unjank_host::process_events::{EventKinds, ProcessEvent, ProcessEvents};
use unjank_host::wait::{Doorbell, until_readable};
use unjank_host::{Bytes, Nanos, Result, Root, Timestamp};

use super::engine::{Engine, Look, Over, Why};
use super::knobs::{Held, Knobs, Outcome};
use super::report::{Boosted, Counts, Latency, Note, Raised, Status};
use super::rules::{Candidate, Reason, Rules};
use super::sources::{Front, LogEvent, LogLines};
use super::told::{Telling, Told};

/// The schema of the state.
const SCHEMA: &str = "unjank.boost/1";
/// For how long after a boost processes that are made and end are still
/// listened to: asking the kernel twice for each of many boosts would cost more.
const LISTEN_ON: Nanos = Nanos::from_millis(1_000);
/// What is read of the log at once.
const PIECE: usize = 4 << 10;
/// Android's programs are all this one; their name is their first argument.
const ZYGOTE: &str = "app_process";

/// What the service is asked to do.
#[derive(Debug)]
pub enum Order {
    /// To boost nothing until it is resumed.
    Pause,
    /// To go on after a pause.
    Resume,
    /// To tell its state.
    Status,
    /// To change these knobs, too.
    Take(Vec<Held>),
    /// To end.
    Stop,
}

/// The other thread's end: gives orders, and hears notes.
#[derive(Debug)]
pub struct Switch {
    orders: Sender<Order>,
    bell: Arc<Doorbell>,
    /// What the service tells.
    pub notes: Receiver<Note>,
    /// Rung with each note.
    pub noted: Arc<Doorbell>,
}

/// Where launches are seen.
#[derive(Debug, Default)]
pub struct Sources {
    /// Programs that begin to run. Every event wakes the service.
    pub exec: Option<ProcessEvents>,
    /// Processes that are made and that end, listened to while something is
    /// boosted. They are read when processes are looked at anyway.
    pub family: Option<ProcessEvents>,
    /// Processes that come to the front.
    pub front: Option<Front>,
    /// The system's log: the reading end of a pipe that does not block.
    pub log: Option<OwnedFd>,
}

/// The service's state, before and while its thread runs.
#[derive(Debug)]
pub struct Service {
    root: Root,
    rules: Rules,
    engine: Engine,
    knobs: Knobs,
    sources: Sources,
    log: LogLines,
    second_tap: Nanos,
    tap_at: Option<Timestamp>,
    hears_family: bool,
    quiet_at: Option<Timestamp>,
    begun: Timestamp,
    counts: Counts,
    latency: Histogram<u64>,
    raised: BTreeMap<u32, Raised>,
    told: Told,
    orders: Receiver<Order>,
    bell: Arc<Doorbell>,
    notes: Sender<Note>,
    noted: Arc<Doorbell>,
}

impl Switch {
    /// Gives an order.
    pub fn order(&self, order: Order) {
        // A service that has ended needs no orders.
        let _nobody_there = self.orders.send(order);
        self.bell.ring();
    }
}

impl Service {
    /// A service that changes nothing before [`run`](Self::run).
    ///
    /// # Errors
    /// No file descriptor is left.
    pub fn new(
        root: &Root,
        rules: Rules,
        engine: Engine,
        held: Vec<Held>,
        sources: Sources,
        second_tap: Nanos,
    ) -> Result<(Self, Switch)> {
        let (bell, rung) = (Arc::new(Doorbell::new()?), Arc::new(Doorbell::new()?));
        let (given, orders) = channel();
        let (notes, heard) = channel();
        let switch = Switch {
            orders: given,
            bell: Arc::clone(&bell),
            notes: heard,
            noted: Arc::clone(&rung),
        };
        let service = Self {
            root: root.clone(),
            rules,
            engine,
            knobs: Knobs::new(held),
            sources,
            log: LogLines::default(),
            second_tap,
            tap_at: None,
            hears_family: false,
            quiet_at: None,
            begun: Timestamp::now(),
            counts: Counts::default(),
            // Two digits, from 1 µs to 100 s: 16 KiB.
            latency: Histogram::new_with_bounds(1_000, 100_000_000_000, 2)
                .expect("these bounds are possible"),
            raised: BTreeMap::new(),
            told: Told::default(),
            orders,
            bell,
            notes,
            noted: rung,
        };
        Ok((service, switch))
    }

    /// Waits for launches and acts on them until it is told to stop. Gives back
    /// what it knows: the engine, with what was learned.
    pub fn run(mut self) -> Engine {
        if let Err(error) = self.serve() {
            self.note(Note::Failed(error));
        }
        let now = Timestamp::now();
        let over = self.engine.give_up(Why::Stopped, now);
        self.tell_over(over, now);
        self.restore();
        self.engine
    }

    fn serve(&mut self) -> Result<()> {
        loop {
            let sources = [
                Some(self.bell.as_fd()),
                self.sources.exec.as_ref().map(ProcessEvents::as_fd),
                self.sources.front.as_ref().map(Front::as_fd),
                self.sources.log.as_ref().map(OwnedFd::as_fd),
            ];
            let [ordered, exec, front, log] = until_readable(sources, self.wake_at())?;
            if exec {
                self.read_events()?;
            }
            if front {
                self.read_front();
            }
            if log {
                self.read_log();
            }
            if ordered && self.obey() {
                return Ok(());
            }
            self.go_on();
        }
    }

    /// When something is to be done though nothing has happened.
    fn wake_at(&self) -> Option<Timestamp> {
        [self.engine.wake_at(), self.tap_at, self.quiet_at].into_iter().flatten().min()
    }

    fn read_events(&mut self) -> Result<()> {
        let Some(mut events) = self.sources.exec.take() else { return Ok(()) };
        let read = events.read(|event| self.event(event));
        self.sources.exec = Some(events);
        self.count_overruns();
        read.map(drop)
    }

    /// What has become of the processes that are followed, since the last look.
    fn read_family(&mut self) {
        if !self.hears_family {
            return;
        }
        let Some(mut events) = self.sources.family.take() else { return };
        while let Ok(true) = events.read(|event| self.event(event)) {}
        self.sources.family = Some(events);
        self.count_overruns();
    }

    fn event(&mut self, event: ProcessEvent) {
        match event {
            // What began before the service was there, its keeper for one, is
            // too late to be boosted.
            ProcessEvent::Exec { at, .. } if at < self.begun => {}
            ProcessEvent::Exec { process, at } => self.exec(process, at),
            ProcessEvent::Fork { parent, child, .. } => self.engine.forked(parent, child),
            ProcessEvent::Exit { process, .. } => {
                if self.engine.follows(process) {
                    let now = Timestamp::now();
                    let over = self.engine.exited(process, now);
                    self.tell_over(over, now);
                }
            }
        }
    }

    fn count_overruns(&mut self) {
        let sources = [&self.sources.exec, &self.sources.family];
        let lost = sources.into_iter().flatten().map(ProcessEvents::lost).sum();
        if lost > self.counts.overruns {
            self.counts.overruns = lost;
            self.note(Note::Overrun(lost));
        }
    }

    /// A process has begun to run a program. The cheap questions come first:
    /// most programs are started by others for themselves.
    fn exec(&mut self, process: u32, at: Timestamp) {
        self.counts.execs += 1;
        let known = self.engine.begins_with(process);
        if !known {
            if let Some(reason) = self.engine.objection(Timestamp::now()) {
                return self.pass_over(reason);
            }
            match pid::leads_group(process) {
                None => return self.pass_over(Reason::Gone),
                Some(false) if self.rules.leaders_only => {
                    return self.pass_over(Reason::Follower);
                }
                Some(_) => {}
            }
            if self.engine.crowded(Timestamp::now()) {
                return self.pass_over(Reason::Crowd);
            }
        }
        let Some(executable) = pid::executable(&self.root, process) else {
            return self.pass_over(Reason::Gone);
        };
        let control_group = pid::control_group(&self.root, process).unwrap_or_default();
        let user = self.user(process);
        let candidate = Candidate { executable: &executable, control_group: &control_group, user };
        match self.rules.objection(&candidate) {
            Some(reason) => self.pass_over(reason),
            None => self.begin(process, &executable.to_string_lossy(), at),
        }
    }

    fn read_front(&mut self) {
        let Some(mut front) = self.sources.front.take() else { return };
        let read = front.read(|process, at| {
            if let Some(program) = self.program(process) {
                self.announced(process, &program, at);
            }
        });
        match read {
            Ok(()) => self.sources.front = Some(front),
            Err(error) => {
                self.note(Note::Lost { knob: "top-app".to_owned(), reason: error.to_string() });
            }
        }
    }

    fn read_log(&mut self) {
        let Some(log) = &self.sources.log else { return };
        let mut piece = [0; PIECE];
        let length = match unjank_host::wait::read_some(log, &mut piece) {
            Ok(Some(0)) | Err(_) => {
                self.sources.log = None;
                let reason = "the system's log has ended".to_owned();
                return self.note(Note::Lost { knob: "logcat".to_owned(), reason });
            }
            Ok(None) => return,
            Ok(Some(length)) => length,
        };
        let mut lines = std::mem::take(&mut self.log);
        lines.take(&piece[..length], |event| {
            let now = Timestamp::now();
            match event {
                LogEvent::Started { process, package } => self.announced(process, &package, now),
                LogEvent::Displayed { package } => {
                    let over = self.engine.displayed(&package, now);
                    self.tell_over(over, now);
                }
            }
        });
        self.log = lines;
    }

    /// The system says that `program` is launched: no rule about groups and
    /// leaders applies, only that about programs.
    fn announced(&mut self, process: u32, program: &str, at: Timestamp) {
        if let Some(reason) = self.engine.objection(at) {
            return self.pass_over(reason);
        }
        let user = self.user(process);
        let candidate = Candidate { executable: program.as_ref(), control_group: "/", user };
        match self.rules.objection(&candidate) {
            Some(reason) => self.pass_over(reason),
            None => self.begin(process, program, at),
        }
    }

    /// The user of a process, if any rule asks for it.
    fn user(&self, process: u32) -> u32 {
        let asked = !(self.rules.users.is_empty() && self.rules.not_users.is_empty());
        asked.then(|| pid::user(&self.root, process)).flatten().unwrap_or_default()
    }

    /// The program of a process: on Android, its package.
    fn program(&self, process: u32) -> Option<String> {
        let executable = pid::executable(&self.root, process)?.to_string_lossy().into_owned();
        if !executable.contains(ZYGOTE) {
            return Some(executable);
        }
        let name = pid::command_line(&self.root, process)?.first()?.to_string_lossy().into_owned();
        Some(name)
    }

    fn begin(&mut self, process: u32, program: &str, at: Timestamp) {
        let now = Timestamp::now();
        let known = self.engine.begins_with(process);
        if self.engine.begin(process, program, at, now) {
            let outcome = self.knobs.boost();
            let written = Timestamp::now();
            self.counts.boosts += 1;
            if outcome.written > 0 {
                let raised = Raised { after: written.since(at), knobs: outcome.written };
                self.latency.saturating_record(raised.after.get());
                self.raised.insert(process, raised);
            }
            self.tap_at = self.knobs.want_again().then(|| written + self.second_tap);
            self.tell_lost(outcome);
            self.hear_family(process);
        }
        self.counts.launches += u64::from(!known);
    }

    /// Follows what `process` starts, from now on and what it has started
    /// already.
    fn hear_family(&mut self, process: u32) {
        self.quiet_at = None;
        if !self.hears_family
            && let Some(events) = &self.sources.family
        {
            // If it fails, a launch is over with its first process.
            self.hears_family = events.ask(EventKinds::FAMILY).is_ok();
        }
        for child in pid::children(&self.root, process) {
            self.engine.forked(process, child);
        }
    }

    /// Does what is due.
    fn go_on(&mut self) {
        let now = Timestamp::now();
        if self.tap_at.is_some_and(|at| at <= now) {
            self.tap_at = None;
            let outcome = self.knobs.again();
            self.tell_lost(outcome);
        }
        if self.engine.wake_at().is_some_and(|at| at <= now) {
            self.read_family();
            let over = self.engine.look(now, &Processes(&self.root));
            self.tell_over(over, now);
        }
        let since = self.engine.boosted_since();
        if self.engine.ends(now) {
            self.restore();
            let boosted = since.map_or(Nanos::ZERO, |since| now.since(since));
            self.counts.boosted = self.counts.boosted + boosted;
            self.quiet_at = Some(now + LISTEN_ON);
        }
        if self.quiet_at.is_some_and(|at| at <= now) {
            self.quiet_at = None;
            if let Some(events) = &self.sources.family {
                self.hears_family = events.ask(EventKinds::NONE).is_err();
            }
        }
    }

    fn restore(&mut self) {
        self.tap_at = None;
        let outcome = self.knobs.restore();
        self.tell_lost(outcome);
    }

    /// Does what it is told. Whether that is to end.
    fn obey(&mut self) -> bool {
        self.bell.quiet();
        while let Ok(order) = self.orders.try_recv() {
            let now = Timestamp::now();
            match order {
                Order::Pause | Order::Resume => {
                    let over = self.engine.pause(matches!(order, Order::Pause), now);
                    self.tell_over(over, now);
                }
                Order::Status => {
                    let status = Box::new(self.status(now));
                    self.note(Note::Status(status));
                }
                Order::Take(held) => {
                    let outcome = self.knobs.add(held, self.engine.boosted_since().is_some());
                    self.tell_lost(outcome);
                }
                Order::Stop => return true,
            }
        }
        false
    }

    fn status(&mut self, now: Timestamp) -> Status {
        let me = std::process::id();
        let sources = [
            ("exec", self.sources.exec.is_some()),
            ("top-app", self.sources.front.is_some()),
            ("logcat", self.sources.log.is_some()),
        ];
        let sources = sources.into_iter().filter(|(_, there)| *there);
        let boosted_for = self.engine.boosted_since().map(|since| now.since(since));
        let mut counts = self.counts.clone();
        counts.boosted = counts.boosted + boosted_for.unwrap_or_default();
        Status {
            schema: SCHEMA.to_owned(),
            process: me,
            up: now.since(self.begun),
            paused: self.engine.is_paused(),
            moves: self.knobs.moves(),
            sources: sources.map(|(name, _)| name.to_owned()).collect(),
            boosted_for,
            launches: self
                .engine
                .launches()
                .map(|(process, program)| (process, program.to_owned()))
                .collect(),
            budget_left: self.engine.budget_left(now),
            learned: self.engine.learned().len(),
            counts,
            latency: Latency::of(&self.latency),
            cpu_time: pid::cpu_time(me).unwrap_or_default(),
            resident: pid::resident(&self.root, me).map_or(0, Bytes::get),
        }
    }

    fn pass_over(&mut self, reason: Reason) {
        *self.counts.not.entry(reason).or_default() += 1;
    }

    fn tell_over(&mut self, over: Vec<Over>, now: Timestamp) {
        for over in over {
            let raised = self.raised.remove(&over.process);
            let budget_left = self.engine.budget_left(now);
            match self.told.another(now) {
                Telling::Nothing => continue,
                Telling::All => {}
                Telling::AndThatNot(n) => self.note(Note::NotTold(n)),
            }
            self.note(Note::Over(Boosted { over, raised, budget_left }));
        }
    }

    fn tell_lost(&mut self, outcome: Outcome) {
        for (knob, reason) in outcome.lost {
            self.counts.knobs_lost += 1;
            self.note(Note::Lost { knob, reason });
        }
    }

    fn note(&self, note: Note) {
        // Whoever does not listen any more is ending.
        let _nobody_there = self.notes.send(note);
        self.noted.ring();
    }
}

/// The processes of a machine.
struct Processes<'a>(&'a Root);

impl Look for Processes<'_> {
    fn ran(&self, process: u32) -> Option<Nanos> {
        pid::cpu_time(process)
    }

    fn waits(&self, process: u32) -> Option<Waits> {
        Waits::of(self.0, process)
    }
}
