//! The steps of a call in the shared memory of one client and its server.
//!
//! Calls are numbered from 1 and wrap around. Call *n* uses lock word *n* mod 2:
//! the client waits on it for reply *n*. The server owns that word from before the
//! client can post request *n* until reply *n* is written. So a waiting client
//! always waits for a lock of the server's thread, which inherits its priority.
//!
//! The crate's documentation has the table of states.
//!
//! `Request` is stored with release order and loaded with acquire order, and so is
//! `Reply`: the bytes and the other words of the same side are written before, and
//! read after. If the client finds the reply while it spins, it touches no lock,
//! and the server releases one without waiters: no system call on either side.
//!
//! Lock *n*+1 is free when the server takes it: the client last waited on it in
//! call *n*−1, and put it back before it posted request *n*. If it is not free,
//! the client broke the protocol, and the lane is closed.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::bytes::{Outgoing, SharedBytes};
use crate::error::{Error, Result};
use crate::layout::{Geometry, MAGIC, MAX_CAPACITY, REQUEST_BYTES, Word};
use crate::lock;
use crate::mapping::Mapping;
use crate::version::VERSION;

/// The CPU of a side before its first call.
const NOWHERE: u32 = u32::MAX;
/// In place of a reply's length: the handler refused.
const REFUSED: u32 = u32::MAX;

/// The memory of a lane, from either side.
#[derive(Debug)]
pub(crate) struct Lane {
    memory: Mapping,
    geometry: Geometry,
}

/// The result of a server's poll of a lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Incoming {
    /// No new request.
    Nothing,
    Request,
    /// The client has left.
    Left,
    /// A number that breaks the protocol.
    Garbage,
}

/// A server's response to a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Response {
    /// A reply of this length.
    Bytes(usize),
    /// A refusal with this status.
    Refused(i32),
}

impl Lane {
    /// Creates a lane whose first lock belongs to `thread`.
    pub(crate) fn create(geometry: Geometry, thread: u32) -> Result<(Self, OwnedFd)> {
        let (memory, fd) = Mapping::create("pi-channel-lane", geometry.length())?;
        let lane = Self { memory, geometry };
        lane.memory.first().store(MAGIC, Ordering::Relaxed);
        lane.store(Word::Version, VERSION);
        lane.store(Word::RequestCapacity, geometry.request_capacity() as u32);
        lane.store(Word::ReplyCapacity, geometry.reply_capacity() as u32);
        lane.store(Word::ClientCpu, NOWHERE);
        lane.store(Word::ServerCpu, NOWHERE);
        // The socket that passes the lane to the client orders these stores.
        lane.lock(1).store(thread, Ordering::Relaxed);
        Ok((lane, fd))
    }

    /// Opens and checks a lane that a peer has created.
    pub(crate) fn open(fd: impl AsFd) -> Result<Self> {
        let least = Geometry::new(0, 0)?.length();
        let most = Geometry::new(MAX_CAPACITY, MAX_CAPACITY)?.length();
        let memory = Mapping::open(fd, least, most)?;
        let smallest = Self { memory, geometry: Geometry::new(0, 0)? };
        if smallest.memory.first().load(Ordering::Relaxed) != MAGIC {
            return Err(Error::NotAChannel { what: "its memory is not a lane" });
        }
        let theirs = smallest.load(Word::Version);
        if theirs != VERSION {
            return Err(Error::Version { theirs });
        }
        let request = smallest.load(Word::RequestCapacity) as usize;
        let reply = smallest.load(Word::ReplyCapacity) as usize;
        let geometry = Geometry::new(request, reply)?;
        if geometry.length() != smallest.memory.length() {
            return Err(Error::NotAChannel { what: "its capacities do not fit its memory" });
        }
        Ok(Self { memory: smallest.memory, geometry })
    }

    pub(crate) fn geometry(&self) -> Geometry {
        self.geometry
    }

    #[inline]
    fn word(&self, word: Word) -> &AtomicU32 {
        self.memory.word(self.geometry.position(word))
    }

    #[inline]
    fn load(&self, word: Word) -> u32 {
        self.word(word).load(Ordering::Relaxed)
    }

    #[inline]
    fn store(&self, word: Word, value: u32) {
        self.word(word).store(value, Ordering::Relaxed);
    }

