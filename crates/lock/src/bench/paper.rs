//! The paper's figures beside those measured here.
//!
//! Olivas and Chynoweth, *Benefitting Power and Performance Sleep Loops*
//! (Intel): with pauses and a read-only check before `Sleep(0)`, up to four
//! times the performance of `Sleep(0)` alone with 8 threads, about three times
//! with 32 (tables 4 and 5), at 0.73 W less (table 6), on a Core i7-990X with 6
//! cores and 12 hardware threads under Windows. It gives no spin count, no
//! lengths of tasks and no intervals.

use unjank_host::Nanos;
use unjank_measure::Unit;
use unjank_measure::claim::{Claim, Means};
use unjank_measure::stats::order;

use super::comparison::Compared;
use super::options::{COARSE, FINE, MEDIUM, PAPERS_CHOICE};
use super::results::{Results, Round};

/// The paper's results: number of threads, its words, and what we read them as: a quarter
/// more or less.
const PUBLISHED: [(usize, &str, [f64; 2]); 2] =
    [(8, "up to 4 times", [3.0, 5.0]), (32, "about 3 times", [2.25, 3.75])];

/// Watts of the paper's loop against `Sleep(0)` alone.
const PUBLISHED_WATTS: f64 = -0.73;

/// Hardware threads of the paper's machine.
const HARDWARE_THREADS: usize = 12;

/// The paper's name for tasks of this length.
pub fn grain(outside: Nanos) -> &'static str {
    match outside {
        FINE => "fine grain",
        MEDIUM => "medium grain",
        COARSE => "coarse grain",
        _ => "another grain",
    }
}

/// The claims beside what this number of CPUs measured by `means`.
pub fn claims(results: &Results, cpus: usize, means: Means) -> Vec<Claim> {
    let mut claims: Vec<Claim> =
        PUBLISHED.map(|published| faster(results, published, cpus, means)).into();
    claims.push(power(results, means));
    claims
}

/// The grain at which the paper's loop gains most with this number of threads.
fn best(results: &Results, threads: usize) -> Option<Compared<'_>> {
    let cells = results.cells.iter().filter(|cell| cell.cell.threads == threads);
    cells
        .filter_map(|cell| results.compare(cell, PAPERS_CHOICE))
        .max_by(|one, other| one.operations.value.total_cmp(&other.operations.value))
}

fn faster(
    results: &Results,
    (threads, words, range): (usize, &str, [f64; 2]),
    cpus: usize,
    means: Means,
) -> Claim {
    let what = format!("tasks per second against Sleep(0) alone, {threads} threads, at best");
    let claim = Claim::new("Olivas & Chynoweth, tables 4 and 5", what, words);
    let Some(best) = best(results, threads) else {
        return claim.untold("it was not measured");
    };
    let ratio = best.operations;
    let claim = claim.with(ratio.value, Unit::Times, ratio.interval, ratio.rounds as u64).by(means);
    if cpus >= HARDWARE_THREADS {
        return claim.judged_by(range);
    }
    let bound = results.ceiling(best.cell).map_or_else(String::new, |most| {
        format!("; no lock can exceed about {} here", Unit::Times.show(most))
    });
    claim.untold(format!(
        "the paper's machine has {HARDWARE_THREADS} hardware threads, this one {cpus}{bound} ({})",
        grain(best.cell.cell.outside)
    ))
}

/// The power of the paper's loop less that of `Sleep(0)`, round by round; without a meter, the
/// CPU time of a task in its place.
fn power(results: &Results, means: Means) -> Claim {
    let threads = PUBLISHED[0].0;
    let published = format!("less ({})", Unit::Watts.show(PUBLISHED_WATTS));
    let claim = |what: &str| {
        let what = format!("{what} against Sleep(0) alone, {threads} threads");
        Claim::new("Olivas & Chynoweth, table 6", what, &*published)
    };
    let Some(best) = best(results, threads) else {
        return claim("power").untold("it was not measured");
    };
    let watts = |round: &Round| Some(round.energy? * round.operations);
    let ours = best.cell.arm(PAPERS_CHOICE).map(|ours| &ours.rounds);
    let pairs = ours
        .into_iter()
        .flatten()
        .filter_map(|(round, ours)| Some(watts(ours)? - watts(best.baseline.rounds.get(round)?)?));
    let mut differences: Vec<f64> = pairs.collect();
    let n = differences.len() as u64;
    if let Some((value, interval)) = order::median(&mut differences) {
        let claim = claim("power").with(value, Unit::Watts, interval, n).by(means);
        return claim.judged_below(0.0, "it takes more");
    }
    let ratio = best.cpu_time;
    claim("CPU time per task (no meter)")
        .with(ratio.value, Unit::Times, ratio.interval, ratio.rounds as u64)
        .by(means)
        .judged_below(1.0, "a task takes more CPU time")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use unjank_measure::Answer;

    use super::super::results::tests::cell;
    use super::*;

    fn results() -> Results {
        let arms: &[(&str, &[f64])] =
            &[("sleep0", &[10.0; 6]), ("pause-yield", &[40.0, 41.0, 39.0, 40.0, 40.0, 41.0])];
        let cells = vec![cell(4, arms), cell(8, arms)];
        let uncontended = BTreeMap::new();
        Results { against: vec!["sleep0"], cells, uncontended, seed: 1 }
    }

    #[test]
    fn a_machine_as_large_as_the_papers_is_judged() {
        let claims = claims(&results(), 12, Means::Measured);
        let answers: Vec<Answer> = claims.iter().map(|claim| claim.answer).collect();
        let open = Answer::CannotTell;
        assert_eq!(answers, [Answer::Yes, open, open]);
        assert_eq!(claims[1].reason, "it was not measured");
        assert!(claims[2].what.starts_with("CPU time per task (no meter)"), "{:?}", claims[2]);
    }

    #[test]
    fn a_smaller_machine_is_not_judged() {
        let claims = claims(&results(), 2, Means::Measured);
        assert_eq!(claims[0].answer, Answer::CannotTell);
        let says = "the paper's machine has 12 hardware threads, this one 2";
        assert!(claims[0].reason.starts_with(says), "{}", claims[0].reason);
    }

    #[test]
    fn grains_have_names() {
        assert_eq!((grain(FINE), grain(COARSE)), ("fine grain", "coarse grain"));
    }
}
