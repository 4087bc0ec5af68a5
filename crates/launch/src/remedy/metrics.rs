//! The state in Prometheus' text format, for the textfile collector of the node
//! exporter.

use std::fmt::{Display, Write as _};

use unjank_host::Nanos;

use super::report::Status;
use super::rules::Rejection;

/// The text for a state.
pub fn prometheus(status: &Status) -> String {
    let mut text = String::new();
    let counts = &status.counts;
    let seconds = |nanos: Nanos| nanos.as_secs_f64();
    let launches = Rejection::ALL.map(|reason| {
        (format!("{{result=\"{}\"}}", reason.name()), counts.not.get(&reason).copied().unwrap_or(0))
    });
    let launches =
        [("{result=\"boosted\"}".to_owned(), counts.launches)].into_iter().chain(launches);
    let help = "Programs that began to run, by result.";
    family(&mut text, "launches_total", "counter", help, launches);
    let one = |value: &dyn Display| [(String::new(), value.to_string())];
    let mut single = |name: &str, kind: &str, help: &str, value: &dyn Display| {
        family(&mut text, name, kind, help, one(value));
    };
    single("execs_total", "counter", "Programs that began to run.", &counts.execs);
    single("boosts_total", "counter", "Times that the clock was raised.", &counts.boosts);
    single("seconds_total", "counter", "Time with a raised clock.", &seconds(counts.boosted));
    single("overruns_total", "counter", "Times that events were lost.", &counts.overruns);
    single("knobs_lost_total", "counter", "Knobs given up to other programs.", &counts.knobs_lost);
    single("cpu_seconds_total", "counter", "CPU time of the service.", &seconds(status.cpu_time));
    let active = u8::from(status.boosted_for.is_some());
    single("active", "gauge", "Whether the clock is raised now.", &active);
    single("paused", "gauge", "Whether boosts are paused by request.", &u8::from(status.paused));
    let saver = u8::from(status.power_saver);
    single("power_saver", "gauge", "Whether the power profile power-saver pauses boosts.", &saver);
    let left = seconds(status.budget_left);
    single("budget_seconds", "gauge", "Boosted time that may be used now.", &left);
    single("resident_bytes", "gauge", "Memory of the service.", &status.resident);
    let latency = &status.latency;
    let quantiles = [("0.5", latency.p50), ("0.99", latency.p99), ("1", latency.max)]
        .map(|(q, value)| (format!("{{quantile=\"{q}\"}}"), seconds(value)));
    let help = "From exec until the knobs were written.";
    family(&mut text, "exec_to_write_seconds", "summary", help, quantiles);
    let _to_a_string = writeln!(text, "unjank_boost_exec_to_write_seconds_count {}", latency.n);
    text
}

/// A metric with its samples: labels and values.
fn family<V: Display>(
    text: &mut String,
    name: &str,
    kind: &str,
    help: &str,
    samples: impl IntoIterator<Item = (String, V)>,
) {
    let name = format!("unjank_boost_{name}");
    let _to_a_string = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}");
    for (labels, value) in samples {
        let _to_a_string = writeln!(text, "{name}{labels} {value}");
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::report::{Counts, Latency};
    use super::*;

    #[test]
    fn every_sample_follows_its_type_and_is_a_number() {
        let counts = Counts {
            execs: 12,
            launches: 3,
            not: [(Rejection::Follower, 9)].into(),
            boosted: Nanos::from_millis(1_500),
            ..Counts::default()
        };
        let status = Status {
            schema: "unjank.boost/1".to_owned(),
            process: 7,
            up: Nanos::ZERO,
            paused: true,
            power_saver: false,
            moves: Vec::new(),
            sources: Vec::new(),
            boosted_for: None,
            launches: BTreeMap::new(),
            budget_left: Nanos::from_millis(18_500),
            learned: 0,
            counts,
            latency: Latency { n: 3, p50: Nanos(21_000), p99: Nanos(30_000), max: Nanos(31_000) },
            cpu_time: Nanos::ZERO,
            resident: 4 << 20,
        };
        let text = prometheus(&status);
        let mut typed = "";
        for line in text.lines() {
            if let Some(rest) = line.strip_prefix("# TYPE ") {
                typed = rest.split(' ').next().unwrap();
            } else if !line.starts_with('#') {
                let (name, value) = line.rsplit_once(' ').unwrap();
                assert!(name.starts_with(typed), "{line}");
                assert!(value.parse::<f64>().is_ok(), "{line}");
            }
        }
        for line in [
            "unjank_boost_launches_total{result=\"boosted\"} 3",
            "unjank_boost_launches_total{result=\"follower\"} 9",
            "unjank_boost_launches_total{result=\"budget\"} 0",
            "unjank_boost_seconds_total 1.5",
            "unjank_boost_paused 1",
            "unjank_boost_power_saver 0",
            "unjank_boost_exec_to_write_seconds{quantile=\"0.5\"} 0.000021",
        ] {
            assert!(text.lines().any(|other| other == line), "{line} in\n{text}");
        }
    }
}
