//! Shared memory with a futex in each direction, without spinning: a call
//! without copying through the kernel.
//!
//! | word | written by | holds |
//! |---|---|---|
//! | `REQUEST` | client | number of the request in the shared bytes |
//! | `REPLY` | peer | number of the reply in the shared bytes |
//!
//! Each word is stored with release order after the bytes were written, and
//! loaded with acquire order before they are read.

use std::io::{self, Read as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};
use std::sync::atomic::Ordering;

use unjank_host::futex::{Scope, wait, wake};
use unjank_host::memory::SharedMemory;
use unjank_host::process::Helper;
use unjank_host::{Error, Nanos, Result};

use super::client::{Client, Opened};
use super::role::Route;

const REQUEST: usize = 0;
const REPLY: usize = 1;
const WORDS: usize = 2;

/// How long either side sleeps before it checks whether the other side is alive.
const CHECK_AFTER: Nanos = Nanos::from_millis(50);

struct Shared {
    memory: SharedMemory,
    number: u32,
    /// Closed when the peer ends; carries no data.
    lifeline: UnixStream,
}

impl Shared {
    fn peer_is_gone(&mut self) -> bool {
        matches!(self.lifeline.read(&mut [0]), Ok(0))
    }
}

impl Client for Shared {
    fn call(&mut self, request: &[u8], reply: &mut [u8]) -> io::Result<()> {
        self.number = self.number.wrapping_add(1);
        self.memory.write(request);
        self.memory.word(REQUEST).store(self.number, Ordering::Release);
        wake(self.memory.word(REQUEST), 1, Scope::Shared);
        while !await_number(&self.memory, REPLY, self.number) {
            if self.peer_is_gone() {
                return Err(io::ErrorKind::ConnectionReset.into());
            }
        }
        self.memory.read(reply);
        Ok(())
    }
}

/// Sleeps until the word is `number`; false after [`CHECK_AFTER`] without that.
fn await_number(memory: &SharedMemory, word: usize, number: u32) -> bool {
    let word = memory.word(word);
    loop {
        let seen = word.load(Ordering::Acquire);
        if seen == number {
            return true;
        }
        wait(word, seen, Scope::Shared, CHECK_AFTER);
        if word.load(Ordering::Acquire) == seen {
            return false;
        }
    }
}

/// The peer gets the memory as stdin, and its end of the lifeline as stdout.
pub(super) fn connect(command: &mut Command, route: &Route) -> Result<Opened> {
    let (memory, fd) = SharedMemory::create("unjank-ipc", WORDS, route.payload)?;
    let failed = |error| Error::syscall("socketpair", "AF_UNIX", error);
    let (lifeline, theirs) = UnixStream::pair().map_err(failed)?;
    lifeline.set_nonblocking(true).map_err(failed)?;
    let stdout = Stdio::from(OwnedFd::from(theirs));
    let peer = Helper::start(command.stdin(Stdio::from(fd)).stdout(stdout))?;
    // The command keeps its copies of the descriptors until they are replaced.
    command.stdin(Stdio::null()).stdout(Stdio::null());
    Ok(Opened::new(Shared { memory, number: 0, lifeline }, peer, route))
}

/// Serves until the client ends: the kernel then kills this process.
pub(super) fn serve(route: &Route) -> Result<()> {
    let memory = SharedMemory::open(io::stdin().as_fd(), WORDS, route.payload)?;
    let mut message = vec![0; route.payload];
    let mut number = 0_u32;
    loop {
        number = number.wrapping_add(1);
        while !await_number(&memory, REQUEST, number) {}
        memory.read(&mut message);
        route.service.answer(&mut message);
        memory.write(&message);
        memory.word(REPLY).store(number, Ordering::Release);
        wake(memory.word(REPLY), 1, Scope::Shared);
    }
}
