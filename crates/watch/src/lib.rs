//! Keeps the last seconds of a machine's scheduling in memory, and explains a stutter after it
//! happened.
//!
//! ```text
//! triggers ─► budget ─► recorder (freeze, go on) ─► delays ─► incident
//! ```
//!
//! | module | subject |
//! |---|---|
//! | [`recorder`] | trace instances on two sides, of which one always records |
//! | [`programs`] | programs whose system calls are recorded, too |
//! | [`trigger`] | what freezes a recording, and which delays it is about |
//! | [`rule`] | threads that must not be late: `pipewire*=5ms` |
//! | [`lateness`] | the waits of such threads, once a second |
//! | [`launches`] | launches of programs with a rule: `firefox=2x` |
//! | [`silence`] | servers that must read their sockets: `Xorg=2s` |
//! | [`pressure`] | triggers of the kernel's pressure stall information |
//! | [`budget`] | how many incidents are explained |
//! | [`incident`] | the delay that an incident is about, and its cause |
//! | `surroundings` | what the machine was short of meanwhile |
//! | [`redact`] | names of threads replaced by hashes |
//! | [`status`], [`metrics`] | the state of the service |

pub mod budget;
pub mod incident;
pub mod lateness;
pub mod launches;
pub mod metrics;
pub mod pressure;
pub mod programs;
pub mod recorder;
pub mod redact;
pub mod rule;
pub mod silence;
pub mod status;
mod surroundings;
pub mod trigger;
