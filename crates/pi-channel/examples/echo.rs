//! An echo server on a socket path, and its client.
//!
//! ```text
//! echo serve /tmp/echo.sock            # until `echo stop`
//! echo call /tmp/echo.sock 4096 10000  # bytes, calls
//! echo stop /tmp/echo.sock
//! ```
//!
//! One thread accepts and another serves, so a client that connects and sends
//! nothing delays only the next client that connects.

// An example prints to its user.
#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::env;
use std::error::Error;
use std::os::unix::net::{UnixListener, UnixStream};
use std::process::ExitCode;
use std::thread;
use std::time::Instant;

use unjank_pi_channel::{Answer, Client, Server, Settings};

/// The longest echo.
const CAPACITY: usize = 512 << 10;

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match *arguments {
        ["serve", path] => serve(path),
        ["call", path, bytes, calls] => call(path, bytes, calls),
        ["stop", path] => stop(path),
        _ => Err("echo serve PATH | echo call PATH BYTES CALLS | echo stop PATH".into()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn serve(path: &str) -> Result<(), Box<dyn Error>> {
    let listener = UnixListener::bind(path)?;
    let settings =
        Settings { request_capacity: CAPACITY, reply_capacity: CAPACITY, ..Settings::default() };
    let mut server = Server::new(&settings)?;
    let acceptor = server.acceptor();
    thread::spawn(move || {
        for socket in listener.incoming().map_while(Result::ok) {
            if let Err(error) = acceptor.admit(socket) {
                eprintln!("a client was not admitted: {error}");
            }
        }
    });
    let mut buffer = vec![0; CAPACITY];
    let done = server.serve(|request, reply| {
        if request.payload.is_empty() {
            return Answer::ReplyAndStop;
        }
        match request.payload.read(&mut buffer).and_then(|bytes| reply.write(bytes)) {
            Ok(()) => Answer::Reply,
            Err(_) => Answer::Refuse(1),
        }
    })?;
    std::fs::remove_file(path)?;
    println!("{done:?}");
    Ok(())
}

fn call(path: &str, bytes: &str, calls: &str) -> Result<(), Box<dyn Error>> {
    let (bytes, calls): (usize, usize) = (bytes.parse()?, calls.parse()?);
    let mut client = Client::connect(UnixStream::connect(path)?)?;
    let request = vec![0x5A; bytes.max(1)];
    let mut reply = vec![0; bytes.max(1)];
    let mut nanos = Vec::with_capacity(calls);
    for _ in 0..calls {
        let start = Instant::now();
        let length = client.call(&request, &mut reply)?;
        nanos.push(start.elapsed().as_nanos());
        if reply[..length] != request {
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

/// An empty request ends this server.
fn stop(path: &str) -> Result<(), Box<dyn Error>> {
    Client::connect(UnixStream::connect(path)?)?.call(&[], &mut [])?;
    Ok(())
}
