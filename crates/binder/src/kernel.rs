//! The binder driver of the running kernel.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};
use rustix::ioctl::{IntegerSetter, Opcode, Setter, Updater, ioctl};

use crate::driver::{Driver, Transfer};
use crate::error::{Error, Result};
use crate::mapping::Mapping;
use crate::protocol::{ExtendedError, FlatObject, PROTOCOL_VERSION, Version, WriteRead, request};

/// The default size in bytes of the memory for payloads: about as much as an
/// Android app has. One-way calls use at most half of it.
pub const DEFAULT_MAPPING: usize = 1 << 20;

/// An open binder device. Threads may share it; the driver distinguishes them.
#[derive(Debug)]
pub struct KernelDriver {
    device: PathBuf,
    fd: OwnedFd,
    mapping: Mapping,
}

impl KernelDriver {
    /// Opens a device, e.g. `/dev/binder`, with [`DEFAULT_MAPPING`].
    ///
    /// # Errors
    /// [`Error::NoDevice`], [`Error::NotBinder`] or [`Error::Version`] if there is no
    /// such device, [`Error::Permission`] if this user may not open it.
    pub fn open(device: impl Into<PathBuf>) -> Result<Self> {
        Self::with_mapping(device, DEFAULT_MAPPING)
    }

    /// As [`open`](Self::open), with memory of `bytes` for all payloads together. The
    /// driver uses at most 4 MiB of it.
    ///
    /// # Errors
    /// As [`open`](Self::open), and if the kernel cannot map that much.
    pub fn with_mapping(device: impl Into<PathBuf>, bytes: usize) -> Result<Self> {
        let device = device.into();
        let fd = open(&device)?;
        let spoken = version(&device, &fd)?;
        if spoken != PROTOCOL_VERSION {
            return Err(Error::Version { device, spoken });
        }
        match Mapping::of_device(&fd, bytes) {
            Ok(mapping) => Ok(Self { device, fd, mapping }),
            Err(source) => Err(Error::Request { device, request: "mmap", source }),
        }
    }

    /// Makes the driver detect processes that send suspiciously many one-way calls;
    /// they get [`Sent::Suspected`](crate::Sent::Suspected).
    ///
    /// # Errors
    /// `EINVAL` from kernels before 5.14.
    pub fn detect_one_way_spam(&self, detect: bool) -> Result<()> {
        // SAFETY: BINDER_ENABLE_ONEWAY_SPAM_DETECTION reads a 32-bit number.
        let outcome =
            unsafe { self.set::<{ request::ONEWAY_SPAM_DETECTION }, _>(u32::from(detect)) };
        outcome.map_err(|source| Error::Request {
            device: self.device.clone(),
            request: "BINDER_ENABLE_ONEWAY_SPAM_DETECTION",
            source,
        })
    }

    /// The protocol version of the driver.
    ///
    /// # Errors
    /// [`Error::NotBinder`] if the device does not answer.
    pub fn version(&self) -> Result<i32> {
        version(&self.device, &self.fd)
    }
}

/// Opens a device that may be a binder device.
pub(crate) fn open(device: &Path) -> Result<OwnedFd> {
    let failed = |source: io::Error| {
        let device = device.to_owned();
        match source.kind() {
            io::ErrorKind::PermissionDenied => Error::Permission { device, request: "open" },
            io::ErrorKind::NotFound => Error::NoDevice { device },
            _ => match source.raw_os_error() {
                Some(libc::ENXIO | libc::ENODEV | libc::ENOTDIR) => Error::NoDevice { device },
                _ => Error::Request { device, request: "open", source },
            },
        }
    };
    // A FIFO would make `open` wait, and a tape drive would rewind.
    let kind = fs::metadata(device).map_err(failed)?.file_type();
    if !kind.is_char_device() {
        let what = "it is not a character device".to_owned();
        return Err(Error::NotBinder { device: device.to_owned(), what });
    }
    rustix::fs::open(device, OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())
        .map_err(|error| failed(error.into()))
}

/// The protocol version of an open device.
pub(crate) fn version(device: &Path, fd: &OwnedFd) -> Result<i32> {
    let mut version = Version::default();
    // SAFETY: BINDER_VERSION writes a `struct binder_version`, which
    // `Version` is laid out as (include/uapi/linux/android/binder.h).
    let answered = unsafe { ioctl(fd, Updater::<{ request::VERSION }, _>::new(&mut version)) };
    match answered {
        Ok(()) => Ok(version.protocol),
        Err(error) => {
            let what = format!("BINDER_VERSION: {}", io::Error::from(error));
            Err(Error::NotBinder { device: device.to_owned(), what })
        }
    }
}

