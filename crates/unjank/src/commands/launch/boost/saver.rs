//! Watches for the power profile power-saver, in which nothing is boosted.

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, Result};
use unjank_host::Support;
use unjank_host::power_profile::PowerProfiles;
use unjank_host::wait::WakeEvent;

use crate::commands::system_bus;

/// Delay before the bus, or a service that does not answer, is asked again.
const RETRY_AFTER: Duration = Duration::from_secs(10);
/// The longest wait for a signal of the bus.
const LONGEST_WAIT: Duration = Duration::from_secs(3_600);

/// The profile's changes, from a thread that lives as long as the process. The bus may hang: nothing
/// here waits for it.
pub(super) struct PowerSaverWatch {
    changes: Receiver<bool>,
    wake: Arc<WakeEvent>,
}

impl PowerSaverWatch {
    /// Starts the thread.
    pub(super) fn start() -> Result<Self> {
        let wake = Arc::new(WakeEvent::new()?);
        let (sender, changes) = channel();
        let follower = Follower { sender, wake: Arc::clone(&wake), is_power_saver: false };
        let watcher = thread::Builder::new().name("power profile".to_owned());
        watcher.spawn(|| follower.run()).context("while starting a thread")?;
        Ok(Self { changes, wake })
    }

    /// Whether the profile is power-saver, if that has changed.
    pub(super) fn change(&self) -> Option<bool> {
        self.wake.reset();
        self.changes.try_iter().last()
    }
}

impl AsFd for PowerSaverWatch {
    /// Readable after a change.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.wake.as_fd()
    }
}

/// The thread.
struct Follower {
    sender: Sender<bool>,
    wake: Arc<WakeEvent>,
    /// As last reported.
    is_power_saver: bool,
}

impl Follower {
    fn run(mut self) {
        loop {
            if let Support::Yes(profiles) = PowerProfiles::connect(&system_bus::address()) {
                self.follow(&profiles);
                // The bus has ended, and with it the service that held the profile.
                self.report(false);
            }
            thread::sleep(RETRY_AFTER);
        }
    }

    /// Reports changes until the bus ends.
    fn follow(&mut self, profiles: &PowerProfiles) {
        loop {
            let next = match profiles.is_power_saver() {
                Ok(is_power_saver) => {
                    self.report(is_power_saver);
                    LONGEST_WAIT
                }
                // What was known stays.
                Err(_) => RETRY_AFTER,
            };
            if profiles.wait(next).is_err() {
                return;
            }
        }
    }

    fn report(&mut self, is_power_saver: bool) {
        if self.is_power_saver != is_power_saver {
            self.is_power_saver = is_power_saver;
            // Fails only if the service is ending.
            let _nobody_there = self.sender.send(is_power_saver);
            self.wake.send();
        }
    }
}
