//! A queue of requests, served by one thread.

use std::fs::File;
use std::io;
use std::mem::ManuallyDrop;
use std::os::fd::{AsRawFd as _, BorrowedFd};
use std::ptr;
use std::thread;
use std::time::Duration;

use io_uring::types::{Fixed, SubmitArgs, Timespec};
use io_uring::{IoUring, opcode, squeue};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

use super::abi::{self, Descriptor};
use super::control::{Device, Shape, is_passing};
use crate::error::{Error, Result};
use crate::memory::{SharedRegion, page_size};
use unjank_units::Nanos;

/// The mark of the server's own transfers among the ends of operations.
const OWN: u64 = 1 << 63;
/// The index of the character device among the ring's files; the server's follow.
const DEVICE: u32 = 0;

/// A request of the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// Its number in the queue, until the reply.
    pub tag: u16,
    /// What is to be done.
    pub operation: Operation,
    /// The first sector, of 512 bytes.
    pub sector: u64,
    /// How many sectors.
    pub sectors: u32,
}

/// The operations of requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// Fill the request's buffer.
    Read,
    /// Store the request's buffer.
    Write,
    /// Make everything durable that was written.
    Flush,
    /// Forget the data.
    Discard,
    /// Another one, which no device of this crate offers.
    Other,
}

/// A place in the queue's memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Memory {
    /// In the buffer of a request, from this byte on.
    Request(u16, usize),
    /// A spare buffer of one block.
    Spare(u16),
}

/// A read or write of the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transfer {
    /// The number of the file, of those that the queue was opened with.
    pub file: u32,
    /// The place in the file, in bytes.
    pub offset: u64,
    /// The place in memory.
    pub memory: Memory,
    /// Bytes.
    pub length: u32,
    /// Whether memory is written to the file.
    pub writes: bool,
    /// A number below 2⁶³ for the caller, returned at the end.
    pub token: u64,
}

/// The server behind a queue.
pub trait Serve {
    /// A request has arrived. [`Queue::reply`] ends it.
    fn request(&mut self, queue: &mut Queue, request: Request);

    /// The transfer with this token has ended: bytes, or a negative error number.
    fn ended(&mut self, queue: &mut Queue, token: u64, result: i32);

    /// All that has arrived was passed on. Returns after how long to call again even if nothing
    /// arrives.
    fn pause(&mut self, queue: &mut Queue) -> Option<Nanos>;
}

/// A queue of a device.
pub struct Queue {
    ring: IoUring,
    descriptors: ManuallyDrop<Descriptors>,
    /// A buffer for each request, then the spare buffers.
    buffers: ManuallyDrop<SharedRegion>,
    buffer: usize,
    block: usize,
    id: u16,
    depth: u16,
    spares: u16,
    /// Requests that the kernel or the server holds.
    live: u16,
    /// Transfers under way.
    transfers: u32,
}

/// What a queue needs before there is a device: all its memory. Linux 6.12 gives a device that is
/// taken over to nobody else if the process ends before its start, so there should be little to do in
/// between.
pub struct PreparedQueue {
    ring: IoUring,
    buffers: SharedRegion,
    shape: Shape,
    spares: u16,
}

