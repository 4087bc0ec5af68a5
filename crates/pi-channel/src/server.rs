//! The answering side of a channel.

use std::hint::spin_loop;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use crate::bytes::Outgoing;
use crate::clock::Moment;
use crate::doorbell::{Doorbell, Doorbells, MOST, Sleeper};
use crate::error::{Error, Result};
use crate::intake::{Acceptor, Intake, Stopper};
use crate::lane::Incoming;
use crate::layout::Geometry;
use crate::order;
use crate::seat::{Answer, Request, Seat};
use crate::spin::{DEFAULT_SPIN, Spin};
use crate::thread;

/// The most lanes of a server: it sleeps on all their doorbells and its own.
pub const MAX_LANES: usize = MOST - 1;

/// How often a sleeping server checks for dead clients.
const SLICE: Duration = Duration::from_secs(1);
/// The longest time for which a hostile client can keep a shared doorbell from ringing
/// for others.
const SHARED_SLICE: Duration = Duration::from_millis(100);
/// Calls between two checks for dead clients, while the server never sleeps.
const CALLS: u32 = 1 << 16;

/// Settings of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// The most clients at a time, 1 to [`MAX_LANES`].
    pub lanes: usize,
    /// The longest request, in bytes, at most
    /// [`MAX_CAPACITY`](crate::MAX_CAPACITY).
    pub request_capacity: usize,
    /// The longest reply, in bytes, at most
    /// [`MAX_CAPACITY`](crate::MAX_CAPACITY).
    pub reply_capacity: usize,
    /// How long the server spins for a call before it sleeps, at most
    /// [`MAX_SPIN`](crate::MAX_SPIN); zero for not at all.
    pub spin: Duration,
    /// Whether clients can keep each other's calls from waking the server.
    pub doorbells: Doorbells,
}

impl Default for Settings {
    /// 16 clients, requests and replies of up to 4 KiB.
    fn default() -> Self {
        Self {
            lanes: 16,
            request_capacity: 4096,
            reply_capacity: 4096,
            spin: DEFAULT_SPIN,
            doorbells: Doorbells::OnePerLane,
        }
    }
}

/// Counters of a server's loop.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Served {
    /// Calls that the handler answered.
    pub calls: u64,
    /// Clients that connected.
    pub arrived: u64,
    /// Clients that left or died.
    pub left: u64,
    /// Clients whose lane was closed because they broke the protocol.
    pub broken: u64,
}

/// Serves calls of many clients, one after the other, at the priority of the most
/// urgent waiting client.
///
/// It stays on the thread that created it, because that thread inherits the
/// clients' priorities.
#[derive(Debug)]
pub struct Server {
    thread: u32,
    intake: Arc<Intake>,
    seats: Vec<Seat>,
    sleeper: Sleeper,
    spin: Spin,
    slice: Duration,
    /// The CPU of the client that was served last.
    last_caller: Option<u32>,
    connections: u64,
    calls_until_reaping: u32,
    next_reaping: Moment,
    not_send: PhantomData<*const ()>,
}

impl Server {
    /// Creates a server on the calling thread, without clients.
    ///
    /// # Errors
    /// Impossible settings, or no memory.
    pub fn new(settings: &Settings) -> Result<Self> {
        let Settings { lanes, request_capacity, reply_capacity, spin, doorbells } = *settings;
        if !(1..=MAX_LANES).contains(&lanes) {
            let (value, most) = (lanes, MAX_LANES);
            return Err(Error::Setting { what: "the number of lanes", value, least: 1, most });
        }
        let geometry = Geometry::new(request_capacity, reply_capacity)?;
        let doorbells = doorbells.on_this_kernel(lanes);
        let thread = thread::number();
        let intake = Arc::new(Intake::new(geometry, lanes, thread, doorbells)?);
        Ok(Self {
            thread,
            sleeper: Sleeper::new(intake.bell()),
            intake,
            seats: Vec::with_capacity(lanes),
            spin: Spin::new(spin),
            slice: match doorbells {
                Doorbells::Shared if lanes > 1 => SHARED_SLICE,
                Doorbells::Shared | Doorbells::OnePerLane => SLICE,
            },
            last_caller: None,
            connections: 0,
            calls_until_reaping: CALLS,
            next_reaping: Moment::now().after(SLICE),
            not_send: PhantomData,
        })
    }

    /// Returns a handle that admits clients, from any thread, also while the server
    /// serves.
    pub fn acceptor(&self) -> Acceptor {
        Acceptor::new(Arc::clone(&self.intake))
    }

    /// Returns a handle that ends [`serve`](Self::serve) from another thread, and
    /// every later `serve` at once.
    pub fn stopper(&self) -> Stopper {
        Stopper::new(Arc::clone(&self.intake))
    }

    /// Serves calls until the handler returns [`Answer::ReplyAndStop`] or a
    /// [`Stopper`] is used. The handler gets the call and a buffer for the reply.
    /// It runs at the priority of the most urgent waiting client. A system call
    /// that blocks in it delays all clients.
    ///
    /// A client that breaks the protocol loses its lane; the others are not
    /// affected. If the handler panics, the panic is caught and the server is used
    /// again, the client of that call loses its lane.
    ///
    /// # Errors
    /// [`Error::WrongOwner`] in a forked child; or the kernel has no memory for a
    /// sleep.
    pub fn serve(
        &mut self,
        handler: impl FnMut(&Request<'_>, &mut Outgoing<'_>) -> Answer,
    ) -> Result<Served> {
        self.serve_while(|_| true, handler)
    }

