//! Statistics that need no assumption about the shape of a distribution.
//!
//! | module | subject |
//! |---|---|
//! | [`order`] | intervals of quantiles from ranks alone |
//! | [`empirical`] | the exact bootstrap of a quantile, from a histogram |
//! | [`bootstrap`] | the ordinary bootstrap of raw samples |
//! | [`contrast`] | two quantities against each other: difference, ratio, answer |
//! | [`dependence`] | how many independent samples a run is worth |
//! | [`family`] | many questions at once |
//! | [`power`] | the smallest effect that could have been seen |
//! | [`proportion`] | shares: how many of so many |
//! | [`random`] | random numbers that repeat |
//! | [`repetitions`] | quantiles over independent starts |
//! | [`modes`] | starts that gather at two values |

pub mod bootstrap;
pub mod contrast;
pub mod dependence;
pub mod empirical;
pub mod family;
pub mod modes;
pub mod order;
pub mod power;
pub mod proportion;
pub mod random;
pub mod repetitions;

pub use contrast::{Contrast, Estimate, Weighed};
pub use dependence::Dependence;
pub use empirical::Empirical;
pub use modes::Mode;
pub use repetitions::Repetitions;

/// The confidence of every interval: 95 %.
pub const CONFIDENCE: f64 = 0.95;

/// Two-sided 95 % point of the normal distribution.
pub(crate) const Z: f64 = 1.959_964;

/// How often a bootstrap draws, unless more is asked of it.
pub const DRAWS: usize = 10_000;
