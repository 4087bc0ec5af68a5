//! The same 16-byte echo through rsbinder and through unjank-binder, by turns.
//!
//! ```text
//! unjank-bench-rsbinder DEVICE DEVICE CALLS CLIENT_CPU SERVER_CPU
//! ```
//!
//! The first device is rsbinder's, the second unjank-binder's; neither may have
//! a context manager. One thread of one process calls both, in blocks of the
//! same size in the order A B B A, so that both see the same machine. Each
//! server is the context manager of its device, in a process of its own, and
//! serves on one thread. What is measured is a call with a payload that is
//! there already, until its reply can be read; what is printed is JSON, in
//! nanoseconds. rsbinder's payload begins with the name of the interface, which
//! its objects insist on.

use std::env;
use std::error::Error;
use std::process::{Child, Command};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rsbinder::{Interface, Parcel, ProcessState, Remotable, SIBinder, StatusCode, TransactionCode};
use rustix::thread::{CpuSet, sched_setaffinity};
use unjank_binder::{Answer, Client, Handle, KernelDriver, NodeFlags, Server};

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

/// The code of the call in both.
const ECHO: u32 = 1;
/// The payload: two numbers of 8 bytes.
const NUMBERS: [i64; 2] = [0x0123_4567_89AB_CDEF, 42];
/// Calls of one turn.
const BLOCK: usize = 100;
/// Time for a server to come up.
const PATIENCE: Duration = Duration::from_secs(10);

fn main() -> Outcome {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match *arguments {
        ["serve-rsbinder", device, cpu] => serve_rsbinder(device, cpu.parse()?),
        ["serve-unjank", device, cpu] => serve_unjank(device, cpu.parse()?),
        [theirs, ours, calls, client, server] => {
            compare(theirs, ours, calls.parse()?, client.parse()?, server)
        }
        _ => Err("unjank-bench-rsbinder DEVICE DEVICE CALLS CLIENT_CPU SERVER_CPU".into()),
    }
}

/// Keeps the calling thread, and those that it starts, on one CPU.
fn pin(cpu: usize) -> Outcome {
    let mut cpus = CpuSet::new();
    cpus.set(cpu);
    Ok(sched_setaffinity(None, &cpus)?)
}

struct Echo;

impl Remotable for Echo {
    fn descriptor() -> &'static str {
        "unjank.echo"
    }

    fn on_transact(
        &self,
        code: TransactionCode,
        request: &mut Parcel,
        reply: &mut Parcel,
    ) -> rsbinder::Result<()> {
        if code != ECHO {
            return Err(StatusCode::UnknownTransaction);
        }
        for _ in NUMBERS {
            reply.write(&request.read::<i64>()?)?;
        }
        Ok(())
    }

    fn on_dump(&self, _: &mut dyn std::io::Write, _: &[String]) -> rsbinder::Result<()> {
        Ok(())
    }
}

fn serve_rsbinder(device: &str, cpu: usize) -> Outcome {
    pin(cpu)?;
    ProcessState::init(device, 0)?;
    ProcessState::as_self().become_context_manager(rsbinder::Binder::new(Echo).as_binder())?;
    ProcessState::join_thread_pool()?;
    Ok(())
}

fn serve_unjank(device: &str, cpu: usize) -> Outcome {
    pin(cpu)?;
    let driver = Arc::new(KernelDriver::open(device)?);
    Server::become_context_manager(driver, NodeFlags::NONE)?.serve(|request, reply| {
        match (request.code, request.payload.as_chunks::<8>()) {
            (ECHO, ([first, second], [])) => {
                reply.extend_from_slice(first);
                reply.extend_from_slice(second);
                Answer::Reply
            }
            _ => Answer::Refuse(-1),
        }
    })?;
    Ok(())
}

/// A process that is killed at the end.
struct Peer(Child);

