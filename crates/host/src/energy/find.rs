//! Which meters there are here, and opening one by what was typed.

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

/// The speed of a `SmartPower2`'s serial line.
const BAUD_2: u32 = 115_200;
/// That of a `SmartPower3`'s.
const BAUD_3: u32 = 921_600;
/// The port to which a `SmartPower3` sends datagrams.
const UDP_PORT: u16 = 6_000;
/// How long a connection to a `SmartPower2` may take.
const CONNECT: Duration = Duration::from_secs(5);

/// A meter as it is typed: `rapl`, `hwmon:hwmon2/power1`,
/// `smartpower3:/dev/ttyUSB0`, `csv:log.csv`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Its kind.
    pub kind: Kind,
    /// What follows the colon.
    pub path: Option<String>,
}

/// The kinds of meters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Counters of the processor, through powercap.
    Rapl,
    /// The same, through perf events.
    Perf,
    /// Sensors on the board.
    Hwmon,
    /// The battery's gauge.
    Battery,
    /// Hardkernel's `SmartPower2`.
    SmartPower2,
    /// Hardkernel's `SmartPower3`.
    SmartPower3,
    /// A recording.
    Csv,
}

/// Whether one kind of meter is here.
#[derive(Debug)]
pub struct Found {
    /// Which one.
    pub kind: Kind,
    /// What it is; or why it is not here, or cannot be used.
    pub meter: Support<About>,
}

impl Kind {
    /// All, those first that are preferred.
    pub const ALL: [Self; 7] = [
        Self::Rapl,
        Self::Perf,
        Self::Hwmon,
        Self::Battery,
        Self::SmartPower2,
        Self::SmartPower3,
        Self::Csv,
    ];

    /// As it is typed.
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

impl Place {
    /// Reads what was typed.
    ///
    /// # Errors
    /// `Invalid` names the kinds that there are.
    pub fn of(typed: &str) -> Result<Self> {
        let (name, path) =
            typed.split_once(':').map_or((typed, None), |(name, path)| (name, Some(path)));
        let kind = Kind::ALL.into_iter().find(|kind| kind.name() == name).ok_or_else(|| {
            let names: Vec<&str> = Kind::ALL.iter().map(|kind| kind.name()).collect();
            Error::Invalid(format!("there is no meter {name:?}, only {}", names.join(", ")))
        })?;
        let path = path.map(str::to_owned).filter(|path| !path.is_empty());
        match kind {
            Kind::SmartPower2 if path.is_none() => Err(Error::Invalid(
                "smartpower2 needs a serial line, or its address: smartpower2:/dev/ttyUSB0, \
                 smartpower2:192.168.4.1:23"
                    .to_owned(),
            )),
            Kind::SmartPower3 if path.is_none() => Err(Error::Invalid(
                "smartpower3 needs a serial line, or udp: smartpower3:/dev/ttyUSB0, \
                 smartpower3:udp, smartpower3:udp:6001"
                    .to_owned(),
            )),
            Kind::Csv if path.is_none() => {
                Err(Error::Invalid("csv needs a file: csv:log.csv".to_owned()))
            }
            _ => Ok(Self { kind, path }),
        }
    }
}

/// Every kind of meter, and whether it is here. None of them is left open.
pub fn meters(root: &Root) -> Vec<Found> {
    let look = |kind| {
        let place = Place { kind, path: None };
        let meter = match kind {
            Kind::SmartPower2 | Kind::SmartPower3 => smart_powers(root),
            Kind::Csv => Support::no("it is a file: csv:FILE"),
            _ => match find(root, &place, None, &Stop::default()) {
                Ok(meter) => meter.map(|meter| meter.about().clone()),
                Err(error) => Support::No(error.to_string()),
            },
        };
        Found { kind, meter }
    };
    Kind::ALL.map(look).into()
}

/// Nobody can tell what is at the other end of a serial line without
/// listening to it.
fn smart_powers(root: &Root) -> Support<About> {
    let names = root.list("/dev").unwrap_or_default();
    let lines =
        names.iter().filter(|name| name.starts_with("ttyUSB") || name.starts_with("ttyACM"));
    let lines: Vec<String> = lines.map(|name| format!("/dev/{name}")).collect();
    Support::No(if lines.is_empty() {
        "there is no serial line of USB in /dev".to_owned()
    } else {
        format!("one may be at {}: say which", lines.join(", "))
    })
}

/// Opens a meter. Datagrams are listened for on `listen`, and on the loopback
/// address if that is not given. `stop` ends the wait for a recording that is a pipe.
///
/// # Errors
/// What is in the way of using a meter that is there.
pub fn find(
    root: &Root,
    place: &Place,
    listen: Option<IpAddr>,
    stop: &Stop,
) -> Result<Support<Box<dyn Meter>>> {
    let path = place.path.as_deref();
    match place.kind {
        Kind::Rapl => rapl::open(root, path),
        Kind::Perf => perf::open(root),
        Kind::Hwmon => hwmon::open(root, path),
        Kind::Battery => battery::open(root, path),
        Kind::SmartPower2 | Kind::SmartPower3 => {
            let path = path.unwrap_or_default();
            let is_2 = place.kind == Kind::SmartPower2;
            let format = if is_2 { Format::SmartPower2 } else { Format::SmartPower3 };
            let covers = if is_2 { "its output" } else { "both outputs together" };
            let input = input(root, path, is_2, listen.unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST)))?;
            let about = About {
                name: place.kind.name().to_owned(),
                source: path.to_owned(),
                origin: Origin::Measured,
                covers: covers.to_owned(),
            };
            Ok(Support::Yes(Box::new(Stream::open(about, input, format)?)))
        }
        Kind::Csv => {
            let path = PathBuf::from(path.unwrap_or_default());
            Ok(Support::Yes(Box::new(Replay::open(&path, stop)?)))
        }
    }
}