impl KernelDriver {
    /// A request that reads a value.
    ///
    /// # Safety
    /// `REQUEST` reads a `T` and nothing else of this process's memory.
    unsafe fn set<const REQUEST: Opcode, T>(&self, value: T) -> io::Result<()> {
        // SAFETY: the caller's promise (ioctl(2)).
        Ok(unsafe { ioctl(&self.fd, Setter::<REQUEST, T>::new(value)) }?)
    }
}

// SAFETY: the kernel's driver follows the protocol: it puts payloads in the
// mapping of this device and does not touch them until they are given back
// (drivers/android/binder_alloc.c).
unsafe impl Driver for KernelDriver {
    fn device(&self) -> &Path {
        &self.device
    }

    fn mapping(&self) -> &Mapping {
        &self.mapping
    }

    unsafe fn write_read(&self, transfer: &mut Transfer<'_>) -> io::Result<()> {
        let mut request = WriteRead {
            write_size: transfer.commands.len() as u64,
            write_consumed: 0,
            write_buffer: transfer.commands.as_ptr() as u64,
            read_size: transfer.returns.len() as u64,
            read_consumed: 0,
            read_buffer: transfer.returns.as_mut_ptr() as u64,
        };
        // SAFETY: both buffers are borrowed for the call and have the lengths given
        // here; the rest is the caller's promise
        // (include/uapi/linux/android/binder.h).
        let outcome =
            unsafe { ioctl(&self.fd, Updater::<{ request::WRITE_READ }, _>::new(&mut request)) };
        // The driver fills these in even if it fails.
        transfer.consumed = request.write_consumed as usize;
        transfer.returned = request.read_consumed as usize;
        Ok(outcome?)
    }

    fn set_max_threads(&self, threads: u32) -> io::Result<()> {
        // SAFETY: BINDER_SET_MAX_THREADS reads a 32-bit number.
        unsafe { self.set::<{ request::SET_MAX_THREADS }, _>(threads) }
    }

    fn set_context_manager_object(&self, object: &FlatObject) -> io::Result<()> {
        // SAFETY: BINDER_SET_CONTEXT_MGR_EXT reads a `struct
        // flat_binder_object`, which `FlatObject` is laid out as. The words in
        // it are names that the kernel hands back, not addresses it follows.
        unsafe { self.set::<{ request::SET_CONTEXT_MGR_EXT }, _>(*object) }
    }

    fn set_context_manager(&self) -> io::Result<()> {
        // SAFETY: BINDER_SET_CONTEXT_MGR does not use its argument.
        let request = unsafe { IntegerSetter::<{ request::SET_CONTEXT_MGR }>::new_usize(0) };
        // SAFETY: as above.
        Ok(unsafe { ioctl(&self.fd, request) }?)
    }

    fn extended_error(&self) -> io::Result<ExtendedError> {
        let mut error = ExtendedError::default();
        // SAFETY: BINDER_GET_EXTENDED_ERROR writes a `struct
        // binder_extended_error`, which `ExtendedError` is laid out as.
        unsafe {
            ioctl(&self.fd, Updater::<{ request::GET_EXTENDED_ERROR }, _>::new(&mut error))?;
        }
        Ok(error)
    }

    fn thread_exit(&self) -> io::Result<()> {
        // SAFETY: BINDER_THREAD_EXIT does not use its argument.
        let request = unsafe { IntegerSetter::<{ request::THREAD_EXIT }>::new_usize(0) };
        // SAFETY: as above.
        Ok(unsafe { ioctl(&self.fd, request) }?)
    }

    /// Closing any copy of the descriptor makes the driver send waiting
    /// threads back to user space (`flush` in its file operations).
    fn wake(&self) -> io::Result<()> {
        drop(self.fd.try_clone()?);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_that_is_not_there_is_named() {
        let error = KernelDriver::open("/dev/there is no such device").unwrap_err();
        assert_eq!(error.to_string(), "no binder device /dev/there is no such device");
    }

    #[test]
    fn other_files_are_refused_with_a_reason() {
        let error = KernelDriver::open("/dev/null").unwrap_err().to_string();
        assert!(error.starts_with("/dev/null is not a binder device: BINDER_VERSION: "), "{error}");
        let error = KernelDriver::open("/proc/self/exe").unwrap_err().to_string();
        assert_eq!(error, "/proc/self/exe is not a binder device: it is not a character device");
        let error = KernelDriver::open("/proc/version/binder").unwrap_err();
        assert!(matches!(error, Error::NoDevice { .. }), "{error}");
    }
}
