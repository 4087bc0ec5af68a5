//! Profiles of a device's clock: the P-states that a phone has, and the
//! governor that its kernel begins with. `profiles/README.md` has the form.

mod aml;
mod profile;

pub use aml::{MOST_CPUS, PORTS};
pub use profile::{Clock, Origin, Profile, State};
