//! The word on which a server sleeps while there are no calls.
//!
//! | word | means |
//! |---|---|
//! | [`AWAKE`] | the server will check all lanes before it sleeps: nothing to do |
//! | [`ASLEEP`] | the server sleeps or is about to: a client with a request sets [`AWAKE`] and wakes it |
//!
//! Any other value counts as `AWAKE`. A doorbell has its own memory, which the other
//! side can write. It can wake the server needlessly, and it can keep the doorbell
//! from ringing; with a doorbell for each lane, this affects its own lane only.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering, fence};
use std::time::Duration;

use rustix::io::Errno;
use rustix::thread::futex::{self, ClockId, Flags, Timespec, Wait, WaitFlags, WaitPtr, WaitvFlags};

use crate::clock::Moment;
use crate::error::{Error, Result};
use crate::mapping::Mapping;

const AWAKE: u32 = 0;
const ASLEEP: u32 = 1;
/// Bytes of a doorbell's memory.
const LENGTH: usize = 4096;

/// The most words of `futex_waitv(2)` (`FUTEX_WAITV_MAX`).
pub(crate) const MOST: usize = 128;

/// A doorbell, from either side.
#[derive(Debug)]
pub(crate) struct Doorbell(Mapping);

impl Doorbell {
    pub(crate) fn create() -> Result<(Self, OwnedFd)> {
        let (memory, fd) = Mapping::create("pi-channel-bell", LENGTH)?;
        Ok((Self(memory), fd))
    }

    pub(crate) fn open(fd: impl AsFd) -> Result<Self> {
        Mapping::open(fd, LENGTH, LENGTH).map(Self)
    }

    fn word(&self) -> &AtomicU32 {
        self.0.word(0)
    }

    /// Wakes the server if it sleeps. Called after the work was posted.
    #[inline]
    pub(crate) fn ring(&self) {
        // Pairs with the fence in `Sleeper::announce`: either the server's last
        // check sees the posted work, or this load sees ASLEEP.
        fence(Ordering::SeqCst);
        if self.word().load(Ordering::Relaxed) == ASLEEP
            && self.word().swap(AWAKE, Ordering::Relaxed) == ASLEEP
        {
            // For a mapped aligned word FUTEX_WAKE has no error.
            let _how_many = futex::wake(self.word(), Flags::empty(), 1);
        }
    }
}

/// The doorbells of a server's lanes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Doorbells {
    /// One for each lane, so that no client can keep another's from ringing. The
    /// server sleeps on all of them at once, which takes about 1 µs and 100 ns for
    /// each. Needs `futex_waitv(2)` of Linux 5.16; without it, the server has one
    /// doorbell.
    OnePerLane,
    /// One for all lanes. A hostile client can keep it from ringing for others:
    /// the server then sleeps for up to 100 ms before it sees their calls.
    Shared,
}

impl Doorbells {
    /// These if the kernel can sleep on several words, else `Shared`. With one
    /// lane, `Shared` is enough.
    pub(crate) fn on_this_kernel(self, lanes: usize) -> Self {
        if lanes == 1 {
            return Self::Shared;
        }
        // A kernel with this call answers an empty list with EINVAL; one without
        // it, or a seccomp filter, with another error.
        let nothing = futex::waitv(&[], WaitvFlags::empty(), None, ClockId::Monotonic);
        if nothing == Err(Errno::INVAL) { self } else { Self::Shared }
    }
}

/// The sleep of a server on its own doorbell and those of its lanes.
#[derive(Debug)]
pub(crate) struct Sleeper {
    own: Arc<Doorbell>,
    waits: Vec<Wait>,
}

impl Sleeper {
    pub(crate) fn new(own: Arc<Doorbell>) -> Self {
        Self { own, waits: Vec::with_capacity(MOST) }
    }

