//! Calls between two threads, each with its own end.

// The setup of a test may panic; access in place is unsafe.
#![allow(clippy::unwrap_used, unsafe_code)]

use std::os::unix::net::UnixStream;
use std::sync::mpsc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use unjank_pi_channel::{
    Acceptor, Answer, Client, Doorbells, Error, MAX_LANES, Outgoing, Request, Served, Server,
    Settings, Stopper,
};

const LONG: Duration = Duration::from_secs(1_200);

/// A server on its own thread.
struct Running {
    acceptor: Acceptor,
    stopper: Stopper,
    thread: JoinHandle<Served>,
}

impl Running {
    fn start<H>(settings: Settings, handler: H) -> Self
    where
        H: FnMut(&Request<'_>, &mut Outgoing<'_>) -> Answer + Send + 'static,
    {
        let (tx, rx) = mpsc::channel();
        let thread = thread::spawn(move || {
            let mut server = Server::new(&settings).unwrap();
            tx.send((server.acceptor(), server.stopper())).unwrap();
            server.serve(handler).unwrap()
        });
        let (acceptor, stopper) = rx.recv().unwrap();
        Self { acceptor, stopper, thread }
    }

    fn echo(settings: Settings) -> Self {
        let mut buffer = vec![0; settings.request_capacity];
        Self::start(settings, move |request, reply| {
            let bytes = request.payload.read(&mut buffer).unwrap();
            reply.write(bytes).unwrap();
            Answer::Reply
        })
    }

    fn connect(&self) -> Result<Client, Error> {
        let (ours, theirs) = UnixStream::pair().unwrap();
        thread::scope(|scope| {
            let admitted = scope.spawn(|| self.acceptor.admit(theirs));
            let client = Client::connect(ours);
            let _the_client_has_the_error = admitted.join().unwrap();
            client
        })
    }

    fn stop(self) -> Served {
        self.stopper.stop();
        self.thread.join().unwrap()
    }
}

fn settings(capacity: usize) -> Settings {
    Settings { request_capacity: capacity, reply_capacity: capacity, ..Settings::default() }
}

#[test]
fn a_reply_is_what_the_handler_wrote() {
    for spin in [Duration::ZERO, Duration::from_micros(30), Duration::MAX] {
        for doorbells in [Doorbells::OnePerLane, Doorbells::Shared] {
            let server = Running::echo(Settings { spin, doorbells, ..settings(512 << 10) });
            let mut client = server.connect().unwrap();
            client.set_spin(spin);
            let mut reply = vec![0; 512 << 10];
            for length in [0, 1, 7, 8, 9, 4096, 512 << 10] {
                for byte in 0..20 {
                    let request = vec![byte; length];
                    assert_eq!(client.call(&request, &mut reply).unwrap(), length);
                    assert_eq!(&reply[..length], &request[..]);
                }
            }
            drop(client);
            let done = server.stop();
            assert_eq!((done.calls, done.arrived, done.broken), (140, 1, 0));
        }
    }
}

#[test]
fn a_payload_can_be_written_and_read_in_place() {
    let server = Running::start(settings(16), |request, reply| {
        let first = request.payload.as_ptr();
        // SAFETY: the test below sends at least a byte, which is mapped while
        // the request is borrowed.
        let byte = unsafe { first.read_volatile() };
        // SAFETY: there is room for sixteen bytes.
        unsafe { reply.as_mut_ptr().write_volatile(byte + 1) };
        reply.set_len(1).unwrap();
        Answer::Reply
    });
    let mut client = server.connect().unwrap();
    let answer = client.call_in_place(
        Some(LONG),
        |room| room.write(&[41]),
        |bytes| {
            let mut byte = [0];
            assert_eq!(bytes.read_at(0, &mut byte), 1);
            byte[0]
        },
    );
    assert_eq!(answer.unwrap(), 42);
}

#[test]
fn data_that_does_not_fit_is_refused_and_the_lane_goes_on() {
    let server = Running::echo(settings(16));
    let mut client = server.connect().unwrap();
    let error = client.call(&[1; 17], &mut [0; 16]).unwrap_err().to_string();
    assert_eq!(error, "17 bytes do not fit into a buffer of 16 bytes");
    let error = client.call(&[1; 16], &mut [0; 15]).unwrap_err().to_string();
    assert_eq!(error, "16 bytes do not fit into a buffer of 15 bytes");
    assert_eq!(client.call(&[1; 16], &mut [0; 16]).unwrap(), 16);
    assert_eq!(server.stop().calls, 2);
}

