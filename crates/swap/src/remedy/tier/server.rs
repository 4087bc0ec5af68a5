//! Serves one queue of the device: performs the engine's steps.

use std::sync::{Mutex, MutexGuard, PoisonError};

use unjank_host::memory::SharedRegion;
use unjank_host::ublk::{Memory, Operation, Queue, Request, SECTOR, Serve, Transfer as Io};
use unjank_host::{Nanos, Timestamp};

use super::engine::Engine;
use super::map::{Frame, Slot, Sum};
use super::published::Published;
use super::step::{Copy, End, Next, Part, Reply, Step, Transfer};

/// The size of a page of the tier, in bytes.
pub const PAGE: u64 = 4096;
/// The number of the slow backing among a queue's files.
pub const SLOW: u32 = 0;
/// That of the fast backing, if it is a file.
pub const FAST: u32 = 1;
/// Sectors of a page.
const SECTORS: u64 = PAGE / SECTOR;
/// Error numbers of replies (errno(3)).
const EIO: i32 = 5;
const EOPNOTSUPP: i32 = 95;
/// The time after which failed copies are tried again.
const RETRY: Nanos = Nanos::from_millis(1_000);

/// How a queue reaches the fast backing.
#[derive(Debug, Clone, Copy)]
pub enum Fast<'a> {
    /// Memory of this machine.
    Memory(&'a SharedRegion),
    /// The file [`FAST`].
    File,
}

/// A request without a reply.
#[derive(Debug, Clone, Copy, Default)]
struct Open {
    /// Its pages that are not served yet.
    left: u16,
    bytes: i32,
    /// Whether one of them has failed.
    failed: bool,
}

/// The server of one queue. All its memory is taken when it is made.
pub struct Server<'a> {
    engine: &'a Mutex<Engine>,
    fast: Fast<'a>,
    verify: bool,
    open: Box<[Open]>,
    /// The step under way of each page of each request.
    steps: Box<[Option<Step>]>,
    pages: usize,
    /// The copy in each spare buffer, and the buffers that are free.
    copies: Box<[Option<Copy>]>,
    free: Vec<u16>,
    /// The origin of the policy's times.
    started: Timestamp,
    retry_at: Option<Timestamp>,
    published: &'a Published,
}

/// What a transfer belongs to, in its token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Token {
    Part(Part),
    CopyRead(u16),
    CopyWrite(u16),
}

impl Token {
    fn pack(self) -> u64 {
        match self {
            Self::Part(Part { tag, page }) => u64::from(tag) << 16 | u64::from(page),
            Self::CopyRead(spare) => 1 << 32 | u64::from(spare),
            Self::CopyWrite(spare) => 2 << 32 | u64::from(spare),
        }
    }

    fn unpack(token: u64) -> Self {
        let low = token as u16;
        match token >> 32 {
            0 => Self::Part(Part { tag: (token >> 16) as u16, page: low }),
            1 => Self::CopyRead(low),
            _ => Self::CopyWrite(low),
        }
    }
}

impl<'a> Server<'a> {
    /// A server for a queue of `depth` requests of at most `pages` pages, with `spares` spare
    /// buffers for copies to storage.
    pub fn new(
        engine: &'a Mutex<Engine>,
        fast: Fast<'a>,
        verify: bool,
        published: &'a Published,
        (depth, pages, spares): (u16, u16, u16),
    ) -> Self {
        let (depth, pages) = (usize::from(depth), usize::from(pages));
        Self {
            engine,
            fast,
            verify,
            open: vec![Open::default(); depth].into(),
            steps: vec![None; depth * pages].into(),
            pages,
            copies: vec![None; spares.into()].into(),
            free: (0..spares).collect(),
            started: Timestamp::now(),
            retry_at: None,
            published,
        }
    }

