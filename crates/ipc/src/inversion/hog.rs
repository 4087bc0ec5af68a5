//! The hog: a thread that is more urgent than the server and less urgent than
//! the client.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, Scope, ScopedJoinHandle};

use unjank_host::sched::{AffinityGuard, Realtime};
use unjank_host::{Error, Nanos, Result, Timestamp};

use super::options::Options;

/// Switches a hog on and off. The flags carry no other data, so they are
/// relaxed.
#[derive(Debug, Default)]
pub(super) struct Switch {
    on: AtomicBool,
    over: AtomicBool,
}

/// How often a hog that is off checks whether it is on.
const LOOK: Nanos = Nanos::from_millis(1);

impl Switch {
    pub(super) fn turn(&self, on: bool) {
        self.on.store(on, Ordering::Relaxed);
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
        self.switch.over.store(true, Ordering::Relaxed);
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
    while !switch.over.load(Ordering::Relaxed) {
        if !switch.on.load(Ordering::Relaxed) {
            (Timestamp::now() + LOOK).sleep_until();
            continue;
        }
        let end = Timestamp::now() + options.burst;
        while Timestamp::now() < end && switch.on.load(Ordering::Relaxed) {
            std::hint::spin_loop();
        }
        (Timestamp::now() + options.pause()).sleep_until();
    }
    Ok(())
}
