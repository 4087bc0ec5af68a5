//! Calls between processes over shared memory, in which a server inherits the
//! priority of its most urgent client. On any Linux from 4.14 on, without
//! privileges for the server, and without a driver.
//!
//! A thread of real-time priority that asks another process and waits is as
//! urgent as the thread that answers it. Over a socket or a pipe, that one
//! keeps the priority it has, and whoever lies between the two runs first:
//! priority inversion. Over a pi-channel, whoever answers has the priority of
//! whoever waits, from the moment of waiting to the moment of the reply.
//!
//! ```no_run
//! use std::os::unix::net::UnixStream;
//! use unjank_pi_channel::{Answer, Client, Server, Settings};
//!
//! # fn main() -> unjank_pi_channel::Result<()> {
//! # let (ours, theirs) = UnixStream::pair().expect("a socket pair");
//! // In one process, on the thread that is to serve:
//! let mut server = Server::new(&Settings::default())?;
//! server.acceptor().admit(theirs)?;
//! let mut buffer = [0; 4096];
//! server.serve(|request, reply| {
//!     match request.payload.read(&mut buffer).and_then(|bytes| reply.write(bytes)) {
//!         Ok(()) => Answer::Reply,
//!         Err(_) => Answer::Refuse(1),
//!     }
//! })?;
//!
//! // In another, with the other end of the socket:
//! let mut client = Client::connect(ours)?;
//! let mut reply = [0; 4096];
//! let length = client.call(b"are you there?", &mut reply)?;
//! # Ok(())
//! # }
//! ```
//!
//! The socket is only for setting up, and for each side to see that the other
//! is gone. It may be one end of a pair that a child process gets as its
//! stdin, or come from a listener; `examples/echo.rs` accepts on one thread
//! and serves on another.
//!
//! # When to use it
//!
//! - A real-time thread (`SCHED_FIFO`, `SCHED_RR`, `SCHED_DEADLINE`) needs an
//!   answer from another process, and other real-time threads share its CPUs.
//! - Calls are short and frequent. Across two CPUs a round trip that meets a
//!   server awake takes no system call and well under a microsecond; on one
//!   CPU it takes two or four, and less than over a socket.
//!
//! # When not to
//!
//! - The server waits for others in its handler: for a disk, a socket, an
//!   ordinary mutex. Priority is lent to the thread that serves and, through
//!   priority-inheriting locks and further pi-channels, to those that it
//!   waits for; not through anything else. `PTHREAD_PRIO_INHERIT` mutexes and
//!   a [`Client`] of another server pass it on. Servers that wait for each
//!   other in a circle are told so by the kernel: [`Error::Deadlock`].
//! - Calls should run in parallel. A server is one thread, because a client
//!   must know, before it waits, to whom it lends its priority. Use several
//!   servers.
//! - The two sides are in different PID namespaces. Lock words hold thread
//!   numbers, so this is refused when the lane is set up.
//! - Nice values are to be inherited. The kernel lends real-time priority and
//!   deadlines only: a server with a waiting client of nice −15 shows its
//!   priority in `/proc`, and gets no more of the CPU for it.
//!
//! # How it works
//!
//! Each client has a *lane*: sealed memory of its own, shared with the server
//! alone, with a request, a reply and two priority-inheriting futexes. The
//! server owns, at any time, the one on which the client would wait next. A
//! client that finds no reply asks the kernel for that lock
//! (`FUTEX_LOCK_PI2`): it sleeps, and the kernel's `rt_mutex` lends its
//! priority to the owner, as it does for a mutex. To reply, the server takes
//! the lane's other lock, for the next call, and then lets go of this one: the
//! kernel passes it to the client, and takes back what was lent, in the same
//! moment.
//!
//! | step | by | request | reply | lock *n* | lock *n*+1 | |
//! |---|---|---|---|---|---|---|
//! | idle | | *n*−1 | *n*−1 | server | 0 | |
//! | post | client | ***n*** | *n*−1 | server | 0 | bytes, then the number; then the bell |
//! | wait | client | *n* | *n*−1 | **server, waiters** | 0 | only if the reply does not come while spinning |
//! | take | server | *n* | *n*−1 | server | **server** | tried, never waited for |
//! | reply | server | *n* | ***n*** | server | server | bytes, then the number |
//! | pass on | server | *n* | *n* | **client, waiters** | server | by the kernel; **0** by user space if nobody waits |
//! | put back | client | *n* | *n* | **0** | server | only if the client waited |
//! | idle | | *n* | *n* | 0 | server | as the first row, for call *n*+1 |
//!
//! Lock *n* is the word *n* mod 2. Nobody ever waits for a client's lock: the
//! server tries, and closes the lane if the client did not put it back.
//!
//! A server without work sleeps on a *doorbell*, which clients ring only while
//! it says that it sleeps. What a round trip costs then:
//!
//! | | client | server |
//! |---|---|---|
//! | two CPUs, calls come soon | none | none |
//! | one CPU, the server runs when it is woken | wake | sleep |
//! | one CPU, the client goes on to wait | wake, lock | unlock, sleep |
//! | one CPU, real-time client, calls come soon | lock | unlock |
//!
//! In the last row the client preempts the server inside the unlocking, so
//! that it never gets to sleep, and need not be woken for the next call.
//!
//! Between two CPUs both sides look out for a bounded time before they sleep,
//! [`DEFAULT_SPIN`]. Each publishes the CPU on which it runs; on the same CPU
//! nobody looks out. A client of real-time priority whose server was moved to
//! its CPU meanwhile keeps it from running for that time at most, and stops
//! trying after three failures in a row.
//!
//! # Limits of time
//!
//! [`Client::call`] waits for as long as the server lives.
//! [`Client::call_within`] gives up: the server goes on with what it does,
//! nothing is lent to it any more, and the next call first waits for the late
//! reply and drops it. On a kernel without `FUTEX_LOCK_PI2` (before 5.14)
//! limits are on the real-time clock, and move when somebody sets it.
//!
//! # When a side dies
//!
//! - The kernel wakes a client that waits when the server's thread ends, and
//!   marks the word (`FUTEX_OWNER_DIED`); one that comes later finds that no
//!   thread has the number in it. Both are [`Error::PeerDied`].
//! - The number may have been given to another thread meanwhile, which the
//!   client would wait for, and lend its priority to. It therefore never
//!   sleeps for longer than half a second without looking at the server's
//!   process and socket.
//! - A server sees at the socket that a client is gone: within a second, or
//!   when somebody needs the lane.
//! - A [`Server`] that is leaked (`mem::forget`) on a thread that ends is
//!   noticed by everybody, except by a client that has no limit and comes
//!   after the number was given to another thread of the same process.
//!
//! There is no robust list (`set_robust_list(2)`): a thread has one, and libc
//! owns it. The robust mutexes of libc are no way either, because they link
//! the words in shared memory by pointers, which a hostile peer can change.
//!
//! # Whom to trust
//!
//! Neither side trusts what the other can write. Lanes are sealed and checked
//! to be what they claim; all positions come from what was read once, when
//! the lane was set up; lengths are read once and checked; payloads are
//! copied, or looked at through raw pointers, and there is never a reference
//! to them. A client that writes garbage loses its lane; the others do not
//! notice. What is left to a hostile peer:
//!
//! - A client can make the server work, as by any call. It can claim a
//!   priority that it does not have: that only decides who is next, and every
//!   other waiting client goes first after being passed over eight times.
//! - A client of true real-time priority can keep that lent to the server for
//!   as long as it waits, by taking the lock word away from under itself.
//! - A server can make its client wait, up to the client's limit, and can have
//!   the priority lent to a thread of its choice by writing that thread's
//!   number. A client with real-time priority should choose whom it calls:
//!   [`Client::server`] tells what the kernel knows of it.
//!
//! # Process and thread
//!
//! A [`Server`] stays on the thread that made it, which owns the locks. It
//! need not run there all the time: between two calls of
//! [`serve`](Server::serve) clients wait. A [`Client`] may move between
//! threads. A forked child can use neither, and disturbs neither.
//!
//! Memory is mapped and populated when a lane is set up, and a round trip
//! allocates nothing. Processes with deadlines should lock their memory
//! (`mlockall(2)`) as well.
//!
//! # Modules
//!
//! | module | subject |
//! |---|---|
//! | `client`, `server`, `seat` | the two sides, and one client as its server sees it |
//! | `lane` | the conversation, step by step |
//! | `lock` | priority-inheriting lock words |
//! | `doorbell`, `spin`, `order` | when to sleep, for how long to look out, who is next |
//! | `layout`, `mapping`, `bytes`, `copy` | what lies where, and how it is read |
//! | `intake`, `message`, `version`, `peer`, `owner`, `thread` | setting up, and who is who |
#![allow(unsafe_code)]

mod bytes;
mod client;
mod clock;
mod copy;
mod doorbell;
mod error;
#[cfg(fuzzing)]
pub mod fuzzing;
mod intake;
mod lane;
mod layout;
mod lock;
mod mapping;
mod message;
mod order;
mod owner;
mod peer;
mod seat;
mod server;
mod spin;
mod thread;
mod version;

pub use bytes::{Outgoing, SharedBytes};
pub use client::Client;
pub use doorbell::Doorbells;
pub use error::{Error, Result};
pub use intake::{Acceptor, Stopper};
pub use layout::MAX_CAPACITY;
pub use peer::Credentials;
pub use seat::{Answer, Request};
pub use server::{MAX_LANES, Served, Server, Settings};
pub use spin::{DEFAULT_SPIN, MAX_SPIN};