    /// Like [`serve`](Self::serve), but ends when the last client has left: for a
    /// server that exists for its clients only.
    ///
    /// # Errors
    /// Those of [`serve`](Self::serve).
    pub fn serve_connected(
        &mut self,
        handler: impl FnMut(&Request<'_>, &mut Outgoing<'_>) -> Answer,
    ) -> Result<Served> {
        self.serve_while(|server| !server.seats.is_empty(), handler)
    }

    fn serve_while(
        &mut self,
        goes_on: impl Fn(&Self) -> bool,
        mut handler: impl FnMut(&Request<'_>, &mut Outgoing<'_>) -> Answer,
    ) -> Result<Served> {
        if thread::number() != self.thread {
            return Err(Error::WrongOwner);
        }
        let mut served = Served::default();
        while let Some(seat) = self.seats.iter().position(Seat::is_in_service) {
            self.close(seat);
            served.broken += 1;
        }
        loop {
            if self.intake.has_events() && self.take_events(&mut served) {
                return Ok(served);
            }
            match self.next_seat(&mut served) {
                Some(seat) => {
                    if self.answer(seat, &mut handler, &mut served) {
                        return Ok(served);
                    }
                    self.calls_until_reaping -= 1;
                    if self.calls_until_reaping == 0 {
                        self.reap_in_time(&mut served);
                    }
                }
                None if goes_on(self) => self.rest(&mut served)?,
                None => return Ok(served),
            }
        }
    }

    /// Takes over new clients. Returns whether to stop.
    #[cold]
    fn take_events(&mut self, served: &mut Served) -> bool {
        let events = self.intake.take();
        for connection in events.arrivals {
            self.connections += 1;
            self.seats.push(Seat::new(connection, self.connections));
            served.arrived += 1;
        }
        if events.reap {
            self.reap(served);
        }
        events.stop
    }

    /// The client to serve next. Closes the lanes of clients that have left.
    fn next_seat(&mut self, served: &mut Served) -> Option<usize> {
        loop {
            let mut leaver = None;
            let candidates = self.seats.iter_mut().enumerate().filter_map(|(index, seat)| {
                let incoming = seat.refresh();
                if matches!(incoming, Incoming::Left | Incoming::Garbage) {
                    leaver = Some((index, incoming));
                }
                seat.candidate(index)
            });
            let next = order::next(candidates).map(|candidate| candidate.lane);
            if let Some((index, incoming)) = leaver {
                self.close(index);
                let count =
                    if incoming == Incoming::Left { &mut served.left } else { &mut served.broken };
                *count += 1;
                continue;
            }
            let next = next?;
            for (index, seat) in self.seats.iter_mut().enumerate() {
                seat.note_choice(index == next);
            }
            return Some(next);
        }
    }

    /// Answers a request with the handler. Returns whether to stop.
    #[inline]
    fn answer(
        &mut self,
        index: usize,
        handler: &mut impl FnMut(&Request<'_>, &mut Outgoing<'_>) -> Answer,
        served: &mut Served,
    ) -> bool {
        let seat = &mut self.seats[index];
        self.last_caller = Some(seat.exchange_cpus(thread::cpu()));
        let (outcome, stop) = seat.serve(handler, self.thread);
        if outcome.is_ok() {
            served.calls += 1;
        } else {
            self.close(index);
            served.broken += 1;
        }
        stop
    }

    /// Waits for work: spins, then sleeps.
    fn rest(&mut self, served: &mut Served) -> Result<()> {
        if self.spin_for_work() {
            return Ok(());
        }
        self.sleeper.announce(doorbells(&self.seats));
        let slept = if self.has_work() {
            Ok(())
        } else {
            let at_most = (!self.seats.is_empty()).then_some(self.slice);
            self.sleeper.sleep(doorbells(&self.seats), at_most)
        };
        self.sleeper.wake_up(doorbells(&self.seats));
        self.reap_in_time(served);
        slept
    }

    /// Spins for work if the last caller was on another CPU. Returns whether it
    /// came.
    fn spin_for_work(&mut self) -> bool {
        if self.last_caller.is_none_or(|cpu| cpu == thread::cpu()) {
            return false;
        }
        let budget = self.spin.budget();
        if budget == 0 {
            return false;
        }
        let start = Moment::now();
        let came = loop {
            for _ in 0..8 {
                if self.has_work() {
                    self.spin.note(true);
                    return true;
                }
                spin_loop();
            }
            if Moment::now().since(start) > budget {
                break false;
            }
        };
        self.spin.note(came);
        came
    }

    fn has_work(&self) -> bool {
        self.intake.has_events() || self.seats.iter().any(|seat| seat.poll() != Incoming::Nothing)
    }

    fn reap_in_time(&mut self, served: &mut Served) {
        self.calls_until_reaping = CALLS;
        if Moment::now() >= self.next_reaping {
            self.reap(served);
        }
    }

    /// Closes the lanes of dead clients.
    #[cold]
    fn reap(&mut self, served: &mut Served) {
        self.next_reaping = Moment::now().after(SLICE);
        while let Some(index) = self.seats.iter().position(Seat::is_abandoned) {
            self.close(index);
            served.left += 1;
        }
    }

    fn close(&mut self, index: usize) {
        let seat = self.seats.swap_remove(index);
        seat.close(self.thread);
        self.intake.free();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // A copy in a forked child owns no lock, so it closes nothing.
        if thread::number() != self.thread {
            return;
        }
        for connection in self.intake.close() {
            connection.lane.close(0, self.thread);
        }
        while !self.seats.is_empty() {
            self.close(self.seats.len() - 1);
        }
    }
}

fn doorbells(seats: &[Seat]) -> impl Iterator<Item = &Doorbell> {
    seats.iter().filter_map(|seat| seat.bell())
}

#[cfg(test)]
mod tests;
