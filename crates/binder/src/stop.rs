//! The end of a server's loop, asked for from elsewhere.

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

    /// Asks the loop to end, and wakes the thread in it. The call it serves at
    /// the moment, if any, is replied to first.
    ///
    /// The driver written in Rust (Linux 6.18 and later) can miss the wake-up
    /// if the thread is just about to wait: ask again until the loop has ended.
    ///
    /// # Errors
    /// The device could not be woken (no free file descriptor).
    pub fn stop(&self) -> Result<()> {
        // Pairs with the load in `is_asked`: who is woken sees the request.
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
