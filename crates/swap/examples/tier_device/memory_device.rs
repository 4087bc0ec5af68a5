//! A block device in memory, served by a process that is stopped, and whose device disappears.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use unjank_host::memory::{MemoryLock, SharedRegion};
use unjank_host::process::send_signal;
use unjank_host::ublk::{
    Control, Memory, Operation, PreparedQueue, Queue, Request, SECTOR, Serve, Shape,
    become_io_flusher, path_of,
};
use unjank_host::{Bytes, Nanos};

use crate::Result;

const BLOCK: u64 = 4096;

/// The devices of this process.
static DEVICES: Mutex<Vec<u32>> = Mutex::new(Vec::new());

/// Whether the ublk device of this number is a device of this process.
pub(crate) fn is_one(id: u32) -> bool {
    devices().contains(&id)
}

fn devices() -> MutexGuard<'static, Vec<u32>> {
    DEVICES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A device.
pub(crate) struct MemoryDevice {
    process: Child,
    control: Control,
    id: u32,
    is_there: bool,
}

impl MemoryDevice {
    pub(crate) fn start(bytes: u64) -> Result<Self> {
        Self::with_room(bytes, bytes)
    }

    /// One that is full when so many bytes of it were written.
    pub(crate) fn with_room(bytes: u64, room: u64) -> Result<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        let sizes = [bytes, room].map(|size| size.to_string());
        let mut process = command.arg("device").args(sizes).stdout(Stdio::piped()).spawn()?;
        let mut line = String::new();
        BufReader::new(process.stdout.take().ok_or("no output")?).read_line(&mut line)?;
        let id = line.trim().parse().map_err(|_| format!("no device: {line:?}"))?;
        let control = Control::open()?.yes().ok_or("no ublk")?;
        devices().push(id);
        Ok(Self { process, control, id, is_there: true })
    }

    pub(crate) fn path(&self) -> String {
        path_of(self.id).display().to_string()
    }

    /// It answers no request for a time.
    pub(crate) fn stall(&self, time: Duration) -> Result<()> {
        send_signal(self.process.id(), libc::SIGSTOP)?;
        thread::sleep(time);
        Ok(send_signal(self.process.id(), libc::SIGCONT)?)
    }

    /// It disappears: all requests fail.
    pub(crate) fn vanish(&mut self) -> Result<()> {
        if std::mem::take(&mut self.is_there) {
            self.control.stop(self.id)?;
            self.process.wait()?;
            self.control.remove(self.id)?;
            devices().retain(|id| *id != self.id);
        }
        Ok(())
    }
}

impl Drop for MemoryDevice {
    fn drop(&mut self) {
        if let Err(error) = self.vanish() {
            eprintln!("tier_device: {error}");
        }
    }
}

/// Serves a device until it is stopped, and prints its number.
pub(crate) fn serve(bytes: &str, room: &str) -> Result<()> {
    let (bytes, room): (u64, u64) = (bytes.parse()?, room.parse()?);
    let mut written = vec![false; (bytes / BLOCK) as usize];
    let _locked = MemoryLock::everything_now();
    let shape = Shape {
        size: Bytes(bytes),
        block: Bytes(BLOCK),
        queues: 1,
        depth: 64,
        largest: Bytes(16 * BLOCK),
    };
    let (memory, _) = SharedRegion::create("device", bytes.try_into()?)?;
    let mut control = Control::open()?.yes().ok_or("no ublk")?;
    let device = control.add(shape, std::process::id().into())?;
    thread::scope(|scope| {
        let serve = || {
            become_io_flusher()?;
            let mut queue = PreparedQueue::new(shape, 0)?.open(&device, 0, &[])?;
            let room = (room / BLOCK) as usize;
            queue.run(&mut Server { memory: &memory, written: &mut written, room })
        };
        let served = scope.spawn(serve);
        control.start(&device, false)?;
        println!("{}", device.id());
        served.join().map_err(|_| "the queue panicked")??;
        Ok(())
    })
}

struct Server<'a> {
    memory: &'a SharedRegion,
    /// The blocks that were written, and how many more may be.
    written: &'a mut [bool],
    room: usize,
}

impl Server<'_> {
    /// Whether blocks can be written. They are taken then.
    fn has_room(&mut self, at: usize, length: usize) -> bool {
        let block = BLOCK as usize;
        let blocks = &mut self.written[at / block..(at + length).div_ceil(block)];
        let new = blocks.iter().filter(|written| !**written).count();
        let has_room = new <= self.room;
        if has_room {
            self.room -= new;
            blocks.fill(true);
        }
        has_room
    }
}

impl Serve for Server<'_> {
    fn request(&mut self, queue: &mut Queue, request: Request) {
        let Request { tag, operation, sector, sectors } = request;
        let length = (u64::from(sectors) * SECTOR) as usize;
        let (at, place) = ((sector * SECTOR) as usize, queue.offset(Memory::Request(tag, 0)));
        match operation {
            Operation::Read => self.memory.copy(at, queue.memory(), place, length),
            Operation::Write if !self.has_room(at, length) => {
                return queue.reply(tag, -libc::ENOSPC);
            }
            Operation::Write => queue.memory().copy(place, self.memory, at, length),
            Operation::Flush | Operation::Discard => {}
            Operation::Other => return queue.reply(tag, -libc::EOPNOTSUPP),
        }
        queue.reply(tag, length as i32);
    }

    fn ended(&mut self, _queue: &mut Queue, _token: u64, _result: i32) {}

    fn pause(&mut self, _queue: &mut Queue) -> Option<Nanos> {
        None
    }
}
