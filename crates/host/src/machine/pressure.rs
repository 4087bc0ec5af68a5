//! Pressure stall information: `Documentation/accounting/psi.rst`.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::root::Root;
use crate::support::Support;
use unjank_units::Nanos;

/// Pressure stall information of the whole machine: `/proc/pressure`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Pressure {
    /// Waiting for a CPU.
    pub cpu: Stall,
    /// Waiting for memory.
    pub memory: Stall,
    /// Waiting for I/O.
    pub io: Stall,
}

/// One pressure file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Stall {
    /// Share of the last 10 s in which some task waited, in percent.
    pub some_avg10: f64,
    /// Share of the last 10 s in which all tasks waited, in percent.
    pub full_avg10: f64,
    /// Total time in which some task waited, since boot.
    pub some_total: Nanos,
    /// Total time in which all tasks waited, since boot.
    pub full_total: Nanos,
}

/// Reads `/proc/pressure`; `No` on a kernel without it.
///
/// # Errors
/// `Parse` with the file and the line.
pub fn read(root: &Root) -> Result<Support<Pressure>> {
    let stall = |resource: &str| {
        let path = format!("/proc/pressure/{resource}");
        root.read_if_there(&path)?.map(|text| Stall::parse(&text, &path)).transpose()
    };
    Ok(match (stall("cpu")?, stall("memory")?, stall("io")?) {
        (Some(cpu), Some(memory), Some(io)) => Support::Yes(Pressure { cpu, memory, io }),
        _ => Support::no(
            "no /proc/pressure: the kernel is older than 4.20, was built without PSI, \
             or needs psi=1 on its command line",
        ),
    })
}

impl Stall {
    /// Parses lines such as `some avg10=0.65 avg60=0.40 avg300=0.42
    /// total=16941926`, with the total in microseconds. Kernels before 5.13
    /// have no `full` line for the CPU.
    pub(crate) fn parse(text: &str, path: &str) -> Result<Self> {
        let mut stall = Self::default();
        for (number, line) in text.lines().enumerate() {
            let wrong = |what: &str| Error::parse(path, number + 1, what);
            let mut words = line.split_whitespace();
            let (average, total) = match words.next() {
                Some("some") => (&mut stall.some_avg10, &mut stall.some_total),
                Some("full") => (&mut stall.full_avg10, &mut stall.full_total),
                _ => return Err(wrong("expected a line that begins with some or full")),
            };
            for word in words {
                match word.split_once('=') {
                    Some(("avg10", value)) => {
                        *average = percentage(value)
                            .ok_or_else(|| wrong("expected a percentage after avg10="))?;
                    }
                    Some(("total", value)) => {
                        let micros = value
                            .parse()
                            .map_err(|_| wrong("expected a number of microseconds after total="))?;
                        *total = Nanos::from_micros(micros);
                    }
                    Some(_) => {}
                    None => return Err(wrong("expected words such as avg10=0.00")),
                }
            }
        }
        Ok(stall)
    }
}

/// A number that JSON can represent: not `inf`, not `NaN`.
fn percentage(text: &str) -> Option<f64> {
    text.parse().ok().filter(|share: &f64| share.is_finite() && *share >= 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Stall> {
        Stall::parse(text, "/proc/pressure/io")
    }

    #[test]
    fn both_lines_are_read() {
        let stall = parse(
            "some avg10=1.52 avg60=1.00 avg300=0.42 total=9779411\n\
             full avg10=1.38 avg60=0.92 avg300=0.39 total=9219475",
        )
        .unwrap();
        assert_eq!(
            stall,
            Stall {
                some_avg10: 1.52,
                full_avg10: 1.38,
                some_total: Nanos(9_779_411_000),
                full_total: Nanos(9_219_475_000),
            }
        );
    }

    #[test]
    fn errors_name_the_line() {
        let message = |text: &str| parse(text).unwrap_err().to_string();
        assert_eq!(
            message("some avg10=0.00 total=1\nhalf avg10=1"),
            "cannot parse /proc/pressure/io, line 2: expected a line that begins with some or full"
        );
        for text in
            ["some avg10=NaN", "some avg10=inf", "some avg10=-1", "some total=1.5", "full x"]
        {
            assert!(message(text).contains("line 1"), "{text}");
        }
    }

    #[test]
    fn a_kernel_without_psi_is_not_an_error() {
        let pressure = read(&Root::at("/nowhere")).unwrap();
        assert!(pressure.reason().unwrap().contains("psi=1"));
    }
}
