//! Clocks, governors and launches as models: pure, without a clock or a
//! machine.
//!
//! | module | subject |
//! |---|---|
//! | [`opp`] | frequencies a CPU can have, and what they take |

pub mod opp;

pub use opp::{Opp, OppTable};
