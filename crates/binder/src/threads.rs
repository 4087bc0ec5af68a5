//! The driver's record of each thread that uses a device, taken back when the
//! thread ends.

use std::cell::RefCell;
use std::sync::{Arc, Weak};

use crate::driver::Driver;

thread_local! {
    static ATTENDED: RefCell<Attended> = const { RefCell::new(Attended(Vec::new())) };
}

/// The drivers that a thread has used. A weak reference keeps the address from
/// being used again, so that one address is one driver.
struct Attended(Vec<Weak<dyn Driver>>);

impl Drop for Attended {
    fn drop(&mut self) {
        for driver in self.0.iter().filter_map(Weak::upgrade) {
            // The driver forgets the thread at the latest when it is closed.
            let _forgotten = driver.thread_exit();
        }
    }
}

/// Notes that this thread uses a driver, which is told when the thread ends.
/// Without that the kernel would keep its record of the thread until the
/// device is closed.
pub(crate) fn attend(driver: &Arc<dyn Driver>) {
    // Fails in destructors that run after this one, of a thread that ends.
    let _ended = ATTENDED.try_with(|attended| {
        let drivers = &mut attended.borrow_mut().0;
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
    fn a_driver_is_told_once_of_a_thread_that_ends() {
        let scripted = Arc::new(Scripted::new([]));
        let driver = Arc::clone(&scripted) as Arc<dyn Driver>;
        let exits = || scripted.exits.load(Ordering::Relaxed);
        let ours = Arc::clone(&driver);
        thread::spawn(move || {
            attend(&ours);
            attend(&ours);
        })
        .join()
        .unwrap();
        assert_eq!(exits(), 1);
        attend(&driver);
        assert_eq!(exits(), 1, "this thread goes on");
    }

    #[test]
    fn a_driver_that_is_gone_is_not_kept() {
        let driver: Arc<dyn Driver> = Arc::new(Scripted::new([]));
        let gone = Arc::downgrade(&driver);
        attend(&driver);
        drop(driver);
        assert_eq!(gone.strong_count(), 0);
    }
}
