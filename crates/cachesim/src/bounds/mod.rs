//! Offline optima: bounds that no policy can beat.
//!
//! | module | subject |
//! |---|---|
//! | [`next_use`] | when each requested page is requested again |
//! | [`belady`] | the fewest misses, with and without bypass |
//! | [`clairvoyant`](mod@clairvoyant) | the least cost of a tier with bypass whose writes have a cost |

pub mod belady;
pub mod clairvoyant;
pub mod next_use;
mod times;

pub use belady::{Belady, BeladyCounts};
pub use clairvoyant::{Clairvoyant, Costs, MAX_WRITE_COST, clairvoyant};
pub use next_use::NextUses;
