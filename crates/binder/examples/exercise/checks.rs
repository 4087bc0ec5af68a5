//! The checks, which are made by the caller.

use std::env;
use std::fs::{self, File};
use std::io::{PipeReader, Read, pipe};
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use unjank_binder::{
    Answer, Availability, Client, Driver, Error, Handle, Item, KernelDriver, NodeFlags, Notice,
    Object, Payload, Reference, Sent, Served, Server, Stopper, availability, registry,
};

use crate::CheckResult;
use crate::calls::{
    ADD, CALL_BACK, COUNT, DROP, ECHO, FILL, HOLD, MEET, OBJECT_NAME, OPEN, POOL_THREADS, REVERSE,
    SECOND_OBJECT, SLEEP, STOP, WRITE, WRITTEN, number,
};

/// The time after which a server counts as hung.
const TIMEOUT: Duration = Duration::from_secs(300);
/// The name of this process's own object.
const MINE: u64 = 77;

/// A process that is killed at the end.
struct Peer(Child);

impl Peer {
    fn start(role: &[&str]) -> CheckResult<Self> {
        let child = Command::new(env::current_exe()?).args(role).stdin(Stdio::null()).spawn()?;
        Ok(Self(child))
    }

    fn kill(&mut self) -> CheckResult {
        self.0.kill()?;
        self.0.wait()?;
        Ok(())
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _killed = self.kill();
    }
}

/// This process's side: a client, and a thread that serves an object and receives
/// notices.
struct Here {
    device: String,
    driver: Arc<dyn Driver>,
    client: Client,
    notices: Receiver<Notice>,
    stopper: Stopper,
    serving: JoinHandle<Result<Served, Error>>,
}

