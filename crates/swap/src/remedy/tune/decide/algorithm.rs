//! How to compress: the least expected time of a page that is swapped out and comes back.
//!
//! An algorithm that compresses better is slower, but more pages fit, and fewer have to come from
//! storage. How many, a recording tells. Without one, this assumes that one page-in in ten finds its
//! page gone with the algorithm that holds least, and that misses fall with the square root of the
//! capacity (A. Hartstein et al., *Cache miss behavior: is it √2?*, Computing Frontiers 2006).

use unjank_host::Bytes;
use unjank_measure::Unit;

use super::super::measured::{Compressed, Measured};
use super::super::reuse::Reuse;
use super::setting::{ASSUMED_MISSES, Present, median, time};
use super::size;

/// The algorithm to use.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Choice {
    pub(super) algorithm: String,
    /// Bytes of programs in a byte of memory.
    pub(super) ratio: f64,
    pub(super) why: String,
}

/// Why there is no choice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NoChoice {
    NotMeasured,
    /// No algorithm makes the pages smaller: compressed, they would take as much memory or more.
    NotSmaller,
}

/// The algorithm in use stays if it costs no more than this many times the best: another run would
/// choose another one.
const AS_GOOD: f64 = 1.1;

/// An algorithm that can be chosen.
#[derive(Debug, Clone, Copy)]
struct Candidate<'a> {
    of: &'a Compressed,
    ratio: f64,
    /// The median times to compress a page and to bring it back, together.
    effort: f64,
    /// The share of page-ins that find their page gone.
    misses: f64,
}

/// The best of those that were measured and make pages smaller, or the one `in_use` if that is as
/// good.
pub(super) fn choose(
    measured: &Measured,
    present: &Present,
    reuse: Option<&Reuse>,
    in_use: Option<&str>,
) -> Result<Choice, NoChoice> {
    let pool = present.memory.total.get() as f64 * size::SHARE;
    let all = measured.compressors.iter().filter(|it| it.ratio() > 1.0);
    let smallest = all.clone().map(Compressed::ratio).min_by(f64::total_cmp);
    let Some(smallest) = smallest else {
        let measured = !measured.compressors.is_empty();
        return Err(if measured { NoChoice::NotSmaller } else { NoChoice::NotMeasured });
    };
    let candidate = |of| {
        let ratio = Compressed::ratio(of);
        let effort = median(&of.write)?.0 + median(&of.read)?.0;
        let misses = match reuse {
            Some(reuse) => reuse.misses(Bytes((pool * ratio) as u64)),
            None => ASSUMED_MISSES * (smallest / ratio).sqrt(),
        };
        Some(Candidate { of, ratio, effort, misses })
    };
    let candidates: Vec<Candidate<'_>> = all.filter_map(candidate).collect();
    // The dearest read that a page that does not fit causes.
    let elsewhere = [&measured.swap_area, &measured.file_system];
    let elsewhere = elsewhere.into_iter().flatten().find_map(|it| Some(median(&it.read)?.0));
    let cost = |it: &Candidate<'_>| it.effort + it.misses * elsewhere.unwrap_or(0.0);
    let best = candidates.iter().min_by(|one, other| cost(one).total_cmp(&cost(other)));
    let best = best.ok_or(NoChoice::NotMeasured)?;
    let stays =
        |it: &&Candidate<'_>| Some(&*it.of.algorithm) == in_use && cost(it) <= AS_GOOD * cost(best);
    let best = candidates.iter().find(stays).unwrap_or(best);
    let fastest = candidates.iter().min_by(|one, other| one.effort.total_cmp(&other.effort));
    let densest = candidates.iter().max_by(|one, other| one.ratio.total_cmp(&other.ratio));
    let (fastest, densest) = (fastest.unwrap_or(best), densest.unwrap_or(best));
    Ok(Choice {
        algorithm: best.of.algorithm.clone(),
        ratio: best.ratio,
        why: why(best, fastest, densest, elsewhere, reuse.is_some()),
    })
}

