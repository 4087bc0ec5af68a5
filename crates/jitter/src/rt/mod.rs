//! `unjank rt`: gives threads of other processes a scheduling policy by their names.
//!
//! | file | subject |
//! |---|---|
//! | `rule` | a name pattern and a policy |
//! | `profile` | rules for known programs |
//! | `rules` | which thread gets which policy: pure |
//! | `watcher` | the policy of the thread that watches: pure |
//! | `change` | one walk over a process: plan, journal, apply |
//! | `walk` | the result of a walk |
//! | `means` | kernel, rtkit, nice value: tried in this order |
//! | `follow` | threads that appear or are renamed later |
//! | `busy` | detects a real-time thread that never sleeps: pure |

mod busy;
mod change;
mod follow;
mod means;
mod profile;
mod rule;
mod rules;
#[cfg(test)]
mod scripted;
mod walk;
mod watcher;

pub use busy::{Busy, Watched};
pub use change::{Changer, Options, check, set};
pub use follow::{Event, Follower, Scope};
pub use means::{Granted, Means, PolicySetter};
pub use profile::{PROFILES, Profile};
pub use rule::Rule;
pub use rules::Rules;
pub use walk::{Changed, Failed, Instead, Walk};
pub use watcher::Watcher;
