//! Runs cyclictest of rt-tests and reads its output: `cyclictest(8)`.

use std::io;
use std::process::{Command, Stdio};

use unjank_host::{Error, Result};
use unjank_measure::Series;

use super::comparison::Comparison;

/// The histogram's reach in nanoseconds: the most that cyclictest allows.
const REACH: u64 = 1_000_000;

/// A command line of cyclictest.
pub(super) struct Cyclictest {
    arguments: Vec<String>,
}

impl Cyclictest {
    /// Its usual options, with a histogram in nanoseconds.
    ///
    /// # Errors
    /// `Unsupported` if it is not installed.
    pub(super) fn new(comparison: &Comparison) -> Result<Self> {
        let installed = Command::new("cyclictest")
            .arg("--help")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        if installed.is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
            return Err(Error::Unsupported(
                "cyclictest is not installed: it is in the package rt-tests".to_owned(),
            ));
        }
        let loops = comparison.trial.get() / comparison.period.get().max(1);
        let mut arguments: Vec<String> = [
            "-m",
            "-q",
            "-N",
            &format!("-p{}", comparison.priority.get()),
            &format!("-i{}", comparison.period.get() / 1_000),
            &format!("-a{}", comparison.cpu),
            "-t1",
            &format!("-l{loops}"),
            &format!("-h{REACH}"),
        ]
        .map(str::to_owned)
        .into();
        if !comparison.dma_latency {
            arguments.push("--laptop".to_owned());
        }
        Ok(Self { arguments })
    }

    /// Runs one trial.
    pub(super) fn run(&self, subject: &str) -> Result<Series> {
        let output = Command::new("cyclictest")
            .args(&self.arguments)
            .stdin(Stdio::null())
            .output()
            .map_err(|error| Error::file("start", "cyclictest", error))?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            let said = said.lines().next_back().unwrap_or_default();
            return Err(Error::Unsupported(format!("cyclictest failed: {said}")));
        }
        parse(&String::from_utf8_lossy(&output.stdout), subject)
    }
}

/// Parses lines of `latency count`, and two of the lines `# Name: value` after
/// them: the number of wake-ups beyond the histogram, and the longest latency,
/// which is used for them.
fn parse(text: &str, subject: &str) -> Result<Series> {
    let mut series = Series::new(subject);
    let mut overflows = 0_u64;
    let mut longest = REACH;
    for (number, line) in text.lines().enumerate() {
        let wrong =
            || Error::parse("cyclictest's output", number + 1, "expected a latency and a count");
        if let Some(named) = line.strip_prefix('#') {
            let value = |name: &str| named.trim().strip_prefix(name)?.trim().parse::<u64>().ok();
            overflows = value("Histogram Overflows:").unwrap_or(overflows);
            longest = value("Max Latencies:").unwrap_or(longest);
            continue;
        }
        let mut fields = line.split_whitespace();
        let Some(latency) = fields.next() else { continue };
        if !latency.bytes().all(|byte| byte.is_ascii_digit()) {
            continue;
        }
        let latency: u64 = latency.parse().map_err(|_| wrong())?;
        let count: u64 = fields.next().and_then(|f| f.parse().ok()).ok_or_else(wrong)?;
        for _ in 0..count.min(MOST) {
            series.record_value(latency);
        }
    }
    for _ in 0..overflows.min(MOST) {
        series.record_value(longest);
    }
    if series.n() == 0 {
        return Err(Error::Unsupported("cyclictest gave no samples".to_owned()));
    }
    Ok(series)
}

/// More wake-ups of one latency than any trial has.
const MOST: u64 = 10_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_histogram_and_the_overflow_are_read() {
        let text = "# /dev/cpu_dma_latency set to 0us\n\
                    # Histogram\n000000 000000\n023000 000002\n024500 000003\n\
                    # Total: 000000005\n# Min Latencies: 23000\n# Avg Latencies: 24157\n\
                    # Max Latencies: 1960862\n# Histogram Overflows: 00001\n\
                    # Histogram Overflow at cycle number:\n# Thread 0: 01982\n";
        let record = parse(text, "test").unwrap().finish();
        let summary = record.summary.unwrap();
        assert_eq!((record.n, summary.min, summary.max), (6, 23_000, 1_960_862));
        assert!(summary.p50.abs_diff(24_500) < 30);
    }

    #[test]
    fn no_histogram_and_a_broken_one_are_errors() {
        assert!(parse("# Total: 0\n", "test").is_err());
        let error = parse("000001 many\n", "test").unwrap_err().to_string();
        assert!(error.contains("line 1"), "{error}");
    }
}
