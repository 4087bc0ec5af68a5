//! Finds meters, and opens one by the name that the user gave.

use std::net::{IpAddr, Ipv4Addr, TcpStream, ToSocketAddrs as _, UdpSocket};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::format::Format;
use super::replay::Replay;
use super::stream::{Input, Stream};
use super::{About, Meter, Origin, battery, hwmon, perf, rapl, serial};
use crate::error::{Error, Result};
use crate::input::Stop;
use crate::root::Root;
use crate::support::Support;

/// The speed of a `SmartPower2`'s serial line, in baud.
const BAUD_2: u32 = 115_200;
/// The speed of a `SmartPower3`'s serial line, in baud.
const BAUD_3: u32 = 921_600;
/// The port to which a `SmartPower3` sends datagrams.
const UDP_PORT: u16 = 6_000;
/// The timeout of a connection to a `SmartPower2`.
const CONNECT: Duration = Duration::from_secs(5);

/// A meter as the user names it: `rapl`, `hwmon:hwmon2/power1`,
/// `smartpower3:/dev/ttyUSB0`, `csv:log.csv`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MeterName {
    /// The kind, from the text before the colon.
    pub kind: MeterKind,
    /// The text after the colon.
    pub path: Option<String>,
}

/// A kind of meter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MeterKind {
    /// Counters of the processor, through powercap.
    Rapl,
    /// Counters of the processor, through perf events.
    Perf,
    /// Sensors on the board.
    Hwmon,
    /// The battery's gauge.
    Battery,
    /// Hardkernel's `SmartPower2`.
    SmartPower2,
    /// Hardkernel's `SmartPower3`.
    SmartPower3,
    /// A recording in a file of comma-separated values.
    Csv,
}

/// A kind of meter, and whether it can be used here.
#[derive(Debug)]
pub struct MeterSupport {
    /// The kind that was tried.
    pub kind: MeterKind,
    /// The meter, or the reason why there is none.
    pub meter: Support<About>,
}

impl MeterKind {
    /// All kinds, in order of preference.
    pub const ALL: [Self; 7] = [
        Self::Rapl,
        Self::Perf,
        Self::Hwmon,
        Self::Battery,
        Self::SmartPower2,
        Self::SmartPower3,
        Self::Csv,
    ];

    /// Meters that need neither a cable nor a file, in order of preference.
    pub const OF_THE_KERNEL: [Self; 4] = [Self::Rapl, Self::Perf, Self::Hwmon, Self::Battery];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Rapl => "rapl",
            Self::Perf => "perf",
            Self::Hwmon => "hwmon",
            Self::Battery => "battery",
            Self::SmartPower2 => "smartpower2",
            Self::SmartPower3 => "smartpower3",
            Self::Csv => "csv",
        }
    }
}

impl MeterName {
    /// Parses a name given by the user.
    ///
    /// # Errors
    /// `Invalid`, with the known kinds.
    pub fn of(typed: &str) -> Result<Self> {
        let (name, path) =
            typed.split_once(':').map_or((typed, None), |(name, path)| (name, Some(path)));
        let kind =
            MeterKind::ALL.into_iter().find(|kind| kind.name() == name).ok_or_else(|| {
                let names: Vec<&str> = MeterKind::ALL.iter().map(|kind| kind.name()).collect();
                Error::Invalid(format!(
                    "unknown meter {name:?}; expected one of {}",
                    names.join(", ")
                ))
            })?;
        let path = path.map(str::to_owned).filter(|path| !path.is_empty());
        match kind {
            MeterKind::SmartPower2 if path.is_none() => Err(Error::Invalid(
                "smartpower2 needs a serial line, or its address: smartpower2:/dev/ttyUSB0, \
                 smartpower2:192.168.4.1:23"
                    .to_owned(),
            )),
            MeterKind::SmartPower3 if path.is_none() => Err(Error::Invalid(
                "smartpower3 needs a serial line, or udp: smartpower3:/dev/ttyUSB0, \
                 smartpower3:udp, smartpower3:udp:6001"
                    .to_owned(),
            )),
            MeterKind::Csv if path.is_none() => {
                Err(Error::Invalid("csv needs a file: csv:log.csv".to_owned()))
            }
            _ => Ok(Self { kind, path }),
        }
    }
}

