//! A model of a lane's protocol: every possible order of the steps of both sides,
//! with time-outs and deaths at any point.
//!
//! A step is one access to a shared word or one system call. The model assumes a
//! single order of all accesses. In the library, the accesses that need it are
//! separated by a sequentially consistent fence (the request and the doorbell), or are
//! a release and acquire pair (all others).

use std::collections::HashSet;

const CALLS: u8 = 4;

/// A lock word. In the kernel's format: the owner's number, and the bit for a
/// release through the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Lock {
    owner: Option<Side>,
    waiters: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Side {
    Client,
    Server,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Client {
    Idle,
    Post,
    ReadBell,
    SwapBell,
    Look,
    Lock,
    /// In the kernel, on the lock of this call.
    Asleep,
    /// Owns the lock of this call.
    PutBack,
    Check,
    /// Dead, has detected the server's death, or has finished all calls.
    Ended,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Server {
    Scan,
    Announce,
    Rescan,
    EnterSleep,
    /// In the kernel, on the doorbell.
    Asleep,
    WakeUp,
    Take,
    Reply,
    Release,
    Unlock,
    Dead,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct State {
    client: Client,
    server: Server,
    sent: u8,
    served: u8,
    request: u8,
    reply: u8,
    bell_asleep: bool,
    locks: [Lock; 2],
    timeouts_left: u8,
    deaths_left: u8,
}

/// The protocol, complete or without one step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Variant {
    Complete,
    WithoutSecondLock,
    WithoutSecondLook,
    WithoutPutBack,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Flaw {
    /// A client sleeps on a lock that the living server does not own, so the server
    /// does not inherit its priority.
    PriorityLost,
    /// The server cannot take the lock for the next call.
    NotPutBack,
    /// The client owns the lock, the server lives, and there is no reply.
    NoReply,
    /// Neither side can take a step, and the client has not finished.
    Hang,
}

const FREE: Lock = Lock { owner: None, waiters: false };
const SERVERS: Lock = Lock { owner: Some(Side::Server), waiters: false };

impl State {
    fn start(timeouts: u8, deaths: u8) -> Self {
        Self {
            client: Client::Idle,
            server: Server::Scan,
            sent: 0,
            served: 0,
            request: 0,
            reply: 0,
            bell_asleep: false,
            locks: [FREE, SERVERS],
            timeouts_left: timeouts,
            deaths_left: deaths,
        }
    }

    fn lock(&mut self, number: u8) -> &mut Lock {
        &mut self.locks[usize::from(number & 1)]
    }

    /// The client's next step, unless it sleeps or has ended.
    fn client_step(mut self) -> Result<Option<Self>, Flaw> {
        let number = self.sent;
        let owner = self.lock(number).owner;
        self.client = match self.client {
            Client::Idle if self.sent == CALLS => Client::Ended,
            Client::Idle => {
                self.sent += 1;
                Client::Post
            }
            Client::Post => {
                self.request = number;
                Client::ReadBell
            }
            Client::ReadBell if self.bell_asleep => Client::SwapBell,
            Client::ReadBell => Client::Look,
            Client::SwapBell => {
                if self.bell_asleep && self.server == Server::Asleep {
                    self.server = Server::WakeUp;
                }
                self.bell_asleep = false;
                Client::Look
            }
            Client::Look | Client::Check if self.reply == number => Client::Idle,
            Client::Look => Client::Lock,
            Client::Lock => match owner {
                None => {
                    *self.lock(number) = Lock { owner: Some(Side::Client), waiters: false };
                    Client::PutBack
                }
                Some(_) if self.server == Server::Dead => Client::Ended,
                Some(_) => {
                    self.lock(number).waiters = true;
                    Client::Asleep
                }
            },
            Client::PutBack => {
                *self.lock(number) = FREE;
                Client::Check
            }
            Client::Check if self.server == Server::Dead => Client::Ended,
            Client::Check => return Err(Flaw::NoReply),
            Client::Asleep | Client::Ended => return Ok(None),
        };
        Ok(Some(self))
    }

    /// The server's next step, unless it sleeps or is dead.
    fn server_step(mut self, variant: Variant) -> Result<Option<Self>, Flaw> {
        let number = self.served + 1;
        let lock = *self.lock(number);
        self.server = match self.server {
            Server::Scan if self.request == number => Server::Take,
            Server::Scan => Server::Announce,
            Server::Announce => {
                self.bell_asleep = true;
                if variant == Variant::WithoutSecondLook {
                    Server::EnterSleep
                } else {
                    Server::Rescan
                }
            }
            Server::Rescan if self.request == number => Server::WakeUp,
            Server::Rescan => Server::EnterSleep,
            Server::EnterSleep if self.bell_asleep => Server::Asleep,
            Server::EnterSleep => Server::WakeUp,
            Server::WakeUp => {
                self.bell_asleep = false;
                Server::Scan
            }
            Server::Take if variant == Variant::WithoutSecondLock => Server::Reply,
            Server::Take => {
                if self.lock(number + 1).owner.is_some() {
                    return Err(Flaw::NotPutBack);
                }
                *self.lock(number + 1) = SERVERS;
                Server::Reply
            }
            Server::Reply => {
                self.reply = number;
                Server::Release
            }
            Server::Release if lock == SERVERS => {
                *self.lock(number) = FREE;
                self.served = number;
                Server::Scan
            }
            Server::Release => Server::Unlock,
            Server::Unlock => {
                // The kernel passes the lock on, and leaves the bit set.
                *self.lock(number) = if self.client == Client::Asleep && self.sent == number {
                    self.client = Client::PutBack;
                    Lock { owner: Some(Side::Client), waiters: true }
                } else {
                    FREE
                };
                self.served = number;
                Server::Scan
            }
            Server::Asleep | Server::Dead => return Ok(None),
        };
        Ok(Some(self))
    }

    /// A sleep that ends without the lock. The next call then first waits for the
    /// same reply.
    fn timeout(mut self) -> Option<Self> {
        (self.client == Client::Asleep && self.timeouts_left > 0).then(|| {
            self.timeouts_left -= 1;
            self.client = Client::Look;
            self
        })
    }

    fn deaths(self) -> Vec<Self> {
        let mut after = Vec::new();
        if self.deaths_left > 0 {
            let deaths_left = self.deaths_left - 1;
            if self.client != Client::Ended {
                after.push(Self { client: Client::Ended, deaths_left, ..self });
            }
            if self.server != Server::Dead {
                let mut orphan = Self { server: Server::Dead, deaths_left, ..self };
                if orphan.client == Client::Asleep {
                    // The kernel passes on the locks of the dead thread.
                    *orphan.lock(self.sent) = Lock { owner: Some(Side::Client), waiters: true };
                    orphan.client = Client::PutBack;
                }
                after.push(orphan);
            }
        }
        after
    }

    /// All possible next states.
    fn next(mut self, variant: Variant) -> Result<Vec<Self>, Flaw> {
        let owner = self.lock(self.sent).owner;
        if self.client == Client::Asleep && owner != Some(Side::Server) {
            return Err(Flaw::PriorityLost);
        }
        let mut next = self.deaths();
        next.extend(self.timeout());
        next.extend(self.client_step()?.map(|mut after| {
            if variant == Variant::WithoutPutBack && self.client == Client::PutBack {
                after.locks = self.locks;
            }
            after
        }));
        next.extend(self.server_step(variant)?);
        // A death does not count as progress.
        let can_go_on = next.iter().any(|after| after.deaths_left == self.deaths_left);
        if !can_go_on && self.client != Client::Ended {
            return Err(Flaw::Hang);
        }
        Ok(next)
    }
}

/// Explores every reachable state; returns their number.
fn explore(variant: Variant, timeouts: u8, deaths: u8) -> Result<usize, (Flaw, State)> {
    let start = State::start(timeouts, deaths);
    let (mut seen, mut left) = (HashSet::from([start]), vec![start]);
    while let Some(state) = left.pop() {
        for next in state.next(variant).map_err(|flaw| (flaw, state))? {
            if seen.insert(next) {
                left.push(next);
            }
        }
    }
    Ok(seen.len())
}

fn flaw_of(variant: Variant) -> Flaw {
    explore(variant, 0, 0).expect_err("there is a flaw").0
}

#[test]
fn no_order_of_steps_hangs_or_loses_a_priority() {
    let states = explore(Variant::Complete, 0, 0).unwrap();
    assert!(states > 200, "{states}");
}

#[test]
fn neither_do_time_outs_and_deaths() {
    let without = explore(Variant::Complete, 0, 0).unwrap();
    let with = explore(Variant::Complete, 3, 2).unwrap();
    assert!(with > 4 * without, "{with} states, {without} without");
}

#[test]
fn every_step_is_needed() {
    assert_eq!(flaw_of(Variant::WithoutSecondLock), Flaw::NoReply);
    assert_eq!(flaw_of(Variant::WithoutSecondLook), Flaw::Hang);
    assert_eq!(flaw_of(Variant::WithoutPutBack), Flaw::NotPutBack);
}
