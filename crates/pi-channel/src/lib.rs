//! Calls between processes over shared memory, in which a server inherits the
//! priority of its most urgent client. Needs Linux 4.14 or later, no privileges
//! for the server, and no driver.
//!
//! A real-time thread that calls another process waits for the thread that
//! answers. Over a socket or a pipe, that thread keeps its own priority, and
//! threads with priorities between the two run first: priority inversion. Over a
//! pi-channel, the server has the priority of the waiting client, from the
//! beginning of the wait until the reply.
//!
//! ```no_run
//! use std::os::unix::net::UnixStream;
//! use unjank_pi_channel::{Answer, Client, Server, Settings};
//!
//! # fn main() -> unjank_pi_channel::Result<()> {
//! # let (ours, theirs) = UnixStream::pair().expect("a socket pair");
//! // In one process, on the serving thread:
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
//! The socket is used to set the lane up, and to detect that the other side is
//! gone. It may be one end of a pair that a child process has as stdin, or come
//! from a listener. `examples/echo.rs` accepts on one thread and serves on
//! another.
//!
//! # When to use it
//!
//! - A real-time thread (`SCHED_FIFO`, `SCHED_RR`, `SCHED_DEADLINE`) needs an
//!   answer from another process, and other real-time threads share its CPUs.
//! - Calls are short and frequent. Across two CPUs, a round trip to a server that
//!   is awake takes no system call and well under a microsecond. On one CPU it
//!   takes two or four system calls, and less time than over a socket.
//!
//! # When not to
//!
//! - The server's handler waits for a disk, a socket or an ordinary mutex.
//!   Priority passes only to the serving thread and, through priority-inheriting
//!   locks and further pi-channels, to the threads that it waits for:
//!   `PTHREAD_PRIO_INHERIT` mutexes and a [`Client`] of another server pass it
//!   on. If servers wait for each other in a circle, the kernel detects it:
//!   [`Error::Deadlock`].
//! - Calls should run in parallel. A server is one thread, because a client must
//!   know before it waits which thread inherits its priority. Use several
//!   servers.
//! - The two sides are in different PID namespaces. Lock words hold thread
//!   numbers, so this is refused when the lane is set up.
//! - Nice values should be inherited. The kernel passes on real-time priorities
//!   and deadlines only: a server with a waiting client of nice −15 shows that
//!   priority in `/proc`, but gets no more CPU time.
//!
//! # How it works
//!
//! Each client has a *lane*: its own sealed memory, shared with the server alone,
//! with a request, a reply and two priority-inheriting futexes. At any time, the
//! server owns the lock on which the client would wait next. A client that finds
//! no reply asks the kernel for that lock (`FUTEX_LOCK_PI2`): it sleeps, and the
//! kernel's `rt_mutex` gives its priority to the owner, as for a mutex. To reply,
//! the server takes the lane's other lock, for the next call, and then releases
//! this one. The kernel passes it to the client and takes the priority back at
//! the same moment.
//!
//! | step | by | request | reply | lock *n* | lock *n*+1 | |
//! |---|---|---|---|---|---|---|
//! | idle | | *n*−1 | *n*−1 | server | 0 | |
//! | post | client | ***n*** | *n*−1 | server | 0 | bytes, then the number; then the doorbell |
//! | wait | client | *n* | *n*−1 | **server, waiters** | 0 | only if the reply does not come while spinning |
//! | take | server | *n* | *n*−1 | server | **server** | try-lock, never a wait |
//! | reply | server | *n* | ***n*** | server | server | bytes, then the number |
//! | pass on | server | *n* | *n* | **client, waiters** | server | by the kernel; **0** by user space if there is no waiter |
//! | put back | client | *n* | *n* | **0** | server | only if the client waited |
//! | idle | | *n* | *n* | 0 | server | as the first row, for call *n*+1 |
//!
//! Lock *n* is the word *n* mod 2. The server never waits for a client's lock: it
//! tries, and closes the lane if the client has not put it back.
//!
//! A server without work sleeps on a *doorbell*, which clients ring only while
//! it shows that the server sleeps. System calls of a round trip:
//!
//! | | client | server |
//! |---|---|---|
//! | two CPUs, calls come soon | none | none |
//! | one CPU, the server preempts the client when woken | wake | sleep |
//! | one CPU, the client runs on and waits | wake, lock | unlock, sleep |
//! | one CPU, real-time client, calls come soon | lock | unlock |
//!
//! In the last row the client preempts the server inside the unlocking, so the
//! server never sleeps and need not be woken for the next call.
//!
//! Between two CPUs, both sides spin for a bounded time before they sleep,
//! [`DEFAULT_SPIN`]. Each publishes the CPU on which it runs; on the same CPU,
//! neither spins. If the server moves to the CPU of a spinning real-time client,
//! it cannot run for that time at most, and the client stops spinning after
//! three failures in a row.
//!
//! # Time limits
//!
//! [`Client::call`] waits for as long as the server lives.
//! [`Client::call_within`] gives up at its limit: the server finishes the call
//! without the client's priority, and the next call first waits for the late
//! reply and drops it. On a kernel without `FUTEX_LOCK_PI2` (before 5.14), limits
//! are on the real-time clock and move when that clock is set.
//!
//! # When a side dies
//!
//! - When the server's thread ends, the kernel wakes a waiting client and marks
//!   the word (`FUTEX_OWNER_DIED`). A client that waits later finds that no
//!   thread has the number in the word. Both are [`Error::PeerDied`].
//! - The number may have been reused for another thread, which would get the
//!   client's priority while the client waits. So a client never sleeps for more
//!   than half a second without checking the server's process and socket.
//! - A server detects at the socket that a client is gone: within a second, or
//!   when another client needs the lane.
//! - A [`Server`] that is leaked (`mem::forget`) on a thread that ends is
//!   detected too, except by a client without a limit that calls after the number
//!   was reused for another thread of the same process.
//!
//! There is no robust list (`set_robust_list(2)`): a thread has only one, which
//! libc owns. The robust mutexes of libc do not help either, because they link
//! the words in shared memory by pointers, which a hostile peer can change.
//!
//! # Trust
//!
//! Neither side trusts what the other can write. Lanes are sealed and checked.
//! All positions follow from sizes that are read once, when the lane is set up.
//! Lengths are read once and checked. Payloads are copied, or accessed through
//! raw pointers, never through references. A client that writes garbage loses its
//! lane, and the others are not affected. A hostile peer can still do this:
//!
//! - A client can make the server work, as by any call. It can claim a priority
//!   that it does not have. That only decides which client is served next, and
//!   every other waiting client goes first after being passed over eight times.
//! - A client with a true real-time priority can leave it with the server for as
//!   long as it waits, by changing the lock word on which it waits.
//! - A server can make its client wait, up to the client's limit, and can pass
//!   its priority to any thread by writing that thread's number. A client with
//!   real-time priority should choose its servers: [`Client::server`] returns
//!   what the kernel knows of them.
//!
//! # Process and thread
//!
//! A [`Server`] stays on the thread that created it, which owns the locks. It
//! need not serve all the time: between two calls of [`serve`](Server::serve),
//! clients wait. A [`Client`] may move between threads. A forked child can use
//! neither, and affects neither.
//!
//! Memory is mapped and populated when a lane is set up, and a round trip
//! allocates nothing. Processes with deadlines should lock their memory
//! (`mlockall(2)`) as well.
//!
//! # Modules
//!
//! | module | subject |
//! |---|---|
//! | `client`, `server`, `seat` | the two sides, and one client on the server's side |
//! | `lane` | the steps of a call |
//! | `lock` | priority-inheriting lock words |
//! | `doorbell`, `spin`, `order` | when to sleep, how long to spin, which lane is next |
//! | `layout`, `mapping`, `bytes`, `copy` | layout of a lane, and access to it |
//! | `intake`, `message`, `version` | setting up a lane |
//! | `peer_process`, `fork_check`, `thread` | identity of processes and threads |
#![allow(unsafe_code)]

mod bytes;
mod client;
mod clock;
mod copy;
mod doorbell;
mod error;
mod fork_check;
#[cfg(fuzzing)]
pub mod fuzzing;
mod intake;
mod lane;
mod layout;
mod lock;
mod mapping;
mod message;
mod order;
mod peer_process;
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
pub use peer_process::Credentials;
pub use seat::{Answer, Request};
pub use server::{MAX_LANES, Served, Server, Settings};
pub use spin::{DEFAULT_SPIN, MAX_SPIN};