/// Where the lines of a `SmartPower` come from: a serial line, its console, or
/// its datagrams.
fn input(root: &Root, path: &str, is_2: bool, listen: IpAddr) -> Result<Input> {
    if path.starts_with('/') {
        let (line, baud) = path.rsplit_once('@').unwrap_or((path, ""));
        let usual = if is_2 { BAUD_2 } else { BAUD_3 };
        let wrong = |_| Error::Invalid(format!("{baud:?} in {path:?} is no speed, such as 115200"));
        let baud = if baud.is_empty() { usual } else { baud.parse().map_err(wrong)? };
        return serial::open_line(root, Path::new(line), baud).map(Input::Line);
    }
    if is_2 {
        let failed = |error| Error::file("connect to", path, error);
        let address = path.to_socket_addrs().map_err(failed)?.next();
        let address =
            address.ok_or_else(|| Error::Invalid(format!("{path:?} is no address and port")))?;
        return TcpStream::connect_timeout(&address, CONNECT)
            .map(Input::Connection)
            .map_err(failed);
    }
    let port = match path.split_once(':').unwrap_or((path, "")) {
        ("udp", "") => UDP_PORT,
        ("udp", port) => port.parse().map_err(|_| {
            Error::Invalid(format!("{port:?} in {path:?} is no port, such as 6000"))
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
    use std::thread;

    use super::*;
    use crate::energy::tests::Machine;

    #[test]
    fn meters_are_named_with_their_places() {
        let place = |kind, path: Option<&str>| Place { kind, path: path.map(str::to_owned) };
        assert_eq!(Place::of("rapl").unwrap(), place(Kind::Rapl, None));
        assert_eq!(
            Place::of("smartpower3:udp:7000").unwrap(),
            place(Kind::SmartPower3, Some("udp:7000"))
        );
        for wrong in ["", "watt", "csv", "csv:", "smartpower2", "smartpower3:"] {
            assert!(Place::of(wrong).is_err(), "{wrong}");
        }
        let error = Place::of("x").unwrap_err().to_string();
        assert!(error.ends_with("rapl, perf, hwmon, battery, smartpower2, smartpower3, csv"));
    }

    #[test]
    fn every_kind_has_its_reason_on_a_machine_without_meters() {
        let machine = Machine::with(&[("dev/ttyUSB0", "")]);
        let found = meters(&machine.root());
        assert_eq!(found.iter().map(|found| found.kind).collect::<Vec<_>>(), Kind::ALL);
        for found in &found {
            assert!(found.meter.reason().is_some_and(|reason| !reason.is_empty()), "{found:?}");
        }
        assert_eq!(found[5].meter.reason(), Some("one may be at /dev/ttyUSB0: say which"));
    }

    #[test]
    fn a_meter_that_is_here_says_what_it_is() {
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
        let place = Place::of(&format!("smartpower2:{}", console.local_addr().unwrap())).unwrap();
        let sending = thread::spawn(move || {
            let (mut connection, _) = console.accept().unwrap();
            for _ in 0..3 {
                connection.write_all(b"5.0,0.4,2.0,0.001\r\n5.000,0.400,2.000,0.001\r\n").unwrap();
                thread::sleep(Duration::from_millis(5));
            }
        });
        let mut meter =
            find(&Root::system(), &place, None, &Stop::default()).unwrap().yes().unwrap();
        sending.join().unwrap();
        while meter.read().unwrap().ended.is_none() {
            thread::sleep(Duration::from_millis(1));
        }
        let last = meter.read().unwrap();
        assert!(last.ended.clone().unwrap().reason.ends_with("was closed"), "{last:?}");
        assert!(last.samples.good >= 3 && last.energy.0 > 0.0, "{last:?}");
    }

    #[test]
    fn addresses_that_are_none_are_told() {
        for (typed, told) in [
            ("smartpower3:udp:x", "is no port"),
            ("smartpower3:tcp", "neither a serial line"),
            ("smartpower3:/dev/ttyUSB0@fast", "is no speed"),
            ("smartpower2:nowhere", "cannot connect to nowhere"),
            ("csv:none.csv", "cannot read none.csv"),
        ] {
            let machine = Machine::with(&[]);
            let found = find(&machine.root(), &Place::of(typed).unwrap(), None, &Stop::default());
            let error = found.err().unwrap().to_string();
            assert!(error.contains(told), "{typed}: {error}");
        }
    }
}
