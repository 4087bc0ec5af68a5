//! The locks of libraries: std, the C library, `parking_lot`, spin, crossbeam,
//! unjank-backoff.

use crossbeam_utils::Backoff;
use unjank_host::Result;
use unjank_host::pthread_mutex::{MutexKind, PthreadMutex};

use super::sleep_loops::Flag;
use super::tested_lock::TestedLock;

/// `std::sync::Mutex`.
pub(super) struct Std(std::sync::Mutex<()>);

impl TestedLock for Std {
    fn new() -> Result<Self> {
        Ok(Self(std::sync::Mutex::new(())))
    }

    #[inline]
    fn with<R>(&self, section: impl FnOnce() -> R) -> R {
        let _held = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        section()
    }
}

/// `parking_lot::Mutex`.
pub(super) struct ParkingLot(parking_lot::Mutex<()>);

impl TestedLock for ParkingLot {
    fn new() -> Result<Self> {
        Ok(Self(parking_lot::Mutex::new(())))
    }

    #[inline]
    fn with<R>(&self, section: impl FnOnce() -> R) -> R {
        let _held = self.0.lock();
        section()
    }
}

/// `unjank_backoff::Mutex`, in a process that has calibrated.
pub(super) struct Unjank(unjank_backoff::Mutex<()>);

impl TestedLock for Unjank {
    fn new() -> Result<Self> {
        unjank_backoff::calibrate::calibrate();
        Ok(Self(unjank_backoff::Mutex::new(())))
    }

    #[inline]
    fn with<R>(&self, section: impl FnOnce() -> R) -> R {
        let _held = self.0.lock();
        section()
    }
}

/// `spin::Mutex`.
pub(super) struct Spin(spin::Mutex<()>);

impl TestedLock for Spin {
    fn new() -> Result<Self> {
        Ok(Self(spin::Mutex::new(())))
    }

    #[inline]
    fn with<R>(&self, section: impl FnOnce() -> R) -> R {
        let _held = self.0.lock();
        section()
    }
}

/// A flag, with `crossbeam_utils::Backoff::snooze` between two looks. It ignores
/// `is_completed`, because there is nothing to park on.
#[derive(Default)]
pub(super) struct Crossbeam(Flag);

impl TestedLock for Crossbeam {
    fn new() -> Result<Self> {
        Ok(Self::default())
    }

    #[inline]
    fn with<R>(&self, section: impl FnOnce() -> R) -> R {
        let backoff = Backoff::new();
        while !self.0.acquire() {
            while !self.0.looks_free() {
                backoff.snooze();
            }
        }
        self.0.held(section)
    }
}

/// Defines a mutex of the C library of one kind.
macro_rules! pthread {
    ($name:ident, $kind:expr) => {
        #[doc = concat!("`pthread_mutex_t`: `", stringify!($kind), "`.")]
        pub(super) struct $name(PthreadMutex);

        impl TestedLock for $name {
            fn new() -> Result<Self> {
                PthreadMutex::new($kind).map(Self)
            }

            #[inline]
            fn with<R>(&self, section: impl FnOnce() -> R) -> R {
                self.0.with(section)
            }
        }
    };
}

pthread!(Pthread, MutexKind::Normal);
pthread!(PthreadAdaptive, MutexKind::Adaptive);
pthread!(PthreadPi, MutexKind::PriorityInheriting);
