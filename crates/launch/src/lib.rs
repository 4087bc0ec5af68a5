//! The delay of a slow clock at launch: after an idle gap the CPU's clock is low,
//! and the governor takes a while to notice work.
//!
//! | module | subject |
//! |---|---|
//! | [`probe`] | speed of a CPU against time since it woke |
//! | [`mod@bench`] | the launch time of any program under two or more conditions |
//! | [`load`] | a synthetic app launch, the load of the experiments |
//! | [`power`] | energy: of a launch, and at each sampling rate of the governor |
//! | [`explain`] | the verdict on ramps |
//! | [`remedy`] | the clock raised while programs start |
//! | [`model`] | clocks, governors and launches as models |
//! | [`simulate`] | simulated launches: boosts, sweeps, the paper's experiment |
//! | [`paper`] | Jo & Suh's experiments on this machine, in one run |
//! | [`verify`] | the models compared with this machine's governor |

pub mod bench;
pub mod explain;
pub mod load;
pub mod model;
pub mod paper;
pub mod power;
pub mod probe;
pub mod remedy;
pub mod simulate;
pub mod verify;
mod work;

pub use probe::{Launched, Options, findings, launch};
