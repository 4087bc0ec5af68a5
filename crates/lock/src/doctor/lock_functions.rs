//! Functions that run only if a lock is found taken, or to wake a waiter: pure.

use std::collections::BTreeMap;

/// Parts of their names.
const SLOW_PATHS: [&str; 16] = [
    // Go's sync.Mutex, and what it and sync.RWMutex wait on.
    "(*Mutex).lockSlow",
    "(*Mutex).unlockSlow",
    "runtime.semacquire1",
    "runtime.semrelease1",
    // CPython's lock of its interpreter.
    "take_gil",
    // HotSpot's monitors.
    "ObjectMonitor5enter",
    "ObjectMonitor6EnterI",
    "ObjectMonitor7TrySpin",
    // glibc, Rust's standard library, parking_lot.
    "__lll_lock_wait",
    "__pthread_mutex_lock_full",
    "Mutex::lock_contended",
    "RawMutex::lock_slow",
    "RawMutex::unlock_slow",
    // PostgreSQL.
    "LWLockAttemptLock",
    "perform_spin_delay",
    "ProcSleep",
];

/// Counts the lock functions among these: the most frequent one, and the count
/// of all of them.
pub(super) fn most_frequent<'a>(functions: impl Iterator<Item = &'a str>) -> Option<(String, u64)> {
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    for function in functions.filter(|name| SLOW_PATHS.iter().any(|path| name.contains(path))) {
        *counts.entry(function).or_default() += 1;
    }
    let (name, _) = counts.iter().max_by_key(|(name, times)| (**times, **name))?;
    Some(((*name).to_owned(), counts.values().sum()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_paths_of_locks_are_counted_and_others_are_not() {
        let go = "internal/sync.(*Mutex).lockSlow";
        let found = most_frequent(["main.work", go, "runtime.semacquire1", go].into_iter());
        assert_eq!(found, Some((go.to_owned(), 3)));
        assert_eq!(most_frequent(["sync.(*Mutex).Lock", "main.main"].into_iter()), None);
    }
}
