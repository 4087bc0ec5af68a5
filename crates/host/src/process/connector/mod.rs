//! Being told of every process that is started, forked or ended: the process
//! connector of netlink, `drivers/connector/cn_proc.c`.

mod event;
mod message;

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::netlink::{self, SocketAddrNetlink};
use rustix::net::sockopt::{set_socket_recv_buffer_size, set_socket_recv_buffer_size_force};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, bind, recvfrom, sendto,
    socket_with,
};

use crate::clock::Timestamp;
use crate::error::{Error, Result};
use crate::sched::ThreadId;
use crate::support::Support;
pub use event::{EventKinds, ProcessEvent};
use message::Message;
use unjank_units::Nanos;

/// Room for some ten thousand events, should the reader be held up.
const BUFFER: usize = 4 << 20;
/// How long the kernel may take to answer a request: it does so in the system
/// call that makes it.
const PATIENCE: Nanos = Nanos::from_millis(100);
/// Events that are taken from the kernel before they are handed on.
const AT_ONCE: usize = 256;

/// A listener to what happens to processes.
#[derive(Debug)]
pub struct ProcConnector {
    socket: OwnedFd,
    filters: bool,
    lost: u64,
}

impl ProcConnector {
    /// Listens to events of `kinds`. A kernel before 6.6 tells all events
    /// whatever is asked for.
    ///
    /// `No` where the kernel has no process connector, or does not tell this
    /// process: it needs `CAP_NET_ADMIN`, and to be in no container.
    ///
    /// # Errors
    /// What else the kernel says.
    pub fn listen(kinds: EventKinds) -> Result<Support<Self>> {
        let failed = |call| move |error| Error::syscall(call, "the process connector", error);
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let connector = Some(netlink::CONNECTOR);
        let socket = match socket_with(AddressFamily::NETLINK, SocketType::DGRAM, flags, connector)
        {
            Ok(socket) => socket,
            Err(Errno::PROTONOSUPPORT | Errno::AFNOSUPPORT) => {
                return Ok(Support::no("this kernel has no process connector"));
            }
            Err(error) => return Err(failed("socket")(error)),
        };
        match bind(&socket, &SocketAddrNetlink::new(0, 1 << (message::CONNECTOR - 1))) {
            Ok(()) => {}
            Err(Errno::PERM) => return Ok(Support::no(NOT_ALLOWED)),
            Err(error) => return Err(failed("bind")(error)),
        }
        set_socket_recv_buffer_size_force(&socket, BUFFER)
            .or_else(|_not_allowed| set_socket_recv_buffer_size(&socket, BUFFER))
            .map_err(failed("setsockopt"))?;
        let mut events = Self { socket, filters: false, lost: 0 };
        events.ask(EventKinds::ALL)?;
        match events.answer()? {
            Some(0) => {}
            Some(code) if code == Errno::PERM.raw_os_error().unsigned_abs() => {
                return Ok(Support::no(NOT_ALLOWED));
            }
            Some(code) => {
                return Err(failed("listen to")(Errno::from_raw_os_error(code.cast_signed())));
            }
            None => {
                return Ok(Support::no(
                    "the process connector does not answer: it serves no containers (other PID or \
                     user namespaces)",
                ));
            }
        }
        events.filters = true;
        events.ask(kinds)?;
        events.filters = !events.hears_names()?;
        Ok(Support::Yes(events))
    }

    /// Whether the kernel tells what nobody has asked for. A request to filter
    /// has no answer, neither from kernels that do (the answer is filtered out)
    /// nor from those that do not know it; so this thread is given the name it
    /// has, which is an event of another kind.
    fn hears_names(&mut self) -> Result<bool> {
        let failed = |error| Error::syscall("prctl", "PR_SET_NAME", error);
        let name = rustix::thread::name().map_err(failed)?;
        rustix::thread::set_name(&name).map_err(failed)?;
        let me = ThreadId::current().0;
        let mut heard = false;
        let mut each = |message| {
            heard |= matches!(message, Message::Named { thread, .. } if thread == me);
        };
        while self.receive(&mut each)? {}
        Ok(heard)
    }

