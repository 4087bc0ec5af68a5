//! Parses tunables: `sampling_rate=50ms`, `up_threshold=60..95`.

use std::fmt;
use std::str::FromStr;

use unjank_launch::model::tunable::Measure;
use unjank_launch::model::{Tunable, Write};
use unjank_launch::simulate::Sweep;

use crate::values;

/// Default number of values of a sweep.
const STEPS: u32 = 20;

/// A tunable and its value.
#[derive(Debug, Clone, Copy)]
pub(super) struct Assignment(pub(super) Write);

/// A tunable and its values.
#[derive(Debug, Clone)]
pub(super) struct Range(pub(super) Sweep);

impl FromStr for Assignment {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (tunable, value) = named(text)?;
        Ok(Self(Write { tunable, value: number(tunable, value)? }))
    }
}

impl FromStr for Range {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (tunable, range) = named(text)?;
        let (range, steps) = match range.split_once('/') {
            Some((range, steps)) => {
                let steps = steps.parse().ok().filter(|steps| (2..=10_000).contains(steps));
                (range, steps.ok_or("expected the number of values after the slash, 2 to 10000")?)
            }
            None => (range, STEPS),
        };
        let (least, most) = range
            .split_once("..")
            .ok_or("expected values such as 10ms..200ms, or 10ms..200ms/8")?;
        let (least, most) = (number(tunable, least)?, number(tunable, most)?);
        if least >= most {
            return Err("a range begins with its smaller value".to_owned());
        }
        Ok(Self(Sweep::even(tunable, least, most, steps)))
    }
}

/// In the units of the tunable's file: `up_threshold=60..95/36`.
impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Sweep { tunable, values } = &self.0;
        let (least, most) = (values.first().unwrap_or(&0), values.last().unwrap_or(&0));
        write!(f, "{tunable}={least}..{most}/{}", values.len())
    }
}

fn named(text: &str) -> Result<(Tunable, &str), String> {
    let (name, value) =
        text.split_once('=').ok_or("expected NAME=VALUE, such as sampling_rate=50ms")?;
    let tunable = Tunable::named(name.trim()).ok_or_else(|| {
        let known: Vec<&str> = Tunable::ALL.iter().map(|tunable| tunable.name()).collect();
        format!("unknown tunable {name:?}; expected one of {}", known.join(", "))
    })?;
    Ok((tunable, value.trim()))
}

/// A bare number is in the unit of the file.
fn number(tunable: Tunable, text: &str) -> Result<u32, String> {
    if let Ok(number) = text.parse() {
        return Ok(number);
    }
    match tunable.measure() {
        Measure::Micros => values::duration(text)
            .map(|time| tunable.of_time(time).unwrap_or(u32::MAX))
            .map_err(|_| format!("{tunable} is a time such as 50ms, or microseconds")),
        Measure::Khz => {
            let megahertz = text.strip_suffix("MHz").and_then(|mhz| mhz.trim().parse::<u32>().ok());
            megahertz
                .and_then(|mhz| mhz.checked_mul(1_000))
                .ok_or_else(|| format!("{tunable} is a frequency such as 800MHz, or kilohertz"))
        }
        Measure::Plain => Err(format!("{tunable} is a whole number")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_their_units() {
        let value = |text: &str| text.parse::<Assignment>().map(|it| it.0.value);
        assert_eq!(value("sampling_rate=50ms"), Ok(50_000));
        assert_eq!(value("sampling_rate=50000"), Ok(50_000));
        assert_eq!(value("up_threshold=80"), Ok(80));
        assert_eq!(value("hispeed_freq=800MHz"), Ok(800_000));
        assert!(value("up_threshold=80%").unwrap_err().contains("whole number"));
        assert!(value("threshold=80").unwrap_err().contains("expected one of sampling_rate"));
        assert!(value("sampling_rate").is_err());
    }

    #[test]
    fn ranges_have_two_ends_and_steps() {
        let range: Range = "sampling_rate=10ms..200ms".parse().unwrap();
        assert_eq!(range.to_string(), "sampling_rate=10000..200000/20");
        assert_eq!("up_threshold=60..95/8".parse::<Range>().unwrap().0.values.len(), 8);
        for wrong in ["up_threshold=60", "up_threshold=95..60", "up_threshold=60..95/1"] {
            assert!(wrong.parse::<Range>().is_err(), "{wrong}");
        }
    }
}
