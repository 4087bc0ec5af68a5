//! The paper's figures with real memory: Fig. 1, 2, 3 and 5 from runs of `swap bench`.
//!
//! Its launch times are those of phones, so they are compared with each other.

use std::fmt;
use std::str::FromStr;

use unjank_cachesim::tier::TierPolicy;
use unjank_host::Bytes;
use unjank_measure::Unit;
use unjank_measure::claim::{Claim, Means};

use super::item::Item;
use crate::bench::{Arm, Experiment};
use crate::synth::{Preset, presets};

/// The phones of the paper, and one that it does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RealPhone {
    /// Nine apps, 1 GiB.
    NineIn1,
    /// Nine apps, 2 GiB.
    NineIn2,
    /// 25 apps, 2 GiB.
    ManyIn2,
    /// 25 apps, 1 GiB: not in the paper.
    ManyIn1,
}

/// What the runs of one phone have shown.
#[derive(Debug, Clone, Default)]
pub struct RealRuns {
    /// Storage I/O in pages, of each run without swap and with it.
    pub storage: [Vec<f64>; 2],
    /// The median wait of later launches in nanoseconds, of the same runs.
    pub waits: [Vec<f64>; 2],
    /// Storage I/O with each tier of [`RealPhone::arms`], or why there is none.
    pub tiers: Vec<Result<Vec<f64>, String>>,
}

/// The sizes of Fig. 5's tiers in MiB, with the paper's words and what they mean relative to no
/// swap.
const TIERS: [(u64, &str, [f64; 2]); 3] = [
    (64, "more below 128 MB", [1.0, 7.0]),
    (256, "no more at 256 MB", [0.9, 1.0]),
    (512, "less above", [0.0, 1.0]),
];

impl RealPhone {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::NineIn1, Self::NineIn2, Self::ManyIn2, Self::ManyIn1];
    /// Those of the paper.
    pub const PUBLISHED: [Self; 3] = [Self::NineIn1, Self::NineIn2, Self::ManyIn2];

    /// Its apps, and the share `scale` of all sizes.
    pub fn preset(self, scale: f64) -> Preset {
        match self {
            Self::NineIn1 | Self::NineIn2 => presets::GAMES.scaled(scale),
            Self::ManyIn1 | Self::ManyIn2 => presets::MANY_GAMES.scaled(scale),
        }
    }

    /// The memory that it leaves to apps, at the same scale.
    pub fn memory(self, scale: f64) -> Bytes {
        let one = self.preset(scale).phone.memory();
        match self {
            Self::NineIn1 | Self::ManyIn1 => one,
            Self::NineIn2 | Self::ManyIn2 => Bytes(one.get() + scaled(1024, scale).get()),
        }
    }

    /// What is compared: no swap and swap; with nine apps and 1 GiB also the tiers of Fig. 5.
    pub fn arms(self, scale: f64) -> Vec<Arm> {
        let tier =
            |(mib, ..): (u64, &str, [f64; 2])| Arm::Tier(scaled(mib, scale), TierPolicy::PAPER);
        let tiers = TIERS.into_iter().map(tier).filter(|_| self == Self::NineIn1);
        [Arm::NoSwap, Arm::Swap].into_iter().chain(tiers).collect()
    }

    /// What its runs have shown.
    pub fn runs(self, scale: f64, experiment: &Experiment<'_>) -> RealRuns {
        let both = [Arm::NoSwap, Arm::Swap];
        let tier = |arm: Arm| match experiment.missing(arm) {
            Some(reason) => Err(reason.to_owned()),
            None => Ok(experiment.storage(arm)),
        };
        RealRuns {
            storage: both.map(|arm| experiment.storage(arm)),
            waits: both.map(|arm| experiment.waits(arm)),
            tiers: self.arms(scale).into_iter().skip(both.len()).map(tier).collect(),
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::NineIn1 => "9-1gib",
            Self::NineIn2 => "9-2gib",
            Self::ManyIn2 => "25-2gib",
            Self::ManyIn1 => "25-1gib",
        }
    }

    const fn words(self) -> &'static str {
        match self {
            Self::NineIn1 => "nine apps, 1 GiB",
            Self::NineIn2 => "nine apps, 2 GiB",
            Self::ManyIn2 => "25 apps, 2 GiB",
            Self::ManyIn1 => "25 apps, 1 GiB",
        }
    }
}

