//! The medians so far, beside the progress.

use std::sync::{Mutex, PoisonError};

use unjank_host::Nanos;
use unjank_measure::Monitor;
use unjank_measure::experiment::Arm;
use unjank_measure::stats::bootstrap::quantile;

/// Passes progress on, with the median of the launches so far.
pub(super) struct RunningMedians<'a> {
    whole: &'a dyn Monitor,
    /// Whether both arms are the same condition, which has one median.
    of_itself: bool,
    totals: Mutex<[Vec<f64>; 2]>,
}

impl<'a> RunningMedians<'a> {
    pub(super) fn new(whole: &'a dyn Monitor, of_itself: bool) -> Self {
        Self { whole, of_itself, totals: Mutex::default() }
    }

    /// One more launch that counts.
    pub(super) fn add(&self, arm: Arm, total: Nanos) {
        let arm = if self.of_itself { Arm::A } else { arm };
        self.totals()[arm as usize].push(total.get() as f64);
    }

    fn totals(&self) -> std::sync::MutexGuard<'_, [Vec<f64>; 2]> {
        self.totals.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// `median 12.3 ms`, or `medians 12.3 ms, 11.9 ms`; empty before the first launch.
    fn text(&self) -> String {
        let mut totals = self.totals().clone();
        let medians = totals.iter_mut().filter_map(|totals| quantile(totals, 0.5));
        let medians: Vec<String> = medians.map(|nanos| Nanos(nanos as u64).to_string()).collect();
        match medians[..] {
            [] => String::new(),
            [ref only] => format!("median {only}"),
            ref both => format!("medians {}", both.join(", ")),
        }
    }
}

impl Monitor for RunningMedians<'_> {
    fn progress(&self, fraction: f64, doing: &str) {
        match self.text().as_str() {
            "" => self.whole.progress(fraction, doing),
            medians => self.whole.progress(fraction, &format!("{doing}: {medians} so far")),
        }
    }

    fn stop_requested(&self) -> bool {
        self.whole.stop_requested()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Keeps the last text.
    #[derive(Default)]
    struct Last(Mutex<String>);

    impl Monitor for Last {
        fn progress(&self, _: f64, doing: &str) {
            doing.clone_into(&mut self.0.lock().unwrap());
        }

        fn stop_requested(&self) -> bool {
            false
        }
    }

    fn said(of_itself: bool, launches: &[(Arm, u64)]) -> String {
        let last = Last::default();
        let running = RunningMedians::new(&last, of_itself);
        for (arm, millis) in launches {
            running.add(*arm, Nanos::from_millis(*millis));
        }
        running.progress(0.5, "pair 3");
        last.0.into_inner().unwrap()
    }

    #[test]
    fn progress_shows_the_medians_so_far() {
        let launches = [(Arm::A, 10), (Arm::B, 30), (Arm::A, 20), (Arm::B, 30), (Arm::A, 60)];
        assert_eq!(said(false, &[]), "pair 3");
        assert_eq!(said(false, &launches[..1]), "pair 3: median 10.0 ms so far");
        assert_eq!(said(false, &launches), "pair 3: medians 20.0 ms, 30.0 ms so far");
        assert_eq!(said(true, &launches), "pair 3: median 30.0 ms so far");
    }
}
