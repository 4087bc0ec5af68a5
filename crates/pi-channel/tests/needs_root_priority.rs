//! The priority of a server while it serves and afterwards.
//!
//! Needs root. Without it, fails if `UNJANK_TEST_ALL=1`, otherwise prints that it
//! was skipped.

// Tests and their setup fail by panicking; scheduling policies have no safe
// wrapper.
#![allow(clippy::unwrap_used, unsafe_code)]

use std::fs;
use std::hint::spin_loop;
use std::io::stdin;
use std::mem::zeroed;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Barrier, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use unjank_pi_channel::{Acceptor, Answer, Client, Error, Outgoing, Request, Server, Settings};

const ROLE: &str = "PI_CHANNEL_TEST_ROLE";
const LONG: Duration = Duration::from_secs(1_200);

/// The effective priority of a thread in `proc_pid_stat(5)`: −81 for real-time
/// priority 80. `sched_getparam(2)` would return only its own.
fn effective_priority(process: u32, thread: u32) -> i64 {
    let stat = fs::read_to_string(format!("/proc/{process}/task/{thread}/stat")).unwrap();
    let (_, fields) = stat.rsplit_once(") ").unwrap();
    // The state, after the name, is field 3.
    fields.split(' ').nth(18 - 3).unwrap().parse().unwrap()
}

/// The effective priority of a thread that inherits none.
fn normal() -> i64 {
    20 + i64::from(rustix::process::getpriority_process(None).unwrap())
}

fn own_priority() -> i64 {
    effective_priority(std::process::id(), own_thread())
}

fn own_thread() -> u32 {
    rustix::thread::gettid().as_raw_nonzero().get().unsigned_abs()
}

fn millis_between(start: rustix::time::Timespec, end: rustix::time::Timespec) -> i64 {
    (end.tv_sec - start.tv_sec) * 1_000 + (end.tv_nsec - start.tv_nsec) / 1_000_000
}

/// Waits until this thread has a priority; returns its last one.
fn await_priority(expected: i64) -> i64 {
    let start = Instant::now();
    loop {
        let priority = own_priority();
        if priority == expected || start.elapsed() >= LONG {
            return priority;
        }
        thread::sleep(Duration::from_micros(200));
    }
}

fn set_real_time(priority: i32) {
    // SAFETY: zeroes are a valid sched_param, on which the call only reads
    // (sched_setscheduler(2)).
    let set = unsafe {
        let mut parameters: libc::sched_param = zeroed();
        parameters.sched_priority = priority;
        let policy = libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK;
        libc::sched_setscheduler(0, policy, &raw const parameters)
    };
    assert_eq!(set, 0);
}

/// A deadline of 1 ms out of each 10 ms (`sched_setattr(2)`).
fn set_deadline() {
    #[repr(C)]
    struct Attributes {
        size: u32,
        policy: u32,
        flags: u64,
        nice: i32,
        priority: u32,
        runtime: u64,
        deadline: u64,
        period: u64,
    }
    let attributes = Attributes {
        size: 48,
        policy: 6,
        flags: 0,
        nice: 0,
        priority: 0,
        runtime: 1_000_000,
        deadline: 10_000_000,
        period: 10_000_000,
    };
    // SAFETY: the structure is the first version of sched_attr, with its true
    // size, on which the call only reads.
    let set = unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0) };
    assert_eq!(set, 0, "{}", std::io::Error::last_os_error());
}

struct Peer(Child);

