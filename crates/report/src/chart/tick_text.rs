//! The texts of an axis: short, with their unit.

use unjank_measure::Unit;

use crate::chart::scale::Domain;

/// The texts of an axis's ticks. A linear axis has one unit (0, 0.5, 1, 1.5 ms); on a
/// logarithmic axis each tick has its own (100 µs, 1 ms).
pub(crate) fn texts(unit: Unit, domain: Domain, ticks: &[f64]) -> Vec<String> {
    let units = units_of(unit);
    if domain.log {
        return ticks.iter().map(|tick| units.text(*tick, units.largest_in(*tick), 3)).collect();
    }
    let largest = ticks.iter().fold(0.0_f64, |largest, tick| largest.max(tick.abs()));
    let chosen = units.largest_in(largest);
    let decimals = (0..4).find(|decimals| Units::is_exact(ticks, chosen, *decimals)).unwrap_or(4);
    ticks.iter().map(|tick| units.text(*tick, chosen, decimals)).collect()
}

/// The units of a quantity, from small to large.
struct Units {
    /// Suffix and size, ascending.
    units: &'static [(&'static str, f64)],
    /// The end of the text, after the suffix: `/s` for rates.
    tail: &'static str,
}

const TIMES: &[(&str, f64)] = &[(" ns", 1.0), (" µs", 1e3), (" ms", 1e6), (" s", 1e9)];
const BYTES: &[(&str, f64)] = &[
    (" B", 1.0),
    (" KiB", 1024.0),
    (" MiB", 1_048_576.0),
    (" GiB", 1_073_741_824.0),
    (" TiB", 1_099_511_627_776.0),
];
const HERTZ: &[(&str, f64)] = &[(" Hz", 1.0), (" kHz", 1e3), (" MHz", 1e6), (" GHz", 1e9)];
const COUNTS: &[(&str, f64)] = &[("", 1.0), (" k", 1e3), (" M", 1e6), (" G", 1e9), (" T", 1e12)];
const JOULES: &[(&str, f64)] = &[(" µJ", 1e-6), (" mJ", 1e-3), (" J", 1.0), (" kJ", 1e3)];
const WATT_HOURS: &[(&str, f64)] = &[(" µWh", 1e-6), (" mWh", 1e-3), (" Wh", 1.0), (" kWh", 1e3)];
const FACTOR: &[(&str, f64)] = &[("×", 1.0)];
const WATTS: &[(&str, f64)] = &[(" µW", 1e-6), (" mW", 1e-3), (" W", 1.0), (" kW", 1e3)];
const PERCENT: &[(&str, f64)] = &[(" %", 0.01)];

fn units_of(unit: Unit) -> Units {
    let (units, tail) = match unit {
        Unit::Nanoseconds => (TIMES, ""),
        Unit::Bytes => (BYTES, ""),
        Unit::BytesPerSecond => (BYTES, "/s"),
        Unit::Hertz => (HERTZ, ""),
        Unit::Count | Unit::Pages => (COUNTS, ""),
        Unit::PerSecond => (COUNTS, "/s"),
        Unit::WattHours => (WATT_HOURS, ""),
        Unit::Joules => (JOULES, ""),
        Unit::Watts => (WATTS, ""),
        Unit::Ratio | Unit::Change => (PERCENT, ""),
        Unit::Times => (FACTOR, ""),
    };
    Units { units, tail }
}

impl Units {
    /// The largest unit that is not larger than `value`.
    fn largest_in(&self, value: f64) -> (&'static str, f64) {
        let fits = |(_, size): &&(&str, f64)| value.abs() >= *size * 0.999_999;
        *self.units.iter().rev().find(fits).unwrap_or(&self.units[0])
    }

    /// Whether all ticks can be written with so many decimals.
    fn is_exact(ticks: &[f64], (_, size): (&str, f64), decimals: i32) -> bool {
        ticks.iter().all(|tick| {
            let scaled = tick / size * 10_f64.powi(decimals);
            (scaled - scaled.round()).abs() < 1e-6 * scaled.abs().max(1.0)
        })
    }

    fn text(&self, value: f64, (suffix, size): (&str, f64), decimals: i32) -> String {
        if value == 0.0 {
            return "0".to_owned();
        }
        let decimals = usize::try_from(decimals).unwrap_or(0);
        let mut number = format!("{:.decimals$}", (value / size).abs());
        if number.contains('.') {
            number.truncate(number.trim_end_matches('0').trim_end_matches('.').len());
        }
        // A value far beyond its units would have too many digits.
        if number.len() > 7 {
            number = format!("{:.0e}", (value / size).abs());
        }
        let sign = if value < 0.0 { "−" } else { "" };
        format!("{sign}{number}{suffix}{}", self.tail)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn linear(unit: Unit, ticks: &[f64]) -> Vec<String> {
        texts(unit, Domain::linear(0.0, 1.0), ticks)
    }

    #[test]
    fn a_linear_axis_keeps_one_unit() {
        assert_eq!(
            linear(Unit::Nanoseconds, &[0.0, 5e5, 1e6, 1.5e6]),
            ["0", "0.5 ms", "1 ms", "1.5 ms"]
        );
        assert_eq!(linear(Unit::Bytes, &[0.0, 524_288.0, 1_048_576.0]), ["0", "0.5 MiB", "1 MiB"]);
        assert_eq!(linear(Unit::Ratio, &[0.0, 0.25, 0.5]), ["0", "25 %", "50 %"]);
        assert_eq!(linear(Unit::PerSecond, &[-2e6, 0.0, 2e6]), ["−2 M/s", "0", "2 M/s"]);
    }

    #[test]
    fn close_ticks_have_different_texts() {
        assert_eq!(
            linear(Unit::Nanoseconds, &[1.000e9, 1.005e9, 1.010e9]),
            ["1 s", "1.005 s", "1.01 s"]
        );
    }

    #[test]
    fn a_log_axis_uses_several_units() {
        let ticks = [100.0, 1e3, 2e4, 5e6, 1e10];
        assert_eq!(
            texts(Unit::Nanoseconds, Domain::log(1.0, 1e10), &ticks),
            ["100 ns", "1 µs", "20 µs", "5 ms", "10 s"]
        );
        assert_eq!(texts(Unit::Ratio, Domain::log(1e-5, 1.0), &[1e-5, 0.1]), ["0.001 %", "10 %"]);
    }

    #[test]
    fn values_beyond_all_units_stay_short() {
        assert_eq!(linear(Unit::Count, &[1e200]), ["1e188 T"]);
    }
}
