//! `libunjank_lock.so`, for `LD_PRELOAD`: threads spin for a contended
//! `pthread_mutex_lock` while that is cheaper than sleeping.
//!
//! | module | subject |
//! |---|---|
//! | `mutex` | what is read of a mutex of glibc |
//! | `spin` | one contended call |
//! | `place` | what earlier calls for a mutex have taught |
//! | `costs` | the price of sleeping, and the rate of the clock |
//! | `counts` | the number of calls of each kind, which unjank reads |
//! | `environment` | variables of the environment |
//!
//! Why not a mutex of unjank's in the place of glibc's: it has 56 bytes, glibc's has
//! 40; glibc's condition variables read and write the words of their mutex; and a
//! replacement of those, too, would have to be a cancellation point
//! (`pthreads(7)`). So the mutex stays glibc's, and only the wait for it changes.
//!
//! Nothing here may allocate, or call what waits for a mutex: this is called by
//! allocators, and before the constructors of other libraries.
#![cfg(all(
    target_os = "linux",
    target_env = "gnu",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
#![allow(unsafe_code)]

mod costs;
mod counts;
mod environment;
mod mutex;
mod place;
mod spin;

use std::ffi::{c_int, c_void};
use std::mem::transmute;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering::Relaxed};

use mutex::Mutex;

type Lock = unsafe extern "C" fn(*mut libc::pthread_mutex_t) -> c_int;

/// The function of the C library; null until it is needed.
static REAL: AtomicPtr<c_void> = AtomicPtr::new(null_mut());

/// Takes a mutex: `pthread_mutex_lock(3)`.
///
/// # Safety
/// That of the function that it replaces: the mutex is initialised and alive.
// Not in its own tests, whose program would get it.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C" fn pthread_mutex_lock(mutex: *mut libc::pthread_mutex_t) -> c_int {
    // SAFETY: it is alive, aligned, and larger than what is read, which are atomics.
    let state = unsafe { &*mutex.cast::<Mutex>() };
    // SAFETY: as the caller says.
    let try_lock = || unsafe { libc::pthread_mutex_trylock(mutex) } == 0;
    if state.is_held() && spin::takes(state, try_lock) {
        return 0;
    }
    // SAFETY: as the caller says.
    unsafe { real()(mutex) }
}

fn real() -> Lock {
    let mut found = REAL.load(Relaxed);
    if found.is_null() {
        // SAFETY: a name, and a handle that means "behind this library" (dlsym(3)).
        found = unsafe { libc::dlsym(libc::RTLD_NEXT, c"pthread_mutex_lock".as_ptr()) };
        if found.is_null() {
            // There is no C library that could take it.
            std::process::abort();
        }
        REAL.store(found, Relaxed);
    }
    // SAFETY: the C library's function of this name has this type.
    unsafe { transmute::<*mut c_void, Lock>(found) }
}

/// Called when the library is loaded.
#[used]
#[cfg_attr(not(test), unsafe(link_section = ".init_array"))]
static INIT: extern "C" fn() = {
    extern "C" fn init() {
        // Later, looking for it could wait for the lock of the linker.
        real();
        costs::begin();
        counts::begin();
    }
    init
};
