//! Servers with hostile clients.

use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicU32};
use std::sync::mpsc;
use std::thread::{self, JoinHandle};

use rand::{RngExt as _, SeedableRng as _};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::os::unix::net::UnixStream;

use super::*;
use crate::client::Client;
use crate::layout::Word;
use crate::mapping::Mapping;
use crate::message::{Message, Received, ask_for_credentials, receive, send};

const LONG: Duration = Duration::from_secs(1_200);
const CAPACITY: usize = 64;

/// A hostile client: the memory of a lane and its layout.
struct Raw {
    memory: Mapping,
    bell: Doorbell,
    geometry: Geometry,
    _socket: UnixStream,
}

impl Raw {
    fn connect(acceptor: &Acceptor) -> Self {
        let (ours, theirs) = UnixStream::pair().unwrap();
        thread::scope(|scope| {
            scope.spawn(|| acceptor.admit(theirs).unwrap());
            ask_for_credentials(&ours).unwrap();
            send(&ours, Message::Hello, &[]).unwrap();
            let Received { fds, .. } = receive(&ours, LONG).unwrap();
            let geometry = Geometry::new(CAPACITY, CAPACITY).unwrap();
            let memory = Mapping::open(&fds[0], 0, usize::MAX).unwrap();
            Self { memory, bell: Doorbell::open(&fds[1]).unwrap(), geometry, _socket: ours }
        })
    }

    fn word(&self, word: Word) -> &AtomicU32 {
        self.memory.word(self.geometry.position(word))
    }
}

fn connect(acceptor: &Acceptor) -> Client {
    let (ours, theirs) = UnixStream::pair().unwrap();
    thread::scope(|scope| {
        scope.spawn(|| acceptor.admit(theirs).unwrap());
        Client::connect(ours).unwrap()
    })
}

fn start() -> (Acceptor, Stopper, JoinHandle<Served>) {
    let (tx, rx) = mpsc::channel();
    let thread = thread::spawn(move || {
        let settings = Settings {
            lanes: 3,
            request_capacity: CAPACITY,
            reply_capacity: CAPACITY,
            ..Settings::default()
        };
        let mut server = Server::new(&settings).unwrap();
        tx.send((server.acceptor(), server.stopper())).unwrap();
        let mut buffer = [0; CAPACITY];
        server
            .serve(|request, reply| {
                reply.write(request.payload.read(&mut buffer).unwrap()).unwrap();
                Answer::Reply
            })
            .unwrap()
    });
    let (acceptor, stopper) = rx.recv().unwrap();
    (acceptor, stopper, thread)
}

fn assert_answered(client: &mut Client) {
    let mut reply = [0; CAPACITY];
    for request in [[1; 16], [2; 16]] {
        assert_eq!(client.call_within(LONG, &request, &mut reply).unwrap(), 16);
        assert_eq!(reply[..16], request);
    }
}

#[test]
fn only_a_client_that_breaks_the_protocol_loses_its_lane() {
    let (acceptor, stopper, thread) = start();
    let mut honest = connect(&acceptor);
    let breaches: [(&[(Word, u32)], &str); 5] = [
        (&[(Word::Request, 7)], "a number out of turn"),
        (&[(Word::Request, 0xFFFF_FFFF)], "a number backwards"),
        (&[(Word::RequestLength, 65), (Word::Request, 1)], "a request that is too long"),
        (&[(Word::Lock(0), 1), (Word::Request, 1)], "a lock that is not put back"),
        (&[(Word::Lock(1), 1), (Word::Request, 1)], "a lock that is taken away"),
    ];
    for (words, what) in breaches {
        let raw = Raw::connect(&acceptor);
        for (word, value) in words {
            raw.word(*word).store(*value, SeqCst);
        }
        raw.bell.ring();
        assert_answered(&mut honest);
        while raw.word(Word::ServerClosed).load(SeqCst) == 0 {
            thread::yield_now();
        }
        assert_answered(&mut honest);
        drop(raw);
        let mut next = connect(&acceptor);
        assert_answered(&mut next);
        drop(next);
        assert_eq!(what, what, "the lane was closed");
    }
    stopper.stop();
    assert_eq!(thread.join().unwrap().broken, 5);
}

