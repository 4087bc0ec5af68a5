//! One client on the server's side, and one of its calls.

use crate::bytes::{Outgoing, SharedBytes};
use crate::doorbell::Doorbell;
use crate::error::Result;
use crate::intake::Connection;
use crate::lane::{Incoming, Response};
use crate::order::Candidate;
use crate::peer_process::Credentials;

/// A call for the handler.
#[derive(Debug)]
pub struct Request<'a> {
    /// The payload in shared memory. The client can still change it.
    pub payload: SharedBytes<'a>,
    /// The client's process.
    pub sender: Credentials,
    /// Number of the connection, unique in its server.
    pub connection: u64,
}

/// The result of a handler.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// Send the reply.
    Reply,
    /// Send the reply and end the loop.
    ReplyAndStop,
    /// Refuse the call with a status.
    Refuse(i32),
}

/// A connection of the server.
#[derive(Debug)]
pub(crate) struct Seat {
    connection: Connection,
    number: u64,
    /// Number of the last request that was answered.
    served: u32,
    /// Whether the last [`refresh`](Self::refresh) found a request.
    waits: bool,
    passed_over: u32,
    /// Whether the handler works on the request.
    in_service: bool,
}

impl Seat {
    pub(crate) fn new(connection: Connection, number: u64) -> Self {
        Self { connection, number, served: 0, waits: false, passed_over: 0, in_service: false }
    }

    /// The lane's own doorbell, if it has one.
    pub(crate) fn bell(&self) -> Option<&Doorbell> {
        self.connection.bell.as_ref()
    }

    /// Whether the client is gone without leaving.
    pub(crate) fn is_abandoned(&self) -> bool {
        self.connection.peer.is_gone()
    }

    /// Whether the handler got a request and has not returned.
    pub(crate) fn is_in_service(&self) -> bool {
        self.in_service
    }

    #[inline]
    pub(crate) fn poll(&self) -> Incoming {
        self.connection.lane.poll(self.served)
    }

    /// Polls the lane, and remembers whether there is a request.
    #[inline]
    pub(crate) fn refresh(&mut self) -> Incoming {
        let incoming = self.poll();
        self.waits = incoming == Incoming::Request;
        incoming
    }

    /// Its rank among the waiting lanes, if it waits.
    #[inline]
    pub(crate) fn candidate(&self, lane: usize) -> Option<Candidate> {
        let passed_over = self.passed_over;
        self.waits.then(|| Candidate {
            lane,
            priority: self.connection.lane.client_priority(),
            passed_over,
        })
    }

    /// Records whether this lane was chosen, or another.
    #[inline]
    pub(crate) fn note_choice(&mut self, chosen: bool) {
        if chosen {
            self.passed_over = 0;
        } else if self.waits {
            self.passed_over = self.passed_over.saturating_add(1);
        }
    }

    /// Publishes that the server runs on `cpu`; returns the CPU that the client
    /// claims.
    #[inline]
    pub(crate) fn exchange_cpus(&self, cpu: u32) -> u32 {
        self.connection.lane.show_cpu(cpu);
        self.connection.lane.client_cpu()
    }

    /// Ends the connection, as the serving thread `thread`.
    pub(crate) fn close(self, thread: u32) {
        self.connection.lane.close(self.served, thread);
    }

    /// Answers the request with the handler. The second result is true if the
    /// handler asks to stop.
    #[inline]
    pub(crate) fn serve(
        &mut self,
        handler: &mut impl FnMut(&Request<'_>, &mut Outgoing<'_>) -> Answer,
        thread: u32,
    ) -> (Result<()>, bool) {
        let lane = &self.connection.lane;
        let payload = match lane.request() {
            Ok(payload) => payload,
            Err(error) => return (Err(error), false),
        };
        let sender = self.connection.peer.credentials();
        let mut reply = lane.room_for_reply();
        self.in_service = true;
        let answer = handler(&Request { payload, sender, connection: self.number }, &mut reply);
        self.in_service = false;
        self.served = self.served.wrapping_add(1);
        let response = match answer {
            Answer::Reply | Answer::ReplyAndStop => Response::Bytes(reply.len()),
            Answer::Refuse(status) => Response::Refused(status),
        };
        (lane.answer(self.served, response, thread), answer == Answer::ReplyAndStop)
    }
}
