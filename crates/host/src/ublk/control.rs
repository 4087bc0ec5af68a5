//! Making, starting and removing devices.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd as _;
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use io_uring::opcode::UringCmd80;
use io_uring::squeue::Entry128;
use io_uring::types::Fd;
use io_uring::{IoUring, cqueue};
use rustix::io::Errno;

use super::abi::{self, Info, Parameters};
use crate::clock::Timestamp;
use crate::error::{Error, Result};
use crate::support::Support;
use unjank_units::{Bytes, Nanos};

/// All devices in sysfs, while the driver is loaded.
const CLASS: &str = "/sys/class/ublk-char";
/// The time between two tries to take a device over, to open it, or to enter the ring.
const BETWEEN_TRIES: Duration = Duration::from_millis(10);
/// The time until the file of a new device is there: Android makes files of devices late.
const LONGEST_APPEARANCE: Nanos = Nanos::from_millis(2_000);

/// The shape of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Its size.
    pub size: Bytes,
    /// The size of a block: requests are aligned to it.
    pub block: Bytes,
    /// Queues, each served by a thread.
    pub queues: u16,
    /// Requests in a queue.
    pub depth: u16,
    /// The largest request.
    pub largest: Bytes,
}

/// The driver's control device.
pub struct Control {
    /// `None` after an error of the ring itself.
    ring: Option<IoUring<Entry128, cqueue::Entry>>,
    file: File,
}

/// A device of the driver, which this process may serve. The driver lets one process have it.
#[derive(Debug)]
pub struct Device {
    pub(super) id: u32,
    pub(super) shape: Shape,
    /// The character device through which its requests come.
    pub(super) requests: File,
}

/// The path of the block device with this number. Android has block devices in a directory.
pub fn path_of(id: u32) -> PathBuf {
    let places = ["/dev", "/dev/block"].map(|place| PathBuf::from(format!("{place}/ublkb{id}")));
    let [usual, androids] = places;
    if !usual.exists() && androids.exists() { androids } else { usual }
}

/// A device that was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Found {
    /// Its number: the 0 of `/dev/ublkb0`.
    pub id: u32,
    /// Its state.
    pub state: State,
}

/// The state of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// It is not started yet, or stopped.
    NotStarted,
    /// A process serves it, or has just ended.
    Live {
        /// The process.
        server: u32,
    },
    /// Its server has died. Requests wait for another one.
    WithoutServer,
}

/// The numbers of all devices. sysfs has them all, also where `/dev` is a private one.
fn ids() -> Result<Vec<u32>> {
    let failed = |error| Error::file("list", CLASS, error);
    let mut ids = Vec::new();
    for entry in fs::read_dir(CLASS).map_err(failed)? {
        let name = entry.map_err(failed)?.file_name();
        let number = name.to_str().and_then(|name| name.strip_prefix("ublkc"));
        ids.extend(number.and_then(|number| number.parse::<u32>().ok()));
    }
    Ok(ids)
}

/// Whether the ring is to be entered again after this error.
pub(super) fn is_passing(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EINTR | libc::EAGAIN | libc::EBUSY))
}

/// Whether the driver does not know a command: `EOPNOTSUPP`, or `ENOTSUPP`, which is the kernel's
/// own.
fn is_unknown(error: &io::Error) -> bool {
    const ENOTSUPP: i32 = 524;
    matches!(error.raw_os_error(), Some(libc::EOPNOTSUPP | ENOTSUPP))
}

impl Device {
    /// Its number: the 0 of `/dev/ublkb0`.
    pub fn id(&self) -> u32 {
        self.id
    }

    /// Its shape.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// The path of the block device, which exists while it is started.
    pub fn path(&self) -> PathBuf {
        path_of(self.id)
    }

    fn open(id: u32, shape: Shape) -> Result<Self> {
        let path = format!("/dev/ublkc{id}");
        let end = Timestamp::now() + LONGEST_APPEARANCE;
        loop {
            match OpenOptions::new().read(true).write(true).open(&path) {
                Ok(requests) => return Ok(Self { id, shape, requests }),
                Err(error) if error.kind() == io::ErrorKind::NotFound && Timestamp::now() < end => {
                    thread::sleep(BETWEEN_TRIES);
                }
                Err(source) => return Err(Error::file("open", path, source)),
            }
        }
    }