impl PreparedQueue {
    /// Memory for a queue of a device of this shape, for the calling thread, with `spares` buffers of
    /// a block for the server itself.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn new(shape: Shape, spares: u16) -> Result<Self> {
        let (buffer, block) = (shape.largest.get() as usize, shape.block.get() as usize);
        let length = buffer * usize::from(shape.depth) + block * usize::from(spares);
        let (buffers, _) = SharedRegion::create("ublk", length)?;
        // Each request may have a transfer for each of its blocks under way.
        let operations = usize::from(shape.depth) * (buffer / block + 1) + usize::from(spares);
        let entries = u32::from(shape.depth) * 2;
        // Deferred: a request that arrives while this thread dies is then work of the ring. As work
        // of the thread, it makes Linux 6.12 use a ring that is freed already (`io_fallback_tw`).
        let ring = IoUring::builder()
            .setup_defer_taskrun()
            .setup_single_issuer()
            .setup_cqsize(
                u32::try_from(operations).unwrap_or(u32::MAX).next_power_of_two().max(entries),
            )
            .build(entries)
            .map_err(|error| Error::syscall("io_uring_setup", "a queue", error))?;
        Ok(Self { ring, buffers, shape, spares })
    }

    /// The queue `id` of a device. The server reads and writes `files`.
    ///
    /// # Errors
    /// The device has another shape; the kernel's error.
    pub fn open(self, device: &Device, id: u16, files: &[BorrowedFd<'_>]) -> Result<Queue> {
        let Self { ring, buffers, shape, spares } = self;
        let of = |shape: Shape| (shape.largest, shape.block, shape.depth);
        if of(shape) != of(device.shape) {
            let shape = device.shape;
            return Err(Error::Invalid(format!(
                "{} has another {shape:?}",
                device.path().display()
            )));
        }
        let descriptors = Descriptors::map(&device.requests, id, shape.depth)?;
        let mut raw = vec![device.requests.as_raw_fd()];
        raw.extend(files.iter().map(BorrowedFd::as_raw_fd));
        let registered = ring.submitter().register_files(&raw);
        registered.map_err(|source| Error::file("serve", device.path(), source))?;
        Ok(Queue {
            ring,
            descriptors: ManuallyDrop::new(descriptors),
            buffers: ManuallyDrop::new(buffers),
            buffer: shape.largest.get() as usize,
            block: shape.block.get() as usize,
            id,
            depth: shape.depth,
            spares,
            live: 0,
            transfers: 0,
        })
    }
}

impl Queue {
    /// The memory of the buffers.
    pub fn memory(&self) -> &SharedRegion {
        &self.buffers
    }

    /// The offset of a place in [`memory`](Self::memory).
    ///
    /// # Panics
    /// If there is no such place.
    pub fn offset(&self, place: Memory) -> usize {
        match place {
            Memory::Request(tag, byte) => {
                assert!(tag < self.depth && byte < self.buffer, "{place:?}");
                usize::from(tag) * self.buffer + byte
            }
            Memory::Spare(number) => {
                assert!(number < self.spares, "{place:?}");
                usize::from(self.depth) * self.buffer + usize::from(number) * self.block
            }
        }
    }

    /// Begins a transfer.
    ///
    /// # Panics
    /// If its place or length is outside the queue's memory.
    pub fn transfer(&mut self, transfer: Transfer) {
        let Transfer { file, offset, memory, length, writes, token } = transfer;
        let (fd, address) = (Fixed(DEVICE + 1 + file), self.address(memory, length as usize));
        let entry = if writes {
            opcode::Write::new(fd, address, length).offset(offset).build()
        } else {
            opcode::Read::new(fd, address, length).offset(offset).build()
        };
        self.transfers += 1;
        self.push(&entry.user_data(OWN | token));
    }

    /// Ends a request: bytes, or a negative error number.
    pub fn reply(&mut self, tag: u16, result: i32) {
        self.offer(abi::COMMIT_AND_FETCH_REQ, tag, result);
    }

