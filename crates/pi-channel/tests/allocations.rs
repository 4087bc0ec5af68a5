//! A round trip allocates nothing, on either side.

// The setup of a test may panic; an allocator is unsafe.
#![allow(clippy::unwrap_used, unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::os::unix::net::UnixStream;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use unjank_pi_channel::{Answer, Client, Doorbells, Server, Settings};

thread_local! {
    static COUNT: Cell<u64> = const { Cell::new(0) };
}

struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

// SAFETY: all work is the system allocator's; the counter has no destructor
// and allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.set(COUNT.get() + 1);
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[test]
fn a_round_trip_allocates_nothing() {
    const CALLS: usize = 500;
    for spin in [Duration::ZERO, Duration::from_micros(30)] {
        for doorbells in [Doorbells::OnePerLane, Doorbells::Shared] {
            let (tx, rx) = mpsc::channel();
            let serving = thread::spawn(move || {
                let settings = Settings { spin, doorbells, ..Settings::default() };
                let mut server = Server::new(&settings).unwrap();
                tx.send(server.acceptor()).unwrap();
                let mut buffer = vec![0; 4096];
                let mut counts = Vec::with_capacity(2 * CALLS);
                server
                    .serve(|request, reply| {
                        counts.push(COUNT.get());
                        reply.write(request.payload.read(&mut buffer).unwrap()).unwrap();
                        if counts.len() == CALLS { Answer::ReplyAndStop } else { Answer::Reply }
                    })
                    .unwrap();
                counts
            });
            let acceptor = rx.recv().unwrap();
            let (ours, theirs) = UnixStream::pair().unwrap();
            let admitting = thread::spawn(move || acceptor.admit(theirs));
            let mut client = Client::connect(ours).unwrap();
            admitting.join().unwrap().unwrap();
            client.set_spin(spin);
            let mut reply = vec![0; 4096];
            let before = COUNT.get();
            for call in 0..CALLS {
                let length = client.call(&[7; 4096][..call], &mut reply).unwrap();
                assert_eq!(length, call);
            }
            assert_eq!(COUNT.get(), before, "the client");
            let counts = serving.join().unwrap();
            assert_eq!(counts[0], counts[CALLS - 1], "the server");
        }
    }
}