    fn engine(&self) -> MutexGuard<'a, Engine> {
        self.engine.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Serves the pages of a read or a write.
    fn transfer(&mut self, queue: &mut Queue, request: Request) {
        let at = Timestamp::now().since(self.started);
        let slot = request.sector / SECTORS;
        for page in 0..request.sectors / SECTORS as u32 {
            let part = Part { tag: request.tag, page: page as u16 };
            let slot = (slot + u64::from(page)) as Slot;
            let next = if request.operation == Operation::Write {
                Next::Step(self.engine().write(part, slot, at))
            } else {
                self.engine().read(part, slot, at)
            };
            self.go_on(queue, part, next);
        }
    }

    /// Performs steps until one has to be waited for, or the page has its reply.
    fn go_on(&mut self, queue: &mut Queue, part: Part, mut next: Next) {
        loop {
            let step = match next {
                Next::Step(step) => step,
                Next::Reply(reply) => return self.reply(queue, part, reply),
            };
            let (file, offset, writes) = match (step.transfer, self.fast) {
                (Transfer::ReadFast(frame), Fast::Memory(memory)) => {
                    let place = queue.offset(in_request(part));
                    memory.copy(at_frame(frame), queue.memory(), place, PAGE as usize);
                    next = self.engine().finished(step, self.done(queue, part));
                    continue;
                }
                (Transfer::Promote(frame) | Transfer::WriteFast(frame), Fast::Memory(memory)) => {
                    let place = queue.offset(in_request(part));
                    queue.memory().copy(place, memory, at_frame(frame), PAGE as usize);
                    next = self.engine().finished(step, self.done(queue, part));
                    continue;
                }
                (Transfer::ReadFast(frame), Fast::File) => (FAST, in_file(frame), false),
                (Transfer::Promote(frame) | Transfer::WriteFast(frame), Fast::File) => {
                    (FAST, in_file(frame), true)
                }
                (Transfer::ReadSlow(_), _) => (SLOW, at_slot(step.slot), false),
                (Transfer::WriteSlow(_), _) => (SLOW, at_slot(step.slot), true),
            };
            self.steps[usize::from(part.tag) * self.pages + usize::from(part.page)] = Some(step);
            let token = Token::Part(part).pack();
            let (memory, length) = (in_request(part), PAGE as u32);
            return queue.transfer(Io { file, offset, memory, length, writes, token });
        }
    }

    /// The end of a transfer of a page, with the checksum of its buffer.
    fn done(&self, queue: &Queue, part: Part) -> End {
        End::Done(self.sum(queue, in_request(part)))
    }

    fn sum(&self, queue: &Queue, place: Memory) -> Sum {
        if !self.verify {
            return Sum::NONE;
        }
        let mut page = [0; PAGE as usize];
        queue.memory().read(queue.offset(place), &mut page);
        Sum::of_crc(crc32fast::hash(&page))
    }

    fn reply(&mut self, queue: &mut Queue, part: Part, reply: Reply) {
        let open = &mut self.open[usize::from(part.tag)];
        open.left -= 1;
        open.failed |= reply == Reply::Failed;
        if open.left == 0 {
            let result = if open.failed { -EIO } else { open.bytes };
            queue.reply(part.tag, result);
        }
    }

    fn begin_copy(&mut self, queue: &mut Queue, copy: Copy, spare: u16) {
        self.copies[usize::from(spare)] = Some(copy);
        match self.fast {
            Fast::Memory(memory) => {
                let place = queue.offset(Memory::Spare(spare));
                memory.copy(at_frame(copy.frame), queue.memory(), place, PAGE as usize);
                write_copy(queue, copy, spare);
            }
            Fast::File => {
                let token = Token::CopyRead(spare).pack();
                let (offset, memory) = (in_file(copy.frame), Memory::Spare(spare));
                let length = PAGE as u32;
                queue.transfer(Io { file: FAST, offset, memory, length, writes: false, token });
            }
        }
    }

    fn end_copy(&mut self, spare: u16, end: End) {
        self.free.push(spare);
        let Some(copy) = self.copies[usize::from(spare)].take() else { return };
        self.engine().copied(copy, end);
        if end == End::Failed {
            self.retry_at.get_or_insert_with(|| Timestamp::now() + RETRY);
        }
    }
}

