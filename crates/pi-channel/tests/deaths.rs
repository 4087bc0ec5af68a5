//! Clients and servers that are killed at any moment. The other process is this
//! test program, started again.

// The setup of a test may panic.
#![allow(clippy::unwrap_used)]

use std::io::stdin;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio, abort};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use rand::{RngExt as _, SeedableRng as _};
use rand_xoshiro::Xoshiro256PlusPlus;
use unjank_pi_channel::{Answer, Client, Error, Outgoing, Request, Server, Settings};

const ROLE: &str = "PI_CHANNEL_TEST_ROLE";
const ROUNDS: u32 = 100;

/// Another process, which does not outlive this value.
struct Peer(Child);

impl Peer {
    /// This program, running only the test `role`, with `socket` as stdin.
    fn start(role: &str, socket: UnixStream) -> Self {
        let child = Command::new("/proc/self/exe")
            .args([role, "--exact", "--nocapture"])
            .env(ROLE, role)
            .stdin(Stdio::from(OwnedFd::from(socket)))
            .stdout(Stdio::null())
            .spawn();
        Self(child.unwrap())
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ended = self.0.kill();
        self.0.wait().unwrap();
    }
}

fn is_role(role: &str) -> bool {
    std::env::var(ROLE).as_deref() == Ok(role)
}

fn standard_input() -> UnixStream {
    UnixStream::from(stdin().as_fd().try_clone_to_owned().unwrap())
}

/// Ends this process if it makes no progress: a hang is a failure.
struct Watchdog(Arc<AtomicU64>, Arc<AtomicBool>);

impl Watchdog {
    fn start() -> Self {
        let (ticks, done) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
        let (seen, ends) = (Arc::clone(&ticks), Arc::clone(&done));
        thread::spawn(move || {
            let (mut last, mut since) = (0, Instant::now());
            while !ends.load(Ordering::Relaxed) {
                thread::sleep(Duration::from_millis(100));
                let now = seen.load(Ordering::Relaxed);
                if now != last {
                    (last, since) = (now, Instant::now());
                } else if since.elapsed() > Duration::from_secs(600) {
                    abort();
                }
            }
        });
        Self(ticks, done)
    }

    fn tick(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        self.1.store(true, Ordering::Relaxed);
    }
}

fn settings() -> Settings {
    Settings { lanes: 4, ..Settings::default() }
}

fn echo(request: &Request<'_>, reply: &mut Outgoing<'_>) -> Answer {
    let mut bytes = [0; 64];
    let bytes = request.payload.read(&mut bytes).unwrap();
    reply.write(bytes).unwrap();
    Answer::Reply
}

#[test]
fn serving_peer() {
    if is_role("serving_peer") {
        let mut server = Server::new(&settings()).unwrap();
        // Its client may be killed before it is admitted.
        if server.acceptor().admit(standard_input()).is_ok() {
            server.serve_connected(echo).unwrap();
        }
    }
}

/// Calls in an endless loop, with occasional pauses.
#[test]
fn calling_peer() {
    if is_role("calling_peer") {
        let mut client = Client::connect(standard_input()).unwrap();
        let mut chance = Xoshiro256PlusPlus::seed_from_u64(u64::from(std::process::id()));
        while client.call(&[1; 16], &mut [0; 16]).is_ok() {
            if chance.random_range(0..100) == 0 {
                thread::sleep(Duration::from_micros(chance.random_range(0..300)));
            }
        }
    }
}

#[test]
fn a_client_of_a_killed_server_gets_an_error() {
    let watchdog = Watchdog::start();
    for round in 0..ROUNDS {
        let mut chance = Xoshiro256PlusPlus::seed_from_u64(u64::from(round));
        let (ours, theirs) = UnixStream::pair().unwrap();
        let mut server = Peer::start("serving_peer", theirs);
        let mut client = Client::connect(ours).unwrap();
        if round % 3 == 0 {
            client.set_spin(Duration::ZERO);
        }
        client.call(&[1; 16], &mut [0; 16]).unwrap();
        let after = Duration::from_micros(chance.random_range(0..2_000));
        let idle = round % 5 == 0;
        let error = thread::scope(|scope| {
            scope.spawn(|| {
                thread::sleep(after);
                server.0.kill().unwrap();
            });
            if idle {
                thread::sleep(after + Duration::from_millis(5));
            }
            (0..).find_map(|_| client.call(&[1; 16], &mut [0; 16]).err()).unwrap()
        });
        assert!(matches!(error, Error::PeerDied), "round {round}: {error}");
        assert!(matches!(client.call(&[], &mut []), Err(Error::PeerDied)));
        watchdog.tick();
    }
}

#[test]
fn a_server_goes_on_without_clients_that_were_killed() {
    let watchdog = Watchdog::start();
    let (tx, rx) = mpsc::channel();
    let serving = thread::spawn(move || {
        let mut server = Server::new(&settings()).unwrap();
        tx.send((server.acceptor(), server.stopper())).unwrap();
        server.serve(echo).unwrap()
    });
    let (acceptor, stopper) = rx.recv().unwrap();
    let (ours, theirs) = UnixStream::pair().unwrap();
    let survivor = thread::scope(|scope| {
        scope.spawn(|| acceptor.admit(theirs).unwrap());
        Client::connect(ours).unwrap()
    });
    let done = AtomicBool::new(false);
    let calls = thread::scope(|scope| {
        let survivor = scope.spawn(|| {
            let (mut survivor, mut calls) = (survivor, 0_u64);
            while !done.load(Ordering::Relaxed) {
                let request = calls.to_ne_bytes();
                let mut reply = [0; 8];
                survivor.call(&request, &mut reply).unwrap();
                assert_eq!(reply, request);
                calls += 1;
            }
            calls
        });
        let mut chance = Xoshiro256PlusPlus::seed_from_u64(7);
        for _ in 0..ROUNDS {
            let (ours, theirs) = UnixStream::pair().unwrap();
            let client = Peer::start("calling_peer", theirs);
            acceptor.admit(ours).unwrap();
            thread::sleep(Duration::from_micros(chance.random_range(0..3_000)));
            drop(client);
            watchdog.tick();
        }
        done.store(true, Ordering::Relaxed);
        survivor.join().unwrap()
    });
    stopper.stop();
    let served = serving.join().unwrap();
    assert!(calls > 0);
    assert_eq!(served.arrived, u64::from(ROUNDS) + 1);
    assert_eq!(served.broken, 0, "a client that is killed has broken nothing");
    assert!(served.left > u64::from(ROUNDS) - 4, "there are only four lanes");
}

#[test]
fn a_server_for_its_client_alone_ends_with_it() {
    let watchdog = Watchdog::start();
    // Before it is admitted, and during its calls.
    let kills = [0, 20].map(Duration::from_millis).map(Some);
    for killed_after in [None].into_iter().chain(kills) {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let mut server = Peer::start("serving_peer", theirs);
        if let Some(time) = killed_after {
            // Here the client is another process, which gets this end.
            let client = Peer::start("calling_peer", ours);
            thread::sleep(time);
            drop(client);
        } else {
            let mut client = Client::connect(ours).unwrap();
            client.call(&[1], &mut [0]).unwrap();
        }
        assert!(server.0.wait().unwrap().success());
        watchdog.tick();
    }
}