impl Peer {
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

fn expected(request: &Request<'_>) -> i64 {
    let mut bytes = [0; 8];
    request.payload.read(&mut bytes).unwrap();
    i64::from_ne_bytes(bytes)
}

/// Calls with the priority that the server should wait for; returns the one that
/// it had.
fn call(client: &mut Client, wanted: i64) -> i64 {
    let mut reply = [0; 8];
    assert_eq!(client.call_within(LONG, &wanted.to_ne_bytes(), &mut reply).unwrap(), 8);
    i64::from_ne_bytes(reply)
}

fn connect(acceptor: &Acceptor) -> Client {
    let (ours, theirs) = UnixStream::pair().unwrap();
    thread::scope(|scope| {
        scope.spawn(|| acceptor.admit(theirs).unwrap());
        Client::connect(ours).unwrap()
    })
}

/// The peer: waits for the priority in the request, and replies with the one that
/// it has.
#[test]
fn reporting_peer() {
    if std::env::var(ROLE).as_deref() != Ok("reporting_peer") {
        return;
    }
    let mut server = Server::new(&Settings::default()).unwrap();
    let socket = UnixStream::from(stdin().as_fd().try_clone_to_owned().unwrap());
    server.acceptor().admit(socket).unwrap();
    server
        .serve_connected(|request, reply| {
            reply.write(&await_priority(expected(request)).to_ne_bytes()).unwrap();
            Answer::Reply
        })
        .unwrap();
}

#[test]
fn a_server_has_the_priority_of_its_client_until_it_replies() {
    if !unjank_needs::root() {
        return;
    }
    let (ours, theirs) = UnixStream::pair().unwrap();
    let peer = Peer::start("reporting_peer", theirs);
    let mut client = Client::connect(ours).unwrap();
    let process = peer.0.id();
    assert_eq!(client.server().process, process);
    // The peer serves on the thread of its test, which is not its first thread.
    let server_threads = move || -> Vec<i64> {
        fs::read_dir(format!("/proc/{process}/task"))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().to_str().unwrap().parse().unwrap())
            .map(|thread| effective_priority(process, thread))
            .collect()
    };
    thread::spawn(move || {
        assert_eq!(call(&mut client, normal()), normal());
        for priority in [1, 80, 50] {
            set_real_time(priority);
            for spin in [Duration::ZERO, Duration::from_micros(30)] {
                client.set_spin(spin);
                let boosted = -1 - i64::from(priority);
                assert_eq!(call(&mut client, boosted), boosted);
                assert!(server_threads().iter().all(|priority| *priority == normal()));
            }
        }
        set_deadline();
        // The server inherits the deadline itself, which shows as −101.
        assert_eq!(call(&mut client, -101), -101);
        assert!(server_threads().iter().all(|priority| *priority == normal()));
    })
    .join()
    .unwrap();
}

#[test]
fn a_client_that_gives_up_takes_its_priority_back() {
    static INHERITED: AtomicBool = AtomicBool::new(false);
    if !unjank_needs::root() {
        return;
    }
    let (tx, rx) = mpsc::channel();
    let (seen, saw) = mpsc::channel();
    let serving = thread::spawn(move || {
        let mut server = Server::new(&Settings::default()).unwrap();
        tx.send((server.acceptor(), server.stopper())).unwrap();
        server.serve(|_, _| {
            if !INHERITED.load(Ordering::SeqCst) {
                let inherited = await_priority(-81);
                INHERITED.store(true, Ordering::SeqCst);
                seen.send((inherited, await_priority(normal()))).unwrap();
            }
            Answer::Reply
        })
    });
    let (acceptor, stopper) = rx.recv().unwrap();
    let mut client = connect(&acceptor);
    let caller = thread::spawn(move || {
        set_real_time(80);
        // On a busy machine, the server may look only after the client has given up.
        while !INHERITED.load(Ordering::SeqCst) {
            let answer = client.call_within(Duration::from_millis(100), &[], &mut []);
            assert!(matches!(answer, Err(Error::TimedOut { .. }) | Ok(0)), "{answer:?}");
        }
        client
    });
    assert_eq!(saw.recv_timeout(LONG).unwrap(), (-81, normal()));
    drop(caller.join().unwrap());
    stopper.stop();
    serving.join().unwrap().unwrap();
}

