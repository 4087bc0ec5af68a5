//! Threads in the way of page reclaim.

use rustix::io::Errno;

use crate::error::{Error, Result};

/// `PR_SET_IO_FLUSHER` and `PR_GET_IO_FLUSHER` (prctl(2), since Linux 5.6).
const SET: libc::c_int = 57;
const GET: libc::c_int = 58;

/// Allocations of the calling thread do not wait for page-outs from now on, which may wait for
/// this thread (`PR_SET_IO_FLUSHER`). Threads that it starts do the same.
///
/// # Errors
/// `Permission` without `CAP_SYS_RESOURCE`; a kernel before 5.6.
pub fn become_io_flusher() -> Result<()> {
    call(SET, 1).map(drop).map_err(|errno| match errno {
        Errno::PERM => Error::Permission {
            what: "serving a swap device".to_owned(),
            needs: "CAP_SYS_RESOURCE".to_owned(),
        },
        errno => Error::syscall("prctl(PR_SET_IO_FLUSHER)", "this thread", errno),
    })
}

/// Whether the calling thread is one.
///
/// # Errors
/// The kernel's error.
pub fn is_io_flusher() -> Result<bool> {
    let answer = call(GET, 0);
    answer
        .map(|answer| answer == 1)
        .map_err(|errno| Error::syscall("prctl(PR_GET_IO_FLUSHER)", "this thread", errno))
}

fn call(option: libc::c_int, value: libc::c_ulong) -> std::result::Result<libc::c_int, Errno> {
    let zero: libc::c_ulong = 0;
    // SAFETY: prctl(2): these options take numbers only.
    let answer = unsafe { libc::prctl(option, value, zero, zero, zero) };
    if answer < 0 {
        Err(Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::INVAL))
    } else {
        Ok(answer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorClass;

    #[test]
    fn a_thread_becomes_one_or_lacks_the_privilege() {
        let became = std::thread::spawn(|| (become_io_flusher(), is_io_flusher()));
        match became.join().unwrap() {
            (Ok(()), is) => assert!(is.unwrap()),
            (Err(error), _) => assert_eq!(error.class(), ErrorClass::Permission, "{error}"),
        }
        // Another thread of this process is not concerned.
        let is = std::thread::spawn(is_io_flusher).join().unwrap();
        assert!(!is.is_ok_and(|is| is));
    }
}
