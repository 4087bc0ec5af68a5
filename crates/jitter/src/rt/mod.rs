//! `unjank rt`: the policy of threads of other processes, chosen by their names.
//!
//! | file | subject |
//! |---|---|
//! | `rule` | a pattern of names and a policy |
//! | `profile` | rules for known programs |
//! | `rules` | which thread gets which policy: pure |
//! | `change` | one walk over a process: planned, written down, done |
//! | `walk` | what became of the threads |
//! | `means` | the ways to a real-time policy, the best one first |
//! | `follow` | threads that appear or are renamed later |
//! | `busy` | when a real-time thread has burnt its CPU for too long: pure |

mod busy;
mod change;
mod follow;
mod means;
mod profile;
mod rule;
mod rules;
mod walk;

pub use busy::{Busy, Watched};
pub use change::{Changer, Options, check, set};
pub use follow::{Event, Follower, Scope};
pub use means::{Given, Ladder, Means};
pub use profile::{PROFILES, Profile};
pub use rule::{Pattern, Rule};
pub use rules::Rules;
pub use walk::{Changed, Failed, Instead, Walk};
