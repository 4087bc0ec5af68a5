//! Models of clocks, governors and launches. Pure: no clock, no machine.
//!
//! | module | subject |
//! |---|---|
//! | [`opp`] | the frequencies of a CPU, and their power |
//! | [`mod@clock`] | the clock of a policy, and the frequency it sets for a requested one |
//! | [`tunable`] | the knobs of governors |
//! | [`governor`] | ondemand, conservative, interactive and schedutil |
//! | [`profile`] | load profiles: which tasks run when |
//! | [`boost`] | writes of a service at a launch |
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
pub use simulate::{Launch, Machine, Simulated, over_phases};
pub use tunable::{Tunable, Write};
