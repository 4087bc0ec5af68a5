//! A round trip allocates nothing, on either side.

use std::os::unix::net::UnixStream;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use unjank_needs::allocations::{self, Counting};
use unjank_pi_channel::{Answer, Client, Doorbells, Server, Settings};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

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
                        counts.push(allocations::so_far());
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
            let before = allocations::so_far();
            for call in 0..CALLS {
                let length = client.call(&[7; 4096][..call], &mut reply).unwrap();
                assert_eq!(length, call);
            }
            assert_eq!(allocations::so_far(), before, "the client");
            let counts = serving.join().unwrap();
            assert_eq!(counts[0], counts[CALLS - 1], "the server");
        }
    }
}