fn why(
    best: &Candidate<'_>,
    fastest: &Candidate<'_>,
    densest: &Candidate<'_>,
    elsewhere: Option<f64>,
    recorded: bool,
) -> String {
    let name = |it: &Candidate<'_>| it.of.algorithm.clone();
    let own = format!("out and back in {} a page, at {:.2} to 1", time(best.effort), best.ratio);
    let gone = match elsewhere {
        Some(read) => {
            let source = if recorded { "in the recording" } else { "assumed" };
            let misses = Unit::Ratio.show(best.misses);
            format!(
                "; {misses} of page-ins find their page gone ({source}) and take {}",
                time(read)
            )
        }
        None => String::new(),
    };
    let is = |one: &Candidate<'_>, other: &Candidate<'_>| name(one) == name(other);
    let other = if is(best, fastest) && is(best, densest) {
        "; no other is faster or denser".to_owned()
    } else if is(best, fastest) {
        let more = time(densest.effort - best.effort);
        let from = elsewhere.map(|read| (densest.effort - best.effort) / read);
        let from = from.filter(|share| *share < 1.0).map_or_else(String::new, |share| {
            format!(", and pays once it spares {} of page-ins", Unit::Ratio.show(share))
        });
        format!("; {} holds {:.2} to 1 but takes {more} more{from}", name(densest), densest.ratio)
    } else if fastest.ratio < best.ratio {
        let less = time(best.effort - fastest.effort);
        format!("; {} is {less} faster but holds {:.2} to 1", name(fastest), fastest.ratio)
    } else {
        "; in use, and no other is better by a tenth".to_owned()
    };
    format!("{own}{gone}{other}")
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{compressed, present, storage};
    use super::*;

    fn chosen(file_read: u64, in_use: Option<&str>) -> Choice {
        let measured = Measured {
            compressors: vec![
                compressed("lz4", 25, 3_000, 1_000),
                compressed("zstd", 40, 14_000, 5_000),
                compressed("slow", 20, 14_000, 5_000),
            ],
            file_system: Some(storage(file_read, 10_000)),
            ..Measured::default()
        };
        choose(&measured, &present(), None, in_use).unwrap()
    }

    #[test]
    fn fast_storage_calls_for_a_fast_algorithm_and_slow_storage_for_a_dense_one() {
        let fast = chosen(100_000, None);
        assert_eq!(fast.algorithm, "lz4");
        assert!((fast.ratio - 2.5).abs() < 0.01, "{}", fast.ratio);
        assert!(fast.why.contains("zstd holds 4.00 to 1 but takes 15.0 µs more"), "{}", fast.why);
        let slow = chosen(5_000_000, Some("slow"));
        assert_eq!(slow.algorithm, "zstd");
        assert!(slow.why.contains("lz4 is 15.0 µs faster but holds 2.50 to 1"), "{}", slow.why);
        assert!(slow.why.contains("(assumed)"));
    }

    #[test]
    fn without_a_measurement_there_is_no_choice() {
        let none = choose(&Measured::default(), &present(), None, None);
        assert_eq!(none, Err(NoChoice::NotMeasured));
    }

    #[test]
    fn an_algorithm_that_makes_nothing_smaller_is_not_chosen() {
        let of = |ratios: &[u64]| Measured {
            compressors: ratios.iter().map(|&it| compressed("lz4", it, 3_000, 1_000)).collect(),
            ..Measured::default()
        };
        for ratios in [&[10][..], &[6, 7]] {
            let none = choose(&of(ratios), &present(), None, Some("lz4"));
            assert_eq!(none, Err(NoChoice::NotSmaller));
        }
        let one = choose(&of(&[6, 15]), &present(), None, None).unwrap();
        assert!((one.ratio - 1.5).abs() < 0.01, "{one:?}");
    }

    #[test]
    fn the_algorithm_in_use_stays_if_it_is_as_good() {
        // 19 µs and 8.2 % of 250 µs, against 4 µs and 10 % of it.
        assert_eq!(chosen(250_000, None).algorithm, "lz4");
        let measured = Measured {
            compressors: vec![
                compressed("lz4", 25, 3_000, 1_000),
                compressed("lzo", 25, 3_100, 1_100),
            ],
            ..Measured::default()
        };
        let stays = choose(&measured, &present(), None, Some("lzo")).unwrap();
        assert_eq!(stays.algorithm, "lzo");
        assert!(stays.why.ends_with("in use, and no other is better by a tenth"), "{}", stays.why);
    }
}
