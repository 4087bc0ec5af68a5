//! The thread that detects launches and boosts them. Another thread does what
//! takes time (log, socket, store). It gets notes, and this thread never waits for it.
//!
//! | file | subject |
//! |---|---|
//! | `groups` | control groups by their numbers |
//! | `events` | reading the kernel's events, and Android's lists and log |
//! | `classify` | whether a program that begins to run is a launch |
//! | `notes` | the service's state, and notes about launches and knobs |
//! | `handle` | the other thread's handle |

mod classify;
mod events;
mod groups;
mod handle;
mod notes;

use std::collections::BTreeMap;
use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use hdrhistogram::Histogram;
use unjank_host::process::connector::{EventKinds, ProcConnector};
use unjank_host::wait::{WakeEvent, until_readable};
use unjank_host::{Nanos, Result, Root, Timestamp};

use super::engine::{EndReason, Engine};
use super::knobs::{HeldKnob, Knobs};
use super::log_limit::LogLimit;
use super::members::ProcessesOf;
use super::report::{Counts, Note, Raised};
use super::rules::Rules;
use super::sources::{Foreground, LogLines};

use groups::Groups;

pub use events::Sources;
pub use handle::{Order, ServiceHandle};

/// How long fork and exit events are still received after a boost: switching
/// them for each of many boosts would cost more.
const LISTEN_ON: Nanos = Nanos::from_millis(1_000);

/// The service's state, before and while its thread runs.
#[derive(Debug)]
pub struct Service {
    root: Root,
    rules: Rules,
    engine: Engine,
    knobs: Knobs,
    sources: Sources,
    log: LogLines,
    groups: Groups,
    second_tap: Nanos,
    tap_at: Option<Timestamp>,
    receives_family: bool,
    quiet_at: Option<Timestamp>,
    begun: Timestamp,
    counts: Counts,
    latency: Histogram<u64>,
    raised: BTreeMap<u32, Raised>,
    log_limit: LogLimit,
    orders: Receiver<Order>,
    wake: Arc<WakeEvent>,
    notes: Sender<Note>,
    has_notes: Arc<WakeEvent>,
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
        held: Vec<HeldKnob>,
        sources: Sources,
        second_tap: Nanos,
    ) -> Result<(Self, ServiceHandle)> {
        let (wake, has_notes) = (Arc::new(WakeEvent::new()?), Arc::new(WakeEvent::new()?));
        let (given, orders) = channel();
        let (notes, receiver) = channel();
        let handle = ServiceHandle {
            orders: given,
            wake: Arc::clone(&wake),
            notes: receiver,
            has_notes: Arc::clone(&has_notes),
        };
        let service = Self {
            root: root.clone(),
            rules,
            engine,
            knobs: Knobs::new(held),
            sources,
            log: LogLines::default(),
            groups: Groups::default(),
            second_tap,
            tap_at: None,
            receives_family: false,
            quiet_at: None,
            begun: Timestamp::now(),
            counts: Counts::default(),
            // Two digits, from 1 µs to 100 s: 16 KiB.
            latency: Histogram::new_with_bounds(1_000, 100_000_000_000, 2)
                .expect("these bounds are possible"),
            raised: BTreeMap::new(),
            log_limit: LogLimit::default(),
            orders,
            wake,
            notes,
            has_notes,
        };
        Ok((service, handle))
    }

    /// Boosts launches until [`Order::Stop`]. Returns the engine, which has the
    /// learned lengths.
    pub fn run(mut self) -> Engine {
        if let Err(error) = self.serve() {
            self.note(Note::Failed(error));
        }
        let now = Timestamp::now();
        let over = self.engine.give_up(EndReason::Stopped, now);
        self.note_ended(over, now);
        self.restore();
        self.engine
    }

    fn serve(&mut self) -> Result<()> {
        loop {
            let sources = [
                Some(self.wake.as_fd()),
                self.sources.exec.as_ref().map(ProcConnector::as_fd),
                self.sources.foreground.as_ref().map(Foreground::as_fd),
                self.sources.log.as_ref().map(OwnedFd::as_fd),
            ];
            let [ordered, exec, foreground, log] = until_readable(sources, self.wake_at())?;
            if exec {
                self.read_events()?;
            }
            if foreground {
                self.read_foreground();
            }
            if log {
                self.read_log();
            }
            if ordered && self.obey() {
                return Ok(());
            }
            self.act();
        }
    }

    /// The next time at which something is due without an event.
    fn wake_at(&self) -> Option<Timestamp> {
        [self.engine.wake_at(), self.tap_at, self.quiet_at].into_iter().flatten().min()
    }

    /// Handles everything that is due.
    fn act(&mut self) {
        let now = Timestamp::now();
        if self.tap_at.is_some_and(|at| at <= now) {
            self.tap_at = None;
            let outcome = self.knobs.again();
            self.note_lost(outcome);
        }
        if self.engine.wake_at().is_some_and(|at| at <= now) {
            self.read_family();
            let over = self.engine.look(now, &ProcessesOf(&self.root));
            self.note_ended(over, now);
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
                self.receives_family = events.ask(EventKinds::NONE).is_err();
            }
        }
    }

    fn restore(&mut self) {
        self.tap_at = None;
        let outcome = self.knobs.restore();
        self.note_lost(outcome);
    }

    /// Executes orders; returns whether to stop.
    fn obey(&mut self) -> bool {
        self.wake.reset();
        while let Ok(order) = self.orders.try_recv() {
            let now = Timestamp::now();
            match order {
                Order::Pause(reason) => {
                    let over = self.engine.pause(reason, now);
                    self.note_ended(over, now);
                }
                Order::Resume(reason) => self.engine.resume(reason),
                Order::Status => {
                    let status = Box::new(self.status(now));
                    self.note(Note::Status(status));
                }
                Order::Take(held) => {
                    let outcome = self.knobs.add(held, self.engine.boosted_since().is_some());
                    self.note_lost(outcome);
                }
                Order::Stop => return true,
            }
        }
        false
    }
}
