//! Runs the service.

use std::io::Read as _;
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::mpsc::Receiver;

use anyhow::{Context as _, Result};
use sd_notify::NotifyState;
use signal_hook::consts::SIGUSR1;
use signal_hook::low_level::pipe;
use unjank_host::control_socket::ControlSocket;
use unjank_host::files::Destination;
use unjank_host::process::pid;
use unjank_host::wait::{WakeEvent, until_readable};
use unjank_host::{Nanos, Root, Support, Timestamp};
use unjank_launch::remedy::learned::Learned;
use unjank_watch::budget::Budget;
use unjank_watch::launches::Launches;
use unjank_watch::metrics;
use unjank_watch::recorder::{Frozen, Recorder};
use unjank_watch::redact::Redaction;
use unjank_watch::status::{MarkOutcome, Status};
use unjank_watch::trigger::{MARK_REACHES_BACK, Trigger};

use super::args::ServiceArgs;
use super::explain::explain;
use super::polling::Polling;
use super::pressure::Pressure;
use super::start;
use crate::commands::incidents::Kept;
use crate::commands::service::requests::{self, Action, Request};
use crate::commands::service::{between_reports, write_metrics};
use crate::commands::why::open_tracefs;
use crate::{exit, interrupt, output};

/// The time between two looks at the processes of a launch.
const WHILE_LAUNCHING: Nanos = Nanos::from_millis(100);
/// Failures in a row after which the service ends.
const PATIENCE: u32 = 3;

/// Runs the service until a signal or `--for` ends it.
pub(super) fn run(args: &ServiceArgs) -> Result<ExitCode> {
    if let Some(path) = &args.metrics_file {
        Destination::open_file(path)?;
    }
    let signals = interrupt::stream().context("while listening for signals")?;
    let marks = signalled_marks().context("while listening for SIGUSR1")?;
    let root = Root::system();
    let tracefs = open_tracefs(&root)?;
    let kept = args.kept.open_for_service()?;
    let socket = Arc::new(ControlSocket::listen(&args.socket)?);
    // Nobody else keeps incidents now.
    if let Err(error) = kept.remove_orphans() {
        output::remark(&format!("recordings without an incident are not removed: {error:#}"));
    }
    let offers = [Action::Status, Action::Pause, Action::Resume, Action::Mark];
    let (requests, asked) = requests::listen(Arc::clone(&socket), &offers)?;
    let recorder = start::recorder(args, &root, &tracefs)?;
    let mut missing: Vec<String> = Vec::new();
    for note in recorder.notes() {
        missing.push(format!("{}: {}", note.what, note.reason));
    }
    let pressure = Pressure::listen(args, &root, &mut missing)?;
    let learned = kept.learned();
    let mut launches = Launches::new(&root, args.slow_launch.clone(), learned.clone());
    if let Support::No(reason) = launches.listen()? {
        missing.push(format!("launches: {reason}"));
    }
    output::remark(&format!("watching; control socket {}", socket.path().display()));
    for reason in &missing {
        output::remark(&format!("not watched: {reason}"));
    }
    let _not_a_service_of_systemd = sd_notify::notify(&[NotifyState::Ready]);
    let now = Timestamp::now();
    let mut serving = Serving {
        args,
        polling: Polling::new(args, &root),
        launches,
        learned,
        budget: Budget::new(args.per_hour),
        redaction: args.redact.then(Redaction::default),
        root,
        recorder,
        kept,
        requests,
        missing,
        began: now,
        recorded_since: now,
        paused: false,
        incidents: 0,
        nothing_found: 0,
        failures: 0,
        last: None,
        without_incident: None,
    };
    let served = serving.until_the_end(&signals, &marks, &asked, &pressure);
    serving.keep_learned();
    let _not_a_service_of_systemd = sd_notify::notify(&[NotifyState::Stopping]);
    // The socket's thread holds it as long as the process lives.
    socket.close();
    let removed = serving.recorder.remove();
    served?;
    removed?;
    Ok(ExitCode::from(exit::FINE))
}

/// A stream that becomes readable after a SIGUSR1.
fn signalled_marks() -> std::io::Result<UnixStream> {
    let (ours, theirs) = UnixStream::pair()?;
    pipe::register(SIGUSR1, theirs)?;
    ours.set_nonblocking(true)?;
    Ok(ours)
}

