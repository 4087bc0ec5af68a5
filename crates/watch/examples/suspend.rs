//! Runs `unjank watch` on this machine while its clock is set back by a day, and while it is
//! suspended for two seconds, and makes a stutter each time. For a virtual phone.
//!
//! ```text
//! suspend UNJANK
//! ```
//!
//! Prints the finding of each mark, the time in suspend, all incidents, and the number of trace
//! instances that are left. Needs root.

// An example talks to its user.
#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::env;
use std::error::Error;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, Command, ExitCode, ExitStatus, Stdio};
use std::thread::{scope, sleep};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use rustix::time::{ClockId, Timespec, clock_gettime, clock_settime};

type Answer<T = ()> = Result<T, Box<dyn Error>>;

const DAY: i64 = 24 * 60 * 60;
const DIRECTORY: &str = "/tmp/suspend";

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let ran = match &arguments[..] {
        [word] if word == "answer" => answer(),
        [unjank] => run(unjank),
        _ => Err("suspend UNJANK".into()),
    };
    match ran {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(unjank: &str) -> Answer {
    fs::create_dir_all(DIRECTORY)?;
    let socket = format!("{DIRECTORY}/watch.sock");
    let store = format!("{DIRECTORY}/watch.sqlite");
    let service = Command::new(unjank)
        .args(["watch", "--socket", &socket, "--store", &store])
        .args(["--state-dir", &format!("{DIRECTORY}/journal")])
        .args(["--cpu-pressure", "0", "--memory-pressure", "0", "--io-pressure", "0"])
        .stderr(Stdio::piped())
        .spawn()?;
    let mut service = Ended(service);
    let mut said = BufReader::new(service.0.stderr.take().ok_or("no stderr")?);
    let mut line = String::new();
    said.read_line(&mut line)?;
    let mark = |after: &str| -> Answer {
        stall()?;
        let found = Command::new(unjank).args(["mark", "--socket", &socket]).output()?;
        let found = String::from_utf8(found.stdout)?;
        println!("{after}: {}", found.lines().next().unwrap_or("nothing"));
        Ok(())
    };
    mark("start")?;
    let now = clock_gettime(ClockId::Realtime);
    clock_settime(ClockId::Realtime, Timespec { tv_sec: now.tv_sec - DAY, ..now })?;
    mark("clock set back")?;
    println!("suspended: {} ms", suspend()?);
    mark("suspend")?;
    let list = ["incidents", "list", "--json", "--store", &store];
    let list = Command::new(unjank).args(list).output()?;
    println!("list: {}", String::from_utf8(list.stdout)?.replace('\n', ""));
    let ended = service.end()?;
    let mut rest = String::new();
    said.read_to_string(&mut rest)?;
    let left = fs::read_dir("/sys/kernel/tracing/instances").map_or(0, Iterator::count);
    println!("end: {ended}, {left} instances left");
    eprint!("{rest}");
    fs::remove_dir_all(DIRECTORY)?;
    Ok(())
}

/// A service that ends in any case, so that it removes its trace instances.
struct Ended(Child);

impl Ended {
    fn end(&mut self) -> Answer<ExitStatus> {
        kill_process(pid(&self.0)?, Signal::TERM)?;
        Ok(self.0.wait()?)
    }
}

impl Drop for Ended {
    fn drop(&mut self) {
        if matches!(self.0.try_wait(), Ok(None)) {
            let _ends_anyway = self.end();
        }
    }
}

/// Suspends the machine, without the last step, which would cut its power: the kernel resumes after
/// two seconds (`Documentation/power/basic-pm-debugging.rst`). Returns how many milliseconds its
/// monotonic clock did not count.
fn suspend() -> Answer<i128> {
    let uncounted = || {
        let nanos = |clock| {
            let time = clock_gettime(clock);
            i128::from(time.tv_sec) * 1_000_000_000 + i128::from(time.tv_nsec)
        };
        nanos(ClockId::Boottime) - nanos(ClockId::Monotonic)
    };
    let before = uncounted();
    fs::write("/sys/module/suspend/parameters/pm_test_delay", "2")?;
    fs::write("/sys/power/pm_test", "core")?;
    let suspended = fs::write("/sys/power/state", "mem");
    fs::write("/sys/power/pm_test", "none")?;
    suspended?;
    Ok((uncounted() - before) / 1_000_000)
}

/// A call to a server that a signal stops for two seconds.
fn stall() -> Answer {
    let mut server = Command::new(env::current_exe()?)
        .arg("answer")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let number = pid(&server)?;
    let mut into = server.stdin.take().ok_or("no stdin")?;
    let mut from = server.stdout.take().ok_or("no stdout")?;
    let mut call = move || -> std::io::Result<()> {
        into.write_all(b"a")?;
        from.read_exact(&mut [0])
    };
    call()?;
    kill_process(number, Signal::STOP)?;
    scope(|scope| {
        let going_on = scope.spawn(|| {
            sleep(Duration::from_secs(2));
            kill_process(number, Signal::CONT)
        });
        call()?;
        going_on.join().map_err(|_| "a thread has panicked")??;
        Answer::Ok(())
    })?;
    drop(call);
    server.wait()?;
    Ok(())
}

/// Answers each byte by itself.
fn answer() -> Answer {
    let (mut from, mut to) = (std::io::stdin(), std::io::stdout());
    let mut byte = [0];
    while from.read(&mut byte)? > 0 {
        to.write_all(&byte)?;
        to.flush()?;
    }
    Ok(())
}

fn pid(child: &Child) -> Answer<Pid> {
    Ok(Pid::from_raw(child.id().try_into()?).ok_or("no process")?)
}
