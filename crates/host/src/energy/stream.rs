//! Meters that send lines: a thread reads and integrates them.

use std::io::{self, Read};
use std::net::{TcpStream, UdpSocket};
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::format::{Format, Lines, Sample};
use super::{About, Ended, Integral, Meter, Reading};
use crate::clock::Timestamp;
use crate::error::{Error, Result};
use unjank_units::Nanos;

/// Timeout for the first valid line. A `SmartPower2` sends one line per second.
const FIRST_LINE: Nanos = Nanos::from_millis(5_000);
/// How often the thread checks for its end.
const LOOK: Duration = Duration::from_millis(100);
/// The number of intervals from which the period is learnt.
const LEARNT_FROM: usize = 9;

/// The source of the bytes.
pub(super) enum Input {
    /// A serial line, or another file that can be polled.
    Line(OwnedFd),
    /// A TCP connection.
    Connection(TcpStream),
    /// Datagrams.
    Datagrams(UdpSocket),
}

/// A meter whose lines a thread reads.
pub(super) struct Stream {
    about: About,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    stop: AtomicBool,
    received: Mutex<Received>,
}

/// The data received so far.
#[derive(Debug)]
struct Received {
    format: Format,
    integral: Integral,
    intervals: Vec<Nanos>,
    /// A moment of the host's clock, and the same moment on the meter's clock.
    anchor: Option<(Timestamp, Nanos)>,
    ended: Option<Ended>,
}

impl Stream {
    /// Starts reading `input`, and waits for the first valid line.
    ///
    /// # Errors
    /// `Unsupported` if none arrives; errors of the input.
    pub(super) fn open(about: About, mut input: Input, format: Format) -> Result<Self> {
        input.prepare().map_err(|error| Error::file("listen to", &about.source, error))?;
        let received = Mutex::new(Received::new(format));
        let shared = Arc::new(Shared { stop: AtomicBool::new(false), received });
        let (theirs, source) = (Arc::clone(&shared), about.source.clone());
        let thread = thread::Builder::new()
            .name("power meter".to_owned())
            .spawn(move || theirs.listen(&mut input, &source))
            .map_err(|error| Error::syscall("clone", "power meter", error))?;
        let stream = Self { about, shared, thread: Some(thread) };
        stream.wait_for_first_line()?;
        Ok(stream)
    }

    fn wait_for_first_line(&self) -> Result<()> {
        let (start, source) = (Timestamp::now(), &self.about.source);
        loop {
            let received = self.shared.received();
            if received.integral.last().is_some() {
                return Ok(());
            }
            if let Some(ended) = &received.ended {
                return Err(Error::Unsupported(ended.reason.clone()));
            }
            if Timestamp::now().since(start) > FIRST_LINE {
                let damaged = received.integral.reading(start).samples.damaged;
                let name = &self.about.name;
                return Err(Error::Unsupported(format!(
                    "{source} sent no valid {name} line within {FIRST_LINE}, but {damaged} invalid ones"
                )));
            }
            drop(received);
            thread::sleep(Duration::from_millis(2));
        }
    }
}

impl Meter for Stream {
    fn about(&self) -> &About {
        &self.about
    }

    fn read(&mut self) -> Result<Reading> {
        let received = self.shared.received();
        let ended = received.ended.clone();
        let now = ended.as_ref().map_or_else(Timestamp::now, |ended| ended.at);
        Ok(Reading { ended, ..received.integral.reading(now) })
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // A panic of the thread has already been reported.
            let _panicked = thread.join();
        }
    }
}

impl Shared {
    /// If the other thread has panicked, the integral is still right up to
    /// then.
    fn received(&self) -> MutexGuard<'_, Received> {
        self.received.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn listen(&self, input: &mut Input, source: &str) {
        let (mut lines, mut bytes) = (Lines::default(), [0; 4_096]);
        while !self.stop.load(Ordering::Relaxed) {
            let (at, reason) = match input.receive(&mut bytes) {
                Ok(None) => continue,
                Ok(Some(0)) => (Timestamp::now(), format!("{source} was closed")),
                Ok(Some(count)) => {
                    let now = Timestamp::now();
                    let mut received = self.received();
                    lines.take(&bytes[..count], |line| received.line(now, line));
                    continue;
                }
                Err(error) => (Timestamp::now(), format!("{source} went away: {error}")),
            };
            let mut received = self.received();
            let at = received.integral.last().map_or(at, |(last, _)| last);
            received.ended = Some(Ended { at, reason });
            return;
        }
    }
}

impl Received {
    fn new(format: Format) -> Self {
        let (integral, intervals) = (Integral::new(Nanos::ZERO), Vec::new());
        Self { format, integral, intervals, anchor: None, ended: None }
    }

    /// Handles a line that arrived at `now`. The first line is often
    /// incomplete, and is then ignored.
    fn line(&mut self, now: Timestamp, line: Option<&str>) {
        let is_first = self.integral.last().is_none();
        match line.map(|line| self.format.parse(line)) {
            Some(Ok(sample)) => self.sample(now, sample),
            _ if is_first => {}
            _ => self.integral.damaged(),
        }
    }

    fn sample(&mut self, now: Timestamp, sample: Sample) {
        let at = sample.clock.map_or(now, |clock| self.on_our_clock(now, clock));
        if let Some((last, _)) = self.integral.last()
            && self.intervals.len() < LEARNT_FROM
        {
            self.intervals.push(at.since(last));
            if self.intervals.len() == LEARNT_FROM {
                self.intervals.sort_unstable();
                self.integral.expect_every(self.intervals[LEARNT_FROM / 2]);
            }
        }
        self.integral.add(at, sample.power);
    }