/// Tries every kind of meter. All meters are closed again.
pub fn meters(root: &Root) -> Vec<MeterSupport> {
    let look = |kind| {
        let name = MeterName { kind, path: None };
        let meter = match kind {
            MeterKind::SmartPower2 | MeterKind::SmartPower3 => smart_powers(root),
            MeterKind::Csv => Support::no("give a file: csv:FILE"),
            _ => match find(root, &name, None, &Stop::default()) {
                Ok(meter) => meter.map(|meter| meter.about().clone()),
                Err(error) => Support::No(error.to_string()),
            },
        };
        MeterSupport { kind, meter }
    };
    MeterKind::ALL.map(look).into()
}

/// The device on a serial line is unknown until the line is read.
fn smart_powers(root: &Root) -> Support<About> {
    let names = root.list("/dev").unwrap_or_default();
    let lines =
        names.iter().filter(|name| name.starts_with("ttyUSB") || name.starts_with("ttyACM"));
    let lines: Vec<String> = lines.map(|name| format!("/dev/{name}")).collect();
    Support::No(if lines.is_empty() {
        "/dev has no USB serial line".to_owned()
    } else {
        format!("may be at {}: name the line", lines.join(", "))
    })
}

/// Opens a meter. Datagrams are received on `listen`, by default on the
/// loopback address. `stop` ends the wait for a recording that is a pipe.
///
/// # Errors
/// The reason why an existing meter cannot be used.
pub fn find(
    root: &Root,
    name: &MeterName,
    listen: Option<IpAddr>,
    stop: &Stop,
) -> Result<Support<Box<dyn Meter>>> {
    let path = name.path.as_deref();
    match name.kind {
        MeterKind::Rapl => rapl::open(root, path),
        MeterKind::Perf => perf::open(root),
        MeterKind::Hwmon => hwmon::open(root, path),
        MeterKind::Battery => battery::open(root, path),
        MeterKind::SmartPower2 | MeterKind::SmartPower3 => {
            let path = path.unwrap_or_default();
            let is_2 = name.kind == MeterKind::SmartPower2;
            let format = if is_2 { Format::SmartPower2 } else { Format::SmartPower3 };
            let covers = if is_2 { "its output" } else { "both outputs together" };
            let input = input(root, path, is_2, listen.unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST)))?;
            let about = About {
                name: name.kind.name().to_owned(),
                source: path.to_owned(),
                origin: Origin::Measured,
                covers: covers.to_owned(),
            };
            Ok(Support::Yes(Box::new(Stream::open(about, input, format)?)))
        }
        MeterKind::Csv => {
            let path = PathBuf::from(path.unwrap_or_default());
            Ok(Support::Yes(Box::new(Replay::open(&path, stop)?)))
        }
    }
}

/// Opens the first meter of the kernel that works here; if none does, `No` has
/// every reason.
pub fn first(root: &Root, stop: &Stop) -> Support<Box<dyn Meter>> {
    let mut reasons = Vec::new();
    for kind in MeterKind::OF_THE_KERNEL {
        let reason = match find(root, &MeterName { kind, path: None }, None, stop) {
            Ok(Support::Yes(meter)) => return Support::Yes(meter),
            Ok(Support::No(reason)) => reason,
            Err(error) => error.to_string(),
        };
        reasons.push(format!("{}: {reason}", kind.name()));
    }
    Support::No(reasons.join("; "))
}