#[test]
fn a_lane_with_false_claims_is_served() {
    let (acceptor, stopper, thread) = start();
    let mut honest = connect(&acceptor);
    for word in [Word::ClientCpu, Word::ClientPriority, Word::Version, Word::RequestCapacity] {
        let raw = Raw::connect(&acceptor);
        raw.word(word).store(u32::MAX, SeqCst);
        raw.word(Word::RequestLength).store(CAPACITY as u32, SeqCst);
        raw.word(Word::Request).store(1, SeqCst);
        raw.bell.ring();
        assert_answered(&mut honest);
        while raw.word(Word::Reply).load(SeqCst) != 1 {
            thread::yield_now();
        }
        assert_eq!(raw.word(Word::ReplyLength).load(SeqCst), CAPACITY as u32);
    }
    stopper.stop();
    assert_eq!(thread.join().unwrap().broken, 0);
}

#[test]
fn no_garbage_stops_the_server_or_reaches_another_lane() {
    let (acceptor, stopper, thread) = start();
    let mut honest = connect(&acceptor);
    let garbage_done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut chance = Xoshiro256PlusPlus::seed_from_u64(4);
            let mut closed = 0;
            // Counts the lanes that the server has closed, because it may rarely run.
            for _ in 0..100_000 {
                closed += u32::from(is_closed_for_garbage(&Raw::connect(&acceptor), &mut chance));
                if closed == 20 {
                    break;
                }
            }
            garbage_done.store(true, Relaxed);
        });
        while !garbage_done.load(Relaxed) {
            assert_answered(&mut honest);
        }
        assert_answered(&mut honest);
    });
    stopper.stop();
    let served = thread.join().unwrap();
    assert!(served.broken > 0, "{served:?}");
}

/// Writes garbage into a lane. Returns whether the server closed it.
fn is_closed_for_garbage(raw: &Raw, chance: &mut Xoshiro256PlusPlus) -> bool {
    let mut number = 0_u32;
    let server = raw.word(Word::Lock(1)).load(SeqCst);
    for _ in 0..chance.random_range(1..200) {
        let values = [0, 1, 2, server, server | 1 << 31, server | 1 << 30, u32::MAX];
        let value = match chance.random_range(0..=values.len()) {
            random if random == values.len() => chance.random(),
            index => values[index],
        };
        // Half of the time, a plausible call.
        if chance.random() {
            number = number.wrapping_add(1);
            raw.word(Word::RequestLength).store(value % 70, SeqCst);
            raw.word(Word::Request).store(number, SeqCst);
        } else {
            let position = 4 * chance.random_range(0..raw.memory.length() / 16);
            raw.memory.word(position).store(value, SeqCst);
        }
        raw.bell.ring();
        thread::yield_now();
        if raw.word(Word::ServerClosed).load(SeqCst) != 0 {
            return true;
        }
    }
    false
}

#[test]
fn a_peer_that_is_not_a_client_is_refused_and_the_server_goes_on() {
    let (acceptor, stopper, thread) = start();
    let (ours, theirs) = UnixStream::pair().unwrap();
    send(&ours, Message::Closed, &[]).unwrap();
    assert!(matches!(acceptor.admit(theirs), Err(Error::NotAChannel { .. })));
    let (ours, theirs) = UnixStream::pair().unwrap();
    std::io::Write::write_all(&mut &ours, &[0x55; 32]).unwrap();
    assert!(matches!(acceptor.admit(theirs), Err(Error::NotAChannel { .. })));
    let (ours, theirs) = UnixStream::pair().unwrap();
    drop(ours);
    assert!(matches!(acceptor.admit(theirs), Err(Error::Closed)));
    // All lanes are still free.
    let clients: Vec<Client> = (0..3).map(|_| connect(&acceptor)).collect();
    drop(clients);
    stopper.stop();
    assert_eq!(thread.join().unwrap().arrived, 3);
}