#[test]
fn a_refusal_has_a_status() {
    let server = Running::start(settings(16), |_, _| Answer::Refuse(-74));
    let mut client = server.connect().unwrap();
    let error = client.call(&[], &mut []).unwrap_err();
    assert!(matches!(error, Error::Refused { status: -74 }), "{error}");
}

#[test]
fn a_late_reply_is_dropped_and_the_next_call_gets_its_own() {
    let (go, wait) = mpsc::channel::<()>();
    let server = Running::start(settings(16), move |request, reply| {
        let mut byte = [0];
        request.payload.read(&mut byte).unwrap();
        if byte == [1] {
            wait.recv().unwrap();
        }
        reply.write(&byte).unwrap();
        Answer::Reply
    });
    let mut client = server.connect().unwrap();
    let mut reply = [0];
    for _ in 0..3 {
        let limit = Duration::from_millis(5);
        let error = client.call_within(limit, &[1], &mut reply).unwrap_err();
        assert!(matches!(error, Error::TimedOut { waited } if waited == limit), "{error}");
    }
    go.send(()).unwrap();
    assert_eq!(client.call_within(LONG, &[2], &mut reply).unwrap(), 1);
    assert_eq!(reply, [2]);
    assert_eq!(server.stop().calls, 2, "a call that waits for a late reply is not sent");
}

#[test]
fn the_clients_of_a_server_that_ends_get_an_error() {
    let server = Running::start(settings(16), |_, _| Answer::ReplyAndStop);
    let (mut stays, mut calls) = (server.connect().unwrap(), server.connect().unwrap());
    calls.call(&[], &mut []).unwrap();
    server.thread.join().unwrap();
    for client in [&mut stays, &mut calls] {
        for _ in 0..2 {
            assert!(matches!(client.call(&[], &mut []), Err(Error::Closed)));
        }
    }
    let (ours, theirs) = UnixStream::pair().unwrap();
    thread::scope(|scope| {
        scope.spawn(|| assert!(matches!(server.acceptor.admit(theirs), Err(Error::Closed))));
        assert!(matches!(Client::connect(ours), Err(Error::Closed)));
    });
}

#[test]
fn a_client_that_arrives_before_the_server_serves_is_served() {
    let (tx, rx) = mpsc::channel();
    let (go, wait) = mpsc::channel::<()>();
    let thread = thread::spawn(move || {
        let mut server = Server::new(&settings(16)).unwrap();
        tx.send(server.acceptor()).unwrap();
        wait.recv().unwrap();
        let mut calls = 0;
        let mut handler = || {
            calls += 1;
            if calls == 2 { Answer::ReplyAndStop } else { Answer::Reply }
        };
        server.serve(|_, _| handler()).unwrap()
    });
    let acceptor = rx.recv().unwrap();
    let (ours, theirs) = UnixStream::pair().unwrap();
    thread::scope(|scope| {
        scope.spawn(|| acceptor.admit(theirs).unwrap());
        let mut client = Client::connect(ours).unwrap();
        let early = client.call_within(Duration::from_millis(5), &[], &mut []);
        assert!(matches!(early, Err(Error::TimedOut { .. })));
        go.send(()).unwrap();
        client.call_within(LONG, &[], &mut []).unwrap();
    });
    assert_eq!(thread.join().unwrap().calls, 2);
}

#[test]
fn a_lane_is_given_to_the_next_client_when_its_own_has_left() {
    let server = Running::echo(Settings { lanes: 2, ..settings(16) });
    let first = server.connect().unwrap();
    let _second = server.connect().unwrap();
    let error = server.connect().unwrap_err().to_string();
    assert_eq!(error, "all 2 lanes of the server are taken");
    drop(first);
    for _ in 0..20 {
        server.connect().unwrap().call(&[1], &mut [0]).unwrap();
    }
}