    /// Marks the server as asleep on all doorbells. After this, it checks all lanes
    /// once more before it sleeps.
    #[inline]
    pub(crate) fn announce<'b>(&mut self, lanes: impl Iterator<Item = &'b Doorbell>) {
        self.own.word().store(ASLEEP, Ordering::Relaxed);
        for bell in lanes {
            bell.word().store(ASLEEP, Ordering::Relaxed);
        }
        // Pairs with the fence in `Doorbell::ring`.
        fence(Ordering::SeqCst);
    }

    /// Sleeps until one of the doorbells is no longer [`ASLEEP`], at most for
    /// `at_most`. May return early.
    pub(crate) fn sleep<'b>(
        &mut self,
        lanes: impl Iterator<Item = &'b Doorbell>,
        at_most: Option<Duration>,
    ) -> Result<()> {
        self.waits.clear();
        for bell in lanes.take(MOST - 1) {
            self.waits.push(wait_for(bell));
        }
        let outcome = if self.waits.is_empty() {
            let limit = at_most.map(|time| Timespec {
                tv_sec: time.as_secs() as i64,
                tv_nsec: i64::from(time.subsec_nanos()) as _,
            });
            futex::wait(self.own.word(), Flags::empty(), ASLEEP, limit.as_ref())
        } else {
            self.waits.push(wait_for(&self.own));
            let limit = at_most.map(|time| Moment::now().after(time).timespec());
            let flags = WaitvFlags::empty();
            futex::waitv(&self.waits, flags, limit.as_ref(), ClockId::Monotonic).map(drop)
        };
        match outcome {
            // EAGAIN: a doorbell has rung already.
            Ok(()) | Err(Errno::AGAIN | Errno::INTR | Errno::TIMEDOUT) => Ok(()),
            Err(errno) => Err(Error::request("futex_waitv")(errno)),
        }
    }

    /// Marks the server as awake on all doorbells.
    #[inline]
    pub(crate) fn wake_up<'b>(&mut self, lanes: impl Iterator<Item = &'b Doorbell>) {
        self.own.word().store(AWAKE, Ordering::Relaxed);
        for bell in lanes {
            bell.word().store(AWAKE, Ordering::Relaxed);
        }
    }
}

fn wait_for(bell: &Doorbell) -> Wait {
    let mut wait = Wait::new();
    wait.val = u64::from(ASLEEP);
    wait.uaddr = WaitPtr::new(bell.word().as_ptr().cast());
    wait.flags = WaitFlags::SIZE_U32;
    wait
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Option<Duration> = Some(Duration::from_secs(60));

    fn doorbells(count: usize) -> Vec<Doorbell> {
        (0..count).map(|_| Doorbell::create().unwrap().0).collect()
    }

    #[test]
    fn one_lane_needs_one_bell() {
        assert_eq!(Doorbells::OnePerLane.on_this_kernel(1), Doorbells::Shared);
        assert_eq!(Doorbells::Shared.on_this_kernel(2), Doorbells::Shared);
    }

    #[test]
    fn any_bell_ends_the_sleep() {
        for lanes in [0, 1, 5] {
            for ringing in 0..=lanes {
                let own = Arc::new(Doorbell::create().unwrap().0);
                let bells = doorbells(lanes);
                let mut sleeper = Sleeper::new(Arc::clone(&own));
                sleeper.announce(bells.iter());
                std::thread::scope(|scope| {
                    let bell = bells.get(ringing).unwrap_or(&own);
                    scope.spawn(|| bell.ring());
                    while bell.word().load(Ordering::SeqCst) == ASLEEP {
                        sleeper.sleep(bells.iter(), LONG).unwrap();
                    }
                });
            }
        }
    }

    #[test]
    fn a_bell_that_rang_before_the_sleep_is_not_slept_through() {
        let own = Arc::new(Doorbell::create().unwrap().0);
        let bells = doorbells(2);
        let mut sleeper = Sleeper::new(own);
        sleeper.announce(bells.iter());
        bells[1].ring();
        sleeper.sleep(bells.iter(), None).unwrap();
    }

    #[test]
    fn a_server_that_is_awake_is_not_woken() {
        let own = Arc::new(Doorbell::create().unwrap().0);
        let mut sleeper = Sleeper::new(Arc::clone(&own));
        sleeper.announce(std::iter::empty());
        sleeper.wake_up(std::iter::empty());
        own.ring();
        own.word().store(77, Ordering::Relaxed);
        own.ring();
        assert_eq!(own.word().load(Ordering::Relaxed), 77, "garbage counts as awake");
    }

    #[test]
    fn a_sleep_ends_in_time() {
        let own = Arc::new(Doorbell::create().unwrap().0);
        for lanes in [0, 3] {
            let bells = doorbells(lanes);
            let mut sleeper = Sleeper::new(Arc::clone(&own));
            sleeper.announce(bells.iter());
            sleeper.sleep(bells.iter(), Some(Duration::from_millis(5))).unwrap();
        }
    }
}
