//! A block device in memory, served by a process that is stopped, and whose device disappears.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
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

/// A device.
pub(crate) struct MemoryDevice {
    process: Child,
    control: Control,
    id: u32,
    is_there: bool,
}

impl MemoryDevice {
    pub(crate) fn start(bytes: u64) -> Result<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        let mut process =
            command.args(["device", &bytes.to_string()]).stdout(Stdio::piped()).spawn()?;
        let mut line = String::new();
        BufReader::new(process.stdout.take().ok_or("no output")?).read_line(&mut line)?;
        let id = line.trim().parse().map_err(|_| format!("no device: {line:?}"))?;
        let control = Control::open()?.yes().ok_or("no ublk")?;
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
pub(crate) fn serve(bytes: &str) -> Result<()> {
    let bytes: u64 = bytes.parse()?;
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
            queue.run(&mut Server { memory: &memory })
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
}

impl Serve for Server<'_> {
    fn request(&mut self, queue: &mut Queue, request: Request) {
        let Request { tag, operation, sector, sectors } = request;
        let length = (u64::from(sectors) * SECTOR) as usize;
        let (at, place) = ((sector * SECTOR) as usize, queue.offset(Memory::Request(tag, 0)));
        match operation {
            Operation::Read => self.memory.copy(at, queue.memory(), place, length),
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
