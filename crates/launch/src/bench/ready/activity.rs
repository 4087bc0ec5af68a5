//! The launch of an Android activity, as `am start -W` reports it
//! (`ActivityManagerShellCommand.java` in `frameworks/base`).

use unjank_host::Nanos;

/// The time of a launch, from a line of its output: from the request until the first
/// window of the activity is drawn. `None` for all other lines, and for an activity that
/// runs already: it is only brought to the front, in 0 ms.
pub(crate) fn total_time(line: &str) -> Option<Nanos> {
    let milliseconds: u32 = line.strip_prefix("TotalTime: ")?.parse().ok()?;
    (milliseconds > 0).then(|| Nanos::from_millis(milliseconds.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_total_time_of_a_launch_is_found() {
        let lines = [
            "Starting: Intent { act=android.intent.action.MAIN cmp=com.android.settings/.Settings }",
            "Status: ok",
            "LaunchState: COLD",
            "Activity: com.android.settings/.Settings",
            "TotalTime: 1234",
            "WaitTime: 1240",
            "Complete",
        ];
        let found: Vec<Nanos> = lines.into_iter().filter_map(total_time).collect();
        assert_eq!(found, [Nanos::from_millis(1234)]);
        for other in ["TotalTime: 0", "TotalTime: -1", "ThisTime: 5", "TotalTime: 9999999999"] {
            assert_eq!(total_time(other), None, "{other}");
        }
    }
}
