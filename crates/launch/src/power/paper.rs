//! Table 3 of Jo & Suh: the energy of an idle Galaxy S II in a minute at each
//! sampling period of `ondemand`, as the average of ten runs.

use unjank_host::{Joules, Nanos};

/// Reference period of the paper.
pub const REFERENCE: Nanos = Nanos::from_millis(100);
/// Time of each energy in the paper.
pub const TIME: Nanos = Nanos::from_millis(60_000);

/// Period in milliseconds, and energy in milliwatt hours.
const TABLE: [(u64, f64); 4] = [(10, 16.041), (50, 16.029), (100, 16.126), (200, 16.014)];

/// The paper's energy at the sampling period `rate`, if it has one.
pub fn energy(rate: Nanos) -> Option<Joules> {
    let row = TABLE.iter().find(|(millis, _)| Nanos::from_millis(*millis) == rate)?;
    Some(Joules::from_milliwatt_hours(row.1))
}

/// The paper's difference from [`REFERENCE`] at `rate`, as a share of it.
pub fn difference(rate: Nanos) -> Option<f64> {
    let reference = energy(REFERENCE)?;
    let share = energy(rate)?.0 / reference.0 - 1.0;
    (rate != REFERENCE).then_some(share)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn their_differences_are_those_that_they_print() {
        let percent = [10, 50, 100, 200]
            .map(|millis| difference(Nanos::from_millis(millis)).map(|share| share * 100.0));
        for (found, printed) in
            percent.into_iter().zip([Some(-0.53), Some(-0.60), None, Some(-0.69)])
        {
            match (found, printed) {
                (Some(found), Some(printed)) => {
                    assert!((found - printed).abs() < 0.006, "{found} {printed}");
                }
                (found, printed) => assert_eq!(found, printed),
            }
        }
        assert_eq!(energy(Nanos::from_millis(20)), None);
    }
}