impl fmt::Display for RealPhone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for RealPhone {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|phone| phone.name() == text);
        found.ok_or_else(|| format!("expected {}", Self::ALL.map(Self::name).join(", ")))
    }
}

fn scaled(mib: u64, scale: f64) -> Bytes {
    let pages = (mib << 20) as f64 / crate::trace::PAGE as f64 * scale;
    Bytes((pages.round() as u64).max(1) * crate::trace::PAGE)
}

/// The paper's claims beside these runs.
pub fn claims(measured: &[(RealPhone, RealRuns)], means: Means) -> Vec<Claim> {
    let of = |wanted: RealPhone| {
        measured.iter().find_map(|(phone, runs)| (*phone == wanted).then_some(runs))
    };
    let mut claims = Vec::new();
    for (phone, runs) in measured {
        claims.extend(beside_no_swap(*phone, runs, means));
    }
    if let Some((one, many)) = of(RealPhone::NineIn1).zip(of(RealPhone::ManyIn2)) {
        let against = |swap: usize| ratios(&many.waits[swap], &one.waits[swap]);
        let what = "later launches of 25 apps with 2 GiB against nine with 1 GiB, real memory";
        // 1.5 to 3 s against 1.5 to 2.5 s, and 5 to 7 s against as much.
        claims.push(
            claim("Fig. 3", &format!("no swap, {what}"), "as with nine", &against(0), means)
                .judged_by([0.6, 2.0]),
        );
        claims.push(
            claim("Fig. 3", &format!("swap, {what}"), "as nine with 1 GiB", &against(1), means)
                .judged_by([5.0 / 7.0, 7.0 / 5.0]),
        );
    }
    claims
}

/// A phone with swap against itself without.
fn beside_no_swap(phone: RealPhone, runs: &RealRuns, means: Means) -> Vec<Claim> {
    let [off, on] = &runs.storage;
    let storage = |what: &str, words: &str, values: &[f64]| {
        let what = format!("storage I/O with {what} against none, {}, real memory", phone.words());
        let figure = if what.contains("tier") { "Fig. 5" } else { "Fig. 1" };
        claim(figure, &what, words, values, means)
    };
    let wait = |figure: &str, words: &str| {
        let what = format!("later launches with swap against none, {}, real memory", phone.words());
        claim(figure, &what, words, &ratios(&runs.waits[1], &runs.waits[0]), means)
    };
    let longer = "launches are not longer with swap";
    match phone {
        RealPhone::NineIn1 => {
            let mut claims = vec![
                storage("swap", "6 to 7 times", &ratios(on, off)).judged_by([6.0, 7.0]),
                wait("Fig. 2", "longer (5 to 7 s, about 2 s)").judged_above(1.0, longer),
            ];
            for ((mib, words, range), tier) in TIERS.iter().zip(&runs.tiers) {
                let what = format!("swap and a tier of {mib} MiB");
                claims.push(match tier {
                    Ok(values) => storage(&what, words, &ratios(values, off)).judged_by(*range),
                    Err(reason) => storage(&what, words, &[]).untold(reason.clone()),
                });
            }
            claims
        }
        RealPhone::NineIn2 => vec![
            storage("swap", "hardly more", &ratios(on, off)).judged_by([0.9, 1.2]),
            wait("Fig. 2", "1 to 3 s, about 2 s").judged_by([0.5, 1.5]),
        ],
        RealPhone::ManyIn2 => {
            vec![wait("Fig. 3", "longer (5 to 7 s, about 2 s)").judged_above(1.0, longer)]
        }
        RealPhone::ManyIn1 => {
            let absent = "the paper does not have this phone";
            vec![
                storage("swap", "—", &ratios(on, off)).untold(absent),
                wait("Fig. 3", "—").untold(absent),
            ]
        }
    }
}

