//! Clocks, governors and launches as models: pure, without a clock or a
//! machine.
//!
//! | module | subject |
//! |---|---|
//! | [`opp`] | frequencies a CPU can have, and what they take |
//! | [`mod@clock`] | the clock of a policy, and which frequency it takes for a wish |
//! | [`tunable`] | the knobs of governors |
//! | [`governor`] | ondemand, conservative, interactive and schedutil |
//! | [`profile`] | load profiles: which tasks run when |
//! | [`boost`] | what a service writes at a launch |
//! | [`simulate`] | a launch from event to event |

pub mod boost;
pub mod clock;
pub mod governor;
pub mod opp;
pub mod profile;
pub mod simulate;
pub mod tunable;

pub use boost::Boost;
pub use clock::{Clock, Khz, Ties};
pub use governor::Governor;
pub use opp::{Opp, OppTable};
pub use profile::Profile;
pub use simulate::{Launch, Machine, Outcome, over_phases};
pub use tunable::{Tunable, Write};
