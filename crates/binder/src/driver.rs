//! The driver as a trait, and one transfer with it.

use std::fmt::Debug;
use std::io;
use std::path::Path;

use crate::mapping::Mapping;
use crate::protocol::{ExtendedError, FlatObject};

/// One transfer: commands go to the driver, returns come from it.
#[derive(Debug)]
pub struct Transfer<'a> {
    /// The commands to write; empty to only read.
    pub commands: &'a [u8],
    /// Memory for returns. If it is empty, the driver does not wait for returns.
    pub returns: &'a mut [u8],
    /// How many bytes of `commands` the driver has taken.
    pub consumed: usize,
    /// How many bytes of `returns` the driver has filled.
    pub returned: usize,
}

/// The requests to the binder driver, for one open device.
///
/// # Safety
/// An implementation fills [`Transfer::returns`] as the protocol says. The payload
/// of a call or a reply that lies in the [`mapping`](Self::mapping) is initialised,
/// and not written until `BC_FREE_BUFFER` names it. The same is true for the table
/// of its objects and for the buffers that they name. The files that they name
/// belong to this process, and nothing else closes them.
pub unsafe trait Driver: Debug + Send + Sync {
    /// The device's name in errors.
    fn device(&self) -> &Path;

    /// The memory in which the driver puts payloads for this process.
    fn mapping(&self) -> &Mapping;

    /// `BINDER_WRITE_READ`. Waits for returns unless `returns` is empty.
    ///
    /// # Errors
    /// `EINTR` after a signal. With every error, `consumed` and `returned` say how
    /// far the transfer got.
    ///
    /// # Safety
    /// Payloads that the commands point to are alive and not written meanwhile.
    /// Payloads that the commands give back are no longer read.
    unsafe fn write_read(&self, transfer: &mut Transfer<'_>) -> io::Result<()>;

    /// `BINDER_SET_MAX_THREADS`: how many threads the driver may ask for with
    /// `BR_SPAWN_LOOPER`.
    ///
    /// # Errors
    /// The kernel's.
    fn set_max_threads(&self, threads: u32) -> io::Result<()>;

    /// `BINDER_SET_CONTEXT_MGR_EXT`: makes `object` the context manager, which every
    /// process knows as handle 0.
    ///
    /// # Errors
    /// `EINVAL` from kernels that do not know the request, `EBUSY` if there is a
    /// context manager, `EPERM` if this user may not be it.
    fn set_context_manager_object(&self, object: &FlatObject) -> io::Result<()>;

    /// `BINDER_SET_CONTEXT_MGR`: the same for an object without flags.
    ///
    /// # Errors
    /// `EBUSY` if there is a context manager, `EPERM` if this user may not be it.
    fn set_context_manager(&self) -> io::Result<()>;

    /// `BINDER_GET_EXTENDED_ERROR`: why this thread's last call failed.
    ///
    /// # Errors
    /// `EINVAL` from kernels that do not know the request.
    fn extended_error(&self) -> io::Result<ExtendedError>;

    /// `BINDER_THREAD_EXIT`: this thread no longer uses the device. A call that it
    /// has not replied to fails.
    ///
    /// # Errors
    /// The kernel's.
    fn thread_exit(&self) -> io::Result<()>;

    /// Wakes the threads that wait in [`write_read`](Self::write_read) on this
    /// device. They return with `BR_NOOP` and any pending returns.
    ///
    /// # Errors
    /// The kernel's.
    fn wake(&self) -> io::Result<()>;
}
