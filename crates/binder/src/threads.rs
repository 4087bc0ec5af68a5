//! Releases the driver's record of a thread when the thread ends.

use std::cell::RefCell;
use std::sync::{Arc, Weak};

use crate::driver::Driver;

thread_local! {
    static USED_DRIVERS: RefCell<UsedDrivers> = const { RefCell::new(UsedDrivers(Vec::new())) };
}

/// The drivers that a thread has used. A weak reference keeps the address from being
/// reused, so one address is one driver.
struct UsedDrivers(Vec<Weak<dyn Driver>>);

impl Drop for UsedDrivers {
    fn drop(&mut self) {
        for driver in self.0.iter().filter_map(Weak::upgrade) {
            // If this fails, the record is released when the device is closed.
            let _forgotten = driver.thread_exit();
        }
    }
}

/// Notes that this thread uses a driver, and releases the driver's record of it when
/// the thread ends. The kernel would keep the record until the device is closed.
pub(crate) fn track_thread(driver: &Arc<dyn Driver>) {
    // Fails in destructors that run after that of `USED_DRIVERS`.
    let _ended = USED_DRIVERS.try_with(|used| {
        let drivers = &mut used.borrow_mut().0;
        let known = drivers.iter().any(|known| known.as_ptr().addr() == Arc::as_ptr(driver).addr());
        if !known {
            drivers.retain(|known| known.strong_count() > 0);
            drivers.push(Arc::downgrade(driver));
        }
    });
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;
    use std::thread;

    use super::*;
    use crate::scripted::Scripted;

    #[test]
    fn the_end_of_a_thread_is_reported_to_a_driver_once() {
        let scripted = Arc::new(Scripted::new([]));
        let driver = Arc::clone(&scripted) as Arc<dyn Driver>;
        let exits = || scripted.exits.load(Ordering::Relaxed);
        let ours = Arc::clone(&driver);
        thread::spawn(move || {
            track_thread(&ours);
            track_thread(&ours);
        })
        .join()
        .unwrap();
        assert_eq!(exits(), 1);
        track_thread(&driver);
        assert_eq!(exits(), 1, "this thread goes on");
    }

    #[test]
    fn a_driver_that_is_gone_is_not_kept() {
        let driver: Arc<dyn Driver> = Arc::new(Scripted::new([]));
        let gone = Arc::downgrade(&driver);
        track_thread(&driver);
        drop(driver);
        assert_eq!(gone.strong_count(), 0);
    }
}
