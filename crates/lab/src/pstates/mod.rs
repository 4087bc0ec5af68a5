//! Profiles of a device's clock: the P-states of a phone, and its kernel's
//! initial governor. `profiles/README.md` describes the form.

mod aml;
mod profile;

pub use aml::{MOST_CPUS, PORTS};
pub use profile::{Clock, Origin, Profile, State};
