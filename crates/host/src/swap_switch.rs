//! Turning swap areas on and off: swapon(2), swapoff(2).

use std::ffi::CString;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use crate::error::{Error, Result};

/// `SWAP_FLAG_PREFER`, and the flags `SWAP_FLAG_DISCARD` and `SWAP_FLAG_DISCARD_PAGES` together.
const PREFER: libc::c_int = 0x8000;
const DISCARD_PAGES: libc::c_int = 0x1_0000 | 0x4_0000;

/// The highest priority.
pub const HIGHEST: u16 = 0x7fff;
/// The priority of a temporary area on storage: above all but what is preferred to storage.
pub const ON_STORAGE: u16 = HIGHEST - 1;

/// Swaps to the area at `path`, with this priority (0 to [`HIGHEST`]). With `discards`, the kernel
/// discards pages that are free again.
///
/// # Errors
/// The kernel's error.
pub fn turn_on(path: &Path, priority: u16, discards: bool) -> Result<()> {
    let name = name(path)?;
    let discard = if discards { DISCARD_PAGES } else { 0 };
    let flags = PREFER | libc::c_int::from(priority.min(HIGHEST)) | discard;
    // SAFETY: swapon(2) reads a path that ends in a zero byte, and keeps no pointer to it.
    answer("turn on", path, unsafe { libc::swapon(name.as_ptr(), flags) })
}

/// Brings all pages of the area back into memory, and turns it off.
///
/// # Errors
/// The kernel's error: `ENOMEM` if memory is too small.
pub fn turn_off(path: &Path) -> Result<()> {
    let name = name(path)?;
    // SAFETY: as for swapon(2).
    answer("turn off", path, unsafe { libc::swapoff(name.as_ptr()) })
}

fn name(path: &Path) -> Result<CString> {
    CString::new(path.as_os_str().as_bytes())
        .map_err(|_| Error::Invalid("a path contains a NUL byte".to_owned()))
}

fn answer(action: &'static str, path: &Path, answer: libc::c_int) -> Result<()> {
    match answer {
        0 => Ok(()),
        _ => Err(Error::file(action, path, io::Error::last_os_error())),
    }
}
