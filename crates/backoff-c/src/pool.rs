//! The thread pool.

use std::cell::Cell;
use std::ffi::c_void;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use backoff::{Pool, Signal};

use crate::argument::{given, missing};

/// A pool of threads that run work, first in, first out. An idle pool uses no CPU.
pub struct unjank_pool {
    pool: Pool,
    outstanding: Arc<Outstanding>,
}

/// A piece of work.
pub type unjank_work = Option<unsafe extern "C-unwind" fn(context: *mut c_void)>;

/// The count of pieces of work that are not done.
#[derive(Default)]
struct Outstanding {
    count: AtomicUsize,
    changed: Signal,
}

/// A piece of work that may be sent to the thread that runs it.
struct Job {
    work: unsafe extern "C-unwind" fn(*mut c_void),
    context: *mut c_void,
}

// SAFETY: the caller of `unjank_pool_run` allows other threads to run it.
unsafe impl Send for Job {}

thread_local! {
    /// The pool whose work this thread runs.
    static WORKS_FOR: Cell<*const Outstanding> = const { Cell::new(ptr::null()) };
}

/// Starts a pool of this many threads; 0 means one for each CPU that the process
/// may use, by its affinity and its CPU quota. The first pool of a process takes
/// two milliseconds to calibrate, and up to 20 ms more if there are other threads
/// (`unjank_calibrate`).
///
/// Returns NULL and sets `errno` if a thread could not be started; those already
/// started end.
#[unsafe(no_mangle)]
pub extern "C" fn unjank_pool_new(threads: usize) -> *mut unjank_pool {
    let pool = if threads == 0 { Pool::for_all_cpus() } else { Pool::new(threads) };
    match pool {
        Ok(pool) => Box::into_raw(Box::new(unjank_pool { pool, outstanding: Arc::default() })),
        Err(error) => {
            set_errno(error.raw_os_error().unwrap_or(libc::EAGAIN));
            ptr::null_mut()
        }
    }
}

/// Gives work to the pool: one of its threads calls `work(context)`. Work may give
/// more work. Allocates some memory, and ends the process if that fails.
///
/// # Safety
/// Another thread may use `context` until the work is done.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unjank_pool_run(
    pool: *mut unjank_pool,
    work: unjank_work,
    context: *mut c_void,
) {
    // SAFETY: as the caller says.
    let pool = unsafe { given(pool, "pool") };
    let job = Job { work: work.unwrap_or_else(|| missing("work")), context };
    let outstanding = Arc::clone(&pool.outstanding);
    outstanding.count.fetch_add(1, Ordering::Relaxed);
    drop(pool.pool.spawn(move || outstanding.run(&job)));
}

/// Waits until all work of the pool is done, including work that is given
/// meanwhile. Returns true. If work of the pool itself calls this, it returns false
/// at once, because it would wait for its own end.
///
/// # Safety
/// The rules at the top of the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unjank_pool_wait_idle(pool: *mut unjank_pool) -> bool {
    // SAFETY: as the caller says.
    unsafe { given(pool, "pool") }.outstanding.wait()
}

/// The number of threads of the pool.
///
/// # Safety
/// The rules at the top of the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unjank_pool_threads(pool: *const unjank_pool) -> usize {
    // SAFETY: as the caller says.
    unsafe { given(pool, "pool") }.pool.threads()
}

/// The number of pieces of work that have not begun.
///
/// # Safety
/// The rules at the top of the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unjank_pool_waiting(pool: *const unjank_pool) -> usize {
    // SAFETY: as the caller says.
    unsafe { given(pool, "pool") }.pool.waiting()
}

/// Finishes all work, ends the threads and frees the pool. Does nothing for NULL.
/// Work of the pool itself may call it, and is then not waited for.
///
/// # Safety
/// No other thread uses the pool from now on.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unjank_pool_free(pool: *mut unjank_pool) {
    if !pool.is_null() {
        // SAFETY: it comes from `unjank_pool_new`, and no other thread uses it.
        drop(unsafe { Box::from_raw(pool) });
    }
}

impl Outstanding {
    fn run(&self, job: &Job) {
        let before = WORKS_FOR.replace(self);
        // SAFETY: the caller of `unjank_pool_run` allows any thread to run it.
        unsafe { (job.work)(job.context) }
        WORKS_FOR.set(before);
        // Pairs with the load in `wait`, which sees all stores of the work.
        if self.count.fetch_sub(1, Ordering::Release) == 1 {
            self.changed.notify_all();
        }
    }

    fn wait(&self) -> bool {
        if ptr::eq(WORKS_FOR.get(), self) {
            return false;
        }
        self.changed.wait_until(|| self.count.load(Ordering::Acquire) == 0);
        true
    }
}

fn set_errno(value: i32) {
    // SAFETY: errno of the calling thread is always there to be written.
    unsafe {
        #[cfg(target_os = "android")]
        let place = libc::__errno();
        #[cfg(not(target_os = "android"))]
        let place = libc::__errno_location();
        *place = value;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    unsafe extern "C-unwind" fn count(counter: *mut c_void) {
        // SAFETY: a test gives a counter that outlives the pool.
        unsafe { &*counter.cast::<AtomicUsize>() }.fetch_add(1, Ordering::Relaxed);
    }

    fn context<T>(value: &T) -> *mut c_void {
        ptr::from_ref(value).cast_mut().cast()
    }

    #[test]
    fn a_pool_is_idle_when_all_work_is_done() {
        let counter = AtomicUsize::new(0);
        let pool = unjank_pool_new(3);
        // SAFETY: the pool is there until it is freed, and the counter for longer.
        unsafe {
            assert_eq!(unjank_pool_threads(pool), 3);
            for round in 1..=20 {
                for _ in 0..100 {
                    unjank_pool_run(pool, Some(count), context(&counter));
                }
                assert!(unjank_pool_wait_idle(pool));
                assert_eq!(counter.load(Ordering::Relaxed), round * 100);
                assert_eq!(unjank_pool_waiting(pool), 0);
            }
            unjank_pool_run(pool, Some(count), context(&counter));
            unjank_pool_free(pool);
        }
        assert_eq!(counter.load(Ordering::Relaxed), 2_001, "freeing finishes the work");
    }

    #[test]
    fn work_cannot_wait_for_itself() {
        struct Asked(AtomicUsize, *mut unjank_pool);
        unsafe extern "C-unwind" fn ask(asked: *mut c_void) {
            // SAFETY: the test gives one that outlives the pool.
            let asked = unsafe { &*asked.cast::<Asked>() };
            // SAFETY: the pool is there as long as its work.
            let waited = unsafe { unjank_pool_wait_idle(asked.1) };
            asked.0.store(1 + usize::from(waited), Ordering::Relaxed);
        }
        let asked = Asked(AtomicUsize::new(0), unjank_pool_new(0));
        // SAFETY: as above.
        unsafe {
            unjank_pool_run(asked.1, Some(ask), context(&asked));
            assert!(unjank_pool_wait_idle(asked.1));
            unjank_pool_free(asked.1);
        }
        assert_eq!(asked.0.load(Ordering::Relaxed), 1);
    }

    #[test]
    fn null_is_not_freed() {
        // SAFETY: NULL is allowed.
        unsafe { unjank_pool_free(ptr::null_mut()) }
    }
}