    /// Has the kernel look every second whether a server of the started device has died while it
    /// had all requests of a queue. Linux 6.12 sees that only when one of them takes too long, by
    /// default 30 s (`ublk_timeout` of `drivers/block/ublk_drv.c`).
    ///
    /// # Errors
    /// The kernel's error.
    pub fn watch_closely(&self) -> Result<()> {
        let path = format!("/sys/block/ublkb{}/queue/io_timeout", self.id);
        fs::write(&path, "1000").map_err(|error| Error::file("write", path, error))
    }
}

impl Control {
    /// Opens the driver; `No` if the kernel has none.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn open() -> Result<Support<Self>> {
        let file = match OpenOptions::new().read(true).write(true).open(abi::CONTROL) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(Support::no(
                    "this kernel has no ublk driver (CONFIG_BLK_DEV_UBLK, Linux 6.4 or newer), or it \
                     is not loaded: modprobe ublk_drv",
                ));
            }
            Err(source) => return Err(Error::file("open", abi::CONTROL, source)),
        };
        let ring = IoUring::builder()
            .build(4)
            .map_err(|error| Error::syscall("io_uring_setup", "128-byte entries", error))?;
        Ok(Support::Yes(Self { ring: Some(ring), file }))
    }

    /// Adds a device with a mark by which it is [found](Self::find). Its block device does not exist
    /// before it is started.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn add(&mut self, shape: Shape, mark: u64) -> Result<Device> {
        let flags = abi::USER_RECOVERY | abi::USER_RECOVERY_REISSUE | abi::CMD_IOCTL_ENCODE;
        let mut info = Info {
            queues: shape.queues,
            depth: shape.depth,
            buffer_bytes: u32::try_from(shape.largest.get()).unwrap_or(u32::MAX),
            id: u32::MAX,
            flags,
            server_flags: mark,
            ..Info::default()
        };
        self.with(abi::ADD_DEV, u32::MAX, &mut info, "add a ublk device")?;
        let shape = Shape { queues: info.queues, depth: info.depth, ..shape };
        let set_up = self.set_parameters(info.id, shape);
        let device = set_up.and_then(|()| Device::open(info.id, shape));
        if device.is_err() {
            let _first_error_counts = self.remove(info.id);
        }
        device
    }

    /// Takes over a device whose server has died. It is started again with [`start`](Self::start).
    /// Waits until all that the server had under way has ended, so that no late write of it comes
    /// after one of this process: the driver refuses while the server's rings have the device open.
    ///
    /// To be called last before [`start`](Self::start): Linux 6.12 does not give the device to a
    /// third server if this process ends in between.
    ///
    /// # Errors
    /// `Busy` if it has a server, or is stopped; the kernel's error, as `ENODEV` for a device that is
    /// gone.
    pub fn recover(&mut self, id: u32, shape: Shape) -> Result<Device> {
        let info = loop {
            let mut info = Info::default();
            self.with(abi::GET_DEV_INFO, id, &mut info, "read a ublk device")?;
            if info.state != abi::QUIESCED {
                return Err(Error::Busy(format!("{} waits for no server", path_of(id).display())));
            }
            // EBUSY: the server's ring still has the device open, until its last operation has
            // ended. No event tells when.
            match self.command(abi::START_USER_RECOVERY, id, 0, 0, 0, "take over a ublk device") {
                Err(Error::File { ref source, .. })
                    if source.raw_os_error() == Some(libc::EBUSY) =>
                {
                    thread::sleep(BETWEEN_TRIES);
                }
                answer => break answer.map(|()| info)?,
            }
        };
        let largest = Bytes(info.buffer_bytes.into());
        Device::open(id, Shape { queues: info.queues, depth: info.depth, largest, ..shape })
    }

    /// The device that was added with this mark, if there is one.
    ///
    /// # Errors
    /// The kernel's error; sysfs is not mounted.
    pub fn find(&mut self, mark: u64) -> Result<Option<Found>> {
        for id in ids()? {
            let mut info = Info::default();
            match self.with(abi::GET_DEV_INFO, id, &mut info, "read a ublk device") {
                Ok(()) if info.server_flags == mark => {
                    let server = u32::try_from(info.server).ok();
                    let state = match info.state {
                        abi::LIVE => State::Live { server: server.unwrap_or_default() },
                        abi::QUIESCED => State::WithoutServer,
                        _ => State::NotStarted,
                    };
                    return Ok(Some(Found { id, state }));
                }
                Ok(()) => {}
                // It was removed meanwhile; or it was added without a privilege (`EINVAL`), as no
                // device of a `Control` is.
                Err(Error::File { source, .. })
                    if matches!(source.raw_os_error(), Some(libc::ENODEV | libc::EINVAL)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }

    /// Starts a device: its block device appears, or goes on. Waits until a thread of this process
    /// runs each queue.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn start(&mut self, device: &Device, is_recovered: bool) -> Result<()> {
        let command = if is_recovered { abi::END_USER_RECOVERY } else { abi::START_DEV };
        let pid = u64::from(std::process::id());
        loop {
            match self.command(command, device.id, 0, 0, pid, "start a ublk device") {
                Err(Error::File { ref source, .. })
                    if source.kind() == io::ErrorKind::Interrupted => {}
                answer => return answer,
            }
        }
    }

    /// Ends all requests and the threads of the queues; the block device disappears.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn stop(&mut self, id: u32) -> Result<()> {
        self.command(abi::STOP_DEV, id, 0, 0, 0, "stop a ublk device")
    }

    /// Removes a device that is stopped. Before Linux 6.9 it waits until nobody has its files open,
    /// also this process ([`Device`]).
    ///
    /// # Errors
    /// The kernel's error.
    pub fn remove(&mut self, id: u32) -> Result<()> {
        const ACTION: &str = "remove a ublk device";
        match self.command(abi::DEL_DEV_ASYNC, id, 0, 0, 0, ACTION) {
            Err(Error::File { source, .. }) if is_unknown(&source) => {
                self.command(abi::DEL_DEV, id, 0, 0, 0, ACTION)
            }
            answer => answer,
        }
    }

    fn set_parameters(&mut self, id: u32, shape: Shape) -> Result<()> {
        let Shape { size, block, largest, .. } = shape;
        let block_shift = block.get().trailing_zeros() as u8;
        let mut parameters = Parameters {
            len: size_of::<Parameters>() as u32,
            types: abi::BASIC_AND_DISCARD,
            logical_block_shift: block_shift,
            physical_block_shift: block_shift,
            io_opt_shift: block_shift,
            io_min_shift: block_shift,
            max_sectors: u32::try_from(largest.get() / super::SECTOR).unwrap_or(u32::MAX),
            sectors: size.get() / super::SECTOR,
            discard_granularity: block.get() as u32,
            max_discard_sectors: u32::MAX >> 9 >> block_shift << block_shift,
            max_discard_segments: 1,
            ..Parameters::default()
        };
        self.with(abi::SET_PARAMS, id, &mut parameters, "set up a ublk device")
    }

    /// A command with a structure that the kernel reads or writes.
    fn with<T>(&mut self, command: u32, id: u32, of: &mut T, action: &'static str) -> Result<()> {
        self.command(command, id, std::ptr::from_mut(of) as u64, size_of::<T>(), 0, action)
    }

    fn command(
        &mut self,
        command: u32,
        id: u32,
        address: u64,
        length: usize,
        data: u64,
        action: &'static str,
    ) -> Result<()> {
        let failed = |source| Error::file(action, abi::CONTROL, source);
        let ring = self.ring.as_mut().ok_or_else(|| failed(Errno::BADF.into()))?;
        let bytes = abi::control_command(id, address, length, data);
        let entry = UringCmd80::new(Fd(self.file.as_raw_fd()), command).cmd(bytes).build();
        // SAFETY: the entry's file lives as long as this value. The structure that it points to is
        // borrowed by the caller until this returns. By then the command has ended, or the ring is
        // closed and the kernel has not taken the entry.
        unsafe { ring.submission().push(&entry) }.map_err(|_| failed(Errno::BUSY.into()))?;
        let ended = loop {
            let entered = ring.submit_and_wait(1);
            if let Some(ended) = ring.completion().next() {
                break ended;
            }
            let Err(error) = entered else { continue };
            let is_taken = ring.submission().is_empty();
            if !is_taken && !is_passing(&error) {
                self.ring = None;
                return Err(failed(error));
            }
            // Short of memory, for instance.
            if error.kind() != io::ErrorKind::Interrupted {
                thread::sleep(BETWEEN_TRIES);
            }
        };
        if ended.result() < 0 {
            return Err(failed(io::Error::from_raw_os_error(-ended.result())));
        }
        Ok(())
    }
}
