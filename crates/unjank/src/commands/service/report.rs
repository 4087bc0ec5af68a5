//! The reports of the services: to systemd's watchdog, and to their metrics files.

use unjank_host::Nanos;

/// The longest time between two reports.
const BETWEEN_REPORTS: Nanos = Nanos::from_millis(15_000);

/// Half of the interval that systemd's watchdog allows, at most [`BETWEEN_REPORTS`].
pub(crate) fn between_reports() -> Nanos {
    sd_notify::watchdog_enabled()
        .map_or(BETWEEN_REPORTS, |within| Nanos::from(within / 2).min(BETWEEN_REPORTS))
}
