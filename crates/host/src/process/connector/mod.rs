//! Events of every process that execs, forks or ends: the proc connector of
//! netlink, `drivers/connector/cn_proc.c`.

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

/// The receive buffer in bytes: room for some ten thousand events, in case the
/// reader is delayed.
const BUFFER: usize = 4 << 20;
/// How long to wait for the kernel's answer, which it sends within the system
/// call of the request.
const ANSWER_TIMEOUT: Nanos = Nanos::from_millis(100);
/// The same while messages about other processes arrive without end.
const FLOOD_TIMEOUT: Nanos = Nanos::from_millis(5_000);
/// The most datagrams of one read.
const AT_ONCE: usize = 256;

/// A listener to events of processes.
#[derive(Debug)]
pub struct ProcConnector {
    socket: OwnedFd,
    filters: bool,
    lost: u64,
}

impl ProcConnector {
    /// Listens to events of `kinds`. A kernel before 6.6 always sends all
    /// events.
    ///
    /// `No` if the kernel has no proc connector, or does not serve this process,
    /// which needs `CAP_NET_ADMIN` and must not be in a container.
    ///
    /// # Errors
    /// Other errors of the kernel.
    pub fn listen(kinds: EventKinds) -> Result<Support<Self>> {
        let failed = |call| move |error| Error::syscall(call, "the proc connector", error);
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let connector = Some(netlink::CONNECTOR);
        let socket = match socket_with(AddressFamily::NETLINK, SocketType::DGRAM, flags, connector)
        {
            Ok(socket) => socket,
            Err(Errno::PROTONOSUPPORT | Errno::AFNOSUPPORT) => {
                return Ok(Support::no("this kernel has no proc connector"));
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
                    "the proc connector does not answer: it does not serve containers (other PID \
                     or user namespaces)",
                ));
            }
        }
        events.filters = true;
        events.ask(kinds)?;
        events.filters = !events.gets_names()?;
        Ok(Support::Yes(events))
    }

    /// Whether the kernel sends events that were not requested. A request to
    /// filter gets no answer, neither from kernels that filter (the answer is
    /// filtered out) nor from others. So this thread sets its own name again,
    /// which is an event of another kind.
    fn gets_names(&mut self) -> Result<bool> {
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

    /// Whether this kernel sends only requested events (6.6 and newer).
    pub fn filters(&self) -> bool {
        self.filters
    }

    /// How often events were lost because they were read too slowly.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// Requests events of `kinds` from now on. Others may still arrive.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn ask(&self, kinds: EventKinds) -> Result<()> {
        let kernel = SocketAddrNetlink::new(0, 0);
        let request = message::listen(kinds, self.filters);
        sendto(&self.socket, &request, SendFlags::empty(), &kernel)
            .map(drop)
            .map_err(|error| Error::syscall("send", "the proc connector", error))
    }

    /// Passes the events since the last call to `each`, in order, without
    /// waiting. Returns whether there may be more.
    ///
    /// # Errors
    /// The kernel's error. Lost events are counted instead.
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

    /// As [`read`](Self::read), for [`EventKinds::THREADS`]: `named` gets the
    /// process and the number of each thread that was created or got a name.
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

    /// Decodes one datagram. Returns whether there was one.
    fn receive(&mut self, each: impl FnMut(Message)) -> Result<bool> {
        let mut bytes = [0; 1024];
        match recvfrom(&self.socket, &mut bytes[..], RecvFlags::empty()) {
            Ok((length, _, sender)) => {
                // Only the kernel has number 0; other processes can send to this
                // group, too.
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
            Err(error) => Err(Error::syscall("receive from", "the proc connector", error)),
        }
    }

    /// The kernel's answer to a request, an error number or 0; `None` if there is
    /// none.
    fn answer(&mut self) -> Result<Option<u32>> {
        let asked = Timestamp::now();
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
            // The answer may be behind messages about other processes, which do not end where
            // processes never stop to start others.
            let limit = if more { FLOOD_TIMEOUT } else { ANSWER_TIMEOUT };
            let left = (asked + limit).since(Timestamp::now());
            if left == Nanos::ZERO {
                return Ok(None);
            }
            if !more {
                let mut socket = [PollFd::new(&self.socket, PollFlags::IN)];
                let left = Timespec { tv_sec: 0, tv_nsec: left.get() as _ };
                // The next round shows whether something arrived.
                let _interrupted = poll(&mut socket, Some(&left));
            }
        }
    }
}

const NOT_ALLOWED: &str = "the proc connector needs CAP_NET_ADMIN (root)";

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
