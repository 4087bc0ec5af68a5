//! Replays recordings of meters: tables with a moment and a power, or a voltage
//! and a current, in each line.
//!
//! The first line names the columns, each with its unit after a `_` or in
//! brackets: `time_ms,volt_mV,ampere_mA`, `Time (s);Power (W)`. Without names,
//! four numbers are milliseconds, volts, amperes and watts, as the program of
//! `odroid-smartpower-linux` writes them for the ODROID `SmartPower`.

#[cfg(test)]
mod tests;

use std::io::{self, BufReader};
use std::path::Path;

use super::{About, Ended, Meter, Origin, Reading, Samples};
use crate::clock::Timestamp;
use crate::error::{Error, Result};
use crate::input::{Input, Stop, read_line};
use unjank_units::{Joules, Nanos, Watts};

/// The most samples of a recording. A week at 5 ms has 121 million, which would
/// take too long to read.
const MOST_SAMPLES: usize = 50_000_000;
const LONGEST_LINE: usize = 4_096;
const TOO_MUCH: &str = "more than a recording of a meter can hold";
/// Larger times in seconds, and powers in watts, are mistakes: 30,000 years,
/// and a power station.
const LONGEST_TIME: f64 = 1e12;
const LARGEST: f64 = 1e9;
/// The moment at which every recording begins.
const BEGIN: Timestamp = Timestamp::from_nanos(0);

/// A recording: the powers at moments since its beginning.
#[derive(Debug, Clone, PartialEq)]
pub struct Recorded {
    /// Powers in order of time.
    points: Vec<(Nanos, Watts)>,
    /// The energy up to each point.
    energies: Vec<Joules>,
    damaged: u64,
}

/// A meter that replays a recording. Time in it passes only when
/// [`pass`](Meter::pass) is called, and then at once.
#[derive(Debug)]
pub struct Replay {
    about: About,
    recorded: Recorded,
    now: Nanos,
}

impl Replay {
    /// Reads the recording in `path`, a file of the user's. `stop` ends the
    /// wait for a pipe.
    ///
    /// # Errors
    /// `File`; `Parse` with the line that is not a sample, and for a table
    /// without a time and a power.
    pub fn open(path: &Path, stop: &Stop) -> Result<Self> {
        let failed = |error| Error::file("read", path, error);
        let input = Input::open(path, stop).map_err(|error| failed(error).of_named_file())?;
        let mut input = BufReader::new(input);
        let mut table = Table::default();
        let mut line = Vec::new();
        while read_line(&mut input, &mut line, LONGEST_LINE).map_err(|error| {
            match error.kind() {
                io::ErrorKind::FileTooLarge => Error::parse(path, table.lines + 1, TOO_MUCH),
                _ => failed(error),
            }
        })? {
            let text = str::from_utf8(&line);
            let text = text.map_err(|_| Error::parse(path, table.lines + 1, "expected text"))?;
            table.line(text, path)?;
        }
        let about = About {
            name: "csv".to_owned(),
            source: path.display().to_string(),
            origin: Origin::Measured,
            covers: "the recorded device".to_owned(),
        };
        Ok(Self { about, recorded: table.finish(path)?, now: Nanos::ZERO })
    }

    /// The length of the recording.
    pub fn length(&self) -> Nanos {
        self.recorded.length()
    }
}

impl Meter for Replay {
    fn about(&self) -> &About {
        &self.about
    }

    fn read(&mut self) -> Result<Reading> {
        let end = self.length();
        let ended = (self.now > end)
            .then(|| Ended { at: BEGIN + end, reason: format!("the recording ended after {end}") });
        Ok(Reading { ended, ..self.recorded.reading(self.now) })
    }

    fn pass(&mut self, span: Nanos, stop: &dyn Fn() -> bool) -> bool {
        self.now = self.now + span;
        !stop()
    }
}

impl Recorded {
    /// Parses a whole table; `path` is for errors.
    ///
    /// # Errors
    /// As [`Replay::open`].
    pub fn parse(text: &str, path: &Path) -> Result<Self> {
        let mut table = Table::default();
        for line in text.lines() {
            table.line(line, path)?;
        }
        table.finish(path)
    }

    /// The time from the first sample to the last.
    pub fn length(&self) -> Nanos {
        self.points.last().map_or(Nanos::ZERO, |(at, _)| *at)
    }

    /// The reading that a meter would have given at `now` after its beginning.
    /// Between two samples the power is interpolated linearly.
    pub fn reading(&self, now: Nanos) -> Reading {
        let now = now.min(self.length());
        // There is at least one point, and the first one is at zero.
        let index = self.points.partition_point(|(at, _)| *at <= now) - 1;
        let (at, power) = self.points[index];
        let open = self.points.get(index + 1).map_or(Joules(0.0), |(next, then)| {
            let share = (now - at).as_secs_f64() / (*next - at).as_secs_f64();
            let reached = power.0 + (then.0 - power.0) * share;
            Watts(f64::midpoint(power.0, reached)).over(now - at)
        });
        let longest = self.points[..=index].windows(2).map(|pair| pair[1].0 - pair[0].0).max();
        Reading {
            at: BEGIN + now,
            energy: self.energies[index] + open,
            cpu: None,
            samples: Samples {
                good: index as u64 + 1,
                damaged: self.damaged,
                longest: longest.unwrap_or_default(),
                ..Samples::default()
            },
            ended: None,
        }
    }
}

/// The parser's state.
#[derive(Debug, Default)]
struct Table {
    lines: usize,
    columns: Option<Columns>,
    first: f64,
    points: Vec<(Nanos, Watts)>,
    damaged: u64,
}

