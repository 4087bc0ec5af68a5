//! One value of the paper, and ours over several seeds.

use unjank_measure::Unit;

/// Seeds that an interval needs: the least and the largest of six hold the
/// median of all with a probability of 1 − 2 · 0.5⁶ = 97 %.
pub const ENOUGH: usize = 6;

/// One value of the paper, and ours.
#[derive(Debug, Clone, PartialEq)]
pub struct Item {
    /// Where it stands: `Fig. 1`, `Section II` …
    pub figure: &'static str,
    /// A path for the record: `fig1/1gib`.
    pub name: &'static str,
    /// What it is.
    pub what: &'static str,
    /// Its unit.
    pub unit: Unit,
    /// The paper's value. It gives about numbers, which are taken for these
    /// ranges.
    pub paper: [f64; 2],
    /// The paper's own words.
    pub words: &'static str,
    /// Ours, of each seed, the least first.
    pub ours: Vec<f64>,
    /// Of how many seeds they are.
    pub seeds: usize,
    /// How many there are none of, because it never came to that: larger than
    /// all of `ours`.
    pub never: usize,
}

/// Whether the paper's value comes out here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// All of our interval lies within the paper's range.
    Yes,
    /// None of it does.
    No,
    /// Some does, or there are too few seeds for one.
    CannotTell,
}

impl Item {
    /// The median over seeds; `None` if it never came to that in half of them.
    pub fn median(&self) -> Option<f64> {
        let n = self.ours.len() + self.never;
        let middle = self.ours.get(n / 2)?;
        Some(if n.is_multiple_of(2) {
            f64::midpoint(self.ours[n / 2 - 1], *middle)
        } else {
            *middle
        })
    }

    /// From the least to the largest, if there are enough of them for an
    /// interval of the median, and a largest one.
    pub fn interval(&self) -> Option<[f64; 2]> {
        let ends = [*self.ours.first()?, *self.ours.last()?];
        (self.seeds >= ENOUGH && self.never == 0).then_some(ends)
    }

    /// Whether a ratio is a share, and not a quotient.
    pub(super) fn is_share(&self) -> bool {
        self.what.contains("made by")
    }

    /// Whether the paper's value comes out.
    pub fn answer(&self) -> Answer {
        match self.interval() {
            Some([low, high]) if low >= self.paper[0] && high <= self.paper[1] => Answer::Yes,
            Some([low, high]) if high < self.paper[0] || low > self.paper[1] => Answer::No,
            _ => Answer::CannotTell,
        }
    }
}

impl Answer {
    /// In a word or two.
    pub fn words(self) -> &'static str {
        match self {
            Self::Yes => "yes",
            Self::No => "no",
            Self::CannotTell => "cannot tell",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(ours: &[f64]) -> Item {
        Item {
            figure: "Fig. 1",
            name: "x",
            what: "x",
            unit: Unit::Ratio,
            paper: [6.0, 7.0],
            words: "6-7",
            ours: ours.to_vec(),
            seeds: ours.len(),
            never: 0,
        }
    }

    #[test]
    fn an_answer_needs_an_interval() {
        assert_eq!(item(&[6.5; 5]).answer(), Answer::CannotTell);
        assert_eq!(item(&[6.5; 6]).answer(), Answer::Yes);
        assert_eq!(item(&[5.0, 5.0, 5.0, 5.0, 5.0, 5.9]).answer(), Answer::No);
        assert_eq!(item(&[5.0, 5.0, 5.0, 6.0, 6.5, 7.0]).answer(), Answer::CannotTell);
        assert_eq!(item(&[1.0, 2.0, 4.0, 9.0]).median(), Some(3.0));
        assert_eq!(item(&[]).median(), None);
        let sometimes = Item { never: 1, ..item(&[6.5; 7]) };
        assert_eq!((sometimes.median(), sometimes.interval()), (Some(6.5), None));
        assert_eq!(sometimes.answer(), Answer::CannotTell, "it has no upper end");
        assert_eq!(Item { never: 8, ..item(&[6.5; 7]) }.median(), None);
    }
}
