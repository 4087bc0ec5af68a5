//! The state in Prometheus' text format, for the textfile collector of the node exporter.

use std::fmt::{Display, Write as _};

use super::status::Status;

/// The text for a state.
pub fn prometheus(status: &Status) -> String {
    let mut text = String::new();
    let mut one = |name: &str, kind: &str, help: &str, value: &dyn Display| {
        let name = format!("unjank_watch_{name}");
        let _to_a_string =
            writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}\n{name} {value}");
    };
    one("incidents_total", "counter", "Incidents that were explained.", &status.incidents);
    let nothing = &status.nothing_found;
    one("nothing_found_total", "counter", "Triggers without a delay.", nothing);
    one("left_out_total", "counter", "Triggers beyond the budget.", &status.left_out);
    one("watched_threads", "gauge", "Threads that are watched by a rule.", &status.watched);
    one("paused", "gauge", "Whether nothing is recorded.", &u8::from(status.paused));
    one("buffer_bytes", "gauge", "Memory of the kernel's buffers.", &status.buffers.get());
    let cpu = status.cpu_time.as_secs_f64();
    one("cpu_seconds_total", "counter", "CPU time of the service.", &cpu);
    one("resident_bytes", "gauge", "Memory of the service.", &status.resident.get());
    text
}

#[cfg(test)]
mod tests {
    use unjank_host::{Bytes, Nanos};

    use super::*;

    #[test]
    fn every_metric_has_its_help_and_type() {
        let status = Status {
            schema: Status::SCHEMA.to_owned(),
            process: 7,
            up: Nanos(1),
            paused: true,
            buffers: Bytes(1 << 20),
            recorded: Nanos(1),
            watched: 3,
            incidents: 2,
            nothing_found: 1,
            left_out: 4,
            mark: None,
            last: None,
            missing: Vec::new(),
            cpu_time: Nanos(1_500_000_000),
            resident: Bytes(9),
        };
        let text = prometheus(&status);
        assert!(text.contains("\nunjank_watch_incidents_total 2\n"), "{text}");
        assert!(text.contains("\nunjank_watch_cpu_seconds_total 1.5\n"), "{text}");
        let lines = text.lines().count();
        assert_eq!(lines, 3 * text.matches("# HELP").count());
    }
}
