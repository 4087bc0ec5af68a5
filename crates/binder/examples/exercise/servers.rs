//! The server processes: a registry, one with two objects, one with a thread pool.

use std::fs::File;
use std::io::Write;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use unjank_binder::{
    Answer, Client, Driver, Handle, Item, KernelDriver, NodeFlags, Object, Payload, Policy,
    Reference, Registry, Request, Server, registry,
};

use crate::CheckResult;
use crate::calls::{
    ADD, CALL_BACK, COUNT, DROP, ECHO, FILL, HOLD, MEET, OBJECT_NAME, OPEN, POOL_THREADS, REVERSE,
    SECOND_OBJECT, SLEEP, STOP, WRITE, WRITTEN, number,
};

/// The longest wait for the registry, and for other threads in `MEET`.
const TIMEOUT: Duration = Duration::from_secs(300);
/// The answer to an unknown code, as on Android.
const BAD_CALL: Answer = Answer::Refuse(-libc::EBADMSG);

pub(crate) fn registry(device: &str) -> CheckResult {
    let driver = Arc::new(KernelDriver::open(device)?);
    let mut server = Server::become_context_manager(driver, NodeFlags::INHERIT_RT)?;
    Registry::new().serve(&mut server)?;
    Ok(())
}

/// Waits for the registry and returns a client.
fn client(driver: &Arc<dyn Driver>) -> CheckResult<Client> {
    let mut client = Client::new(Arc::clone(driver));
    client.wait_for_context_manager(TIMEOUT)?;
    Ok(client)
}

/// Two objects, served on one thread.
pub(crate) fn one(device: &str, own: &str) -> CheckResult {
    let own: u64 = own.parse()?;
    let driver: Arc<dyn Driver> = Arc::new(KernelDriver::open(device)?);
    let mut client = client(&driver)?;
    let least = NodeFlags::at_least(Policy::Fifo, 1).ok_or("no such priority")?;
    let flags = NodeFlags::INHERIT_RT.and(NodeFlags::ACCEPTS_FILES).and(least);
    for name in [own, own + SECOND_OBJECT] {
        registry::register(&mut client, name, Object { name, flags })?;
    }
    let mut peer = Peer { client, count: 0, held: None };
    Server::new(driver).serve(|request, reply| {
        peer.answer(request, reply).unwrap_or_else(|error| {
            eprintln!("error: call {}: {error}", request.code);
            Answer::Refuse(-libc::EIO)
        })
    })?;
    Ok(())
}

struct Peer {
    client: Client,
    count: u64,
    held: Option<Reference>,
}

impl Peer {
    fn answer(&mut self, request: &Request<'_>, reply: &mut Payload) -> CheckResult<Answer> {
        match request.code {
            ECHO => reply.extend_from_slice(request.payload),
            OBJECT_NAME => reply.extend_from_slice(&request.object.to_ne_bytes()),
            REVERSE => {
                let buffers: Vec<Item<'_>> = request.items().collect::<Result<_, _>>()?;
                for buffer in buffers.iter().rev() {
                    let Item::Buffer(bytes) = buffer else { return Ok(BAD_CALL) };
                    reply.put_buffer(bytes);
                }
            }
            ADD => self.count += 1,
            COUNT => reply.extend_from_slice(&self.count.to_ne_bytes()),
            SLEEP => thread::sleep(Duration::from_millis(number(request.payload))),
            WRITE => {
                let Some(Item::File(file)) = request.items().next().transpose()? else {
                    return Ok(BAD_CALL);
                };
                File::from(file.try_clone_to_owned()?).write_all(WRITTEN)?;
            }
            OPEN => reply.put_file(File::open("/proc/self/comm")?),
            HOLD => self.held = Some(request.reference(0)?),
            DROP => self.held = None,
            CALL_BACK => {
                let back: Handle = self.held.as_ref().ok_or("nothing is held")?.into();
                let outcome = self.client.call_in_place(back, ECHO, b"back").map(|_| ());
                let text = outcome.map_or_else(|error| error.to_string(), |()| "a reply".into());
                reply.extend_from_slice(text.as_bytes());
            }
            FILL => reply.extend((0..number(request.payload)).map(|n| n as u8)),
            STOP => return Ok(Answer::ReplyAndStop),
            _ => return Ok(BAD_CALL),
        }
        Ok(Answer::Reply)
    }
}

/// One object, served on several threads.
pub(crate) fn crowd(device: &str, own: &str) -> CheckResult {
    let name: u64 = own.parse()?;
    let driver: Arc<dyn Driver> = Arc::new(KernelDriver::open(device)?);
    let object = Object { name, flags: NodeFlags::NONE };
    registry::register(&mut client(&driver)?, name, object)?;
    let (present, came) = (Mutex::new(0_u32), Condvar::new());
    let served =
        Server::new(driver).serve_threads(POOL_THREADS, |request, reply| match request.code {
            MEET => {
                let mut present_now = present.lock().unwrap_or_else(PoisonError::into_inner);
                *present_now += 1;
                came.notify_all();
                let (present_now, late) = came
                    .wait_timeout_while(present_now, TIMEOUT, |now| *now < POOL_THREADS)
                    .unwrap_or_else(PoisonError::into_inner);
                reply.extend_from_slice(&u64::from(*present_now).to_ne_bytes());
                if late.timed_out() { Answer::Refuse(-libc::ETIMEDOUT) } else { Answer::Reply }
            }
            STOP => Answer::ReplyAndStop,
            _ => BAD_CALL,
        })?;
    if served.threads == POOL_THREADS && served.calls == u64::from(POOL_THREADS) + 1 {
        Ok(())
    } else {
        Err(format!("unexpected calls or threads: {served:?}").into())
    }
}
