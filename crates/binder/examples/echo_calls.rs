//! Two processes and a binder device: one echoes the bytes of every call, the
//! other measures how long that takes.
//!
//! ```text
//! echo_calls serve /dev/hwbinder           # until `echo_calls stop`
//! echo_calls call /dev/hwbinder 4096 10000 # bytes, calls
//! echo_calls stop /dev/hwbinder
//! ```
//!
//! The device must have no context manager yet, as on a machine that is not a
//! phone.

// An example prints.
#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::env;
use std::error::Error;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use unjank_binder::{Answer, Client, Handle, KernelDriver, NodeFlags, Server};

const ECHO: u32 = 1;
const STOP: u32 = 2;

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[&str]) -> Result<(), Box<dyn Error>> {
    match *arguments {
        ["serve", device] => serve(device),
        ["call", device, bytes, calls] => call(device, bytes.parse()?, calls.parse()?),
        ["stop", device] => {
            Ok(client(device)?.call(Handle::CONTEXT_MANAGER, STOP, &[], &mut Vec::new())?)
        }
        _ => Err(
            "echo_calls serve DEVICE | echo_calls call DEVICE BYTES CALLS | echo_calls stop DEVICE"
                .into(),
        ),
    }
}

fn serve(device: &str) -> Result<(), Box<dyn Error>> {
    let driver = Arc::new(KernelDriver::open(device)?);
    let mut server = Server::become_context_manager(driver, NodeFlags::NONE)?;
    let done = server.serve(|request, reply| match request.code {
        ECHO => {
            reply.extend_from_slice(request.payload);
            Answer::Reply
        }
        STOP => Answer::ReplyAndStop,
        _ => Answer::Refuse(-libc::EBADMSG),
    })?;
    println!("served {} calls", done.calls);
    Ok(())
}

fn call(device: &str, bytes: usize, calls: usize) -> Result<(), Box<dyn Error>> {
    let mut client = client(device)?;
    let request = vec![0x5A; bytes];
    let mut reply = Vec::with_capacity(bytes);
    let mut nanos = Vec::with_capacity(calls);
    for _ in 0..calls {
        let start = Instant::now();
        client.call(Handle::CONTEXT_MANAGER, ECHO, &request, &mut reply)?;
        nanos.push(start.elapsed().as_nanos());
        if reply != request {
            return Err("the reply differs from the request".into());
        }
    }
    nanos.sort_unstable();
    let quantile = |percent: usize| nanos.get(calls * percent / 100).or(nanos.last());
    if let (Some(median), Some(p99)) = (quantile(50), quantile(99)) {
        println!("{calls} round trips of {bytes} bytes: p50 {median} ns, p99 {p99} ns");
    }
    Ok(())
}

fn client(device: &str) -> Result<Client, unjank_binder::Error> {
    let mut client = Client::new(Arc::new(KernelDriver::open(device)?));
    client.ping()?;
    Ok(client)
}
