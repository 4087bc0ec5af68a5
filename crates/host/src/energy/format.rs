//! Parses the lines of meters, each of which is one sample.

use unjank_units::{Nanos, Watts};

/// Why a line is not a sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum LineError {
    /// The columns are not those of the meter.
    #[error("its columns are not those of this meter")]
    Form,
    /// The checksum does not match.
    #[error("its checksum is wrong")]
    Checksum,
}

/// One sample.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sample {
    /// The third column of a `SmartPower2`; the sum of both outputs of a `SmartPower3`.
    pub power: Watts,
    /// The moment on the meter's own clock, if the line has one.
    pub clock: Option<Nanos>,
}

/// The form of a meter's lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Hardkernel's `SmartPower2` (`smartpower2.ino`): volts, amperes, watts and
    /// watt hours, each with three decimals.
    SmartPower2,
    /// Hardkernel's `SmartPower3` (`smartpower3.ino`): 17 columns, of which the
    /// last two are checksums.
    SmartPower3,
}

/// The number of columns of a `SmartPower3`.
const COLUMNS: usize = 17;
/// The length of the part that is summed, with the comma.
const SUMMED: usize = 74;
/// The length of a line, without its end.
const LENGTH: usize = 79;

impl Format {
    /// Parses one line, without its end.
    ///
    /// # Errors
    /// The fault of the line.
    pub fn parse(self, line: &str) -> Result<Sample, LineError> {
        match self {
            Self::SmartPower2 => smart_power_2(line),
            Self::SmartPower3 => smart_power_3(line),
        }
    }
}

/// Parses `5.100,0.250,1.275,0.001`.
fn smart_power_2(line: &str) -> Result<Sample, LineError> {
    let numbers: Vec<f64> =
        line.split(',').map(decimal).collect::<Option<_>>().ok_or(LineError::Form)?;
    let [_volts, _amperes, watts, _watt_hours] = numbers[..] else { return Err(LineError::Form) };
    Ok(Sample { power: Watts(watts), clock: None })
}

/// Parses digits with a point, as the meter prints them.
fn decimal(text: &str) -> Option<f64> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let (whole, fraction) = digits.split_once('.')?;
    let fits = |part: &str| {
        (1..=9).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit())
    };
    (fits(whole) && fits(fraction)).then(|| text.parse().ok()).flatten()
}

/// Columns: milliseconds since the meter was switched on; input mV, mA, mW and
/// whether it is low; for both outputs mV, mA, mW, on, interrupts; the
/// checksums. The power is the sum of both outputs.
fn smart_power_3(line: &str) -> Result<Sample, LineError> {
    if line.len() != LENGTH || !line.is_ascii() {
        return Err(LineError::Form);
    }
    let columns: Vec<&str> = line.split(',').collect();
    if columns.len() != COLUMNS {
        return Err(LineError::Form);
    }
    let (summed, _) = line.split_at(SUMMED);
    let hexadecimal = |column: &str| u8::from_str_radix(column, 16).ok();
    if [hexadecimal(columns[15]), hexadecimal(columns[16])] != checksums(summed).map(Some) {
        return Err(LineError::Checksum);
    }
    let number = |column: &str| column.parse::<u64>().map_err(|_| LineError::Form);
    let milliwatts = |column: usize| number(columns[column]);
    let power = milliwatts(7)?.saturating_add(milliwatts(12)?);
    Ok(Sample {
        power: Watts::from_milliwatts(power as f64),
        clock: Some(Nanos::from_millis(number(columns[0])?)),
    })
}

/// The two checksums over `text`: the two's complement of the sum of its
/// bytes, and their exclusive or.
fn checksums(text: &str) -> [u8; 2] {
    let sum = text.bytes().fold(0, u8::wrapping_add);
    [sum.wrapping_neg(), text.bytes().fold(0, |xor, byte| xor ^ byte)]
}

/// Splits a stream of bytes into lines.
#[derive(Debug, Default)]
pub struct Lines {
    pending: Vec<u8>,
    /// Whether the current line is longer than any line of a meter.
    endless: bool,
}

/// The longest line of a meter.
const LONGEST: usize = 256;

