//! Trace events about storage and the processes that use it: requests to block
//! devices, pages added to and removed from the page cache, pages written by
//! reclaim, threads that begin and end.
//!
//! Source: `include/trace/events/{block,filemap,vmscan,sched,task}.h` of Linux.

use super::format::{Field, Format};
use super::name::{Comm, Name};
use crate::block_device::DeviceNumber;
use crate::inode::FileId;
use crate::sched::ThreadId;

/// Whether reclaim writes an anonymous page, a page of a file, or both:
/// `RECLAIM_WB_*` of `include/trace/events/vmscan.h`.
const RECLAIM_ANONYMOUS: i64 = 0x1;
const RECLAIM_FILE: i64 = 0x2;
/// `CLONE_THREAD` of `clone(2)`.
const CLONE_THREAD: i64 = 0x0001_0000;

/// An event about storage, or about a process that may use it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StorageEvent {
    /// A thread sent a request to a block device: `block/block_bio_queue`.
    Request(BlockRequest),
    /// The I/O scheduler of a block device got a request, which waits there until it is issued:
    /// `block/block_rq_insert`.
    Queued(DeviceRequest),
    /// The driver of a block device got a request: `block/block_rq_issue`.
    Issued(DeviceRequest),
    /// The device finished a request, or a part of it, from its first sector on:
    /// `block/block_rq_complete`.
    Completed(DeviceRequest),
    /// Pages of a file entered the page cache:
    /// `filemap/mm_filemap_add_to_page_cache`.
    Cached(FilePages),
    /// A page fault of the current thread asked a file for a page that was not
    /// mapped: `filemap/mm_filemap_fault`, since Linux 6.11.
    Touched(FilePages),
    /// Pages of a file left the page cache:
    /// `filemap/mm_filemap_delete_from_page_cache`.
    Uncached(FilePages),
    /// Reclaim wrote a page to its backing store:
    /// `vmscan/mm_vmscan_write_folio`, `mm_vmscan_writepage` before 6.9.
    Reclaimed {
        /// Whether the page is anonymous, if the event has it.
        anonymous: Option<bool>,
    },
    /// The current thread started another: `task/task_newtask`, or
    /// `sched/sched_process_fork`, which does not tell threads from processes.
    Started {
        /// Thread id (TID) of the new thread.
        thread: ThreadId,
        /// Whether it is known to belong to the process of the current one.
        same_process: bool,
    },
    /// A process executed a program: `sched/sched_process_exec`.
    Executed {
        /// The process, which has one thread at that moment.
        process: ThreadId,
        /// The former id of the thread that called `execve(2)`. It differs from `process` if that
        /// thread was not the thread group's leader, whose id it takes over.
        before: ThreadId,
        /// The last component of the program's path, which is the thread's new
        /// name.
        program: Comm,
    },
    /// A thread ended: `sched/sched_process_exit`.
    Ended {
        /// Thread id (TID) of the thread that ended.
        thread: ThreadId,
        /// Whether it was the last one of its process; unknown before Linux
        /// 6.11.
        last: Option<bool>,
    },
}

/// A request to a block device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockRequest {
    /// The whole device, never a partition.
    pub device: DeviceNumber,
    /// Its first sector of 512 bytes, counted from the start of the device.
    pub sector: u64,
    /// The number of sectors.
    pub sectors: u32,
    /// The operation, in letters of `blk_fill_rwbs`: `R`, `WS`, `FWFS` …
    pub letters: Name<16>,
    /// The name of the requesting thread.
    pub comm: Comm,
}

/// A request to a device, merged from one or several adjacent [`BlockRequest`]s.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeviceRequest {
    /// The whole device, never a partition.
    pub device: DeviceNumber,
    /// Its first sector of 512 bytes, counted from the start of the device.
    pub sector: u64,
    /// The number of sectors.
    pub sectors: u32,
    /// The operation, as in [`BlockRequest::letters`].
    pub letters: Name<16>,
}

impl DeviceRequest {
    /// Whether it reads.
    pub fn is_read(&self) -> bool {
        self.letters.as_bytes().first() == Some(&b'R')
    }
}

/// Consecutive pages of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FilePages {
    /// The device of the file system.
    pub device: DeviceNumber,
    /// The file's inode.
    pub inode: u64,
    /// The index of the first one, in the kernel's pages; in text, which has bytes, in pages of
    /// 4 KiB.
    pub first: u64,
    /// The binary logarithm of their number.
    pub order: u8,
}

impl FilePages {
    /// Their file.
    pub fn file(&self) -> FileId {
        FileId { device: self.device, inode: self.inode }
    }
}

/// The positions of such an event's fields in its records.
#[derive(Debug, Clone, Copy)]
pub(super) enum Recipe {
    Request { device: Field, sector: Field, sectors: Field, letters: Field, comm: Field },
    Queued(RequestFields),
    Issued(RequestFields),
    Completed(RequestFields),
    Cached(PagesFields),
    Touched(PagesFields),
    Uncached(PagesFields),
    Reclaimed(Field),
    Started { thread: Field, flags: Option<Field> },
    Executed { process: Field, before: Field, file: Field },
    Ended { thread: Field, last: Option<Field> },
}