    /// Serves requests until the device is stopped.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn run(&mut self, serve: &mut impl Serve) -> Result<()> {
        for tag in 0..self.depth {
            self.live += 1;
            self.offer(abi::FETCH_REQ, tag, 0);
        }
        let mut again = None;
        while self.live > 0 || self.transfers > 0 {
            self.wait(again)?;
            while let Some((user, result)) = self.next_end() {
                if user & OWN != 0 {
                    self.transfers -= 1;
                    serve.ended(self, user & !OWN, result);
                } else if result == 0 {
                    let tag = user as u16;
                    let request = self.descriptors.request(tag);
                    serve.request(self, request);
                } else if result == -libc::ENODEV {
                    // The device is stopped.
                    self.live -= 1;
                } else {
                    let error = io::Error::from_raw_os_error(-result);
                    return Err(Error::syscall(
                        "a ublk request",
                        format!("queue {}", self.id),
                        error,
                    ));
                }
            }
            again = serve.pause(self);
        }
        Ok(())
    }

    fn next_end(&mut self) -> Option<(u64, i32)> {
        let entry = self.ring.completion().next()?;
        Some((entry.user_data(), entry.result()))
    }

    fn wait(&self, longest: Option<Nanos>) -> Result<()> {
        let submitter = self.ring.submitter();
        let waited = match longest {
            None => submitter.submit_and_wait(1),
            Some(longest) => {
                let time = Timespec::new()
                    .sec(longest.get() / 1_000_000_000)
                    .nsec((longest.get() % 1_000_000_000) as u32);
                submitter.submit_with_args(1, &SubmitArgs::new().timespec(&time))
            }
        };
        match waited {
            Ok(_) => Ok(()),
            Err(error) => match error.raw_os_error() {
                // The time is over.
                Some(libc::ETIME) => Ok(()),
                // EBUSY: ends of operations are to be taken first.
                _ if is_passing(&error) => {
                    pause_if_short_of_memory(&error);
                    Ok(())
                }
                _ => Err(Error::syscall("io_uring_enter", format!("queue {}", self.id), error)),
            },
        }
    }

    fn offer(&mut self, command: u32, tag: u16, result: i32) {
        let address = self.address(Memory::Request(tag, 0), self.buffer) as u64;
        let bytes = abi::io_command(self.id, tag, result, address);
        let entry = opcode::UringCmd16::new(Fixed(DEVICE), command).cmd(bytes).build();
        self.push(&entry.user_data(tag.into()));
    }

    fn address(&self, place: Memory, length: usize) -> *mut u8 {
        self.buffers.address(self.offset(place), length)
    }

    fn push(&mut self, entry: &squeue::Entry) {
        // SAFETY: the entry's file is registered, and its memory lies in `buffers`, which stays
        // mapped while an operation is under way. A full ring is emptied by the kernel.
        while unsafe { self.ring.submission().push(entry) }.is_err() {
            if let Err(error) = self.ring.submit() {
                assert!(is_passing(&error), "the ring of queue {} takes nothing: {error}", self.id);
                pause_if_short_of_memory(&error);
            }
        }
    }
}

/// The kernel has no memory for a request now. The thread may be real-time: it does not try again at
/// once.
fn pause_if_short_of_memory(error: &io::Error) {
    if error.raw_os_error() == Some(libc::EAGAIN) {
        thread::sleep(Duration::from_millis(1));
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        // Closing the ring does not wait for operations under way, and the kernel goes on to use
        // their memory: it then stays mapped.
        if self.live == 0 && self.transfers == 0 {
            // SAFETY: they are dropped here only, and not used afterwards.
            unsafe {
                ManuallyDrop::drop(&mut self.descriptors);
                ManuallyDrop::drop(&mut self.buffers);
            }
        }
    }
}

/// The descriptors of a queue's requests, which the kernel writes.
struct Descriptors {
    start: *const Descriptor,
    length: usize,
    depth: u16,
}

impl Descriptors {
    fn map(device: &File, queue: u16, depth: u16) -> Result<Self> {
        let length = usize::from(depth) * size_of::<Descriptor>();
        let page = page_size().get() as usize;
        let offset = usize::from(queue) * abi::DESCRIPTORS_STRIDE.next_multiple_of(page);
        let flags = MapFlags::SHARED | MapFlags::POPULATE;
        // SAFETY: a new mapping at an address of the kernel's choice overlaps nothing.
        let start =
            unsafe { mmap(ptr::null_mut(), length, ProtFlags::READ, flags, device, offset as u64) }
                .map_err(|error| Error::syscall("mmap", "descriptors of ublk requests", error))?;
        Ok(Self { start: start.cast_const().cast(), length, depth })
    }

    fn request(&self, tag: u16) -> Request {
        assert!(tag < self.depth, "request {tag} of {}", self.depth);
        // SAFETY: the descriptor lies in the mapping. The kernel writes it before it announces the
        // request, and not again before the reply.
        let Descriptor { operation, sectors, start, .. } =
            unsafe { ptr::read_volatile(self.start.add(tag.into())) };
        let operation = match operation as u8 {
            abi::READ => Operation::Read,
            abi::WRITE => Operation::Write,
            abi::FLUSH => Operation::Flush,
            abi::DISCARD => Operation::Discard,
            _ => Operation::Other,
        };
        Request { tag, operation, sector: start, sectors }
    }
}

impl Drop for Descriptors {
    fn drop(&mut self) {
        // SAFETY: the range was mapped by this value, and no reference into it outlives it.
        let _cannot_fail = unsafe { munmap(self.start.cast_mut().cast(), self.length) };
    }
}
