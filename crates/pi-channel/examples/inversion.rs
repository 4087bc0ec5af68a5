//! Compares an echo over a pi-channel and over a unix socket, in turns.
//!
//! ```text
//! inversion [BYTES] [ROUNDS]   # default: 16 bytes, 9 rounds each
//! ```
//!
//! Three settings, one table: both sides on one CPU; each on its own CPU; and (as
//! root) priority inversion on one CPU: a client of real-time priority 80, an
//! ordinary server, and a thread of priority 50 that computes for 20 ms out of 25.
//! Over the socket, the client waits for that thread, which keeps its server from
//! running.

// An example prints to its user.
#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::env;
use std::error::Error;
use std::io::{Read as _, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::{Command, ExitCode, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::thread::{CpuSet, sched_setaffinity};
use unjank_pi_channel::{Answer, Client, Server, Settings};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match *arguments {
        ["peer", way, cpu, bytes] => peer(way, cpu, bytes),
        ["hog", cpu] => hog(cpu),
        [] => compare(16, 9),
        [bytes] => parse(bytes).and_then(|bytes| compare(bytes, 9)),
        [bytes, rounds] => parse(bytes).and_then(|bytes| compare(bytes, parse(rounds)?)),
        _ => Err("inversion [BYTES] [ROUNDS]".into()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn parse(text: &str) -> Result<usize> {
    Ok(text.parse()?)
}

fn compare(bytes: usize, rounds: usize) -> Result<()> {
    println!(
        "{:<46} {:>10} {:>10} {:>10}",
        format!("{bytes} bytes, best of {rounds}, in µs"),
        "p50",
        "p99",
        "max"
    );
    pin_to(0)?;
    for (name, cpu, pause, calls) in [
        ("one CPU", 0, 0, 20_000),
        ("two CPUs", 1, 0, 20_000),
        ("two CPUs, a call every 2 ms", 1, 2, 200),
    ] {
        print_setting(name, cpu, bytes, rounds, Duration::from_millis(pause), calls)?;
    }
    if set_real_time(80).is_err() {
        println!("inversion: needs root");
        return Ok(());
    }
    print_setting("one CPU, priority 80", 0, bytes, rounds, Duration::from_millis(1), 400)?;
    let mut hog = this_program(&["hog", "0"]).spawn()?;
    let outcome = print_setting(
        "one CPU, priority 80, a hog of 50",
        0,
        bytes,
        rounds.min(3),
        Duration::from_millis(3),
        400,
    );
    hog.kill()?;
    hog.wait()?;
    outcome
}

fn print_setting(
    name: &str,
    cpu: usize,
    bytes: usize,
    rounds: usize,
    pause: Duration,
    calls: usize,
) -> Result<()> {
    let mut best = [[f64::INFINITY; 3]; 2];
    for round in 0..rounds * 2 {
        // A B B A
        let way = (round + round / 2) % 2;
        let quantiles = measure(["pi", "unix"][way], cpu, bytes, pause, calls)?;
        for (best, new) in best[way].iter_mut().zip(quantiles) {
            *best = best.min(new);
        }
    }
    for (way, [p50, p99, max]) in ["pi-channel", "unix socket"].iter().zip(best) {
        println!("{name:<34} {way:<11} {p50:>10.2} {p99:>10.2} {max:>10.2}");
    }
    Ok(())
}

fn measure(way: &str, cpu: usize, bytes: usize, pause: Duration, calls: usize) -> Result<[f64; 3]> {
    let (mut ours, theirs) = UnixStream::pair()?;
    let mut peer = this_program(&["peer", way, &cpu.to_string(), &bytes.to_string()])
        .stdin(Stdio::from(OwnedFd::from(theirs)))
        .spawn()?;
    let request = vec![0x5A; bytes];
    let mut reply = vec![0; bytes];
    let nanos = if way == "pi" {
        let mut client = Client::connect(ours)?;
        time(pause, calls, || {
            client.call(&request, &mut reply)?;
            Ok(())
        })?
    } else {
        time(pause, calls, || {
            ours.write_all(&request)?;
            Ok(ours.read_exact(&mut reply)?)
        })?
    };
    peer.kill()?;
    peer.wait()?;
    Ok([nanos[calls / 2], nanos[calls * 99 / 100], nanos[calls - 1]].map(|n| n as f64 / 1e3))
}

fn time(pause: Duration, calls: usize, mut call: impl FnMut() -> Result<()>) -> Result<Vec<u64>> {
    let mut nanos = Vec::with_capacity(calls);
    for _ in 0..100.min(calls) {
        call()?;
    }
    for _ in 0..calls {
        if !pause.is_zero() {
            sleep(pause);
        }
        let start = Instant::now();
        call()?;
        nanos.push(start.elapsed().as_nanos() as u64);
    }
    nanos.sort_unstable();
    Ok(nanos)
}

/// Echoes the data from stdin.
fn peer(way: &str, cpu: &str, bytes: &str) -> Result<()> {
    pin_to(cpu.parse()?)?;
    let bytes: usize = bytes.parse()?;
    let mut socket = UnixStream::from(std::io::stdin().as_fd().try_clone_to_owned()?);
    let mut buffer = vec![0; bytes];
    if way == "unix" {
        loop {
            socket.read_exact(&mut buffer)?;
            socket.write_all(&buffer)?;
        }
    }
    let settings = Settings {
        lanes: 1,
        request_capacity: bytes,
        reply_capacity: bytes,
        ..Settings::default()
    };
    let mut server = Server::new(&settings)?;
    server.acceptor().admit(socket)?;
    server.serve(|request, reply| {
        match request.payload.read(&mut buffer).and_then(|bytes| reply.write(bytes)) {
            Ok(()) => Answer::Reply,
            Err(_) => Answer::Refuse(1),
        }
    })?;
    Ok(())
}

/// Computes for 20 ms out of 25, at priority 50.
fn hog(cpu: &str) -> Result<()> {
    pin_to(cpu.parse()?)?;
    set_real_time(50)?;
    loop {
        let start = Instant::now();
        while start.elapsed() < Duration::from_millis(20) {}
        sleep(Duration::from_millis(5));
    }
}

fn this_program(arguments: &[&str]) -> Command {
    let mut command = Command::new("/proc/self/exe");
    command.args(arguments);
    command
}

fn pin_to(cpu: usize) -> Result<()> {
    let mut cpus = CpuSet::new();
    cpus.set(cpu);
    Ok(sched_setaffinity(None, &cpus)?)
}

/// Sets real-time priority for this thread; its children do not inherit it.
#[allow(unsafe_code)]
fn set_real_time(priority: i32) -> Result<()> {
    // SAFETY: zeroes are a valid sched_param, on which the call only reads
    // (sched_setscheduler(2)).
    let set = unsafe {
        let mut parameters: libc::sched_param = std::mem::zeroed();
        parameters.sched_priority = priority;
        let policy = libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK;
        libc::sched_setscheduler(0, policy, &raw const parameters)
    };
    if set == 0 { Ok(()) } else { Err(std::io::Error::last_os_error().into()) }
}