    /// Converts `clock`, a moment of the meter's clock, to the host's clock:
    /// lines may be delayed in buffers, but the meter's clock is not. If the
    /// meter has restarted, the clocks are matched again.
    fn on_our_clock(&mut self, now: Timestamp, clock: Nanos) -> Timestamp {
        let far = Nanos::from_millis(1_000);
        if let Some((host, meter)) = self.anchor
            && clock >= meter
        {
            let at = host + (clock - meter);
            if at.since(now) < far && now.since(at) < far {
                return at;
            }
        }
        self.anchor = Some((now, clock));
        now
    }
}

impl Input {
    fn prepare(&self) -> io::Result<()> {
        match self {
            Self::Line(_) => Ok(()),
            Self::Connection(connection) => connection.set_read_timeout(Some(LOOK)),
            Self::Datagrams(socket) => socket.set_read_timeout(Some(LOOK)),
        }
    }

    /// Received bytes; `None` if there are none for a while, zero at the end.
    fn receive(&mut self, bytes: &mut [u8]) -> io::Result<Option<usize>> {
        let received = match self {
            Self::Line(line) => {
                let timeout = Timespec { tv_sec: 0, tv_nsec: LOOK.subsec_nanos().into() };
                let mut looked = [PollFd::new(&*line, PollFlags::IN)];
                match poll(&mut looked, Some(&timeout)) {
                    Ok(0) => return Ok(None),
                    Ok(_) => rustix::io::read(line, bytes).map_err(io::Error::from),
                    Err(error) => Err(error.into()),
                }
            }
            Self::Connection(connection) => connection.read(bytes),
            // An empty datagram is not an end.
            Self::Datagrams(socket) => match socket.recv(bytes) {
                Ok(0) => return Ok(None),
                received => received,
            },
        };
        match received {
            Ok(count) => Ok(Some(count)),
            Err(error) if is_for_later(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

fn is_for_later(error: &io::Error) -> bool {
    use io::ErrorKind::{Interrupted, TimedOut, WouldBlock};
    matches!(error.kind(), Interrupted | TimedOut | WouldBlock)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::energy::format::tests::line_of_smart_power_3;
    use unjank_needs::wait::until;
    use unjank_units::{Joules, Watts};

    fn at(millis: u64) -> Timestamp {
        Timestamp::from_nanos(millis * 1_000_000)
    }

    #[test]
    fn times_come_from_the_meters_own_clock() {
        let mut received = Received::new(Format::SmartPower3);
        received.line(at(9_990), Some("the end of a line"));
        // Lines every 100 ms that arrive in bursts.
        for (arrival, clock) in (0..20_u64).map(|nth| (10_000 + nth / 5 * 500, nth * 100)) {
            received.line(at(arrival), Some(&line_of_smart_power_3(5_000 + clock, [2_000, 0])));
        }
        let reading = received.integral.final_reading().unwrap();
        assert_eq!(
            (reading.at, reading.samples.good, reading.samples.damaged),
            (at(11_900), 20, 0)
        );
        assert!((reading.energy.0 - 3.8).abs() < 1e-9);
        assert_eq!((reading.samples.gaps, reading.samples.longest), (0, Nanos::from_millis(100)));
    }

    #[test]
    fn lost_and_damaged_lines_are_counted_and_bridged() {
        let mut received = Received::new(Format::SmartPower3);
        for nth in (0..40_u64).filter(|nth| !(20..25).contains(nth)) {
            let line = line_of_smart_power_3(nth * 10, [1_000, 0]);
            let line = if nth == 30 { line.replace(",0250,", ",0251,") } else { line };
            received.line(at(500 + nth * 10), Some(&line));
        }
        let reading = received.integral.final_reading().unwrap();
        assert!((reading.energy.0 - 0.39).abs() < 1e-9, "{reading:?}");
        let samples = reading.samples;
        assert_eq!((samples.good, samples.damaged, samples.lost, samples.gaps), (34, 1, 5, 1));
    }

    #[test]
    fn a_meter_that_restarts_goes_on() {
        let mut received = Received::new(Format::SmartPower3);
        for (arrival, clock) in [(1_000, 70_000), (1_100, 70_100), (4_000, 50), (4_100, 150)] {
            received.line(at(arrival), Some(&line_of_smart_power_3(clock, [1_000, 0])));
        }
        let reading = received.integral.final_reading().unwrap();
        assert_eq!((reading.at, reading.samples.good), (at(4_100), 4));
        assert!((reading.energy.0 - 3.1).abs() < 1e-9, "{reading:?}");
    }

    #[test]
    fn datagrams_are_listened_to_until_the_meter_is_dropped() {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let to = socket.local_addr().unwrap();
        let sender = UdpSocket::bind("127.0.0.1:0").unwrap();
        let line = |clock| format!("{}\r\n", line_of_smart_power_3(clock, [0, 2_000]));
        // Sent before the meter reads: the kernel buffers datagrams.
        for clock in [10, 20, 30] {
            sender.send_to(line(clock).as_bytes(), to).unwrap();
        }
        let about = About {
            name: "smartpower3".to_owned(),
            source: to.to_string(),
            origin: crate::energy::Origin::Measured,
            covers: "both outputs".to_owned(),
        };
        let mut meter = Stream::open(about, Input::Datagrams(socket), Format::SmartPower3).unwrap();
        while meter.read().unwrap().samples.good < 3 {
            thread::sleep(Duration::from_millis(1));
        }
        assert!(meter.read().unwrap().energy >= Watts(2.0).over(Nanos::from_millis(20)));
        assert!(meter.read().unwrap().energy < Joules(0.2));
        drop(meter);
        // A child that another test is starting has a copy of the socket until its exec.
        until("the port is free again", || UdpSocket::bind(to).is_ok());
    }
}
