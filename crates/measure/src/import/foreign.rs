//! What is common to the results of all tools.

use jiff::Timestamp as Date;
use unjank_host::Nanos;

use crate::findings::Findings;
use crate::series::{MOST, Series};

/// What another tool has measured.
#[derive(Debug, Clone, PartialEq)]
pub struct Foreign {
    /// The tool: `fio`, `hlog`, `jmh`, `rtla timerlat` or `rtla osnoise`.
    pub tool: String,
    /// Its version, if the text has it.
    pub version: Option<String>,
    /// The beginning of its run, if the text has it.
    pub began: Option<Date>,
    /// The length of its run, as far as the text says it.
    pub elapsed: Nanos,
    /// Its numbers.
    pub findings: Findings,
}

/// The beginning of a text, by which a format is known.
pub(super) fn head(text: &str) -> &str {
    const HEAD: usize = 4096;
    let end = (0..=HEAD.min(text.len())).rev().find(|&end| text.is_char_boundary(end));
    &text[..end.unwrap_or(0)]
}

/// A number of nanoseconds, which may come from anywhere; `None` if it is no length of time.
pub(super) fn nanos(value: f64) -> Option<Nanos> {
    // Beyond this, every number is larger than any series holds.
    (0.0..1e18).contains(&value).then_some(Nanos(value.round() as u64))
}

/// Records a time that was counted `times` times.
///
/// # Errors
/// More samples than anyone has measured.
pub(super) fn count(series: &mut Series, time: Nanos, times: u64) -> Result<(), String> {
    if times > MOST - series.n() {
        return Err("more samples than can be counted".to_owned());
    }
    series.record_many(time, times);
    Ok(())
}
