//! The thread that waits for launches and acts on them. Everything that takes
//! time (log, socket, store) is another thread's, which it hands notes to and
//! never waits for.
//!
//! | file | subject |
//! |---|---|
//! | `groups` | control groups by their numbers |
//! | `hear` | events of the kernel, and what Android tells |
//! | `judge` | from a program that begins to run to a boost |
//! | `tell` | the service's state, and what became of launches and knobs |
//! | `switch` | how the other thread speaks with it |

mod groups;
mod hear;
mod judge;
mod switch;
mod tell;

use std::collections::BTreeMap;
use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use hdrhistogram::Histogram;
use unjank_host::process::connector::{EventKinds, ProcConnector};
use unjank_host::process::pid::{self, Waits};
use unjank_host::wait::{Doorbell, until_readable};
use unjank_host::{Nanos, Result, Root, Timestamp};

use super::engine::{Engine, Look, Why};
use super::knobs::{Held, Knobs};
use super::report::{Counts, Note, Raised};
use super::rules::Rules;
use super::sources::{Front, LogLines};
use super::told::Told;

use groups::Groups;

pub use hear::Sources;
pub use switch::{Order, Switch};

/// For how long after a boost processes that are made and end are still
/// listened to: asking the kernel twice for each of many boosts would cost more.
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
            groups: Groups::default(),
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
                self.sources.exec.as_ref().map(ProcConnector::as_fd),
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
