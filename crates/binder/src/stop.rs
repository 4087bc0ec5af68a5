//! Ends a server's loop from another thread.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::driver::Driver;
use crate::error::{Error, Result};

/// Ends [`Server::serve`](crate::Server::serve) from another thread.
#[derive(Debug, Clone)]
pub struct Stopper {
    driver: Arc<dyn Driver>,
    asked: Arc<AtomicBool>,
}

impl Stopper {
    pub(crate) fn new(driver: Arc<dyn Driver>) -> Self {
        Self { driver, asked: Arc::new(AtomicBool::new(false)) }
    }

    /// Asks the loop to end, and wakes the thread in it. A call that is being served
    /// is replied to first.
    ///
    /// The driver written in Rust (Linux 6.18 and later) can miss the wake-up of a
    /// thread that is about to wait: call this again until the loop has ended.
    ///
    /// # Errors
    /// The device could not be woken (no free file descriptor).
    pub fn stop(&self) -> Result<()> {
        // Pairs with the load in `is_asked`: a thread that wakes sees the request.
        self.asked.store(true, Ordering::Release);
        self.driver.wake().map_err(|source| Error::Request {
            device: self.driver.device().to_owned(),
            request: "wake",
            source,
        })
    }

    pub(crate) fn is_asked(&self) -> bool {
        // Pairs with the store in `stop`.
        self.asked.load(Ordering::Acquire)
    }
}
