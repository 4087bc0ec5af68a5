//! The state in Prometheus' text format, for the textfile collector of the node exporter.

use std::fmt::{Display, Write as _};

use super::status::Status;

/// The text for a state.
pub fn prometheus(status: &Status) -> String {
    let mut text = String::new();
    let Status { zram, counts, .. } = status;
    let mut one = |name: &str, kind: &str, help: &str, value: &dyn Display| {
        let name = format!("unjank_tierd_{name}");
        let _to_a_string =
            writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}\n{name} {value}");
    };
    one("zram_pages", "gauge", "Pages that zram holds in memory.", &zram.pages);
    one("zram_memory_bytes", "gauge", "Memory that zram takes.", &zram.memory.get());
    one("backing_pages", "gauge", "Pages on the backing device.", &zram.written_back);
    one("backing_reads_total", "counter", "Pages read from it.", &zram.reads);
    one("backing_writes_total", "counter", "Pages written to it.", &zram.writes);
    one("followed_pages", "gauge", "Pages whose process and address are known.", &status.followed);
    one("demoted_pages", "gauge", "Those of them that were written back.", &status.demoted);
    one("evicted_total", "counter", "Pages that memory evicted.", &counts.evicted);
    one("came_back_total", "counter", "Pages that came back.", &counts.came_back);
    let back = &counts.came_back_demoted;
    one("came_back_demoted_total", "counter", "Those of them that were written back.", back);
    let away = &counts.stayed_away;
    one("stayed_away_total", "counter", "Pages written back as they stayed away.", away);
    one("for_room_total", "counter", "Pages written back for want of room.", &counts.for_room);
    let left = &status.budget_left.get();
    one("budget_bytes", "gauge", "Remaining budget of writes.", left);
    one("paused", "gauge", "Whether nothing is written back.", &u8::from(status.paused));
    let cpu = status.cpu_time.as_secs_f64();
    one("cpu_seconds_total", "counter", "CPU time of the service.", &cpu);
    one("resident_bytes", "gauge", "Memory of the service.", &status.resident.get());
    text
}
