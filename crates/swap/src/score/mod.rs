//! Policies by their distance from the offline optimum, over many traces.
//!
//! | module | subject |
//! |---|---|
//! | `trace` | the misses of one trace |
//! | `excess` | misses above the optimum, with intervals over traces |
//! | `findings` | the table, and a curve for each policy |

mod excess;
mod findings;
mod trace;

pub use excess::{Excess, FEWEST_TRACES, Standing, standings};
pub use findings::findings;
pub use trace::{Misses, OPTIMUM, TraceMisses, measure};
