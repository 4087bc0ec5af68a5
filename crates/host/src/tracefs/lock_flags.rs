//! The flags of a contended kernel lock.

/// The kind of a contended kernel lock: the flags `LCB_F_*` of
/// `include/trace/events/lock.h`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LockFlags(pub u16);

impl LockFlags {
    const SPIN: u16 = 1 << 0;
    const READ: u16 = 1 << 1;
    const WRITE: u16 = 1 << 2;
    const RT: u16 = 1 << 3;
    const PERCPU: u16 = 1 << 4;
    const MUTEX: u16 = 1 << 5;

    /// Names of the flags, as the kernel prints them.
    pub(super) const NAMES: [(&'static str, u16); 6] = [
        ("SPIN", Self::SPIN),
        ("READ", Self::READ),
        ("WRITE", Self::WRITE),
        ("RT", Self::RT),
        ("PERCPU", Self::PERCPU),
        ("MUTEX", Self::MUTEX),
    ];

    /// Whether the lock is a spin lock or a spinning reader-writer lock, for which no thread
    /// sleeps. A mutex may have the flag `SPIN` as well: a thread may spin before it sleeps.
    pub fn is_spin_lock(self) -> bool {
        self.0 & !(Self::READ | Self::WRITE) == Self::SPIN
    }

    /// Whether the thread wants to share the lock with other readers.
    pub fn is_read(self) -> bool {
        self.0 & Self::READ != 0
    }

    /// The type of the lock, by the kernel's name; reader-writer locks that spin count as
    /// `spinlock`.
    pub fn lock_type(self) -> &'static str {
        let has = |flag| self.0 & flag != 0;
        if has(Self::MUTEX) {
            "mutex"
        } else if has(Self::RT) {
            "rt_mutex"
        } else if has(Self::PERCPU) {
            "percpu_rw_semaphore"
        } else if self.is_spin_lock() {
            "spinlock"
        } else if has(Self::READ) || has(Self::WRITE) {
            "rw_semaphore"
        } else {
            "semaphore"
        }
    }
}
