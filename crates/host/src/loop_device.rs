//! A block device over an unnamed file: `loop(4)`.

use std::ffi::c_void;
use std::fs::{File, OpenOptions};
use std::os::fd::AsRawFd as _;
use std::path::{Path, PathBuf};

use rustix::io::Errno;
use rustix::ioctl::{Ioctl, IoctlOutput, Opcode, Setter, ioctl};

use crate::error::{Error, Result};
use crate::support::Support;

/// The device that allocates loop devices.
const CONTROL: &str = "/dev/loop-control";
/// `LOOP_CTL_GET_FREE` and `LOOP_CONFIGURE` of `include/uapi/linux/loop.h`.
const GET_FREE: Opcode = 0x4c82;
const CONFIGURE: Opcode = 0x4c0a;
/// `LO_FLAGS_AUTOCLEAR`: the device releases its file with its last user.
const AUTOCLEAR: u32 = 4;
/// `LO_FLAGS_DIRECT_IO`: the file is accessed without the page cache.
const DIRECT_IO: u32 = 16;
/// Another program may take a free device first; this is the number of tries.
const TRIES: u32 = 16;

/// `struct loop_config`, with its `struct loop_info64`.
#[repr(C)]
struct Config {
    fd: u32,
    block_size: u32,
    device: u64,
    inode: u64,
    rdevice: u64,
    offset: u64,
    size_limit: u64,
    number: u32,
    encrypt_type: u32,
    encrypt_key_size: u32,
    flags: u32,
    file_name: [u8; 64],
    crypt_name: [u8; 64],
    encrypt_key: [u8; 32],
    init: [u64; 2],
    reserved: [u64; 8],
}

/// A loop device that exists as long as it is used, by this, a mount, or swap.
#[derive(Debug)]
pub struct LoopDevice {
    path: PathBuf,
    _open: File,
}

impl LoopDevice {
    /// A device with blocks of `block` bytes over `file`, which is accessed
    /// without the page cache; `No` if the kernel has no such devices.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn over(file: &File, block: u32) -> Result<Support<Self>> {
        let control = match OpenOptions::new().read(true).write(true).open(CONTROL) {
            Ok(control) => control,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(Support::no("this kernel has no loop devices (CONFIG_BLK_DEV_LOOP)"));
            }
            Err(source) => return Err(Error::file("open", CONTROL, source)),
        };
        for _ in 0..TRIES {
            let number = free(&control)?;
            let path = PathBuf::from(format!("/dev/loop{number}"));
            let open = OpenOptions::new()
                .read(true)
                .write(true)
                .open(&path)
                .map_err(|source| Error::file("open", &path, source))?;
            let config = Config {
                fd: file.as_raw_fd().cast_unsigned(),
                block_size: block,
                device: 0,
                inode: 0,
                rdevice: 0,
                offset: 0,
                size_limit: 0,
                number,
                encrypt_type: 0,
                encrypt_key_size: 0,
                flags: AUTOCLEAR | DIRECT_IO,
                file_name: [0; 64],
                crypt_name: [0; 64],
                encrypt_key: [0; 32],
                init: [0; 2],
                reserved: [0; 8],
            };
            // SAFETY: loop(4): the kernel reads one `struct loop_config`, and
            // takes its own reference to the file.
            match unsafe { ioctl(&open, Setter::<CONFIGURE, Config>::new(config)) } {
                Ok(()) => return Ok(Support::Yes(Self { path, _open: open })),
                Err(Errno::BUSY) => {}
                Err(Errno::NOTTY | Errno::INVAL) => {
                    return Ok(Support::no(
                        "loop devices that free themselves and bypass the page cache need \
                         Linux 5.8, and a file system with direct I/O",
                    ));
                }
                Err(error) => return Err(Error::file("set up", path, error.into())),
            }
        }
        Err(Error::Busy("other programs took every free loop device".to_owned()))
    }

    /// `/dev/loop3`.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// The request that returns a number.
struct GetFree;

// SAFETY: loop(4): LOOP_CTL_GET_FREE takes no argument, and returns the number
// of a device or an error.
unsafe impl Ioctl for GetFree {
    type Output = u32;

    const IS_MUTATING: bool = false;

    fn opcode(&self) -> Opcode {
        GET_FREE
    }

    fn as_ptr(&mut self) -> *mut c_void {
        std::ptr::null_mut()
    }

    unsafe fn output_from_ptr(answer: IoctlOutput, _: *mut c_void) -> rustix::io::Result<u32> {
        u32::try_from(answer).map_err(|_| Errno::NODEV)
    }
}

fn free(control: &File) -> Result<u32> {
    // SAFETY: see the implementation of `Ioctl`.
    unsafe { ioctl(control, GetFree) }
        .map_err(|error| Error::syscall("ioctl", "LOOP_CTL_GET_FREE", error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_request_has_the_kernels_layout() {
        assert_eq!(size_of::<Config>(), 8 + 232 + 64);
        assert_eq!(std::mem::offset_of!(Config, flags), 8 + 52);
        assert_eq!(std::mem::offset_of!(Config, file_name), 8 + 56);
    }
}