    /// The lock on which the client waits for reply `number`.
    #[inline]
    pub(crate) fn lock(&self, number: u32) -> &AtomicU32 {
        self.word(Word::Lock(number))
    }
}

/// The client's side.
impl Lane {
    /// The buffer for the request.
    #[inline]
    pub(crate) fn room_for_request(&self) -> Outgoing<'_> {
        let (at, room) = (REQUEST_BYTES, self.geometry.request_capacity());
        // SAFETY: `bytes` checks that they lie in the mapping, which is
        // borrowed, and no reference to them is ever made.
        unsafe { Outgoing::new(self.memory.bytes(at, room), room) }
    }

    /// Posts request `number`, whose bytes have been written.
    #[inline]
    pub(crate) fn post(&self, number: u32, length: usize, cpu: u32, priority: u32) {
        self.store(Word::RequestLength, length as u32);
        self.store(Word::ClientCpu, cpu);
        self.store(Word::ClientPriority, priority);
        // Pairs with the acquire in `poll`.
        self.word(Word::Request).store(number, Ordering::Release);
    }

    /// Whether reply `number` has been written.
    #[inline]
    pub(crate) fn is_answered(&self, number: u32) -> bool {
        // Acquire pairs with the release in `answer`.
        self.word(Word::Reply).load(Ordering::Acquire) == number
    }

    /// Whether the server has closed the lane.
    pub(crate) fn is_closed(&self) -> bool {
        self.load(Word::ServerClosed) != 0
    }

    /// The CPU on which the server last served this lane.
    #[inline]
    pub(crate) fn server_cpu(&self) -> Option<u32> {
        Some(self.load(Word::ServerCpu)).filter(|cpu| *cpu != NOWHERE)
    }

    /// The last reply.
    #[inline]
    pub(crate) fn reply(&self) -> Result<SharedBytes<'_>> {
        let length = self.load(Word::ReplyLength);
        if length == REFUSED {
            return Err(Error::Refused { status: self.load(Word::ReplyStatus).cast_signed() });
        }
        let length = length as usize;
        if length > self.geometry.reply_capacity() {
            return Err(Error::Broken { what: "a reply longer than its capacity" });
        }
        // SAFETY: as in `room_for_request`.
        Ok(unsafe {
            SharedBytes::new(self.memory.bytes(self.geometry.reply_bytes(), length), length)
        })
    }

    /// Marks the client as gone.
    pub(crate) fn leave(&self) {
        self.word(Word::ClientGone).store(1, Ordering::Release);
    }
}

/// The server's side.
impl Lane {
    /// Checks for the request after number `served`.
    #[inline]
    pub(crate) fn poll(&self, served: u32) -> Incoming {
        // Acquire pairs with the release in `post`.
        match self.word(Word::Request).load(Ordering::Acquire) {
            _ if self.load(Word::ClientGone) != 0 => Incoming::Left,
            number if number == served => Incoming::Nothing,
            number if number == served.wrapping_add(1) => Incoming::Request,
            _ => Incoming::Garbage,
        }
    }

    /// The priority that the client claims.
    #[inline]
    pub(crate) fn client_priority(&self) -> u32 {
        self.load(Word::ClientPriority)
    }

    /// The CPU on which the client claims to have posted its request.
    #[inline]
    pub(crate) fn client_cpu(&self) -> u32 {
        self.load(Word::ClientCpu)
    }

