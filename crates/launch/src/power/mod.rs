//! Energy: of a launch, and of an idle machine at each sampling rate of its
//! governor.
//!
//! | module | subject |
//! |---|---|
//! | [`residency`] | the energy of CPUs from their frequencies and idle times: pure |
//! | [`modelled`] | a meter that reads these, for machines without a real one |
//! | [`average`](mod@average) | the mean power over one window |
//! | [`governor`], [`rates`], [`table`] | the sampling period, trials at each, Table 3 |
//! | [`idle_states`] | how long CPUs are in each idle state meanwhile |
//! | `findings`, `tables` | the same as findings |
//! | [`paper`] | measurements of Jo & Suh |
//! | `notes` | facts and warnings about the meter |

pub mod average;
mod findings;
pub mod governor;
pub mod idle_states;
pub mod modelled;
pub(crate) mod notes;
pub mod paper;
pub mod rates;
pub mod residency;
pub mod table;
pub(crate) mod tables;

use unjank_host::Result;
use unjank_host::energy::{Meter, Spent};

pub use average::{Window, average};
pub use modelled::ModelledMeter;

/// Does `work`, and returns its result and the energy that `meter` counted
/// meanwhile. Use it for one launch: from the start stamp to the end stamp.
///
/// # Errors
/// The meter cannot be read, before or after; an error of the work stays in its
/// result.
pub fn around<T>(meter: &mut dyn Meter, work: impl FnOnce() -> T) -> Result<(T, Spent)> {
    let before = meter.read()?;
    let done = work();
    Ok((done, meter.read()?.since(&before)))
}

#[cfg(test)]
mod tests {
    use unjank_host::energy::{About, Origin, Reading, Samples};
    use unjank_host::{Joules, Nanos, Timestamp, Watts};

    use super::*;

    /// Counts a joule at each reading, a second apart.
    struct Steady(About, u64);

    impl Meter for Steady {
        fn about(&self) -> &About {
            &self.0
        }

        fn read(&mut self) -> Result<Reading> {
            self.1 += 1;
            Ok(Reading {
                at: Timestamp::from_nanos(self.1 * 1_000_000_000),
                energy: Joules(self.1 as f64),
                cpu: None,
                samples: Samples::default(),
                ended: None,
            })
        }
    }

    #[test]
    fn a_launch_has_its_energy() {
        let about = About {
            name: "test".to_owned(),
            source: String::new(),
            origin: Origin::Measured,
            covers: String::new(),
        };
        let (launched, spent) = around(&mut Steady(about, 0), || "on screen").unwrap();
        assert_eq!((launched, spent.energy), ("on screen", Joules(1.0)));
        assert_eq!((spent.time, spent.power()), (Nanos::from_millis(1_000), Some(Watts(1.0))));
    }
}
