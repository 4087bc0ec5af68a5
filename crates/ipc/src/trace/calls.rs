//! Calls and messages without a reply, from the events of the driver.

use std::collections::HashMap;

use unjank_host::input::{Stop, Stopped};
use unjank_host::sched::ThreadId;
use unjank_host::tracefs::{BinderRole, Event, EventKind, Gaps, Trace, WakeUp, WakeUps, in_order};
use unjank_host::{Nanos, Timestamp};

use super::options::Options;

/// A call with its reply.
#[derive(Debug, Clone, Copy)]
pub(super) struct Call {
    /// The thread that called.
    pub(super) client: ThreadId,
    /// The thread that served it.
    pub(super) server: ThreadId,
    /// When the driver began to copy the call.
    pub(super) sent: Timestamp,
    /// When the server had it.
    pub(super) received: Timestamp,
    /// When the driver began to copy the reply.
    pub(super) replied: Timestamp,
    /// When the client had it.
    pub(super) returned: Timestamp,
    /// The time that the woken server waited for a CPU.
    pub(super) server_waited: Nanos,
    /// The time that the woken client waited for a CPU.
    pub(super) client_waited: Nanos,
}

/// A message without a reply.
#[derive(Debug, Clone, Copy)]
pub(super) struct OneWay {
    pub(super) sender: ThreadId,
    pub(super) receiver: ThreadId,
    pub(super) sent: Timestamp,
    pub(super) received: Timestamp,
}

/// The calls of a recording, in order of their ends.
#[derive(Debug, Default)]
pub(super) struct Calls {
    pub(super) returned: Vec<Call>,
    pub(super) one_way: Vec<OneWay>,
    /// Calls whose end the recording does not have.
    pub(super) unfinished: u64,
    /// Calls and messages that were left out, because events of that time may be missing.
    pub(super) in_gaps: u64,
    /// Whether the recording shows when threads waited for a CPU.
    pub(super) has_waits: bool,
}

impl Call {
    pub(super) fn length(&self) -> Nanos {
        self.returned.since(self.sent)
    }

    /// The times to the server, in the server and back.
    pub(super) fn parts(&self) -> [Nanos; 3] {
        [
            self.received.since(self.sent),
            self.replied.since(self.received),
            self.returned.since(self.replied),
        ]
    }
}

impl OneWay {
    pub(super) fn length(&self) -> Nanos {
        self.received.since(self.sent)
    }
}

impl Calls {
    pub(super) fn of(trace: &Trace, options: &Options, stop: &Stop) -> Result<Self, Stopped> {
        let gaps = Gaps::of(trace);
        let mut found = Self::default();
        let mut driver = Driver::default();
        for (place, event) in in_order(&trace.cpus) {
            if stop.is_requested() {
                return Err(Stopped);
            }
            let Some(ended) = driver.see(place, &event) else { continue };
            let (threads, (from, to)) = match &ended {
                Ended::Call(call) => ([call.client, call.server], (call.sent, call.returned)),
                Ended::OneWay(it) => ([it.sender, it.receiver], (it.sent, it.received)),
            };
            if !options.counts(threads, from, to) {
                continue;
            }
            if gaps.overlap(from, to) {
                found.in_gaps += 1;
                continue;
            }
            match ended {
                Ended::Call(call) => found.returned.push(call),
                Ended::OneWay(message) => found.one_way.push(message),
            }
        }
        found.has_waits = driver.has_wake_ups;
        found.unfinished = driver.unfinished(options);
        Ok(found)
    }
}

impl Options {
    fn counts(&self, threads: [ThreadId; 2], from: Timestamp, to: Timestamp) -> bool {
        from >= self.window.0
            && to <= self.window.1
            && self.only.as_ref().is_none_or(|only| threads.iter().any(|it| only.contains(it)))
    }
}

