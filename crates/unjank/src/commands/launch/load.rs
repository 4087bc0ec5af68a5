//! `unjank launch load`: a synthetic app launch, with a load of any length.

use std::net::TcpListener;
use std::process::ExitCode;
use std::str::FromStr;
use std::{env, thread};

use anyhow::{Context as _, Result};
use sd_notify::NotifyState;
use unjank_host::{Error, Nanos, Root};
use unjank_launch::load::{self, Clock, MOST_THREADS, Options, Rate, STEP};

use crate::{output, values};

/// Arguments of `unjank launch load`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  unjank launch load 400ms
  unjank launch load 0 --basic 200ms --ready port:8080 --linger 10s
  unjank launch load 1s --threads 1 --emulated-clock

First comes the work that every app does to come on screen, on one thread
(--basic), then the generated load of LENGTH, then a line on stdout:

  on screen: basic 512.345678 ms, load 100.200300 ms

If NOTIFY_SOCKET is set, READY=1 is sent there, too. Lengths are at the highest
frequency, so a slow clock makes them longer. Without --rate, the speed is
calibrated first: half a second on all CPUs, which raises the clock.")]
pub(crate) struct Args {
    /// Generated load, at the highest frequency: 400ms, or 0 for none
    #[arg(value_name = "LENGTH", value_parser = values::duration_or_zero)]
    length: Nanos,
    /// Threads of the generated load: a number, or one on each CPU
    #[arg(long, value_name = "N|all", default_value = "all")]
    threads: Threads,
    /// Basic work before the load, on one thread, at the highest frequency
    #[arg(long, value_name = "TIME", default_value = BASIC, value_parser = values::duration_or_zero)]
    basic: Nanos,
    /// Count cycles by the frequency that the governor set: for the virtual phone, where the speed
    /// does not follow it
    #[arg(long, conflicts_with = "rate")]
    emulated_clock: bool,
    /// Steps of work per millisecond at the highest frequency, from an earlier calibration
    #[arg(long, value_name = "STEPS")]
    rate: Option<u64>,
    /// How to report that it is on screen: stdout (always printed), notify or port:N
    #[arg(long, value_name = "WAY", default_value = "stdout")]
    ready: ReadySignal,
    /// Idle time on screen before it ends
    #[arg(long, value_name = "TIME", default_value = "0", value_parser = values::duration_or_zero)]
    linger: Nanos,
}

/// The basic work of an app. Jo & Suh do not state theirs. With half a second,
/// half a period of 50 ms less at a sixth of the speed saves 4 %, about what
/// they gained.
pub(super) const BASIC: &str = "500ms";

/// A number of threads; `None` for one on each CPU.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Threads(pub(crate) Option<usize>);

impl FromStr for Threads {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.parse() {
            _ if text == "all" => Ok(Self(None)),
            Ok(threads) if (1..=MOST_THREADS).contains(&threads) => Ok(Self(Some(threads))),
            _ => Err(format!("expected all, or a number from 1 to {MOST_THREADS}")),
        }
    }
}

/// How the app reports that it is on screen, beside the line on stdout.
#[derive(Debug, Clone, Copy)]
enum ReadySignal {
    Stdout,
    Notify,
    Port(u16),
}

impl FromStr for ReadySignal {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match (text, text.strip_prefix("port:").map(str::parse)) {
            ("stdout", _) => Ok(Self::Stdout),
            ("notify", _) => Ok(Self::Notify),
            (_, Some(Ok(port))) if port > 0 => Ok(Self::Port(port)),
            _ => Err("expected stdout, notify or port:N"),
        }
    }
}

/// Works, reports that it is on screen, and idles.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let is_waited_for = env::var_os("NOTIFY_SOCKET").is_some_and(|name| !name.is_empty());
    if matches!(args.ready, ReadySignal::Notify) && !is_waited_for {
        let reason = "--ready notify: NOTIFY_SOCKET is not set".to_owned();
        return Err(Error::Invalid(reason).into());
    }
    let clock = match (args.emulated_clock, args.rate) {
        (true, _) => Clock::Emulated,
        (_, Some(rate)) => Clock::Steps(Rate::per_millisecond(rate)?),
        _ => {
            let rate = Rate::calibrate().context("while calibrating")?;
            let steps = rate.get();
            output::remark(&format!("calibrated: --rate {steps} skips this next time"));
            Clock::Steps(rate)
        }
    };
    let options =
        Options { basic: args.basic, length: args.length, threads: args.threads.0, clock };
    let timing = load::run(&options, &Root::system()).context("while launching")?;
    let _listening = report_ready(args.ready, is_waited_for)?;
    output::print(&format!("{timing}\n"))?;
    if clock == Clock::Emulated {
        output::remark(&format!("emulated clock: a change of frequency is noticed within {STEP}"));
    }
    thread::sleep(args.linger.into());
    Ok(ExitCode::SUCCESS)
}

fn report_ready(signal: ReadySignal, is_waited_for: bool) -> Result<Option<TcpListener>> {
    if is_waited_for {
        sd_notify::notify(&[NotifyState::Ready]).context("while notifying NOTIFY_SOCKET")?;
    }
    let ReadySignal::Port(port) = signal else { return Ok(None) };
    let listening = TcpListener::bind(("127.0.0.1", port));
    listening.map(Some).with_context(|| format!("while listening on port {port}"))
}