impl Serve for Server<'_> {
    fn request(&mut self, queue: &mut Queue, request: Request) {
        let Request { tag, operation, sector, sectors } = request;
        let bytes = i32::try_from(u64::from(sectors) * SECTOR).unwrap_or(i32::MAX);
        let pages = u64::from(sectors) / SECTORS;
        let is_whole = sector % SECTORS == 0 && u64::from(sectors) % SECTORS == 0;
        match operation {
            Operation::Read | Operation::Write if is_whole && pages > 0 => {
                self.open[usize::from(tag)] = Open { left: pages as u16, bytes, failed: false };
                self.transfer(queue, request);
            }
            Operation::Discard if is_whole => {
                let slots = (sector / SECTORS) as Slot..((sector / SECTORS) + pages) as Slot;
                for slot in slots {
                    self.engine().discard(slot);
                }
                queue.reply(tag, bytes);
            }
            // Data that had a reply is on its backing, and no backing has a volatile cache of ours.
            Operation::Flush => queue.reply(tag, 0),
            _ => queue.reply(tag, -EOPNOTSUPP),
        }
    }

    fn ended(&mut self, queue: &mut Queue, token: u64, result: i32) {
        let is_whole = result == PAGE as i32;
        match Token::unpack(token) {
            Token::Part(part) => {
                let end = if is_whole { self.done(queue, part) } else { End::Failed };
                let place = usize::from(part.tag) * self.pages + usize::from(part.page);
                let Some(step) = self.steps[place].take() else { return };
                let next = self.engine().finished(step, end);
                self.go_on(queue, part, next);
            }
            Token::CopyRead(spare) if is_whole => {
                let Some(copy) = self.copies[usize::from(spare)] else { return };
                write_copy(queue, copy, spare);
            }
            Token::CopyWrite(spare) if is_whole => {
                let sum = self.sum(queue, Memory::Spare(spare));
                self.end_copy(spare, End::Done(sum));
            }
            Token::CopyRead(spare) | Token::CopyWrite(spare) => self.end_copy(spare, End::Failed),
        }
    }

    fn pause(&mut self, queue: &mut Queue) -> Option<Nanos> {
        if self.retry_at.is_some_and(|at| at <= Timestamp::now()) {
            self.retry_at = None;
            self.engine().retry();
        }
        while let Some(spare) = self.free.pop() {
            let Some(copy) = self.engine().next_copy() else {
                self.free.push(spare);
                break;
            };
            self.begin_copy(queue, copy, spare);
        }
        self.published.publish(&self.engine());
        self.retry_at.map(|_| RETRY)
    }
}

fn write_copy(queue: &mut Queue, copy: Copy, spare: u16) {
    queue.transfer(Io {
        file: SLOW,
        offset: at_slot(copy.slot),
        memory: Memory::Spare(spare),
        length: PAGE as u32,
        writes: true,
        token: Token::CopyWrite(spare).pack(),
    });
}

fn in_request(part: Part) -> Memory {
    Memory::Request(part.tag, usize::from(part.page) * PAGE as usize)
}

fn at_frame(frame: Frame) -> usize {
    frame as usize * PAGE as usize
}

/// In a file, frames begin after the page of its [mark](super::backing).
fn in_file(frame: Frame) -> u64 {
    (u64::from(frame) + 1) * PAGE
}

fn at_slot(slot: Slot) -> u64 {
    u64::from(slot) * PAGE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_in_files_are_not_limited_by_the_address_space() {
        assert_eq!((in_file(0), at_slot(0)), (4_096, 0));
        assert_eq!((in_file(Frame::MAX), at_slot(Slot::MAX)), (1 << 44, (1 << 44) - 4_096));
    }

    #[test]
    fn a_token_is_what_it_was_made_of() {
        let part = Part { tag: 4095, page: 127 };
        for token in [Token::Part(part), Token::CopyRead(7), Token::CopyWrite(u16::MAX)] {
            assert_eq!(Token::unpack(token.pack()), token);
        }
    }
}