/// A claim with the median of these values.
fn claim(figure: &str, what: &str, words: &str, values: &[f64], means: Means) -> Claim {
    let mut ours = values.to_vec();
    ours.sort_by(f64::total_cmp);
    let item = Item {
        figure: "",
        name: "",
        what: "",
        unit: Unit::Times,
        paper: [0.0; 2],
        words: "",
        seeds: ours.len(),
        ours,
        never: 0,
    };
    let claim = Claim::new(format!("Bahn & Kim, {figure}"), what, words).by(means);
    match item.median() {
        Some(median) => claim.with(median, Unit::Times, item.interval(), values.len() as u64),
        None => claim.untold("nothing was measured"),
    }
}

/// The quotient of each run and the one of the same turn.
fn ratios(over: &[f64], under: &[f64]) -> Vec<f64> {
    over.iter()
        .zip(under)
        .filter(|(_, under)| **under > 0.0)
        .map(|(over, under)| over / under)
        .collect()
}

#[cfg(test)]
mod tests {
    use unjank_measure::Answer;

    use super::*;

    fn runs(storage: [f64; 2], waits: [f64; 2], n: usize) -> RealRuns {
        // Runs differ a little.
        let some = |value: f64| (0..n).map(|at| value * (1.0 + 0.001 * at as f64)).collect();
        RealRuns { storage: storage.map(some), waits: waits.map(some), tiers: Vec::new() }
    }

    fn answers(claims: &[Claim]) -> Vec<Answer> {
        claims.iter().map(|claim| claim.answer).collect()
    }

    #[test]
    fn phones_have_names_and_sizes() {
        for phone in RealPhone::ALL {
            assert_eq!(phone.to_string().parse(), Ok(phone));
        }
        assert!("9-4gib".parse::<RealPhone>().unwrap_err().ends_with("25-2gib, 25-1gib"));
        let quarter = RealPhone::NineIn2.memory(0.25).get() - RealPhone::NineIn1.memory(0.25).get();
        assert_eq!(Bytes(quarter), Bytes::from_mib(256));
        let arms: Vec<String> = RealPhone::NineIn1.arms(0.25).iter().map(Arm::to_string).collect();
        assert_eq!(arms, ["no-swap", "swap", "tier:16MiB", "tier:64MiB", "tier:128MiB"]);
        assert_eq!(RealPhone::ManyIn2.arms(0.25).len(), 2);
    }

    #[test]
    fn runs_are_compared_by_turns() {
        let one = RealRuns {
            tiers: vec![Ok(vec![150.0; 6]), Err("no ublk".to_owned()), Ok(Vec::new())],
            ..runs([100.0, 650.0], [2e9, 6e9], 6)
        };
        let measured = [
            (RealPhone::NineIn1, one),
            (RealPhone::NineIn2, runs([100.0, 100.0], [2e9, 2e9], 6)),
            (RealPhone::ManyIn2, runs([100.0, 600.0], [9e9, 6e9], 6)),
        ];
        let claims = claims(&measured, Means::Measured);
        let [yes, no, open] = [Answer::Yes, Answer::No, Answer::CannotTell];
        let nine = [yes, yes, yes, open, open];
        let rest = [yes, yes, no, no, yes];
        assert_eq!(answers(&claims), [nine, rest].concat());
        assert_eq!((claims[3].reason.as_str(), claims[3].n), ("no ublk", 0));
        assert_eq!(claims[4].reason, "nothing was measured");
        assert_eq!(claims[2].source, "Bahn & Kim, Fig. 5");
    }

    #[test]
    fn few_runs_have_no_interval_and_other_phones_no_paper() {
        let few = claims(&[(RealPhone::NineIn1, runs([1.0, 6.5], [2.0, 6.0], 2))], Means::Measured);
        assert_eq!(answers(&few), [Answer::CannotTell; 2]);
        assert_eq!(few[0].reason, "2 samples are too few for an interval");
        let other =
            claims(&[(RealPhone::ManyIn1, runs([1.0, 6.5], [2.0, 6.0], 6))], Means::Measured);
        assert_eq!(answers(&other), [Answer::CannotTell; 2]);
    }
}
