//! The usual length of each program's launches, learned from earlier ones.

use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};
use unjank_host::Nanos;

/// Remembered launches of a program.
const REMEMBERED: usize = 16;
/// The fewest launches from which a length is learned.
const ENOUGH: usize = 3;
/// Remembered programs; the least recently launched are forgotten.
const PROGRAMS: usize = 1_000;

/// The learned lengths of launches.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Learned {
    programs: BTreeMap<String, Program>,
    /// The number of launches so far: the order of each program's last one.
    launches: u64,
}

/// The launches of one program.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
struct Program {
    /// Lengths of its last launches, in nanoseconds, oldest first; `None` for a
    /// launch without an observed end.
    lengths: VecDeque<Option<Nanos>>,
    last: u64,
}

impl Learned {
    /// Records the length of a launch of `program`; `None` if its boost was cut off
    /// before it ended.
    pub fn note(&mut self, program: &str, length: Option<Nanos>) {
        self.launches += 1;
        let known = self.programs.entry(program.to_owned()).or_default();
        known.lengths.push_back(length);
        while known.lengths.len() > REMEMBERED {
            known.lengths.pop_front();
        }
        known.last = self.launches;
        while self.programs.len() > PROGRAMS {
            let oldest = self.programs.iter().min_by_key(|(_, known)| known.last);
            let Some(oldest) = oldest.map(|(program, _)| program.clone()) else { break };
            self.programs.remove(&oldest);
        }
    }

    /// The useful length of a boost of `program`: a quarter more than the second
    /// longest of its last launches. `None` while too few are known, and for a
    /// program whose launches do not end by themselves.
    pub fn length_of(&self, program: &str) -> Option<Nanos> {
        let known = self.programs.get(program)?;
        let mut lengths: Vec<Nanos> = known.lengths.iter().copied().flatten().collect();
        if lengths.len() < ENOUGH || lengths.len() * 2 < known.lengths.len() {
            return None;
        }
        lengths.sort_unstable();
        let nearly_longest = lengths[lengths.len() - 2];
        Some(nearly_longest + Nanos(nearly_longest.get() / 4))
    }

    /// The usual length of launches of `program`: the median of those whose end was observed. `None`
    /// while too few are known.
    pub fn usual(&self, program: &str) -> Option<Nanos> {
        let known = self.programs.get(program)?;
        let mut lengths: Vec<Nanos> = known.lengths.iter().copied().flatten().collect();
        lengths.sort_unstable();
        (lengths.len() >= ENOUGH).then(|| lengths[lengths.len() / 2])
    }

    /// Number of known programs.
    pub fn len(&self) -> usize {
        self.programs.len()
    }

    /// Whether no program is known.
    pub fn is_empty(&self) -> bool {
        self.programs.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn learned(lengths: &[Option<Nanos>]) -> Learned {
        let mut learned = Learned::default();
        for &length in lengths {
            learned.note("/usr/bin/a", length);
        }
        learned
    }

    #[test]
    fn one_slow_launch_in_many_makes_no_difference() {
        let length = |lengths: &[_]| learned(lengths).length_of("/usr/bin/a");
        assert_eq!(
            length(&[Some(Nanos::from_millis(400)), Some(Nanos::from_millis(400))]),
            None,
            "too few"
        );
        assert_eq!(
            length(&[
                Some(Nanos::from_millis(400)),
                Some(Nanos::from_millis(360)),
                Some(Nanos::from_millis(3_000))
            ]),
            Some(Nanos::from_millis(500))
        );
        assert_eq!(learned(&[Some(Nanos::from_millis(1)); 3]).length_of("/usr/bin/b"), None);
    }

    #[test]
    fn a_program_that_never_settles_has_no_length() {
        let mostly_not = [
            None,
            None,
            None,
            None,
            Some(Nanos::from_millis(5)),
            Some(Nanos::from_millis(5)),
            Some(Nanos::from_millis(5)),
        ];
        assert_eq!(learned(&mostly_not).length_of("/usr/bin/a"), None);
        assert!(learned(&mostly_not[1..]).length_of("/usr/bin/a").is_some());
    }

    #[test]
    fn old_launches_and_programs_are_forgotten() {
        let lengths = [
            &[Some(Nanos::from_millis(9_000)); 5][..],
            &[Some(Nanos::from_millis(400)); REMEMBERED],
        ]
        .concat();
        assert_eq!(learned(&lengths).length_of("/usr/bin/a"), Some(Nanos::from_millis(500)));
        let mut learned = Learned::default();
        for program in 0..=PROGRAMS {
            learned.note(&program.to_string(), Some(Nanos::from_millis(1)));
        }
        assert_eq!(learned.len(), PROGRAMS);
        assert!(!learned.programs.contains_key("0"));
    }

    #[test]
    fn a_json_round_trip_preserves_it() {
        let before = learned(&[Some(Nanos::from_millis(1)), None, Some(Nanos::from_millis(3))]);
        let text = serde_json::to_string(&before).unwrap();
        assert_eq!(serde_json::from_str::<Learned>(&text).unwrap(), before);
    }
}
