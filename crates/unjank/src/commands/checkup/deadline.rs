//! The deadlines of a checkup: for its measurements, and for its end.

use unjank_host::{Nanos, Root, Timestamp};

/// The time limit of a run. It counts from the beginning of the process, and holds
/// under any load: less and less is measured on a machine that leaves this process
/// little CPU time.
#[derive(Debug, Clone, Copy)]
pub(super) struct Deadline {
    began: Timestamp,
    limit: Nanos,
    /// Whether the end of the run has precedence over other programs.
    first: bool,
}

/// Time to evaluate, print and store a run.
const FINISH: Nanos = Nanos::from_millis(2_000);
/// CPU time to evaluate, print and store a run.
const FINISH_CPU: Nanos = Nanos::from_millis(200);

/// How far a run may be behind its plan before starts are left out.
const SLACK: Nanos = Nanos::from_millis(1_000);

impl Deadline {
    /// For a process that `began` at this moment and must end within `limit`. `first`
    /// says whether the end of the run has precedence over other programs.
    pub(super) fn new(began: Timestamp, limit: Nanos, first: bool) -> Self {
        Self { began, limit, first }
    }

    /// Whether the run has used more of its time than it has made of its `planned`
    /// share (0–1).
    pub(super) fn is_behind(&self, planned: f64, root: &Root) -> bool {
        let time = self.of_measuring(root).since(self.began).as_secs_f64();
        let used = Timestamp::now().since(self.began).as_secs_f64();
        used > planned * time + SLACK.as_secs_f64()
    }

    /// The moment by which the run must have ended.
    pub(super) fn end(&self) -> Timestamp {
        self.began + self.limit
    }

    /// The moment by which launches of a program must be over and the program gone. The probes
    /// then still have some time.
    pub(super) fn of_launches(&self) -> Timestamp {
        self.began + Nanos(self.limit.get() / 3 * 2)
    }

    /// The moment by which the last measurement must have ended, if this thread gets a CPU as
    /// late as it did so far.
    pub(super) fn of_measuring(&self, root: &Root) -> Timestamp {
        let slowdown = if self.first { 1.0 } else { slowdown(root) };
        self.began + time_to_measure(self.limit, slowdown)
    }
}

/// The part of `limit` that is left for measuring. At most a half is kept for the
/// end.
fn time_to_measure(limit: Nanos, slowdown: f64) -> Nanos {
    let finish = Nanos((FINISH_CPU.get() as f64 * slowdown) as u64).max(FINISH);
    limit - finish.min(Nanos(limit.get() / 2))
}

/// The time that the calling thread wanted a CPU over the time that it had one, at
/// least 1: `/proc/thread-self/schedstat`. 1 if the kernel does not count it.
fn slowdown(root: &Root) -> f64 {
    let text = root.read("/proc/thread-self/schedstat").unwrap_or_default();
    let mut numbers = text.split_ascii_whitespace().map(|number| number.parse::<u64>().ok());
    let (Some(Some(ran)), Some(Some(waited))) = (numbers.next(), numbers.next()) else {
        return 1.0;
    };
    1.0 + waited as f64 / ran.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: Nanos = Nanos::from_millis(15_000);

    #[test]
    fn a_machine_with_little_cpu_time_left_measures_less_and_never_nothing() {
        let millis = Nanos::from_millis;
        assert_eq!(time_to_measure(LIMIT, 1.0), millis(13_000));
        assert_eq!(time_to_measure(LIMIT, 6.0), millis(13_000));
        assert_eq!(time_to_measure(LIMIT, 20.0), millis(11_000));
        assert_eq!(time_to_measure(LIMIT, 1e9), millis(7_500));
    }

    #[test]
    fn the_limit_counts_from_the_beginning_of_the_process() {
        let began = Timestamp::from_nanos(5_000_000_000);
        let deadline = Deadline::new(began, LIMIT, false);
        assert_eq!(deadline.end(), Timestamp::from_nanos(20_000_000_000));
        assert_eq!(deadline.of_launches(), Timestamp::from_nanos(15_000_000_000));
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("proc/thread-self")).unwrap();
        let stat = dir.path().join("proc/thread-self/schedstat");
        let root = Root::at(dir.path());
        let measured = |text: &str| {
            std::fs::write(&stat, text).unwrap();
            deadline.of_measuring(&root).since(began)
        };
        assert_eq!(measured("1000 19000 5"), Nanos::from_millis(11_000));
        assert_eq!(measured("1000 0 5"), Nanos::from_millis(13_000));
        assert_eq!(measured("nonsense"), Nanos::from_millis(13_000));
        std::fs::write(&stat, "1000 19000 5").unwrap();
        let first = Deadline { first: true, ..deadline };
        assert_eq!(first.of_measuring(&root).since(began), Nanos::from_millis(13_000));
    }

    #[test]
    fn a_run_is_behind_if_its_time_is_used_up_faster_than_its_starts() {
        let root = Root::at("/nowhere");
        let now = Timestamp::now();
        let deadline = Deadline::new(now, Nanos::from_millis(3_600_000), true);
        assert!(!deadline.is_behind(0.0, &root), "it has just begun");
        let hour_ago = Timestamp::from_nanos(0);
        let late = Deadline::new(hour_ago, now.since(hour_ago), true);
        assert!(late.is_behind(0.0, &root) && !late.is_behind(2.0, &root));
    }
}
