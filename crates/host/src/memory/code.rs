//! The program's own code in memory.

use std::ffi::c_void;

use rustix::mm::{Advice, madvise};

use crate::error::{Error, Result};
use crate::root::Root;

/// Lets go of all code of this process and its libraries: what is run again
/// comes back from the page cache, by itself. A service that runs for months
/// thereby keeps only what it runs, and not what its start has run; best done
/// after the start, before [`MemoryLock`](super::MemoryLock).
///
/// # Errors
/// `/proc/self/maps` cannot be read; `madvise(2)` failed, for one because the
/// memory is locked.
pub fn let_go_of_code() -> Result<()> {
    for (from, to) in code_in(&Root::system().read("/proc/self/maps")?) {
        // SAFETY: nobody has written to these pages, and nobody can: they are
        // mapped privately, to be read and executed. What `MADV_DONTNEED`
        // drops of them is read from the same file again.
        unsafe { madvise(from as *mut c_void, to - from, Advice::LinuxDontNeed) }
            .map_err(|error| Error::syscall("madvise", "the program's code", error))?;
    }
    Ok(())
}

/// Where code of files is mapped, from `/proc/PID/maps`: `proc_pid_maps(5)`.
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
    fn code_is_what_is_executable_and_of_a_file() {
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
    fn a_program_that_has_let_go_of_its_code_goes_on() {
        let_go_of_code().unwrap();
        let sum: u64 = (0..1_000).sum();
        assert_eq!(std::hint::black_box(sum), 499_500);
    }
}
