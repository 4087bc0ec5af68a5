//! `Backoff` replaces `crossbeam_utils::Backoff`: the same code runs with either.

macro_rules! runs_with {
    ($name:ident, $Backoff:ty) => {
        #[test]
        fn $name() {
            let backoff = <$Backoff>::new();
            assert!(!backoff.is_completed());
            backoff.spin();
            while !backoff.is_completed() {
                backoff.snooze();
            }
            backoff.reset();
            assert!(!backoff.is_completed());
            let other: $Backoff = Default::default();
            other.snooze();
            assert!(format!("{other:?}").starts_with("Backoff {"));
        }
    };
}

runs_with!(crossbeams, crossbeam_utils::Backoff);
runs_with!(ours, unjank_backoff::Backoff);

/// Crossbeam's back-off never completes by spinning (crossbeam-rs/crossbeam#949).
#[test]
fn spinning_completes() {
    let backoff = unjank_backoff::Backoff::new();
    while !backoff.is_completed() {
        backoff.spin();
    }
    let theirs = crossbeam_utils::Backoff::new();
    for _ in 0..10_000 {
        theirs.spin();
    }
    assert!(!theirs.is_completed());
}
