//! The program's own code in memory.

use std::ffi::c_void;

use rustix::mm::{Advice, madvise};

use crate::error::{Error, Result};
use crate::root::Root;

/// Releases the memory of all code of this process and its libraries; executed
/// code is read back from the page cache automatically. A service that runs for
/// months then keeps only the code it uses, without that of its start. Call it
/// after the start and before [`MemoryLock`](super::MemoryLock).
///
/// # Errors
/// If `/proc/self/maps` cannot be read, or `madvise(2)` fails, for example
/// because the memory is locked.
pub fn release_code() -> Result<()> {
    for (from, to) in code_in(&Root::system().read("/proc/self/maps")?) {
        // SAFETY: these pages are private, readable and executable mappings of
        // files, and never writable. The content that `MADV_DONTNEED` drops is
        // read from the same file again.
        unsafe { madvise(from as *mut c_void, to - from, Advice::LinuxDontNeed) }
            .map_err(|error| Error::syscall("madvise", "the program's code", error))?;
    }
    Ok(())
}

/// The mappings of files' code, from `/proc/PID/maps`: `proc_pid_maps(5)`.
fn code_in(maps: &str) -> impl Iterator<Item = (usize, usize)> {
    maps.lines().filter_map(|line| {
        let mut fields = line.split_whitespace();
        let (from, to) = fields.next()?.split_once('-')?;
        let is_code = fields.next()? == "r-xp" && fields.nth(3)?.starts_with('/');
        let address = |text| usize::from_str_radix(text, 16).ok();
        is_code.then_some((address(from)?, address(to)?))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_executable_and_from_a_file() {
        let maps = "\
55d0c0e00000-55d0c0f00000 r--p 00000000 fe:00 1234    /usr/bin/unjank
55d0c0f00000-55d0c1a00000 r-xp 00100000 fe:00 1234    /usr/bin/unjank
55d0c1a00000-55d0c1a10000 rwxp 00c00000 fe:00 1234    /usr/bin/odd
7ffd5a1c0000-7ffd5a1c2000 r-xp 00000000 00:00 0       [vdso]
7f0000000000-7f0000001000 r-xp 00000000 00:00 0
nonsense";
        assert_eq!(code_in(maps).collect::<Vec<_>>(), [(0x55d0_c0f0_0000, 0x55d0_c1a0_0000)]);
    }

    #[test]
    fn a_program_that_has_released_its_code_continues() {
        release_code().unwrap();
        let sum: u64 = (0..1_000).sum();
        assert_eq!(std::hint::black_box(sum), 499_500);
    }
}