impl Lines {
    /// Takes `bytes`, and calls `tell` with every line that they complete; with
    /// `None` for a line that is too long or not text.
    pub fn take(&mut self, bytes: &[u8], mut tell: impl FnMut(Option<&str>)) {
        for &byte in bytes {
            if byte == b'\n' {
                let line = self.pending.strip_suffix(b"\r").unwrap_or(&self.pending);
                let line = std::str::from_utf8(line).ok().filter(|_| !self.endless);
                tell(line);
                self.pending.clear();
                self.endless = false;
            } else if self.pending.len() == LONGEST {
                self.endless = true;
            } else {
                self.pending.push(byte);
            }
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use proptest::prelude::*;

    use super::*;

    /// As the firmware prints it.
    pub(crate) fn line_of_smart_power_3(millis: u64, milliwatts: [u32; 2]) -> String {
        let [one, other] = milliwatts;
        let summed = format!(
            "{millis:010},15261,0205,03134,0,05103,0250,{one:05},1,00,00000,0000,{other:05},0,00,"
        );
        let [sum, xor] = checksums(&summed);
        format!("{summed}{sum:02x},{xor:02x}")
    }

    #[test]
    fn a_smart_power_2_prints_volts_amperes_watts_and_watt_hours() {
        let sample = Format::SmartPower2.parse("5.103,0.250,1.275,0.001").unwrap();
        assert_eq!(sample, Sample { power: Watts(1.275), clock: None });
        for wrong in [
            "",
            "5.103,0.250,1.275",
            "5.103,0.250,x,0.001",
            "1.0,1.0,nan,1.0",
            "1.0,2.0,3e9,1.0",
            "1.0,2.0,.5,1.0",
        ] {
            assert_eq!(Format::SmartPower2.parse(wrong), Err(LineError::Form), "{wrong}");
        }
    }

    /// The checksums were computed independently, with python3: `-sum(s) % 256`
    /// and `functools.reduce(operator.xor, s)`.
    #[test]
    fn a_smart_power_3_needs_both_checksums() {
        let golden = include_str!("../../fixtures/energy/smartpower3.log");
        let samples: Vec<Sample> = golden
            .lines()
            .map(|line| {
                Format::SmartPower3.parse(line).unwrap_or_else(|error| panic!("{line}: {error}"))
            })
            .collect();
        let found: Vec<(f64, u64)> = samples
            .iter()
            .map(|sample| (sample.power.0, sample.clock.unwrap().get() / 1_000_000))
            .collect();
        assert_eq!(found, [(1.275, 411_385), (1.28, 411_390), (13.1, 411_395)]);
        let line = golden.lines().next().unwrap();
        for index in 0..SUMMED {
            let mut other = line.as_bytes().to_vec();
            other[index] ^= 1;
            let other = String::from_utf8(other).unwrap();
            assert!(Format::SmartPower3.parse(&other).is_err(), "{other}");
        }
        // Two errors that cancel out in the sum do not in the exclusive or.
        let swapped = line.replacen("15261", "25260", 1);
        assert_eq!(Format::SmartPower3.parse(&swapped), Err(LineError::Checksum));
        assert_eq!(Format::SmartPower3.parse(&line[1..]), Err(LineError::Form));
    }

    #[test]
    fn lines_are_split_wherever_pieces_end() {
        let mut lines = Lines::default();
        let mut found = Vec::new();
        for bytes in [&b"ne\r\none\r"[..], b"\ntwo", b"\n\xff\n", &[b'x'; 400], b"\nlast\n"] {
            lines.take(bytes, |line| found.push(line.map(str::to_owned)));
        }
        let found: Vec<Option<&str>> = found.iter().map(Option::as_deref).collect();
        assert_eq!(found, [Some("ne"), Some("one"), Some("two"), None, None, Some("last")]);
    }

    proptest! {
        #[test]
        fn lines_of_a_smart_power_3_are_parsed(millis in 0_u64..9_999_999_999, one in 0_u32..99_999, other in 0_u32..99_999) {
            let line = line_of_smart_power_3(millis, [one, other]);
            let sample = Format::SmartPower3.parse(&line).unwrap();
            prop_assert_eq!(sample.clock, Some(Nanos::from_millis(millis)));
            prop_assert!((sample.power.0 * 1e3 - f64::from(one + other)).abs() < 1e-6);
        }

        #[test]
        fn lines_of_a_smart_power_2_are_parsed(volts in 0.0..20.0_f64, amperes in 0.0..5.0_f64) {
            let line = format!("{volts:.3},{amperes:.3},{:.3},0.000", volts * amperes);
            let sample = Format::SmartPower2.parse(&line).unwrap();
            prop_assert!((sample.power.0 - volts * amperes).abs() <= 0.000_501);
        }

        #[test]
        fn any_bytes_are_lines_or_damage(bytes in prop::collection::vec(any::<u8>(), 0..2_000)) {
            let mut lines = Lines::default();
            lines.take(&bytes, |line| {
                assert!(line.is_none_or(|line| line.len() <= LONGEST));
                for format in [Format::SmartPower2, Format::SmartPower3] {
                    let _any = line.map(|line| format.parse(line));
                }
            });
        }
    }
}
