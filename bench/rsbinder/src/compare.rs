//! One thread calls through both libraries in turn.
//!
//! A round is a block of calls through each, and the order is reversed from round to
//! round. Calls with additional clock reads have their own clients and blocks, so they
//! burden only their own figures.

use std::sync::Arc;
use std::time::{Duration, Instant};

use rsbinder::{Parcel, ProcessState, SIBinder};
use unjank_binder::{Client, Handle, KernelDriver};
use unjank_measure::stats::order;

use crate::run::{Arm, Estimate, Run};
use crate::servers::Peer;
use crate::stamped::Stamped;
use crate::{ECHO, NUMBERS, Outcome, pin};

/// Calls of one block.
const BLOCK: usize = 100;
/// The longest wait for a server.
const PATIENCE: Duration = Duration::from_secs(10);

/// Calls through one library.
trait Caller {
    /// Makes one round trip, and returns its nanoseconds.
    fn call(&mut self) -> Outcome<u64>;
}

struct Ours {
    client: Client,
    request: Vec<u8>,
}

impl Ours {
    fn new(client: Client) -> Self {
        Self { client, request: NUMBERS.map(i64::to_ne_bytes).concat() }
    }
}

impl Caller for Ours {
    fn call(&mut self) -> Outcome<u64> {
        let begin = Instant::now();
        let reply = self.client.call_in_place(Handle::CONTEXT_MANAGER, ECHO, &self.request)?;
        let elapsed = begin.elapsed();
        if *reply != self.request {
            return Err("another reply".into());
        }
        Ok(elapsed.as_nanos() as u64)
    }
}

struct Theirs {
    object: SIBinder,
    request: Parcel,
}

impl Theirs {
    fn new(device: &str) -> Outcome<Self> {
        ProcessState::init(device, 0)?;
        let object = ProcessState::as_self().context_object()?;
        let mut request = object.as_proxy().ok_or("a local object")?.prepare_transact(true)?;
        for number in NUMBERS {
            request.write(&number)?;
        }
        Ok(Self { object, request })
    }
}

impl Caller for Theirs {
    fn call(&mut self) -> Outcome<u64> {
        let proxy = self.object.as_proxy().ok_or("a local object")?;
        let begin = Instant::now();
        let reply = proxy.submit_transact(ECHO, &self.request, 0)?;
        let elapsed = begin.elapsed();
        let mut reply = reply.ok_or("no reply")?;
        if [reply.read::<i64>()?, reply.read::<i64>()?] != NUMBERS {
            return Err("another reply".into());
        }
        Ok(elapsed.as_nanos() as u64)
    }
}

/// Makes `calls` calls through each of rsbinder and unjank-binder.
pub fn compare(devices: [&str; 2], calls: usize, cpus: [usize; 2]) -> Outcome<Run> {
    let _their_peer = Peer::start("serve-rsbinder", devices[0], cpus[1])?;
    let _our_peer = Peer::start("serve-unjank", devices[1], cpus[1])?;
    pin(cpus[0])?;
    for device in devices {
        // rsbinder does not retry, so we wait for its server as for ours.
        Client::new(Arc::new(KernelDriver::open(device)?)).wait_for_context_manager(PATIENCE)?;
    }
    let stamps = Arc::new(Stamped::new(KernelDriver::open(devices[1])?));
    let mut callers: [Box<dyn Caller>; 3] = [
        Box::new(Theirs::new(devices[0])?),
        Box::new(Ours::new(Client::new(Arc::new(KernelDriver::open(devices[1])?)))),
        Box::new(Ours::new(Client::new(Arc::clone(&stamps) as _))),
    ];
    let mut arms: [Vec<Vec<u64>>; 3] = Default::default();
    let mut inside = Vec::new();
    let rounds = calls.div_ceil(BLOCK);
    for round in 0..=rounds {
        let order = if round % 2 == 0 { [0, 1, 2] } else { [2, 1, 0] };
        for arm in order {
            let (samples, stamped) = block(callers[arm].as_mut(), &stamps)?;
            // The first round warms up.
            if round > 0 {
                arms[arm].push(samples);
                inside.extend((arm == 2).then_some(stamped));
            }
        }
    }
    report(devices, cpus, &arms, &inside)
}

/// The round trips of a block, and the part of each between the additional clock reads.
fn block(caller: &mut dyn Caller, stamps: &Stamped) -> Outcome<(Vec<u64>, Vec<u64>)> {
    let (mut samples, mut inside) = (Vec::with_capacity(BLOCK), Vec::with_capacity(BLOCK));
    for _ in 0..BLOCK {
        stamps.take();
        samples.push(caller.call()?);
        inside.push(stamps.take());
    }
    Ok((samples, inside))
}

fn report(
    devices: [&str; 2],
    cpus: [usize; 2],
    [theirs, ours, stamped]: &[Vec<Vec<u64>>; 3],
    inside: &[Vec<u64>],
) -> Outcome<Run> {
    let over = |part: &[Vec<u64>], whole: &[Vec<u64>]| {
        Estimate::of(part.iter().zip(whole).map(|(a, b)| median(a) / median(b)).collect())
    };
    Ok(Run {
        payload: size_of_val(&NUMBERS),
        cpus,
        rsbinder: Arm::of(devices[0], theirs),
        unjank: Arm::of(devices[1], ours),
        stamped: Arm::of(devices[1], stamped),
        ratio: over(ours, theirs)?,
        inside: over(inside, stamped)?,
        floor: over(inside, theirs)?,
    })
}

fn median(samples: &[u64]) -> f64 {
    let mut values: Vec<f64> = samples.iter().map(|&sample| sample as f64).collect();
    order::median(&mut values).map_or(f64::NAN, |(median, _)| median)
}
