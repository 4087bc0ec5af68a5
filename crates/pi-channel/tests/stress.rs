//! Calls that time out at any moment, from clients with and without spinning:
//! every reply answers its own request.

// The setup of a test may panic.
#![allow(clippy::unwrap_used)]

use std::os::unix::net::UnixStream;
use std::process::abort;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use rand::{RngExt as _, SeedableRng as _};
use rand_xoshiro::Xoshiro256PlusPlus;
use unjank_pi_channel::{Answer, Client, Doorbells, Error, Server, Settings};

const CLIENTS: u64 = 4;
const CALLS: u64 = 3_000;
const LONG: Duration = Duration::from_secs(1_200);

static PROGRESS: AtomicU64 = AtomicU64::new(0);

/// Ends this process if no call ends for a while: a hang is a failure.
fn watch() {
    thread::spawn(|| {
        let mut last = u64::MAX;
        loop {
            let now = PROGRESS.load(Ordering::Relaxed);
            if now == last {
                abort();
            }
            last = now;
            thread::sleep(LONG);
        }
    });
}

fn compute(time: Duration) {
    let start = Instant::now();
    while start.elapsed() < time {}
}

/// Calls with random limits; returns how many were answered in time.
fn call_at_random(mut client: Client, number: u64) -> u64 {
    let mut chance = Xoshiro256PlusPlus::seed_from_u64(number);
    let mut answered = 0;
    for call in 0..CALLS {
        if chance.random_range(0..50) == 0 {
            client.set_spin(Duration::from_micros(chance.random_range(0..100)));
        }
        let request = [number, call].map(u64::to_ne_bytes).concat();
        let mut reply = [0; 16];
        let limit = Duration::from_micros(chance.random_range(0..300));
        match client.call_within(limit, &request, &mut reply) {
            Ok(length) => {
                assert_eq!(reply[..length], request);
                answered += 1;
            }
            Err(Error::TimedOut { .. }) => {}
            Err(error) => panic!("client {number}, call {call}: {error}"),
        }
        PROGRESS.fetch_add(1, Ordering::Relaxed);
    }
    let request = [number, CALLS].map(u64::to_ne_bytes).concat();
    let mut reply = [0; 16];
    assert_eq!(client.call_within(LONG, &request, &mut reply).unwrap(), 16);
    assert_eq!(reply[..], request);
    answered + 1
}

#[test]
fn a_reply_never_answers_another_request() {
    watch();
    for (doorbells, spin) in [(Doorbells::OnePerLane, 30), (Doorbells::Shared, 0)] {
        let settings =
            Settings { doorbells, spin: Duration::from_micros(spin), ..Settings::default() };
        let (tx, rx) = mpsc::channel();
        let serving = thread::spawn(move || {
            let mut server = Server::new(&settings).unwrap();
            tx.send((server.acceptor(), server.stopper())).unwrap();
            let mut chance = Xoshiro256PlusPlus::seed_from_u64(spin);
            server.serve(|request, reply| {
                let mut bytes = [0; 16];
                request.payload.read(&mut bytes).unwrap();
                compute(Duration::from_micros(chance.random_range(0..60)));
                reply.write(&bytes).unwrap();
                Answer::Reply
            })
        });
        let (acceptor, stopper) = rx.recv().unwrap();
        let answered: u64 = thread::scope(|scope| {
            let clients: Vec<_> = (0..CLIENTS)
                .map(|number| {
                    let (ours, theirs) = UnixStream::pair().unwrap();
                    let acceptor = acceptor.clone();
                    scope.spawn(move || acceptor.admit(theirs).unwrap());
                    scope.spawn(move || call_at_random(Client::connect(ours).unwrap(), number))
                })
                .collect();
            clients.into_iter().map(|client| client.join().unwrap()).sum()
        });
        stopper.stop();
        let done = serving.join().unwrap().unwrap();
        assert_eq!(done.broken, 0);
        assert!(done.calls >= answered, "{answered} of {done:?}");
        assert!(answered < CLIENTS * CALLS, "nothing ever timed out");
    }
}