#[test]
fn many_clients_are_all_answered() {
    const CALLS: usize = 2_000;
    let server = Running::echo(Settings { lanes: 8, ..settings(64) });
    thread::scope(|scope| {
        for number in 0..8_u8 {
            let mut client = server.connect().unwrap();
            scope.spawn(move || {
                let mut reply = [0; 64];
                for call in 0..CALLS {
                    let request = [number, call as u8, (call >> 8) as u8];
                    assert_eq!(client.call_within(LONG, &request, &mut reply).unwrap(), 3);
                    assert_eq!(reply[..3], request);
                }
            });
        }
    });
    assert_eq!(server.stop().calls, 8 * CALLS as u64);
}

#[test]
fn a_server_that_calls_itself_is_a_deadlock() {
    let mut client: Option<Client> = None;
    let (give, given) = mpsc::channel::<Client>();
    let (tx, rx) = mpsc::channel();
    let server = Running::start(settings(16), move |_, _| {
        let client = client.get_or_insert_with(|| given.recv().unwrap());
        let limit = Duration::from_secs(5);
        tx.send(client.call_within(limit, &[], &mut []).unwrap_err()).unwrap();
        Answer::Reply
    });
    give.send(server.connect().unwrap()).unwrap();
    server.connect().unwrap().call(&[], &mut []).unwrap();
    assert!(matches!(rx.recv().unwrap(), Error::Deadlock));
}

#[test]
fn servers_that_wait_for_each_other_are_a_deadlock() {
    let (saw, seen) = mpsc::channel();
    let server = || {
        let (give, given) = mpsc::channel::<Client>();
        let (mut onward, saw) = (None, saw.clone());
        let running = Running::start(settings(16), move |_, _| {
            let onward = onward.get_or_insert_with(|| given.recv().unwrap());
            match onward.call_within(LONG, &[], &mut []) {
                Ok(_) => Answer::Reply,
                Err(error) => {
                    saw.send(error).unwrap();
                    Answer::Refuse(1)
                }
            }
        });
        (running, give)
    };
    let ((first, to_first), (second, to_second)) = (server(), server());
    to_first.send(second.connect().unwrap()).unwrap();
    to_second.send(first.connect().unwrap()).unwrap();
    let mut client = first.connect().unwrap();
    let _refused = client.call_within(LONG, &[], &mut []);
    assert!(matches!(seen.recv_timeout(LONG).unwrap(), Error::Deadlock));
}

#[test]
fn impossible_settings_are_refused() {
    for lanes in [0, MAX_LANES + 1] {
        let error = Server::new(&Settings { lanes, ..settings(16) }).unwrap_err();
        assert!(matches!(error, Error::Setting { value, .. } if value == lanes), "{error}");
    }
    assert!(Server::new(&settings(usize::MAX)).is_err());
}

#[test]
fn only_the_client_of_a_panicked_call_loses_its_lane() {
    let thread = thread::spawn(|| {
        let mut server = Server::new(&settings(16)).unwrap();
        let (acceptor, stopper) = (server.acceptor(), server.stopper());
        let clients = thread::spawn(move || {
            let connect = || {
                let (ours, theirs) = UnixStream::pair().unwrap();
                let acceptor = acceptor.clone();
                let admitted = thread::spawn(move || acceptor.admit(theirs));
                let client = Client::connect(ours).unwrap();
                admitted.join().unwrap().unwrap();
                client
            };
            let (mut lucky, mut unlucky) = (connect(), connect());
            lucky.call(&[0], &mut []).unwrap();
            let start = Instant::now();
            let error = unlucky.call_within(LONG, &[1], &mut []).unwrap_err();
            assert!(matches!(error, Error::Closed), "{error} after {:?}", start.elapsed());
            lucky.call(&[0], &mut []).unwrap();
            stopper.stop();
        });
        let mut serve = || {
            server.serve(|request, _| {
                let mut byte = [0];
                request.payload.read(&mut byte).unwrap();
                assert_eq!(byte, [0], "as it should");
                Answer::Reply
            })
        };
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(&mut serve));
        assert!(panicked.is_err());
        assert_eq!(serve().unwrap().broken, 1);
        clients.join().unwrap();
    });
    thread.join().unwrap();
}
