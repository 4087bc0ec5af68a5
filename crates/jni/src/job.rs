//! The job of a task at each wake-up: report the wake-up, or call a function of a
//! shared library. `unjank_rt.h` has the same declarations for C.

use std::ffi::{CString, c_void};
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

/// One wake-up: `struct unjank_wakeup`. Moments are on `CLOCK_MONOTONIC`,
/// in nanoseconds.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WakeUp {
    /// The number of the period, from 0, missed periods included.
    pub period: u64,
    /// The beginning of the period.
    pub due: u64,
    /// Time of the task's clock read after the wake-up.
    pub woken: u64,
    /// Further periods that had passed by then.
    pub missed: u64,
}

impl WakeUp {
    /// The report to Java: the fields in order, little-endian.
    #[inline]
    pub fn message(&self) -> [u8; 32] {
        let mut message = [0; 32];
        let fields = [self.period, self.due, self.woken, self.missed];
        for (bytes, field) in message.chunks_exact_mut(8).zip(fields) {
            bytes.copy_from_slice(&field.to_le_bytes());
        }
        message
    }
}

/// `unjank_job`: wake-up, the oldest message from Java (null and 0 if there is
/// none), a buffer for a message to Java and its size. Returns the length of that
/// message, 0 for none, or a negative number to end the task.
type Function = unsafe extern "C" fn(*const WakeUp, *const c_void, u32, *mut c_void, u32) -> i32;

/// The work of a task at each wake-up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Job {
    /// Sends a report to Java.
    Report,
    /// Calls `symbol` of `library`.
    Call {
        /// Path of a shared library.
        library: PathBuf,
        /// Name of a function of type `unjank_job`.
        symbol: String,
    },
}

/// A job whose library is loaded.
#[derive(Debug, Clone, Copy)]
pub enum LoadedJob {
    /// See [`Job::Report`].
    Report,
    /// The function of [`Job::Call`].
    Call(Function),
}

impl Job {
    /// Loads the library. It is never unloaded, because the job's code may have
    /// started threads or installed handlers.
    ///
    /// # Errors
    /// `Failed` with the message of `dlopen(3)` or `dlsym(3)`.
    pub fn load(&self) -> Result<LoadedJob> {
        match self {
            Self::Report => Ok(LoadedJob::Report),
            Self::Call { library, symbol } => load(library, symbol).map(LoadedJob::Call),
        }
    }
}

fn load(library: &Path, symbol: &str) -> Result<Function> {
    let c_string = |text: &str| {
        CString::new(text).map_err(|_| Error::Invalid(format!("{text:?} contains a zero byte")))
    };
    let path = c_string(&library.to_string_lossy())?;
    let name = c_string(symbol)?;
    // SAFETY: both texts end with zero (dlopen(3)). The caller of
    // `CriticalTaskBuilder.job` guarantees that the library may be loaded and that
    // the symbol is a function of this type.
    unsafe {
        let handle = libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL);
        if handle.is_null() {
            return Err(failure(library));
        }
        let address = libc::dlsym(handle, name.as_ptr());
        if address.is_null() {
            return Err(failure(library));
        }
        Ok(std::mem::transmute::<*mut c_void, Function>(address))
    }
}

fn failure(library: &Path) -> Error {
    // SAFETY: dlerror(3) returns null or a text that ends with zero and stays
    // valid until the next call of this thread.
    let text = unsafe {
        let text = libc::dlerror();
        (!text.is_null()).then(|| std::ffi::CStr::from_ptr(text).to_string_lossy().into_owned())
    };
    let text = text.unwrap_or_else(|| "no reason given".to_owned());
    Error::Failed(format!("cannot load the job from {}: {text}", library.display()))
}

impl LoadedJob {
    /// Runs the job once. Returns the length of the message in `out`, or `None` to
    /// end the task.
    #[inline]
    pub fn run(self, wakeup: &WakeUp, input: &[u8], out: &mut [u8]) -> Option<usize> {
        match self {
            Self::Report => {
                let message = wakeup.message();
                let length = message.len().min(out.len());
                out[..length].copy_from_slice(&message[..length]);
                Some(length)
            }
            Self::Call(function) => {
                let from = if input.is_empty() { std::ptr::null() } else { input.as_ptr().cast() };
                // SAFETY: pointers and lengths are those of live buffers, and the
                // caller of `CriticalTaskBuilder.job` guarantees the function's type.
                let answer = unsafe {
                    let (given, room) = (input.len() as u32, out.len() as u32);
                    function(&raw const *wakeup, from, given, out.as_mut_ptr().cast(), room)
                };
                usize::try_from(answer).ok().map(|length| length.min(out.len()))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_library_is_named() {
        let job = Job::Call { library: "/nowhere/job.so".into(), symbol: "job".to_owned() };
        let error = job.load().unwrap_err().to_string();
        assert!(error.contains("/nowhere/job.so"), "{error}");
    }

    #[test]
    fn a_report_holds_the_wake_up() {
        let wakeup = WakeUp { period: 1, due: 2, woken: 3, missed: 4 };
        let mut out = [0; 40];
        assert_eq!(LoadedJob::Report.run(&wakeup, &[], &mut out), Some(32));
        assert_eq!((out[0], out[8], out[16], out[24]), (1, 2, 3, 4));
    }
}