/// A transaction that was sent and not received.
enum Flying {
    Call { by: ThreadId, sent: Timestamp },
    OneWay { by: ThreadId, sent: Timestamp },
    Reply { to: Served, by: ThreadId, replied: Timestamp },
}

/// A call that a thread has received.
#[derive(Clone, Copy)]
struct Served {
    client: ThreadId,
    sent: Timestamp,
    received: Timestamp,
    waited: Nanos,
}

enum Ended {
    Call(Call),
    OneWay(OneWay),
}

/// Follows the driver's events in order of time.
#[derive(Default)]
struct Driver {
    /// By the transactions' numbers.
    flying: HashMap<u32, Flying>,
    /// The calls that each thread serves: while it waits for the reply to a call of its own, it may
    /// be called back, so it serves the last one first.
    served: HashMap<ThreadId, Vec<Served>>,
    wakeups: WakeUps,
    last: HashMap<ThreadId, WakeUp>,
    has_wake_ups: bool,
}

impl Driver {
    /// Follows an event; the call or the message that ends with it.
    fn see(&mut self, place: usize, event: &Event) -> Option<Ended> {
        for wakeup in self.wakeups.see(place, event).filter(|wakeup| wakeup.switch_seen) {
            self.has_wake_ups = true;
            self.last.insert(wakeup.thread, wakeup);
        }
        let Event { at, current, kind, .. } = *event;
        match kind {
            EventKind::BinderSent { transaction, role, .. } => {
                let flying = match role {
                    BinderRole::Call => Flying::Call { by: current, sent: at },
                    BinderRole::OneWay => Flying::OneWay { by: current, sent: at },
                    // The call may have come before the recording.
                    BinderRole::Reply => {
                        let to = self.served.get_mut(&current)?.pop()?;
                        Flying::Reply { to, by: current, replied: at }
                    }
                };
                self.flying.insert(transaction, flying);
                None
            }
            EventKind::BinderReceived { transaction } => self.receive(current, at, transaction),
            _ => None,
        }
    }

    fn receive(&mut self, by: ThreadId, at: Timestamp, transaction: u32) -> Option<Ended> {
        match self.flying.remove(&transaction)? {
            Flying::Call { by: client, sent } => {
                let waited = self.waited(by, sent, at);
                let served = Served { client, sent, received: at, waited };
                self.served.entry(by).or_default().push(served);
                None
            }
            Flying::OneWay { by: sender, sent } => {
                Some(Ended::OneWay(OneWay { sender, receiver: by, sent, received: at }))
            }
            Flying::Reply { to, by: server, replied } => {
                let Served { client, sent, received, waited } = to;
                // Else the recording lacks events, and the reply was to another call.
                (client == by).then(|| {
                    Ended::Call(Call {
                        client,
                        server,
                        sent,
                        received,
                        replied,
                        returned: at,
                        server_waited: waited,
                        client_waited: self.waited(client, replied, at),
                    })
                })
            }
        }
    }

    /// The time that a thread waited for a CPU after it was woken between two moments; zero if it
    /// was awake.
    fn waited(&self, thread: ThreadId, from: Timestamp, to: Timestamp) -> Nanos {
        let last = self.last.get(&thread).filter(|it| it.woken >= from && it.ran <= to);
        last.map_or(Nanos::ZERO, WakeUp::latency)
    }

    /// The calls of the window that have not returned.
    fn unfinished(&self, options: &Options) -> u64 {
        let is_counted = |threads, sent: Timestamp| options.counts(threads, sent, sent);
        let flying = self.flying.values().filter(|flying| match **flying {
            Flying::Call { by, sent } => is_counted([by; 2], sent),
            Flying::OneWay { .. } => false,
            Flying::Reply { to, by, .. } => is_counted([to.client, by], to.sent),
        });
        let served = self.served.iter().flat_map(|(thread, calls)| {
            calls.iter().filter(|call| is_counted([call.client, *thread], call.sent))
        });
        (flying.count() + served.count()) as u64
    }
}