    /// Whether this kernel sends only what was asked for (6.6 and newer).
    pub fn filters(&self) -> bool {
        self.filters
    }

    /// How often events were lost because they came faster than they were
    /// read.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// Asks for events of `kinds` from now on. Others may still come, too.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn ask(&self, kinds: EventKinds) -> Result<()> {
        let kernel = SocketAddrNetlink::new(0, 0);
        let request = message::listen(kinds, self.filters);
        sendto(&self.socket, &request, SendFlags::empty(), &kernel)
            .map(drop)
            .map_err(|error| Error::syscall("send", "the process connector", error))
    }

    /// Hands on what has happened since the last time, in the order in which
    /// it did, without waiting. Says whether there may be more.
    ///
    /// # Errors
    /// What the kernel says, but not that events were lost: that is counted.
    pub fn read(&mut self, mut each: impl FnMut(ProcessEvent)) -> Result<bool> {
        for _ in 0..AT_ONCE {
            let more = self.receive(|message| {
                if let Message::Event(event) = message {
                    each(event);
                }
            })?;
            if !more {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The same for those who ask for [`EventKinds::THREADS`]: `named` is told
    /// the process and the number of each thread that was made or was given a
    /// name.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn read_threads(
        &mut self,
        mut each: impl FnMut(ProcessEvent),
        mut named: impl FnMut(u32, ThreadId),
    ) -> Result<bool> {
        for _ in 0..AT_ONCE {
            let more = self.receive(|message| match message {
                Message::Event(event) => each(event),
                Message::Named { process, thread } | Message::Began { process, thread } => {
                    named(process, ThreadId(thread));
                }
                Message::Answer(_) => {}
            })?;
            if !more {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Hands on one datagram. Says whether there was one.
    fn receive(&mut self, each: impl FnMut(Message)) -> Result<bool> {
        let mut bytes = [0; 1024];
        match recvfrom(&self.socket, &mut bytes[..], RecvFlags::empty()) {
            Ok((length, _, sender)) => {
                // Only the kernel is number 0; other processes that may send
                // to this group are not it.
                let kernel = |sender| SocketAddrNetlink::try_from(sender).ok()?.pid().eq(&0).into();
                if sender.and_then(kernel) == Some(true) {
                    message::decode(&bytes[..length], each);
                }
                Ok(true)
            }
            Err(Errno::NOBUFS) => {
                self.lost += 1;
                Ok(true)
            }
            Err(Errno::INTR) => Ok(true),
            Err(Errno::AGAIN) => Ok(false),
            Err(error) => Err(Error::syscall("receive from", "the process connector", error)),
        }
    }

    /// The kernel's answer to a request, an error number or 0; `None` if it
    /// gives none.
    fn answer(&mut self) -> Result<Option<u32>> {
        let until = Timestamp::now() + PATIENCE;
        loop {
            let mut answer = None;
            let more = self.receive(|message| {
                if let Message::Answer(code) = message {
                    answer = Some(code);
                }
            })?;
            if answer.is_some() {
                return Ok(answer);
            }
            let left = until.since(Timestamp::now());
            if left == Nanos::ZERO {
                return Ok(None);
            }
            if !more {
                let mut socket = [PollFd::new(&self.socket, PollFlags::IN)];
                let left = Timespec { tv_sec: 0, tv_nsec: left.get() as _ };
                // Whether something came shows in the next round.
                let _interrupted = poll(&mut socket, Some(&left));
            }
        }
    }
}

const NOT_ALLOWED: &str = "the process connector is for CAP_NET_ADMIN (root) only";

impl AsFd for ProcConnector {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Decodes `bytes` as a datagram of the connector; for the fuzzer.
#[cfg(fuzzing)]
pub fn decode_for_fuzzing(bytes: &[u8]) {
    message::decode(bytes, |_| {});
}
