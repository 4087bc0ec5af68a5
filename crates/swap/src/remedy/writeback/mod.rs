//! zram as the fast tier: it takes every page that memory evicts, and the policy decides which of
//! them are written back to its backing device (`CONFIG_ZRAM_WRITEBACK`, Linux 5.11 and newer;
//! `Documentation/admin-guide/blockdev/zram.rst`).
//!
//! A page is known by its process and address. From one look at `/proc/PID/pagemap` to the next it
//! arrives in a slot, stays, or leaves it. The policy is that of a tier that serves a device
//! ([`unjank_cachesim::tier::pages`]): a page that it keeps stays in zram; one that it does not keep,
//! and that stays away for some time, is written back.
//!
//! | module | subject |
//! |---|---|
//! | [`following`] | which pages arrive in the slots and leave them: pure |
//! | [`demotion`] | which slots are written back: pure |
//! | [`budget`] | how much may be written: pure |
//! | `area` | the number of the swap area: pure |
//! | [`pace`] | when the machine is too busy for that: pure |
//! | [`zram`] | the device: its statistics, writing back |
//! | [`service`] | looks and writes back, again and again |
//! | `sweep` | writes back by age alone, where the pages are not known |
//! | [`status`], [`metrics`] | the state, as JSON and for Prometheus |

mod area;
pub mod budget;
pub mod demotion;
pub mod following;
pub mod metrics;
pub mod pace;
pub mod service;
pub mod status;
mod sweep;
pub mod zram;
