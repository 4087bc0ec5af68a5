//! A client as its server sees it, and one call of it.

use crate::bytes::{Outgoing, SharedBytes};
use crate::doorbell::Bell;
use crate::error::Result;
use crate::intake::Connection;
use crate::lane::{Look, Outcome};
use crate::order::Candidate;
use crate::peer::Credentials;

/// A call as the handler sees it.
#[derive(Debug)]
pub struct Request<'a> {
    /// The payload, where the client wrote it, and can still change it.
    pub payload: SharedBytes<'a>,
    /// The client's process.
    pub sender: Credentials,
    /// Which connection it came over. No two have the same number.
    pub connection: u64,
}

/// What a handler does with a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// Send what was written to the reply.
    Reply,
    /// Send what was written to the reply, and end the loop.
    ReplyAndStop,
    /// Refuse the call with a status.
    Refuse(i32),
}

/// A connection that is served.
#[derive(Debug)]
pub(crate) struct Seat {
    connection: Connection,
    number: u64,
    /// Number of the last request that was answered.
    served: u32,
    /// Whether the last look found a request.
    waits: bool,
    passed_over: u32,
    /// Whether the handler has the request.
    in_service: bool,
}

impl Seat {
    pub(crate) fn new(connection: Connection, number: u64) -> Self {
        Self { connection, number, served: 0, waits: false, passed_over: 0, in_service: false }
    }

    /// The lane's own bell, if it has one.
    pub(crate) fn bell(&self) -> Option<&Bell> {
        self.connection.bell.as_ref()
    }

    /// Whether the client has died without a word.
    pub(crate) fn is_abandoned(&self) -> bool {
        self.connection.peer.is_gone()
    }

    /// Whether the handler got a request and never came back.
    pub(crate) fn is_in_service(&self) -> bool {
        self.in_service
    }

    #[inline]
    pub(crate) fn look(&self) -> Look {
        self.connection.lane.look(self.served)
    }

    /// Looks, and remembers whether there is a request.
    #[inline]
    pub(crate) fn look_again(&mut self) -> Look {
        let look = self.look();
        self.waits = look == Look::Request;
        look
    }

    /// What speaks for serving it next, if it waits.
    #[inline]
    pub(crate) fn candidate(&self, lane: usize) -> Option<Candidate> {
        let passed_over = self.passed_over;
        self.waits.then(|| Candidate {
            lane,
            priority: self.connection.lane.client_priority(),
            passed_over,
        })
    }

    /// It was chosen, or another was.
    #[inline]
    pub(crate) fn note_choice(&mut self, chosen: bool) {
        if chosen {
            self.passed_over = 0;
        } else if self.waits {
            self.passed_over = self.passed_over.saturating_add(1);
        }
    }

    /// Tells the client that the server runs on `cpu`, and where the client
    /// says that it does.
    #[inline]
    pub(crate) fn meet(&self, cpu: u32) -> u32 {
        self.connection.lane.show_cpu(cpu);
        self.connection.lane.client_cpu()
    }

    /// Ends the connection, as `thread`, which serves it.
    pub(crate) fn close(self, thread: u32) {
        self.connection.lane.close(self.served, thread);
    }

    /// Has the handler answer the request, and whether it wants to stop.
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
        let outcome = match answer {
            Answer::Reply | Answer::ReplyAndStop => Outcome::Bytes(reply.len()),
            Answer::Refuse(status) => Outcome::Refused(status),
        };
        (lane.answer(self.served, outcome, thread), answer == Answer::ReplyAndStop)
    }
}
