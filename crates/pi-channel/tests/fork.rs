//! A forked child does not disturb the channel of its parent.

// The setup of a test may panic; fork(2) is unsafe.
#![allow(clippy::unwrap_used, unsafe_code)]

use std::os::unix::net::UnixStream;
use std::sync::mpsc;
use std::thread;

use unjank_pi_channel::{Answer, Client, Error, Server, Settings};

/// Runs `child` in a forked process; returns its exit status.
fn fork(child: impl FnOnce() -> bool) -> i32 {
    // SAFETY: the child only reads memory, makes system calls and exits (fork(2)).
    match unsafe { libc::fork() } {
        -1 => panic!("fork: {}", std::io::Error::last_os_error()),
        0 => {
            let fine = child();
            // SAFETY: ends the process at once (_exit(2)).
            unsafe { libc::_exit(i32::from(!fine)) }
        }
        process => {
            let mut status = -1;
            // SAFETY: the status is written to memory that lives through the
            // call (waitpid(2)).
            assert_eq!(unsafe { libc::waitpid(process, &raw mut status, 0) }, process);
            status
        }
    }
}

#[test]
fn a_child_can_neither_call_nor_serve() {
    let (tx, rx) = mpsc::channel();
    let serving = thread::spawn(move || {
        let mut server = Some(Server::new(&Settings::default()).unwrap());
        tx.send((server.as_ref().unwrap().acceptor(), server.as_ref().unwrap().stopper())).unwrap();
        let status = fork(|| {
            let outcome = server.as_mut().unwrap().serve(|_, _| Answer::Reply);
            let refused = matches!(outcome, Err(Error::WrongOwner));
            drop(server.take());
            refused
        });
        assert_eq!(status, 0);
        server.unwrap().serve(|_, _| Answer::Reply).unwrap()
    });
    let (acceptor, stopper) = rx.recv().unwrap();
    let (ours, theirs) = UnixStream::pair().unwrap();
    let admitting = thread::spawn(move || acceptor.admit(theirs));
    let mut client = Some(Client::connect(ours).unwrap());
    admitting.join().unwrap().unwrap();
    client.as_mut().unwrap().call(&[], &mut []).unwrap();
    let status = fork(|| {
        let outcome = client.as_mut().unwrap().call(&[], &mut []);
        let refused = matches!(outcome, Err(Error::WrongOwner));
        drop(client.take());
        refused
    });
    assert_eq!(status, 0);
    client.as_mut().unwrap().call(&[], &mut []).unwrap();
    stopper.stop();
    let done = serving.join().unwrap();
    assert_eq!((done.calls, done.left), (2, 0));
}
