//! The clock source behind `CLOCK_MONOTONIC`.

use serde::{Deserialize, Serialize};

use super::reader::{Reader, line};

const DIR: &str = "/sys/devices/system/clocksource/clocksource0";

/// The clock sources in `/sys/devices/system/clocksource`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ClockSource {
    /// The source in use.
    pub current: String,
    /// The sources that can be set: `available_clocksource`.
    pub available: Vec<String>,
}

pub(super) fn read(reader: &mut Reader) -> ClockSource {
    let current = line(reader.root(), format!("{DIR}/current_clocksource"));
    let available = line(reader.root(), format!("{DIR}/available_clocksource"));
    let absent = "no /sys/devices/system/clocksource: is sysfs mounted?";
    let available = reader.optional("clock.available", available).unwrap_or_default();
    ClockSource {
        current: reader.wanted("clock.current", current, absent).unwrap_or_default(),
        available: available.split_whitespace().map(str::to_owned).collect(),
    }
}
