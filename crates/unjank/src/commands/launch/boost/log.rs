//! The service's log line for each boost.

use unjank_launch::remedy::report::{Boosted, Raised};

/// The boosted program, the length of its boost, the reason of its end, and the budget left.
pub(super) fn line(boosted: &Boosted) -> String {
    let Boosted { over, raised, budget_left } = boosted;
    let done = match raised {
        Some(Raised { after, knobs: 1 }) => format!("1 knob raised {after} after its start"),
        Some(Raised { after, knobs }) => format!("{knobs} knobs raised {after} after its start"),
        None => "the clock was up for another launch".to_owned(),
    };
    let (program, process, length) = (&over.program, over.process, over.boosted);
    let why = over.why.words();
    format!("boosted {program} ({process}) for {length}: {why}; {done}; budget left {budget_left}")
}

#[cfg(test)]
mod tests {
    use unjank_host::Nanos;
    use unjank_launch::remedy::engine::{EndReason, EndedBoost};

    use super::*;

    #[test]
    fn a_boost_is_one_line() {
        let mut boosted = Boosted {
            over: EndedBoost {
                process: 7,
                program: "/usr/bin/gimp".to_owned(),
                boosted: Nanos::from_millis(412),
                why: EndReason::Settled,
            },
            raised: Some(Raised { after: Nanos(38_000), knobs: 1 }),
            budget_left: Nanos::from_millis(19_600),
        };
        assert_eq!(
            line(&boosted),
            "boosted /usr/bin/gimp (7) for 412 ms: settled; 1 knob raised 38.0 µs after its start; \
             budget left 19.6 s"
        );
        boosted.raised = None;
        assert!(line(&boosted).contains("the clock was up for another launch"));
    }
}
