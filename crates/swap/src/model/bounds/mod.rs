//! What no policy can beat: replacement that knows the future.
//!
//! | module | subject |
//! |---|---|
//! | [`next_use`] | when each requested page is requested again |
//! | [`belady`] | the fewest misses, with and without bypass |

pub mod belady;
pub mod next_use;
mod times;

pub use belady::{Belady, Outcome};
pub use next_use::NextUses;
