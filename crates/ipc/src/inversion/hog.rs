//! The hog: a thread that is more urgent than the server and less urgent than
//! the client.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread::{self, Scope, ScopedJoinHandle};

use unjank_host::sched::{AffinityGuard, Realtime};
use unjank_host::{Error, Result, Timestamp};

use super::options::Options;

/// Switches a hog on and off. The flags carry no other data, so they are relaxed.
///
/// A hog that is off waits for the switch. If it looked at it from time to time instead, a CPU that
/// is slow enough (an emulated one on a busy machine) would be busy with looking, at real-time
/// priority.
#[derive(Debug, Default)]
pub(super) struct Switch {
    on: AtomicBool,
    over: AtomicBool,
    turning: Mutex<()>,
    turned: Condvar,
}

impl Switch {
    pub(super) fn turn(&self, on: bool) {
        self.set(&self.on, on);
    }

    fn set(&self, flag: &AtomicBool, to: bool) {
        let _turning = self.turning.lock().unwrap_or_else(PoisonError::into_inner);
        flag.store(to, Ordering::Relaxed);
        self.turned.notify_all();
    }

    /// Waits until it is on or over; `false` if it is over.
    fn is_on(&self) -> bool {
        let turning = self.turning.lock().unwrap_or_else(PoisonError::into_inner);
        let is_off =
            |(): &mut ()| !self.on.load(Ordering::Relaxed) && !self.over.load(Ordering::Relaxed);
        let waited = self.turned.wait_while(turning, is_off);
        drop(waited.unwrap_or_else(PoisonError::into_inner));
        !self.over.load(Ordering::Relaxed)
    }
}

/// A hog that ends when this is dropped.
pub(super) struct Hog<'scope> {
    switch: &'scope Switch,
    thread: Option<ScopedJoinHandle<'scope, Result<()>>>,
}

impl<'scope> Hog<'scope> {
    /// Starts it, switched off.
    pub(super) fn start<'env>(
        scope: &'scope Scope<'scope, 'env>,
        options: &'env Options,
        realtime: &'env Realtime,
        switch: &'scope Switch,
    ) -> Result<Self> {
        let thread = thread::Builder::new()
            .name("ipc/hog".to_owned())
            .spawn_scoped(scope, move || hog(options, realtime, switch))
            .map_err(|error| Error::syscall("clone", "the hog", error))?;
        Ok(Self { switch, thread: Some(thread) })
    }

    /// Ends it.
    ///
    /// # Errors
    /// It could not be pinned, or not made real-time.
    pub(super) fn finish(mut self) -> Result<()> {
        self.end()
    }

    fn end(&mut self) -> Result<()> {
        self.switch.set(&self.switch.over, true);
        match self.thread.take() {
            Some(thread) => thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
            None => Ok(()),
        }
    }
}

impl Drop for Hog<'_> {
    fn drop(&mut self) {
        // Another error is being reported already.
        let _second_failure = self.end();
    }
}

fn hog(options: &Options, realtime: &Realtime, switch: &Switch) -> Result<()> {
    let _pinned = AffinityGuard::pin_to(options.cpu)?;
    let _realtime = realtime.enter()?;
    while switch.is_on() {
        let end = Timestamp::now() + options.burst;
        while Timestamp::now() < end && switch.on.load(Ordering::Relaxed) {
            std::hint::spin_loop();
        }
        (Timestamp::now() + options.pause()).sleep_until();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hog_waits_until_it_is_on_and_ends_while_it_is_off() {
        let switch = Switch::default();
        thread::scope(|scope| {
            let hog = scope.spawn(|| while switch.is_on() {});
            switch.turn(true);
            switch.turn(false);
            switch.set(&switch.over, true);
            hog.join().unwrap();
        });
        let switch = Switch::default();
        switch.turn(true);
        assert!(switch.is_on());
        switch.set(&switch.over, true);
        assert!(!switch.is_on());
    }
}
