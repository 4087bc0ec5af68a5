//! What the service says about single things: a line each.

use std::collections::BTreeMap;

use unjank_host::Nanos;
use unjank_launch::remedy::engine::Over;
use unjank_launch::remedy::report::Launch;

/// Makes one line of the beginning and the end of a boost.
#[derive(Debug, Default)]
pub(super) struct Log {
    /// Launches that were seen and are not over.
    seen: BTreeMap<u32, Launch>,
}

impl Log {
    /// A launch was seen. What there is to say is said when it is over.
    pub(super) fn seen(&mut self, launch: Launch) {
        self.seen.insert(launch.process, launch);
    }

    /// The boost of a launch is over: what was done, and what it cost.
    pub(super) fn over(&mut self, over: &Over, budget_left: Nanos) -> String {
        let Over { process, program, boosted, why } = over;
        let done = match self.seen.remove(process) {
            Some(Launch { written_after: Some(after), knobs, .. }) => {
                let knobs = if knobs == 1 { "1 knob".to_owned() } else { format!("{knobs} knobs") };
                format!("{knobs} raised {after} after its start")
            }
            Some(Launch { .. }) => "the clock was up for another launch".to_owned(),
            None => "it was seen before".to_owned(),
        };
        let why = why.words();
        format!(
            "boosted {program} ({process}) for {boosted}: {why}; {done}; budget left {budget_left}"
        )
    }
}

#[cfg(test)]
mod tests {
    use unjank_launch::remedy::engine::Why;

    use super::*;

    #[test]
    fn a_boost_is_one_line() {
        let mut log = Log::default();
        let over = |process| Over {
            process,
            program: "/usr/bin/gimp".to_owned(),
            boosted: Nanos::from_millis(412),
            why: Why::Settled,
        };
        let launch = |process, written_after, knobs| Launch {
            process,
            program: "/usr/bin/gimp".to_owned(),
            written_after,
            knobs,
        };
        log.seen(launch(7, Some(Nanos(38_000)), 1));
        log.seen(launch(8, None, 0));
        let left = Nanos::from_millis(19_600);
        assert_eq!(
            log.over(&over(7), left),
            "boosted /usr/bin/gimp (7) for 412 ms: settled; 1 knob raised 38.0 µs after its start; \
             budget left 19.6 s"
        );
        assert!(log.over(&over(8), left).contains("the clock was up for another launch"));
        assert!(log.seen.is_empty());
    }
}
