//! Statistics without an assumption about the distribution.
//!
//! | module | subject |
//! |---|---|
//! | [`order`] | intervals of quantiles from ranks alone |
//! | [`empirical`] | the exact bootstrap of a quantile, from a histogram |
//! | `exact` | exact quantiles of times that are all kept |
//! | [`bootstrap`] | the ordinary bootstrap of raw samples |
//! | [`contrast`] | the contrast of two quantities: difference, ratio, answer |
//! | [`dependence`] | the number of independent samples that a run is worth |
//! | [`family`] | correction for many questions at once |
//! | [`power`] | the smallest effect that would have been found |
//! | [`prediction`] | where the result of an experiment yet to be made will lie |
//! | [`proportion`] | intervals of shares |
//! | [`random`] | reproducible random numbers |
//! | [`repetitions`] | quantiles over independent starts |
//! | [`run_spread`] | the spread from run to run |
//! | [`modes`] | starts whose medians cluster at two values |

pub mod bootstrap;
pub mod contrast;
pub mod dependence;
pub mod empirical;
mod exact;
pub mod family;
pub mod modes;
pub mod order;
pub mod power;
pub mod prediction;
pub mod proportion;
pub mod random;
pub mod repetitions;
pub mod run_spread;

pub(crate) use bootstrap::mean_interval;
pub use contrast::{Contrast, Estimate, Weighed};
pub use dependence::Dependence;
pub use empirical::Empirical;
pub use exact::ExactTimes;
pub use modes::Mode;
pub use repetitions::Repetitions;
pub use run_spread::RunSpread;

/// The confidence of every interval: 95 %.
pub const CONFIDENCE: f64 = 0.95;

/// Two-sided 95 % point of the normal distribution.
pub(crate) const Z: f64 = 1.959_964;

/// The number of bootstrap draws, unless a caller needs more.
pub const DRAWS: usize = 10_000;