/// The columns: their indices, and their units in seconds, volts, amperes and
/// watts.
#[derive(Debug, Clone, PartialEq)]
struct Columns {
    separator: char,
    time: (usize, f64),
    power: Power,
}

#[derive(Debug, Clone, PartialEq)]
enum Power {
    Watts(usize, f64),
    VoltsTimesAmperes((usize, f64), (usize, f64)),
}

impl Table {
    fn line(&mut self, line: &str, path: &Path) -> Result<()> {
        self.lines += 1;
        let line = line.trim().trim_start_matches('\u{feff}');
        if line.is_empty() || line.starts_with('#') {
            return Ok(());
        }
        let wrong = |what: &str| Error::parse(path, self.lines, what);
        if line.len() > LONGEST_LINE || self.points.len() >= MOST_SAMPLES {
            return Err(wrong(TOO_MUCH));
        }
        let Some(columns) = &self.columns else {
            let columns = Columns::named(line).or_else(|| Columns::unnamed(line));
            let columns = columns.ok_or_else(|| {
                wrong(
                    "expected the names of columns: a time, and a power or a voltage and a current",
                )
            })?;
            let is_data =
                number(line.split(columns.separator).next().unwrap_or_default()).is_some();
            self.columns = Some(columns);
            if is_data {
                self.lines -= 1;
                return self.line(line, path);
            }
            return Ok(());
        };
        let Some((time, power)) = columns.sample(line) else {
            return Err(wrong("expected a number in each named column"));
        };
        if self.points.is_empty() {
            self.first = time;
        }
        let at = Nanos(((time - self.first) * 1e9).round().max(0.0) as u64);
        if self.points.last().is_some_and(|(last, _)| at <= *last) {
            // Loggers with a clock of whole milliseconds repeat a moment.
            self.damaged += 1;
        } else {
            self.points.push((at, Watts(power)));
        }
        Ok(())
    }

    fn finish(self, path: &Path) -> Result<Recorded> {
        if self.points.len() < 2 {
            return Err(Error::parse(path, self.lines.max(1), "expected at least two samples"));
        }
        let mut energies = Vec::with_capacity(self.points.len());
        let mut sum = Joules(0.0);
        energies.push(sum);
        for pair in self.points.windows(2) {
            let mean = Watts(f64::midpoint(pair[0].1.0, pair[1].1.0));
            sum = sum + mean.over(pair[1].0 - pair[0].0);
            energies.push(sum);
        }
        Ok(Recorded { points: self.points, energies, damaged: self.damaged })
    }
}

impl Columns {
    fn named(line: &str) -> Option<Self> {
        let separator = [',', ';', '\t'].into_iter().find(|&mark| line.contains(mark))?;
        let names: Vec<String> = line.split(separator).map(str::to_lowercase).collect();
        let find = |names_of: &[&str], units: &[(&str, f64)]| {
            names.iter().enumerate().find_map(|(index, name)| {
                let name = name.trim().trim_matches('"');
                let split = name.find(['_', '(', '[', ' ']).unwrap_or(name.len());
                let (word, rest) = name.split_at(split);
                let unit = rest.trim_matches(['_', '(', '[', ')', ']', ' ']);
                let (_, factor) = units.iter().find(|(known, _)| *known == unit)?;
                names_of.contains(&word).then_some((index, *factor))
            })
        };
        let times = [("", 1.0), ("s", 1.0), ("ms", 1e-3), ("us", 1e-6), ("µs", 1e-6), ("ns", 1e-9)];
        let time = find(&["time", "timestamp", "t", "seconds"], &times)?;
        let watts = find(
            &["power", "watt", "watts", "w"],
            &[("", 1.0), ("w", 1.0), ("mw", 1e-3), ("uw", 1e-6), ("µw", 1e-6)],
        );
        let volts = find(
            &["volt", "volts", "voltage", "v"],
            &[("", 1.0), ("v", 1.0), ("mv", 1e-3), ("uv", 1e-6), ("µv", 1e-6)],
        );
        let amperes = find(
            &["ampere", "amperes", "amp", "current", "a"],
            &[("", 1.0), ("a", 1.0), ("ma", 1e-3), ("ua", 1e-6), ("µa", 1e-6)],
        );
        let power = match (watts, volts.zip(amperes)) {
            (Some((index, factor)), _) => Power::Watts(index, factor),
            (None, Some((volts, amperes))) => Power::VoltsTimesAmperes(volts, amperes),
            (None, None) => return None,
        };
        Some(Self { separator, time, power })
    }

    /// Milliseconds, volts, amperes, watts.
    fn unnamed(line: &str) -> Option<Self> {
        let numbers: Vec<f64> = line.split(',').map(number).collect::<Option<_>>()?;
        (numbers.len() == 4).then_some(Self {
            separator: ',',
            time: (0, 1e-3),
            power: Power::Watts(3, 1.0),
        })
    }

    fn sample(&self, line: &str) -> Option<(f64, f64)> {
        let fields: Vec<&str> = line.split(self.separator).collect();
        let at = |(index, factor): (usize, f64)| Some(number(fields.get(index)?)? * factor);
        let power = match self.power {
            Power::Watts(index, factor) => at((index, factor))?,
            Power::VoltsTimesAmperes(volts, amperes) => at(volts)? * at(amperes)?,
        };
        let believable =
            |(time, power): &(f64, f64)| time.abs() < LONGEST_TIME && power.abs() < LARGEST;
        Some((at(self.time)?, power)).filter(believable)
    }
}

fn number(field: &str) -> Option<f64> {
    let number: f64 = field.trim().trim_matches('"').parse().ok()?;
    number.is_finite().then_some(number)
}