#[derive(Debug, Clone, Copy)]
pub(super) struct RequestFields {
    device: Field,
    sector: Field,
    sectors: Field,
    letters: Field,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct PagesFields {
    device: Field,
    inode: Field,
    first: Field,
    /// Kernels before 6.1 lack it, and report pages one by one.
    order: Option<Field>,
}

impl Recipe {
    /// The recipe for an event of `system`; `None` for other events.
    pub(super) fn learn(system: &str, format: &Format) -> Result<Option<Self>, String> {
        let field =
            |name: &str| format.field(name).ok_or_else(|| format!("it has no field {name}"));
        let pages = || -> Result<_, String> {
            Ok(PagesFields {
                device: field("s_dev")?,
                inode: field("i_ino")?,
                first: field("index")?,
                order: format.field("order"),
            })
        };
        let request = || -> Result<_, String> {
            Ok(RequestFields {
                device: field("dev")?,
                sector: field("sector")?,
                sectors: field("nr_sector")?,
                letters: field("rwbs")?,
            })
        };
        Ok(Some(match (system, format.name.as_str()) {
            ("block", "block_bio_queue") => Self::Request {
                device: field("dev")?,
                sector: field("sector")?,
                sectors: field("nr_sector")?,
                letters: field("rwbs")?,
                comm: field("comm")?,
            },
            ("block", "block_rq_insert") => Self::Queued(request()?),
            ("block", "block_rq_issue") => Self::Issued(request()?),
            ("block", "block_rq_complete") => Self::Completed(request()?),
            ("filemap", "mm_filemap_add_to_page_cache") => Self::Cached(pages()?),
            ("filemap", "mm_filemap_fault") => Self::Touched(pages()?),
            ("filemap", "mm_filemap_delete_from_page_cache") => Self::Uncached(pages()?),
            ("vmscan", "mm_vmscan_write_folio" | "mm_vmscan_writepage") => {
                Self::Reclaimed(field("reclaim_flags")?)
            }
            ("task", "task_newtask") => {
                Self::Started { thread: field("pid")?, flags: Some(field("clone_flags")?) }
            }
            ("sched", "sched_process_fork") => {
                Self::Started { thread: field("child_pid")?, flags: None }
            }
            ("sched", "sched_process_exec") => {
                let (process, before) = (field("pid")?, field("old_pid")?);
                Self::Executed { process, before, file: field("filename")? }
            }
            ("sched", "sched_process_exit") => {
                Self::Ended { thread: field("pid")?, last: format.field("group_dead") }
            }
            _ => return Ok(None),
        }))
    }

    #[inline]
    pub(super) fn apply(&self, record: &[u8]) -> Option<StorageEvent> {
        let number = |field: &Field| field.number(record);
        let thread = |field: &Field| Some(ThreadId(field.number(record)? as u32));
        Some(match self {
            Self::Request { device, sector, sectors, letters, comm } => {
                StorageEvent::Request(BlockRequest {
                    device: DeviceNumber(number(device)? as u32),
                    sector: number(sector)? as u64,
                    sectors: number(sectors)? as u32,
                    letters: Name::new(letters.bytes(record)?),
                    comm: Comm::new(comm.bytes(record)?),
                })
            }
            Self::Queued(request) => StorageEvent::Queued(request.apply(record)?),
            Self::Issued(request) => StorageEvent::Issued(request.apply(record)?),
            Self::Completed(request) => StorageEvent::Completed(request.apply(record)?),
            Self::Cached(pages) => StorageEvent::Cached(pages.apply(record)?),
            Self::Touched(pages) => StorageEvent::Touched(pages.apply(record)?),
            Self::Uncached(pages) => StorageEvent::Uncached(pages.apply(record)?),
            Self::Reclaimed(flags) => {
                let flags = number(flags)?;
                let anonymous = match (flags & RECLAIM_ANONYMOUS != 0, flags & RECLAIM_FILE != 0) {
                    (true, false) => Some(true),
                    (false, true) => Some(false),
                    _ => None,
                };
                StorageEvent::Reclaimed { anonymous }
            }
            Self::Started { thread: new, flags } => StorageEvent::Started {
                thread: thread(new)?,
                same_process: match flags {
                    Some(flags) => number(flags)? & CLONE_THREAD != 0,
                    None => false,
                },
            },
            Self::Executed { process, before, file } => {
                let file = file.bytes(record)?;
                let file = file.split(|byte| *byte == 0).next().unwrap_or_default();
                let program = file.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
                // As the kernel names a thread: at most 15 bytes.
                let program = Comm::new(&program[..program.len().min(15)]);
                let (process, before) = (thread(process)?, thread(before)?);
                StorageEvent::Executed { process, before, program }
            }
            Self::Ended { thread: ended, last } => {
                let last = last.as_ref().and_then(number).map(|last| last != 0);
                StorageEvent::Ended { thread: thread(ended)?, last }
            }
        })
    }
}

impl RequestFields {
    fn apply(&self, record: &[u8]) -> Option<DeviceRequest> {
        Some(DeviceRequest {
            device: DeviceNumber(self.device.number(record)? as u32),
            sector: self.sector.number(record)? as u64,
            sectors: self.sectors.number(record)? as u32,
            letters: Name::new(self.letters.bytes(record)?),
        })
    }
}

impl PagesFields {
    fn apply(&self, record: &[u8]) -> Option<FilePages> {
        Some(FilePages {
            device: DeviceNumber(self.device.number(record)? as u32),
            inode: self.inode.number(record)? as u64,
            first: self.first.number(record)? as u64,
            order: match &self.order {
                Some(order) => u8::try_from(order.number(record)?).ok()?,
                None => 0,
            },
        })
    }
}