#[test]
fn an_ordinary_call_runs_at_the_priority_of_a_waiting_urgent_client() {
    if !unjank_needs::root() {
        return;
    }
    let (tx, rx) = mpsc::channel();
    let (began, start) = mpsc::channel();
    let serving = thread::spawn(move || {
        let mut server = Server::new(&Settings::default()).unwrap();
        tx.send((server.acceptor(), server.stopper())).unwrap();
        server.serve(|request, reply| {
            began.send(()).unwrap();
            reply.write(&await_priority(expected(request)).to_ne_bytes()).unwrap();
            Answer::Reply
        })
    });
    let (acceptor, stopper) = rx.recv().unwrap();
    let (mut slow, mut urgent) = (connect(&acceptor), connect(&acceptor));
    thread::scope(|scope| {
        let slow = scope.spawn(move || call(&mut slow, -81));
        start.recv_timeout(LONG).unwrap();
        scope.spawn(move || {
            set_real_time(80);
            assert_eq!(call(&mut urgent, -81), -81);
        });
        // This client has no priority, but the one that waits behind it has.
        assert_eq!(slow.join().unwrap(), -81);
    });
    stopper.stop();
    serving.join().unwrap().unwrap();
}

#[test]
fn a_server_that_calls_another_passes_its_inherited_priority_on() {
    if !unjank_needs::root() {
        return;
    }
    let (ours, theirs) = UnixStream::pair().unwrap();
    let _last = Peer::start("reporting_peer", theirs);
    let (tx, rx) = mpsc::channel();
    let serving = thread::spawn(move || {
        let mut onward = Client::connect(ours).unwrap();
        let mut server = Server::new(&Settings::default()).unwrap();
        tx.send((server.acceptor(), server.stopper())).unwrap();
        server.serve(|request: &Request<'_>, reply: &mut Outgoing<'_>| {
            reply.write(&call(&mut onward, expected(request)).to_ne_bytes()).unwrap();
            Answer::Reply
        })
    });
    let (acceptor, stopper) = rx.recv().unwrap();
    let mut client = connect(&acceptor);
    thread::spawn(move || {
        set_real_time(80);
        assert_eq!(call(&mut client, -81), -81);
    })
    .join()
    .unwrap();
    stopper.stop();
    serving.join().unwrap().unwrap();
}

#[test]
fn a_thread_of_middle_priority_does_not_delay_a_call() {
    if !unjank_needs::root() {
        return;
    }
    let pin = || {
        let mut cpus = rustix::thread::CpuSet::new();
        cpus.set(0);
        rustix::thread::sched_setaffinity(None, &cpus).unwrap();
    };
    let (tx, rx) = mpsc::channel();
    let serving = thread::spawn(move || {
        pin();
        let mut server = Server::new(&Settings::default()).unwrap();
        tx.send((server.acceptor(), server.stopper())).unwrap();
        server.serve(|_, _| Answer::Reply)
    });
    let (acceptor, stopper) = rx.recv().unwrap();
    let mut client = connect(&acceptor);
    let (ready, begun, stop) = (Barrier::new(2), Barrier::new(2), AtomicBool::new(false));
    let computes = AtomicBool::new(false);
    thread::scope(|scope| {
        // On the CPU of both, with a priority above the server and below the client.
        scope.spawn(|| {
            pin();
            set_real_time(50);
            ready.wait();
            computes.store(true, Ordering::Relaxed);
            begun.wait();
            // Real-time throttling begins after 950 ms of a CPU, and lets a server without
            // priority run. How long this takes depends on the machine's other work.
            let used = || rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
            let start = used();
            while !stop.load(Ordering::Relaxed) && millis_between(start, used()) < 800 {
                spin_loop();
            }
            computes.store(false, Ordering::Relaxed);
        });
        scope.spawn(|| {
            pin();
            set_real_time(80);
            ready.wait();
            begun.wait();
            for _ in 0..20 {
                thread::sleep(Duration::from_millis(1));
                client.call_within(LONG, &[], &mut []).unwrap();
            }
            assert!(computes.load(Ordering::Relaxed), "they had to wait for it");
            stop.store(true, Ordering::Relaxed);
        });
    });
    stopper.stop();
    serving.join().unwrap().unwrap();
}
