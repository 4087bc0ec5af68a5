//! A sandbox that a running program enters may forbid `membarrier(2)`. A thread that
//! falls asleep beside a plain section then wakes by itself.
#![cfg(not(any(miri, loom)))]
// A test fails by panicking, also where it prepares itself.
#![allow(clippy::unwrap_used)]

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use unjank_backoff::{Mutex, calibrate};

/// Makes the call fail with `EPERM` for this thread and all that it starts from now
/// on (seccomp(2)).
#[allow(unsafe_code)]
fn forbid(call: libc::c_long) {
    let statement = |code: u32, k: u32| libc::sock_filter { code: code as u16, jt: 0, jf: 0, k };
    let denied = libc::SECCOMP_RET_ERRNO | libc::EPERM as u32;
    let mut filter = [
        // The number of the call is the first word of `seccomp_data`.
        statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0),
        libc::sock_filter {
            code: (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16,
            jt: 0,
            jf: 1,
            k: u32::try_from(call).unwrap(),
        },
        statement(libc::BPF_RET | libc::BPF_K, denied),
        statement(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ALLOW),
    ];
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
    // SAFETY: prctl(2) reads the program, which is alive; the filter makes one call
    // fail and allows all others.
    unsafe {
        assert_eq!(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
        let mode = libc::c_ulong::from(libc::SECCOMP_MODE_FILTER);
        let set = libc::prctl(libc::PR_SET_SECCOMP, mode, &raw const program);
        assert_eq!(set, 0, "{}", io::Error::last_os_error());
    }
}

#[test]
fn a_waiter_beside_a_plain_section_gets_the_lock() {
    calibrate::calibrate();
    forbid(libc::SYS_membarrier);
    let lock = Mutex::new(0);
    let waited = AtomicU64::new(0);
    for _ in 0..20 {
        let mut held = lock.lock();
        thread::scope(|scope| {
            scope.spawn(|| {
                *lock.lock() += 1;
                waited.fetch_add(1, Ordering::Relaxed);
            });
            thread::sleep(Duration::from_millis(2));
            *held += 1;
            drop(held);
        });
    }
    assert_eq!((lock.into_inner(), waited.into_inner()), (40, 20));
}