pub(crate) fn run(device: &str) -> CheckResult<ExitCode> {
    if let Some(reason) = missing(availability(device)?) {
        println!("n/a ({reason})");
        return Ok(ExitCode::from(3));
    }
    let mut here = Here::open(device)?;
    let mut failed = 0;
    let mut report = |what: &str, outcome: CheckResult| match outcome {
        Ok(()) => println!("PASS {what}"),
        Err(error) => {
            println!("FAIL {what}: {error}");
            failed += 1;
        }
    };
    report("an empty device has no context manager", here.nobody());
    let _registry = Peer::start(&["registry", device])?;
    let _one = Peer::start(&["peer", device, "1"])?;
    let mut two = Peer::start(&["peer", device, "2"])?;
    let mut crowd = Peer::start(&["crowd", device, "3"])?;
    let first = registry::wait_for(&mut here.client, 1, TIMEOUT)?;
    let second = registry::wait_for(&mut here.client, 2, TIMEOUT)?;
    let third = registry::wait_for(&mut here.client, 3, TIMEOUT)?;
    report("a registry reports unknown numbers", here.unknown());
    report("a device has one context manager", here.taken());
    report("replies are read in place", here.echoes(&first));
    report("one process serves several objects", here.dispatch(&first));
    report("a reply without room fails with a reason", here.no_room(&first));
    report("a refusal is a status", here.refused(&first));
    report("buffers go there and back", here.buffers(&first));
    report("files go there", here.file_there(&first));
    report("files come back", here.file_back(&first));
    report("one-way calls are served and given back", here.one_way(&first));
    report("one-way spam is suspected", here.spam(&first));
    report("own objects are distinguished from others", here.own());
    report("an object is held and released", here.released(&first));
    report("a call back into a waiting thread is refused", here.call_back(&first));
    report("threads that end are forgotten", here.threads(&first));
    report("a pool serves calls at the same time", here.crowd(&third, &mut crowd));
    report("a death notification can be cleared", here.unwatched(&first));
    report("a death is reported", here.death(&second, &mut two));
    report("the registry forgets the dead", here.forgotten());
    report("references can be dropped and taken again", here.again(first));
    report("a stopper ends the loop", here.close());
    println!("{}", if failed == 0 { "all passed" } else { "not all passed" });
    Ok(if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The reason why binder is not available, if so.
pub(crate) fn missing(availability: Availability) -> Option<String> {
    match availability {
        Availability::Answers { .. } => None,
        Availability::Absent(reason) | Availability::Denied(reason) => Some(reason),
    }
}

pub(crate) fn check(fine: bool, otherwise: impl Into<String>) -> CheckResult {
    if fine { Ok(()) } else { Err(otherwise.into().into()) }
}

/// Tries until the condition holds, or fails after [`TIMEOUT`].
fn eventually(mut fine: impl FnMut() -> CheckResult<bool>, otherwise: &str) -> CheckResult {
    let begin = Instant::now();
    while !fine()? {
        check(begin.elapsed() < TIMEOUT, otherwise)?;
        thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}

impl Here {
    fn open(device: &str) -> CheckResult<Self> {
        let kernel = KernelDriver::open(device)?;
        // Fails on old kernels, where the check that needs it fails.
        let _detecting = kernel.detect_one_way_spam(true);
        let driver: Arc<dyn Driver> = Arc::new(kernel);
        let mut server = Server::new(Arc::clone(&driver));
        let (sender, notices) = channel();
        server.on_notice(move |notice| {
            // Fails at the end, when nothing receives any more.
            let _sent = sender.send(notice);
        });
        let stopper = server.stopper();
        let serving = thread::spawn(move || {
            server.serve(|request, reply| {
                reply.extend_from_slice(request.payload);
                Answer::Reply
            })
        });
        let client = Client::new(Arc::clone(&driver));
        Ok(Self { device: device.to_owned(), driver, client, notices, stopper, serving })
    }

    fn notice(&self, expected: Notice) -> CheckResult {
        let notice = self.notices.recv_timeout(TIMEOUT)?;
        check(notice == expected, format!("{notice:?} instead of {expected:?}"))
    }

    fn nobody(&mut self) -> CheckResult {
        match self.client.ping() {
            Err(Error::NoContextManager { .. }) => Ok(()),
            other => Err(format!("{other:?}").into()),
        }
    }

    fn unknown(&mut self) -> CheckResult {
        check(registry::look_up(&mut self.client, 99)?.is_none(), "number 99 is registered")?;
        match registry::wait_for(&mut self.client, 99, Duration::from_millis(20)) {
            Err(Error::NotRegistered { .. }) => Ok(()),
            other => Err(format!("{other:?}").into()),
        }
    }

    fn taken(&self) -> CheckResult {
        let driver = Arc::new(KernelDriver::open(&*self.device)?);
        match Server::become_context_manager(driver, NodeFlags::NONE) {
            Err(Error::ContextManagerTaken { .. }) => Ok(()),
            other => Err(format!("{other:?}").into()),
        }
    }

    fn echoes(&mut self, peer: &Reference) -> CheckResult {
        for size in [0, 1, 16, 4096, 65_536, 400_000] {
            let request: Vec<u8> = (0..size).map(|n| n as u8).collect();
            for _ in 0..10 {
                let reply = self.client.call_in_place(peer, ECHO, &request)?;
                check(*reply == request, format!("{size} bytes came back differently"))?;
                check(reply.items().count() == 0, "there are items")?;
            }
        }
        self.client.give_back()?;
        Ok(())
    }

    fn dispatch(&mut self, first: &Reference) -> CheckResult {
        let other = registry::wait_for(&mut self.client, 1 + SECOND_OBJECT, TIMEOUT)?;
        for (object, name) in [(first, 1), (&other, 1 + SECOND_OBJECT)] {
            let who = number(&self.client.call_in_place(object, OBJECT_NAME, &[])?);
            check(who == name, format!("{who} answered for {name}"))?;
        }
        check(first.handle() != other.handle(), "two objects have one handle")
    }

    fn no_room(&mut self, peer: &Reference) -> CheckResult {
        match self.client.call_in_place(peer, FILL, &2_000_000_u64.to_ne_bytes()) {
            Err(Error::FailedReply { .. }) => {}
            other => return Err(format!("{:?}", other.map(|reply| reply.len())).into()),
        }
        let fits = self.client.call_in_place(peer, FILL, &1000_u64.to_ne_bytes())?.len();
        check(fits == 1000, "the next call fails")
    }

    fn refused(&mut self, peer: &Reference) -> CheckResult {
        match self.client.call_in_place(peer, 12345, &[]) {
            Err(Error::Status { status, .. }) if status == -libc::EBADMSG => Ok(()),
            other => Err(format!("{:?}", other.map(|reply| reply.len())).into()),
        }
    }

    fn buffers(&mut self, peer: &Reference) -> CheckResult {
        let large: Vec<u8> = (0..5001_u32).map(|n| n as u8).collect();
        let sent: [&[u8]; 4] = [b"abc", b"", &large, b"12345678"];
        for _ in 0..10 {
            let reply = self.client.call_sg(peer, REVERSE, &sent)?;
            let items: Vec<Item<'_>> = reply.items().collect::<Result<_, _>>()?;
            check(items.len() == sent.len(), format!("{} items", items.len()))?;
            for (item, sent) in items.iter().zip(sent.iter().rev()) {
                let Item::Buffer(bytes) = item else { return Err(format!("{item:?}").into()) };
                check(bytes == sent, "a buffer came back differently")?;
                check(bytes.as_ptr().addr() % 8 == 0, "a buffer is not aligned")?;
            }
        }
        let mut payload = Payload::new();
        payload.put_buffer(b"one");
        payload.put_buffer(b"two");
        let reply = self.client.call_with(peer, REVERSE, &payload)?;
        let Some(Item::Buffer(b"two")) = reply.items().next().transpose()? else {
            return Err("the payload's buffers came back differently".into());
        };
        Ok(())
    }

    fn file_there(&mut self, peer: &Reference) -> CheckResult {
        let (mut reader, writer): (PipeReader, _) = pipe()?;
        let mut payload = Payload::new();
        payload.put_file(writer);
        self.client.call_with(peer, WRITE, &payload)?;
        // The server's copy is closed when it gives the call back.
        payload.clear();
        let mut read = Vec::new();
        reader.read_to_end(&mut read)?;
        check(read == WRITTEN, format!("read {read:?}"))
    }

    fn file_back(&mut self, peer: &Reference) -> CheckResult {
        let before = fs::read_dir("/proc/self/fd")?.count();
        for _ in 0..20 {
            let reply = self.client.call_with(peer, OPEN, &Payload::new())?;
            let Some(Item::File(file)) = reply.items().next().transpose()? else {
                return Err("no file came back".into());
            };
            let mut name = String::new();
            File::from(file.try_clone_to_owned()?).read_to_string(&mut name)?;
            check(name.trim_end() == "exercise", format!("read {name:?}"))?;
        }
        self.client.give_back()?;
        let after = fs::read_dir("/proc/self/fd")?.count();
        check(before == after, format!("{before} open files have become {after}"))?;
        match self.client.call_in_place(peer, OPEN, &[]) {
            Err(Error::FailedReply { .. }) => Ok(()),
            _ => Err("a file came to a caller that accepts none".into()),
        }
    }

    fn count(&mut self, peer: &Reference) -> CheckResult<u64> {
        Ok(number(&self.client.call_in_place(peer, COUNT, &[])?))
    }

    fn one_way(&mut self, peer: &Reference) -> CheckResult {
        let payload = vec![1; 8192];
        let before = self.count(peer)?;
        // More than fit into the server's buffer for one-way calls.
        for _ in 0..200 {
            eventually(
                || match self.client.send(peer, ADD, &payload[..]) {
                    Ok(_sent) => Ok(true),
                    Err(Error::FailedReply { .. }) => Ok(false),
                    Err(error) => Err(error.into()),
                },
                "the buffer for one-way calls stays full",
            )?;
        }
        eventually(|| Ok(self.count(peer)? == before + 200), "some calls were not served")
    }

    fn spam(&mut self, peer: &Reference) -> CheckResult {
        self.client.send(peer, SLEEP, &500_u64.to_ne_bytes())?;
        let payload = vec![1; 8192];
        let mut suspected = false;
        for _ in 0..200 {
            match self.client.send(peer, ADD, &payload[..]) {
                Ok(sent) => suspected |= sent == Sent::Suspected,
                Err(Error::FailedReply { .. }) => break,
                Err(error) => return Err(error.into()),
            }
        }
        check(suspected, "the driver suspects nothing")
    }

    fn own(&mut self) -> CheckResult {
        let object = Object { name: MINE, flags: NodeFlags::NONE };
        registry::register(&mut self.client, MINE, object)?;
        match registry::look_up(&mut self.client, MINE) {
            Err(Error::Malformed { .. }) => Ok(()),
            other => Err(format!("{other:?}").into()),
        }
    }

    fn released(&mut self, peer: &Reference) -> CheckResult {
        const OTHER: u64 = 78;
        let mut payload = Payload::new();
        payload.put_object(Object { name: OTHER, flags: NodeFlags::NONE });
        for _ in 0..5 {
            self.client.call_with(peer, HOLD, &payload)?;
            self.client.call_in_place(peer, DROP, &[])?;
            self.notice(Notice::Released(OTHER))?;
        }
        Ok(())
    }

    fn call_back(&mut self, peer: &Reference) -> CheckResult {
        let mut payload = Payload::new();
        payload.put_object(Object { name: MINE, flags: NodeFlags::NONE });
        self.client.call_with(peer, HOLD, &payload)?;
        let text = self.client.call_in_place(peer, CALL_BACK, &[])?.to_vec();
        let text = String::from_utf8(text)?;
        check(text.ends_with("refused with status -16"), text)?;
        self.client.call_in_place(peer, DROP, &[])?;
        Ok(())
    }

    fn threads(&self, peer: &Reference) -> CheckResult {
        let peer: Handle = peer.into();
        for n in 0..50_u32 {
            let driver = Arc::clone(&self.driver);
            let call = thread::spawn(move || {
                Client::new(driver).call(peer, ECHO, &n.to_ne_bytes(), &mut Vec::new())
            });
            call.join().map_err(|_| "a thread panicked")??;
        }
        let file = format!("/sys/kernel/debug/binder/proc/{}", std::process::id());
        let Ok(state) = fs::read_to_string(&file) else {
            println!("     (no {file}: not counted)");
            return Ok(());
        };
        let threads = state.lines().filter(|line| line.starts_with("  thread ")).count();
        check((1..10).contains(&threads), format!("the driver knows {threads} threads"))
    }

    fn crowd(&self, peer: &Reference, crowd: &mut Peer) -> CheckResult {
        let handle: Handle = peer.into();
        let calls: Vec<_> = (0..POOL_THREADS)
            .map(|_| {
                let driver = Arc::clone(&self.driver);
                thread::spawn(move || {
                    let mut client = Client::new(driver);
                    client.call_in_place(handle, MEET, &[]).map(|reply| number(&reply))
                })
            })
            .collect();
        for call in calls {
            let met = call.join().map_err(|_| "a thread panicked")??;
            check(met == u64::from(POOL_THREADS), format!("{met} met"))?;
        }
        Client::new(Arc::clone(&self.driver)).call(peer, STOP, &[], &mut Vec::new())?;
        let status = crowd.0.wait()?;
        check(status.success(), format!("the pool ended with {status}"))
    }

    fn unwatched(&mut self, peer: &Reference) -> CheckResult {
        peer.watch(5)?;
        peer.unwatch(5)?;
        self.notice(Notice::Unwatched(5))
    }

    fn death(&mut self, second: &Reference, two: &mut Peer) -> CheckResult {
        second.watch(6)?;
        self.client.call_in_place(second, ECHO, b"alive")?;
        two.kill()?;
        self.notice(Notice::Died(6))?;
        match self.client.call_in_place(second, ECHO, b"dead") {
            Err(Error::DeadReply { delivered: false, .. }) => {}
            other => return Err(format!("{:?}", other.map(|reply| reply.len())).into()),
        }
        second.unwatch(6)?;
        self.notice(Notice::Unwatched(6))?;
        second.watch(7)?;
        self.notice(Notice::Died(7))
    }

    fn forgotten(&mut self) -> CheckResult {
        eventually(
            || Ok(registry::look_up(&mut self.client, 2)?.is_none()),
            "the dead object is still found",
        )
    }

    fn again(&mut self, first: Reference) -> CheckResult {
        let handle = first.handle();
        let copy = Reference::acquire(&self.driver, handle)?;
        drop(first);
        self.client.call_in_place(&copy, ECHO, b"still there")?;
        drop(copy);
        match self.client.call_in_place(handle, ECHO, b"gone") {
            Err(Error::FailedReply { .. }) => {}
            other => return Err(format!("{:?}", other.map(|reply| reply.len())).into()),
        }
        let found = registry::look_up(&mut self.client, 1)?.ok_or("it is not found again")?;
        self.client.call_in_place(&found, ECHO, b"again")?;
        Ok(())
    }

    fn close(self) -> CheckResult {
        eventually(
            || {
                self.stopper.stop()?;
                Ok(self.serving.is_finished())
            },
            "the loop goes on",
        )?;
        self.serving.join().map_err(|_| "the loop panicked")??;
        Ok(())
    }
}
