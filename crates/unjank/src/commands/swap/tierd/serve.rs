//! Runs the service.

use std::io::Read as _;
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::mpsc::Receiver;

use anyhow::{Context as _, Result};
use sd_notify::NotifyState;
use unjank_host::control_socket::ControlSocket;
use unjank_host::files::Destination;
use unjank_host::memory::MemoryLock;
use unjank_host::wait::{WakeEvent, until_readable};
use unjank_host::{Bytes, Root, Timestamp};
use unjank_measure::Store;
use unjank_swap::remedy::writeback::budget::Budget;
use unjank_swap::remedy::writeback::metrics;
use unjank_swap::remedy::writeback::service::{Service, wall_clock};
use unjank_swap::remedy::writeback::status::Status;
use unjank_swap::remedy::writeback::zram::{Stopped, Zram};

use super::args::ServiceArgs;
use crate::commands::service::requests::{self, Action, Request};
use crate::commands::service::{between_reports, write_metrics};
use crate::commands::storing;
use crate::{exit, interrupt, output};

/// The remaining budget is stored each time that this much was written. A service that is killed and started
/// again may exceed its budget by this much.
const UNSTORED: Bytes = Bytes::from_mib(16);

/// Runs the service until a signal or `--for` ends it.
pub(super) fn run(args: &ServiceArgs) -> Result<ExitCode> {
    if let Some(path) = &args.metrics_file {
        Destination::open_file(path)?;
    }
    let signals = interrupt::stream().context("while listening for signals")?;
    let root = Root::system();
    let mut remembered = Remembered::recall(args, &root)?;
    let service = Service::new(args.options(), remembered.budget, &root)?;
    let socket = Arc::new(ControlSocket::listen(&args.socket)?);
    let (requests, asked) = requests::listen(Arc::clone(&socket), &requests::SERVICE)?;
    // It looks for pages when memory is short.
    let _locked = MemoryLock::everything();
    output::remark(&format!(
        "writing cold pages of {} back to {}; control socket {}",
        service.zram().name(),
        service.zram().backing(),
        socket.path().display()
    ));
    if let Some(reason) = service.by_age() {
        output::remark(&format!("pages are written back by their age alone: {reason}"));
    }
    let _not_a_service_of_systemd = sd_notify::notify(&[NotifyState::Ready]);
    let mut serving = Serving { args, service, requests, remembered: &mut remembered, said: None };
    let served = serving.until_the_end(&signals, &asked);
    let _not_a_service_of_systemd = sd_notify::notify(&[NotifyState::Stopping]);
    serving.remembered.keep(serving.service.budget());
    // The socket's thread holds it as long as the process lives.
    socket.close();
    served?;
    Ok(ExitCode::from(exit::FINE))
}

struct Serving<'a> {
    args: &'a ServiceArgs,
    service: Service,
    requests: Receiver<Request<Status>>,
    remembered: &'a mut Remembered,
    /// The last obstacle that was said.
    said: Option<Stopped>,
}

impl Serving<'_> {
    fn until_the_end(&mut self, mut signals: &UnixStream, asked: &WakeEvent) -> Result<()> {
        let end = self.args.length.map(|length| Timestamp::now() + length);
        let (mut next_round, mut next_report) = (Timestamp::now(), Timestamp::now());
        loop {
            if next_round <= Timestamp::now() {
                next_round = self.service.round()?;
                self.remembered.keep_what_was_spent(self.service.budget(), self.args.per_day);
            }
            if next_report <= Timestamp::now() {
                next_report = Timestamp::now() + between_reports();
                self.report()?;
            }
            let until = [end, Some(next_round), Some(next_report)].into_iter().flatten().min();
            let [asks, signal] = until_readable([asked.as_fd(), signals.as_fd()].map(Some), until)?;
            if signal {
                let _which_does_not_matter = signals.read(&mut [0]);
                return Ok(());
            }
            if asks {
                asked.reset();
                self.answer()?;
            }
            if end.is_some_and(|end| end <= Timestamp::now()) {
                return Ok(());
            }
        }
    }

    fn answer(&mut self) -> Result<()> {
        while let Ok(request) = self.requests.try_recv() {
            match request.question.action {
                // A mark is not offered.
                Action::Status | Action::Mark => {}
                Action::Pause => self.service.pause(true),
                Action::Resume => self.service.pause(false),
            }
            request.answer(Box::new(self.service.status()?));
        }
        Ok(())
    }

    fn report(&mut self) -> Result<()> {
        let status = self.service.status()?;
        let written = status.counts.stayed_away + status.counts.for_room;
        let words = format!("{written} pages written back, {} left today", status.budget_left);
        let _not_a_service_of_systemd =
            sd_notify::notify(&[NotifyState::Watchdog, NotifyState::Status(&words)]);
        if status.stopped != self.said {
            self.said = status.stopped;
            if let Some(stopped) = status.stopped {
                output::remark(obstacle(stopped));
            }
        }
        if let Some(path) = &self.args.metrics_file {
            write_metrics(path, &metrics::prometheus(&status));
        }
        Ok(())
    }
}

fn obstacle(stopped: Stopped) -> &'static str {
    match stopped {
        Stopped::Full => "the backing device is full; pages stay in zram",
        Stopped::LimitOrFailure => {
            "the kernel wrote nothing back: its writeback_limit is used up, the backing device has \
             failed, or memory is short"
        }
        Stopped::Busy => "another program writes back; trying again",
        Stopped::NoDevice => "the machine does not swap to the device any more; waiting for it",
        Stopped::UnknownArea => {
            "swap areas were turned off, so that it is not known which pages are in zram; nothing is \
             written back"
        }
        Stopped::Budget => {
            "zram holds more than the budget allows to write, and the kernel does not say how much \
             of it is old; nothing is written back until the budget has grown (see --per-day)"
        }
    }
}

/// The remaining budget, from one start to the next.
struct Remembered {
    store: Option<Store>,
    key: String,
    budget: Option<Budget>,
    has_failed: bool,
}

impl Remembered {
    /// Reads the store.
    ///
    /// # Errors
    /// There is no such zram device; the store cannot be used: without it, a service that is started
    /// again and again would write without a limit.
    fn recall(args: &ServiceArgs, root: &Root) -> Result<Self> {
        let name = Zram::find(root, args.zram.as_deref())?.name().to_owned();
        let key = format!("swap/tierd/{name}/budget");
        let path = if args.no_store { None } else { storing::store_path(args.store.as_deref()) };
        let Some(path) = path else {
            return Ok(Self { store: None, key, budget: None, has_failed: false });
        };
        let store = Store::open(&path)?;
        let text = store.recall(&key)?.unwrap_or_default();
        let budget = serde_json::from_str(&text).ok();
        Ok(Self { store: Some(store), key, budget, has_failed: false })
    }

    fn keep_what_was_spent(&mut self, budget: Budget, per_day: Bytes) {
        let earlier = self.budget;
        if earlier.is_none_or(|it| budget.has_spent(it, UNSTORED, per_day, wall_clock())) {
            self.keep(budget);
        }
    }

    /// Stores the budget. A failure is said once.
    fn keep(&mut self, budget: Budget) {
        self.budget = Some(budget);
        let Some(store) = &mut self.store else { return };
        let text = serde_json::to_string(&budget).expect("it has only string keys");
        if let Err(error) = store.remember(&self.key, &text)
            && !std::mem::replace(&mut self.has_failed, true)
        {
            output::remark(&format!("the remaining budget is not stored: {error}"));
        }
    }
}