struct Serving<'a> {
    args: &'a ServiceArgs,
    root: Root,
    recorder: Recorder,
    polling: Polling,
    launches: Launches,
    /// The lengths of launches that are kept.
    learned: Learned,
    budget: Budget,
    redaction: Option<Redaction>,
    kept: Kept,
    requests: Receiver<Request<Status>>,
    missing: Vec<String>,
    began: Timestamp,
    recorded_since: Timestamp,
    paused: bool,
    incidents: u64,
    nothing_found: u64,
    /// In a row.
    failures: u32,
    last: Option<Last>,
    /// The last recording, if no incident was found in it: the next trigger may be about it.
    without_incident: Option<Frozen>,
}

/// The last explained incident.
struct Last {
    id: String,
    sentence: String,
    /// When its recording was frozen.
    at: Timestamp,
}

impl Serving<'_> {
    fn until_the_end(
        &mut self,
        mut signals: &UnixStream,
        mut marks: &UnixStream,
        asked: &WakeEvent,
        pressure: &Pressure,
    ) -> Result<()> {
        let end = self.args.length.map(|length| Timestamp::now() + length);
        let mut next_report = Timestamp::now();
        loop {
            if next_report <= Timestamp::now() {
                next_report = Timestamp::now() + between_reports();
                self.report();
            }
            for trigger in self.polling.poll(&self.recorder) {
                self.trigger(&trigger)?;
            }
            let now = Timestamp::now();
            let launch = self.launches.is_busy().then_some(now + WHILE_LAUNCHING);
            let times = [end, Some(next_report), launch];
            let more = [self.polling.next(), self.launches.next_reading(now)];
            let until = times.into_iter().chain(more).flatten().min();
            let [asks, signal, mark, stalls, execs] = until_readable(
                [
                    Some(asked.as_fd()),
                    Some(signals.as_fd()),
                    Some(marks.as_fd()),
                    Some(pressure.wake.as_fd()),
                    self.launches.execs(now),
                ],
                until,
            )?;
            if signal {
                let _which_does_not_matter = signals.read(&mut [0]);
                return Ok(());
            }
            if asks {
                asked.reset();
                self.answer()?;
            }
            if mark {
                while marks.read(&mut [0; 64]).is_ok_and(|read| read > 0) {}
                self.trigger(&Trigger::Mark(None))?;
            }
            if execs {
                self.launches.read(Timestamp::now())?;
            }
            if self.launches.is_busy() {
                for launch in self.launches.look(Timestamp::now()) {
                    self.trigger(&Trigger::Launch(launch))?;
                }
            }
            if stalls {
                for resource in pressure.reported() {
                    self.trigger(&Trigger::Pressure(resource))?;
                }
            }
            if end.is_some_and(|end| end <= Timestamp::now()) {
                return Ok(());
            }
        }
    }

    /// Freezes and explains, within the budget.
    ///
    /// # Errors
    /// Several incidents in a row could not be recorded or kept.
    fn trigger(&mut self, trigger: &Trigger) -> Result<MarkOutcome> {
        if self.paused {
            return Ok(MarkOutcome::Paused);
        }
        // The last incident may be about another process.
        let before = self.recent().filter(|_| !matches!(trigger, Trigger::Mark(Some(_))));
        if !self.budget.admits(trigger.kind(), Timestamp::now()) {
            return Ok(before.unwrap_or(MarkOutcome::LeftOut));
        }
        let earlier = self.without_incident.take();
        let explained = self.recorder.freeze().map_err(anyhow::Error::from).and_then(|frozen| {
            self.recorded_since = frozen.at;
            self.without_incident = Some(frozen.clone());
            let is_recent = |it: &Frozen| frozen.at.since(it.at) < trigger.reaches_back(frozen.at);
            let all = match earlier.filter(is_recent) {
                Some(earlier) => earlier.followed_by(frozen),
                None => frozen,
            };
            explain(trigger, all, self.redaction.as_ref(), &mut self.kept, &self.root)
        });
        match explained {
            Ok(Some((id, incident))) => {
                self.failures = 0;
                self.without_incident = None;
                self.incidents += 1;
                let sentence = incident.sentence();
                output::remark(&sentence);
                self.keep_within_budget();
                let store = self.store();
                let said = sentence.clone();
                self.last = Some(Last { id: id.clone(), sentence, at: self.recorded_since });
                Ok(MarkOutcome::Explained { id, store, sentence: said })
            }
            Ok(None) => {
                self.failures = 0;
                self.nothing_found += 1;
                self.budget.found_nothing();
                if matches!(trigger, Trigger::Mark(_)) {
                    output::remark("a mark, but no thread was held up for 10 ms or longer");
                }
                Ok(before.unwrap_or(MarkOutcome::NothingFound))
            }
            Err(error) => {
                self.failures += 1;
                output::remark(&format!("an incident is not kept: {error:#}"));
                // The disk may be full.
                self.keep_within_budget();
                if self.failures >= PATIENCE {
                    return Err(error.context("several incidents in a row could not be kept"));
                }
                Ok(MarkOutcome::Failed)
            }
        }
    }

    /// The last incident, if a mark now may be about the same time.
    fn recent(&self) -> Option<MarkOutcome> {
        let now = Timestamp::now();
        let is_recent = |last: &&Last| now.since(last.at) < MARK_REACHES_BACK;
        let last = self.last.as_ref().filter(is_recent)?;
        let (id, sentence) = (last.id.clone(), last.sentence.clone());
        Some(MarkOutcome::Before { id, store: self.store(), sentence })
    }

    fn store(&self) -> String {
        self.args.kept.store.display().to_string()
    }

    fn keep_within_budget(&mut self) {
        if let Err(error) = self.kept.prune(self.args.most_kept) {
            output::remark(&format!("old incidents are not removed: {error:#}"));
        }
    }

    fn answer(&mut self) -> Result<()> {
        while let Ok(request) = self.requests.try_recv() {
            let mut mark = None;
            match request.question.action {
                Action::Status => {}
                Action::Mark => {
                    let process = request.question.process.clone();
                    mark = Some(self.trigger(&Trigger::Mark(process))?);
                }
                Action::Pause => self.pause(true)?,
                Action::Resume => self.pause(false)?,
            }
            let status = Status { mark, ..self.status() };
            request.answer(Box::new(status));
        }
        Ok(())
    }

    fn pause(&mut self, paused: bool) -> Result<()> {
        if paused != self.paused {
            self.recorder.pause(paused)?;
            // The next recording does not follow it without a gap.
            self.without_incident = None;
            self.paused = paused;
            self.recorded_since = Timestamp::now();
        }
        Ok(())
    }

    fn status(&self) -> Status {
        let now = Timestamp::now();
        let own = std::process::id();
        Status {
            schema: Status::SCHEMA.to_owned(),
            process: own,
            up: now.since(self.began),
            paused: self.paused,
            buffers: self.recorder.memory(),
            recorded: now.since(self.recorded_since),
            watched: self.polling.watched(),
            incidents: self.incidents,
            nothing_found: self.nothing_found,
            left_out: self.budget.left_out(),
            last: self.last.as_ref().map(|last| last.sentence.clone()),
            mark: None,
            missing: self.missing.clone(),
            cpu_time: pid::cpu_time(own).unwrap_or_default(),
            resident: pid::resident(&self.root, own).unwrap_or_default(),
        }
    }

    /// Keeps the lengths of launches from one start to the next, unless names are to be hashed.
    fn keep_learned(&mut self) {
        if self.redaction.is_none() && *self.launches.learned() != self.learned {
            match self.kept.keep_learned(self.launches.learned()) {
                Ok(()) => self.learned = self.launches.learned().clone(),
                Err(error) => {
                    output::remark(&format!("learned lengths of launches are not kept: {error:#}"));
                }
            }
        }
    }

    /// Enlarges the buffers if they hold less than the wanted time. What was recorded until then is
    /// kept for the next trigger.
    fn enlarge_buffers(&mut self) {
        let Some(time) = self.args.keep.filter(|_| !self.paused) else { return };
        match self.recorder.hold(time, self.args.buffers) {
            Ok(None) => {}
            Ok(Some(frozen)) => {
                self.recorded_since = frozen.at;
                self.without_incident = Some(match self.without_incident.take() {
                    Some(earlier) => earlier.followed_by(frozen),
                    None => frozen,
                });
            }
            Err(error) => output::remark(&format!("the buffers are not enlarged: {error}")),
        }
    }

    fn report(&mut self) {
        self.keep_learned();
        let now = Timestamp::now();
        self.without_incident.take_if(|last| now.since(last.at) > MARK_REACHES_BACK);
        self.enlarge_buffers();
        let status = self.status();
        let words = format!("{} incidents explained", status.incidents);
        let _not_a_service_of_systemd =
            sd_notify::notify(&[NotifyState::Watchdog, NotifyState::Status(&words)]);
        if let Some(path) = &self.args.metrics_file {
            write_metrics(path, &metrics::prometheus(&status));
        }
    }
}