    /// The last request.
    #[inline]
    pub(crate) fn request(&self) -> Result<SharedBytes<'_>> {
        let length = self.load(Word::RequestLength) as usize;
        if length > self.geometry.request_capacity() {
            return Err(Error::Broken { what: "a request longer than its capacity" });
        }
        // SAFETY: as in `room_for_request`.
        Ok(unsafe { SharedBytes::new(self.memory.bytes(REQUEST_BYTES, length), length) })
    }

    /// The buffer for the reply.
    #[inline]
    pub(crate) fn room_for_reply(&self) -> Outgoing<'_> {
        let (at, room) = (self.geometry.reply_bytes(), self.geometry.reply_capacity());
        // SAFETY: as in `room_for_request`.
        unsafe { Outgoing::new(self.memory.bytes(at, room), room) }
    }

    /// Publishes the server's CPU, before the reply.
    #[inline]
    pub(crate) fn show_cpu(&self, cpu: u32) {
        if self.load(Word::ServerCpu) != cpu {
            self.store(Word::ServerCpu, cpu);
        }
    }

    /// Answers request `number` as `thread`. The client can run from then on, and
    /// takes its priority back.
    #[inline]
    pub(crate) fn answer(&self, number: u32, response: Response, thread: u32) -> Result<()> {
        if !lock::try_take(self.lock(number.wrapping_add(1)), thread) {
            return Err(Error::Broken { what: "a lock that the client has not put back" });
        }
        let length = match response {
            Response::Bytes(length) => length as u32,
            Response::Refused(status) => {
                self.store(Word::ReplyStatus, status.cast_unsigned());
                REFUSED
            }
        };
        self.store(Word::ReplyLength, length);
        // Pairs with the acquire in `is_answered`.
        self.word(Word::Reply).store(number, Ordering::Release);
        lock::release(self.lock(number), thread)
            .map_err(|_| Error::Broken { what: "a lock that was taken from its owner" })
    }

    /// Closes the lane after reply `served`, as `thread`.
    pub(crate) fn close(&self, served: u32, thread: u32) {
        self.word(Word::ServerClosed).store(1, Ordering::Release);
        // Wakes a waiting client, which then finds the lane closed. A client that
        // has tampered with the words may sleep on.
        for number in [served, served.wrapping_add(1)] {
            let _tampered = lock::release(self.lock(number), thread);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::thread;

    fn lane() -> Lane {
        Lane::create(Geometry::new(16, 16).unwrap(), thread::number()).unwrap().0
    }

    /// A call and its answer, with checks of both sides in between.
    fn exchange(lane: &Lane, number: u32) {
        let (me, before) = (thread::number(), number.wrapping_sub(1));
        let locks =
            || [number, number.wrapping_add(1)].map(|n| lane.lock(n).load(Ordering::SeqCst));
        assert_eq!(locks(), [me, 0]);
        assert_eq!(lane.poll(before), Incoming::Nothing);
        lane.post(number, 3, 0, 50);
        assert!(!lane.is_answered(number));
        assert_eq!(lane.poll(before), Incoming::Request);
        assert_eq!(lane.client_priority(), 50);
        assert_eq!(lane.request().unwrap().len(), 3);
        lane.answer(number, Response::Bytes(2), me).unwrap();
        assert!(lane.is_answered(number));
        assert_eq!(lane.reply().unwrap().len(), 2);
        assert_eq!(locks(), [0, me]);
        assert_eq!(lane.poll(number), Incoming::Nothing);
    }

    #[test]
    fn calls_take_turns_with_the_locks() {
        let lane = lane();
        for number in 1..5 {
            exchange(&lane, number);
        }
    }

    #[test]
    fn numbers_wrap_around() {
        let lane = lane();
        lane.store(Word::Request, u32::MAX - 3);
        for number in [u32::MAX - 2, u32::MAX - 1, u32::MAX, 0, 1, 2] {
            exchange(&lane, number);
        }
    }

    #[test]
    fn a_lock_that_is_not_put_back_is_not_waited_for() {
        let (lane, me) = (lane(), thread::number());
        lane.post(1, 0, 0, 0);
        lane.lock(2).store(1, Ordering::SeqCst);
        let error = lane.answer(1, Response::Bytes(0), me).unwrap_err().to_string();
        assert!(error.ends_with("a lock that the client has not put back"), "{error}");
        assert!(!lane.is_answered(1));
        lane.close(0, me);
        assert_eq!(lane.lock(1).load(Ordering::SeqCst), 0, "a waiting client is released");
        assert!(lane.is_closed());
    }

    #[test]
    fn a_client_that_has_left_is_not_served() {
        let lane = lane();
        lane.post(1, 0, 0, 0);
        lane.leave();
        assert_eq!(lane.poll(0), Incoming::Left);
    }

    #[test]
    fn a_refusal_keeps_its_status() {
        let (lane, me) = (lane(), thread::number());
        lane.post(1, 0, 0, 0);
        lane.answer(1, Response::Refused(i32::MIN), me).unwrap();
        assert!(matches!(lane.reply(), Err(Error::Refused { status: i32::MIN })));
    }

    #[test]
    fn a_lane_is_opened_as_it_was_created() {
        let geometry = Geometry::new(1000, 70_000).unwrap();
        let (_lane, fd) = Lane::create(geometry, 1).unwrap();
        assert_eq!(Lane::open(fd).unwrap().geometry(), geometry);
    }
}