/// The source of a `SmartPower`'s lines: a serial line, its console, or its
/// datagrams.
fn input(root: &Root, path: &str, is_2: bool, listen: IpAddr) -> Result<Input> {
    if path.starts_with('/') {
        let (line, baud) = path.rsplit_once('@').unwrap_or((path, ""));
        let usual = if is_2 { BAUD_2 } else { BAUD_3 };
        let wrong =
            |_| Error::Invalid(format!("{baud:?} in {path:?} is not a speed such as 115200"));
        let baud = if baud.is_empty() { usual } else { baud.parse().map_err(wrong)? };
        return serial::open_line(root, Path::new(line), baud).map(Input::Line);
    }
    if is_2 {
        let failed = |error| Error::file("connect to", path, error);
        let address = path.to_socket_addrs().map_err(failed)?.next();
        let address = address
            .ok_or_else(|| Error::Invalid(format!("{path:?} is not an address with a port")))?;
        return TcpStream::connect_timeout(&address, CONNECT)
            .map(Input::Connection)
            .map_err(failed);
    }
    let port = match path.split_once(':').unwrap_or((path, "")) {
        ("udp", "") => UDP_PORT,
        ("udp", port) => port.parse().map_err(|_| {
            Error::Invalid(format!("{port:?} in {path:?} is not a port such as 6000"))
        })?,
        _ => {
            return Err(Error::Invalid(format!(
                "{path:?} is neither a serial line in /dev, nor udp or udp:PORT"
            )));
        }
    };
    let socket = UdpSocket::bind((listen, port));
    socket
        .map(Input::Datagrams)
        .map_err(|error| Error::file("listen to", format!("{listen} port {port}"), error))
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::net::TcpListener;
    use std::sync::mpsc::{self, RecvTimeoutError};
    use std::thread;

    use super::*;
    use crate::energy::tests::Machine;

    #[test]
    fn meters_are_named_by_kind_and_location() {
        let name = |kind, path: Option<&str>| MeterName { kind, path: path.map(str::to_owned) };
        assert_eq!(MeterName::of("rapl").unwrap(), name(MeterKind::Rapl, None));
        assert_eq!(
            MeterName::of("smartpower3:udp:7000").unwrap(),
            name(MeterKind::SmartPower3, Some("udp:7000"))
        );
        for wrong in ["", "watt", "csv", "csv:", "smartpower2", "smartpower3:"] {
            assert!(MeterName::of(wrong).is_err(), "{wrong}");
        }
        let error = MeterName::of("x").unwrap_err().to_string();
        assert!(error.ends_with("rapl, perf, hwmon, battery, smartpower2, smartpower3, csv"));
    }

    #[test]
    fn every_kind_has_its_reason_on_a_machine_without_meters() {
        let machine = Machine::with(&[("dev/ttyUSB0", "")]);
        let found = meters(&machine.root());
        assert_eq!(found.iter().map(|found| found.kind).collect::<Vec<_>>(), MeterKind::ALL);
        for found in &found {
            assert!(found.meter.reason().is_some_and(|reason| !reason.is_empty()), "{found:?}");
        }
        assert_eq!(found[5].meter.reason(), Some("may be at /dev/ttyUSB0: name the line"));
    }

    #[test]
    fn an_available_meter_is_described() {
        let machine = Machine::with(&[
            ("sys/class/hwmon/hwmon1/name", "ina226"),
            ("sys/class/hwmon/hwmon1/power1_input", "3000000"),
        ]);
        let found = meters(&machine.root());
        let about: Vec<About> = found.into_iter().filter_map(|found| found.meter.yes()).collect();
        assert_eq!(about.len(), 1);
        assert_eq!((about[0].name.as_str(), about[0].covers.as_str()), ("hwmon", "ina226 power1"));
    }

    #[test]
    fn a_smart_power_2_can_be_connected_to() {
        let console = TcpListener::bind("127.0.0.1:0").unwrap();
        let name =
            MeterName::of(&format!("smartpower2:{}", console.local_addr().unwrap())).unwrap();
        // On a busy machine, lines may be read several at a time, and then only one counts.
        let (enough, is_enough) = mpsc::channel::<()>();
        let sending = thread::spawn(move || {
            let (mut connection, _) = console.accept().unwrap();
            let goes_on = RecvTimeoutError::Timeout;
            while is_enough.recv_timeout(Duration::from_millis(5)) == Err(goes_on) {
                connection.write_all(b"5.0,0.4,2.0,0.001\r\n5.000,0.400,2.000,0.001\r\n").unwrap();
            }
        });
        let mut meter =
            find(&Root::system(), &name, None, &Stop::default()).unwrap().yes().unwrap();
        while meter.read().unwrap().samples.good < 3 {
            thread::sleep(Duration::from_millis(1));
        }
        drop(enough);
        sending.join().unwrap();
        while meter.read().unwrap().ended.is_none() {
            thread::sleep(Duration::from_millis(1));
        }
        let last = meter.read().unwrap();
        assert!(last.ended.clone().unwrap().reason.ends_with("was closed"), "{last:?}");
        assert!(last.samples.good >= 3 && last.energy.0 > 0.0, "{last:?}");
    }

    #[test]
    fn wrong_addresses_are_reported() {
        for (typed, expected) in [
            ("smartpower3:udp:x", "is not a port"),
            ("smartpower3:tcp", "neither a serial line"),
            ("smartpower3:/dev/ttyUSB0@fast", "is not a speed"),
            ("smartpower2:nowhere", "cannot connect to nowhere"),
            ("csv:none.csv", "cannot read none.csv"),
        ] {
            let machine = Machine::with(&[]);
            let found =
                find(&machine.root(), &MeterName::of(typed).unwrap(), None, &Stop::default());
            let error = found.err().unwrap().to_string();
            assert!(error.contains(expected), "{typed}: {error}");
        }
    }
}