impl Peer {
    fn start(role: &str, device: &str, cpu: &str) -> Outcome<Self> {
        Ok(Self(Command::new(env::current_exe()?).args([role, device, cpu]).spawn()?))
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _killed = self.0.kill().and_then(|()| self.0.wait());
    }
}

fn compare(theirs: &str, ours: &str, calls: usize, cpu: usize, server: &str) -> Outcome {
    let _their_peer = Peer::start("serve-rsbinder", theirs, server)?;
    let _our_peer = Peer::start("serve-unjank", ours, server)?;
    pin(cpu)?;

    let mut client = Client::new(Arc::new(KernelDriver::open(ours)?));
    client.wait_for_context_manager(PATIENCE)?;
    // rsbinder does not ask again, so its server is waited for as ours is.
    Client::new(Arc::new(KernelDriver::open(theirs)?)).wait_for_context_manager(PATIENCE)?;
    ProcessState::init(theirs, 0)?;
    let object = ProcessState::as_self().context_object()?;

    let request = NUMBERS.map(i64::to_ne_bytes).concat();
    let mut ours = || -> Outcome<u64> {
        let begin = Instant::now();
        let reply = client.call_in_place(Handle::CONTEXT_MANAGER, ECHO, &request)?;
        let elapsed = begin.elapsed();
        if *reply == request { Ok(elapsed.as_nanos() as u64) } else { Err("another reply".into()) }
    };
    let parcel = request_of(&object)?;
    let mut theirs = || -> Outcome<u64> {
        let proxy = object.as_proxy().ok_or("a local object")?;
        let begin = Instant::now();
        let reply = proxy.submit_transact(ECHO, &parcel, 0)?;
        let elapsed = begin.elapsed();
        let mut reply = reply.ok_or("no reply")?;
        let numbers = [reply.read::<i64>()?, reply.read::<i64>()?];
        if numbers == NUMBERS { Ok(elapsed.as_nanos() as u64) } else { Err("another reply".into()) }
    };

    let (mut of_theirs, mut of_ours) = (Vec::with_capacity(calls), Vec::with_capacity(calls));
    for _warming_up in 0..BLOCK {
        theirs()?;
        ours()?;
    }
    let mut ours_first = false;
    while of_ours.len() < calls {
        for turn in [ours_first, !ours_first] {
            let (samples, call): (&mut Vec<u64>, &mut dyn FnMut() -> Outcome<u64>) =
                if turn { (&mut of_ours, &mut ours) } else { (&mut of_theirs, &mut theirs) };
            for _ in 0..BLOCK {
                samples.push(call()?);
            }
        }
        ours_first = !ours_first;
    }
    let (theirs, ours) = (Summary::of(of_theirs), Summary::of(of_ours));
    println!(
        "{{\"unit\":\"ns\",\"payload\":16,\"rsbinder\":{},\"unjank\":{},\"ratio_p50\":{:.4},\
         \"ratio_p99\":{:.4}}}",
        theirs.json(),
        ours.json(),
        ours.p50 as f64 / theirs.p50 as f64,
        ours.p99 as f64 / theirs.p99 as f64,
    );
    Ok(())
}

fn request_of(object: &SIBinder) -> Outcome<Parcel> {
    let mut parcel = object.as_proxy().ok_or("a local object")?.prepare_transact(true)?;
    for number in NUMBERS {
        parcel.write(&number)?;
    }
    Ok(parcel)
}

struct Summary {
    n: usize,
    p50: u64,
    p99: u64,
}

impl Summary {
    fn of(mut samples: Vec<u64>) -> Self {
        samples.sort_unstable();
        let at = |percent: usize| {
            samples.get(samples.len() * percent / 100).or(samples.last()).copied().unwrap_or(0)
        };
        Self { n: samples.len(), p50: at(50), p99: at(99) }
    }

    fn json(&self) -> String {
        format!("{{\"n\":{},\"p50\":{},\"p99\":{}}}", self.n, self.p50, self.p99)
    }
}
