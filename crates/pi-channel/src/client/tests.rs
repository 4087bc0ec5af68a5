//! Clients of fake and hostile servers.

use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::thread;

use rand::{RngExt as _, SeedableRng as _};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::*;
use crate::layout::{Geometry, Word};
use crate::mapping::Mapping;

const LONG: Duration = Duration::from_secs(1_200);
const SHORT: Duration = Duration::from_millis(20);
const CAPACITY: usize = 64;
/// Above the highest number that Linux gives to a thread (`PID_MAX_LIMIT`).
const NOBODY: u32 = 0x3FFF_FFF0;

/// Connects a client to a server that sends a welcome with these descriptors.
fn connect(fds: &[BorrowedFd<'_>]) -> Result<(Client, UnixStream)> {
    let (ours, theirs) = UnixStream::pair().unwrap();
    thread::scope(|scope| {
        let server = scope.spawn(|| {
            ask_for_credentials(&theirs).unwrap();
            assert_eq!(receive(&theirs, LONG).unwrap().message, Message::Hello);
            send(&theirs, Message::Welcome { thread: 1 }, fds).unwrap();
            theirs
        });
        let client = Client::connect(ours);
        let socket = server.join().unwrap();
        client.map(|client| (client, socket))
    })
}

/// A lane whose first lock is owned by `owner`, and its doorbell.
struct Fake {
    geometry: Geometry,
    memory: Mapping,
    lane: OwnedFd,
    bell: OwnedFd,
}

impl Fake {
    fn new(owner: u32) -> Self {
        let geometry = Geometry::new(CAPACITY, CAPACITY).unwrap();
        let (_lane, lane) = Lane::create(geometry, owner).unwrap();
        let memory = Mapping::open(&lane, 0, usize::MAX).unwrap();
        let (_bell, bell) = Doorbell::create().unwrap();
        Self { geometry, memory, lane, bell }
    }

    fn set(&self, word: Word, value: u32) {
        self.memory.word(self.geometry.position(word)).store(value, SeqCst);
    }

    fn connect(&self) -> Result<(Client, UnixStream)> {
        connect(&[self.lane.as_fd(), self.bell.as_fd()])
    }
}

#[test]
fn descriptors_that_are_not_a_lane_are_refused() {
    let refusal = |fds: &[BorrowedFd<'_>]| connect(fds).unwrap_err().to_string();
    let fake = Fake::new(1);
    let (pipe, _other_end) = std::io::pipe().unwrap();
    assert!(refusal(&[]).ends_with("without its two descriptors"));
    assert!(refusal(&[fake.lane.as_fd()]).ends_with("without its two descriptors"));
    assert!(refusal(&[pipe.as_fd(), fake.bell.as_fd()]).ends_with("that can be sealed"));
    assert!(refusal(&[fake.lane.as_fd(), pipe.as_fd()]).ends_with("that can be sealed"));
    assert!(refusal(&[fake.bell.as_fd(), fake.lane.as_fd()]).ends_with("not a lane"));
    let (_memory, large) = Mapping::create("large", 1 << 16).unwrap();
    assert!(refusal(&[fake.lane.as_fd(), large.as_fd()]).ends_with("a wrong size"));
    fake.set(Word::Version, 7);
    assert!(matches!(fake.connect(), Err(Error::Version { theirs: 7 })));
    let fake = Fake::new(1);
    for (capacity, end) in [
        (1 << 20, "do not fit its memory"),
        (4096, "do not fit its memory"),
        (u32::MAX, "it must be 0 to 16777216"),
    ] {
        fake.set(Word::ReplyCapacity, capacity);
        let error = fake.connect().unwrap_err().to_string();
        assert!(error.ends_with(end), "{error}");
    }
}

#[test]
fn an_answer_that_is_not_a_welcome_is_an_error() {
    let answer = |message: Message| {
        let (ours, theirs) = UnixStream::pair().unwrap();
        thread::scope(|scope| {
            scope.spawn(|| send(&theirs, message, &[]).unwrap());
            Client::connect(ours).unwrap_err()
        })
    };
    assert!(matches!(answer(Message::Full(8)), Error::Full { lanes: 8 }));
    assert!(matches!(answer(Message::Closed), Error::Closed));
    assert!(matches!(answer(Message::PidNamespace), Error::PidNamespace));
    assert!(matches!(answer(Message::Hello), Error::NotAChannel { .. }));
    let (ours, theirs) = UnixStream::pair().unwrap();
    drop(theirs);
    assert!(Client::connect(ours).is_err());
}

#[test]
fn a_lock_that_is_not_the_servers_ends_the_connection() {
    let me = crate::thread::number();
    for (owner, expected) in [
        (0, "the other side broke the protocol: a lock was released without a reply"),
        (NOBODY, "the other side of the channel has died"),
        (NOBODY | 1 << 31, "the other side of the channel has died"),
        (me, "the server waits for this thread: the call would never end"),
    ] {
        let fake = Fake::new(owner);
        let (mut client, _socket) = fake.connect().unwrap();
        for _ in 0..2 {
            let error = client.call(&[], &mut []).unwrap_err().to_string();
            assert_eq!(error, expected, "{owner:#x}");
        }
    }
}

#[test]
fn a_dead_server_is_detected_though_its_number_was_reused() {
    // Process 1 never waits for this thread, and always lives.
    let fake = Fake::new(1);
    let (mut client, socket) = fake.connect().unwrap();
    let error = client.call_within(SHORT, &[], &mut []).unwrap_err();
    assert!(matches!(error, Error::TimedOut { .. }), "{error}");
    drop(socket);
    let error = client.call(&[], &mut []).unwrap_err();
    assert!(matches!(error, Error::PeerDied), "{error}");
}

#[test]
fn a_reply_that_is_too_long_ends_the_connection() {
    let fake = Fake::new(1);
    let (mut client, _socket) = fake.connect().unwrap();
    fake.set(Word::ReplyLength, CAPACITY as u32 + 1);
    fake.set(Word::Reply, 1);
    for _ in 0..2 {
        let error = client.call(&[], &mut [0; CAPACITY]).unwrap_err().to_string();
        let expected = "the other side broke the protocol: a reply longer than its capacity";
        assert_eq!(error, expected);
    }
}

#[test]
fn no_garbage_stops_the_client() {
    let mut chance = Xoshiro256PlusPlus::seed_from_u64(11);
    for round in 0..100_u64 {
        let fake = Fake::new(1);
        let (mut client, _socket) = fake.connect().unwrap();
        let done = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                let mut chance = Xoshiro256PlusPlus::seed_from_u64(round);
                let mut number = 0;
                while !done.load(Relaxed) {
                    let values = [0, 1, 2, NOBODY, 1 << 31, 1 << 30, u32::MAX];
                    let value = match chance.random_range(0..=values.len()) {
                        random if random == values.len() => chance.random(),
                        index => values[index],
                    };
                    if chance.random() {
                        number += 1;
                        fake.set(Word::Reply, number);
                    } else {
                        let position = 4 * chance.random_range(0..256);
                        fake.memory.word(position).store(value, SeqCst);
                    }
                }
            });
            for _ in 0..10 {
                let length = chance.random_range(0..=CAPACITY);
                let limit = Duration::from_micros(500);
                let mut reply = [0; CAPACITY];
                if let Ok(length) = client.call_within(limit, &[1; CAPACITY][..length], &mut reply)
                {
                    assert!(length <= CAPACITY);
                }
            }
            done.store(true, Relaxed);
        });
    }
}
