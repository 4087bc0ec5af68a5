//! The times of steps, to within 64 steps.

use unjank_units::Nanos;

/// Steps that share a time stamp.
const STEPS: usize = 64;

/// The time of each step of a sequence, kept for every 64th one.
#[derive(Debug, Clone, Default)]
pub struct Times(Vec<Nanos>);

impl Times {
    /// Whether the time of step `index` is kept. Others need not be passed to [`note`](Self::note).
    pub fn is_kept(index: usize) -> bool {
        index.is_multiple_of(STEPS)
    }

    /// Records the time of step `index`. Steps come in their order; a time that goes backwards is
    /// replaced by the one before.
    pub fn note(&mut self, index: usize, at: Nanos) {
        while self.0.len() <= index / STEPS {
            let before = self.0.last().copied().unwrap_or_default();
            self.0.push(at.max(before));
        }
    }

    /// The time of step `index`, or of one of the 63 steps before it.
    pub fn at(&self, index: usize) -> Nanos {
        self.0.get(index / STEPS).or(self.0.last()).copied().unwrap_or_default()
    }

    /// The time from the first to the last kept time stamp.
    pub fn span(&self) -> Nanos {
        let first = self.0.first().copied().unwrap_or_default();
        self.0.last().map_or(Nanos::ZERO, |last| *last - first)
    }

    /// The memory that it takes, in bytes.
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_never_go_backwards() {
        let mut times = Times::default();
        assert_eq!(times.at(5), Nanos::ZERO);
        for (index, at) in [(0, 10), (63, 20), (64, 5), (300, 40)] {
            times.note(index, Nanos(at));
        }
        assert_eq!(
            [0, 63, 64, 255, 256, 300, 9_999].map(|index| times.at(index).0),
            [10, 10, 10, 40, 40, 40, 40]
        );
        assert_eq!((times.span(), Times::default().span()), (Nanos(30), Nanos::ZERO));
    }
}
