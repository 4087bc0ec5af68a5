//! Who answers.

use std::hint::spin_loop;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use crate::bytes::Outgoing;
use crate::clock::Moment;
use crate::doorbell::{Bell, Doorbells, MOST, Sleeper};
use crate::error::{Error, Result};
use crate::intake::{Acceptor, Intake, Stopper};
use crate::lane::Look;
use crate::layout::Geometry;
use crate::order;
use crate::seat::{Answer, Request, Seat};
use crate::spin::{DEFAULT_SPIN, Spin};
use crate::thread;

/// The most lanes of a server: it sleeps on the bells of all of them and on
/// one of its own.
pub const MAX_LANES: usize = MOST - 1;

/// How often a sleeping server looks for clients that died without a word.
const SLICE: Duration = Duration::from_secs(1);
/// As long as a hostile client can keep a shared bell from ringing for others.
const SHARED_SLICE: Duration = Duration::from_millis(100);
/// Calls between two looks for dead clients, while the server never sleeps.
const CALLS: u32 = 1 << 16;

/// What a server is made for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// How many clients it has at a time, 1 to [`MAX_LANES`].
    pub lanes: usize,
    /// The longest request, in bytes, at most
    /// [`MAX_CAPACITY`](crate::MAX_CAPACITY).
    pub request_capacity: usize,
    /// The longest reply, in bytes, at most as above.
    pub reply_capacity: usize,
    /// How long the server looks out for a call before it sleeps, at most
    /// [`MAX_SPIN`](crate::MAX_SPIN); zero for not at all.
    pub spin: Duration,
    /// Whether clients can keep each other's calls from waking the server.
    pub doorbells: Doorbells,
}

impl Default for Settings {
    /// Sixteen clients, payloads of up to 4 KiB.
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

/// What a server did until its loop ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Served {
    /// Calls that the handler answered.
    pub calls: u64,
    /// Clients that came.
    pub arrived: u64,
    /// Clients that left or died.
    pub left: u64,
    /// Clients whose lane was closed because they broke the protocol.
    pub broken: u64,
}

/// Serves calls of many clients, one after the other, on the thread that made
/// it, at the priority of the most urgent client that waits.
///
/// It stays on that thread, because that is the one to which the clients lend
/// their priority.
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
    /// A server on the calling thread, without clients.
    ///
    /// # Errors
    /// Settings that cannot work, or no memory.
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

    /// Brings clients, from any thread, also while the server serves.
    pub fn acceptor(&self) -> Acceptor {
        Acceptor::new(Arc::clone(&self.intake))
    }

    /// Ends [`serve`](Self::serve) from another thread, and every later one
    /// at once.
    pub fn stopper(&self) -> Stopper {
        Stopper::new(Arc::clone(&self.intake))
    }

    /// Serves calls until the handler answers [`Answer::ReplyAndStop`] or a
    /// [`Stopper`] is used. The handler gets the call, and room for the reply.
    /// It runs at the priority of the most urgent client that waits, and a
    /// system call that blocks in it is waited for by all of them.
    ///
    /// A client that breaks the protocol loses its lane; the others do not
    /// notice. So does a client whose call a handler panicked over, if the
    /// panic is caught and the server used again.
    ///
    /// # Errors
    /// [`Error::WrongOwner`] in a forked child; or the kernel has no memory to
    /// sleep with.
    pub fn serve(
        &mut self,
        handler: impl FnMut(&Request<'_>, &mut Outgoing<'_>) -> Answer,
    ) -> Result<Served> {
        self.serve_while(|_| true, handler)
    }

    /// As [`serve`](Self::serve), and ends when the last client has left: for
    /// a server that was started for its clients alone.
    ///
    /// # Errors
    /// As before.
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
            if self.intake.has_news() && self.take_news(&mut served) {
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

    /// Takes in who has arrived. Whether to stop.
    #[cold]
    fn take_news(&mut self, served: &mut Served) -> bool {
        let news = self.intake.take();
        for connection in news.arrivals {
            self.connections += 1;
            self.seats.push(Seat::new(connection, self.connections));
            served.arrived += 1;
        }
        if news.reap {
            self.reap(served);
        }
        news.stop
    }

    /// Who is served next. Closes the lanes of those who have left.
    fn next_seat(&mut self, served: &mut Served) -> Option<usize> {
        loop {
            let mut leaver = None;
            let candidates = self.seats.iter_mut().enumerate().filter_map(|(index, seat)| {
                let look = seat.look_again();
                if matches!(look, Look::Left | Look::Garbage) {
                    leaver = Some((index, look));
                }
                seat.candidate(index)
            });
            let next = order::next(candidates).map(|candidate| candidate.lane);
            if let Some((index, look)) = leaver {
                self.close(index);
                let count = if look == Look::Left { &mut served.left } else { &mut served.broken };
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

    /// Has the handler answer a request. Whether to stop.
    #[inline]
    fn answer(
        &mut self,
        index: usize,
        handler: &mut impl FnMut(&Request<'_>, &mut Outgoing<'_>) -> Answer,
        served: &mut Served,
    ) -> bool {
        let seat = &mut self.seats[index];
        self.last_caller = Some(seat.meet(thread::cpu()));
        let (outcome, stop) = seat.serve(handler, self.thread);
        if outcome.is_ok() {
            served.calls += 1;
        } else {
            self.close(index);
            served.broken += 1;
        }
        stop
    }

    /// Waits for something to do: looks out for it, then sleeps.
    fn rest(&mut self, served: &mut Served) -> Result<()> {
        if self.look_out() {
            return Ok(());
        }
        self.sleeper.announce(bells(&self.seats));
        let slept = if self.has_work() {
            Ok(())
        } else {
            let at_most = (!self.seats.is_empty()).then_some(self.slice);
            self.sleeper.sleep(bells(&self.seats), at_most)
        };
        self.sleeper.wake_up(bells(&self.seats));
        self.reap_in_time(served);
        slept
    }

    /// Spins for a call, if the last caller was elsewhere. Whether one came.
    fn look_out(&mut self) -> bool {
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
        self.intake.has_news() || self.seats.iter().any(|seat| seat.look() != Look::Nothing)
    }

    fn reap_in_time(&mut self, served: &mut Served) {
        self.calls_until_reaping = CALLS;
        if Moment::now() >= self.next_reaping {
            self.reap(served);
        }
    }

    /// Closes the lanes of clients that died without a word.
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
        // A copy in a forked child owns no lock, and closes nothing.
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

fn bells(seats: &[Seat]) -> impl Iterator<Item = &Bell> {
    seats.iter().filter_map(|seat| seat.bell())
}

#[cfg(test)]
mod tests;
