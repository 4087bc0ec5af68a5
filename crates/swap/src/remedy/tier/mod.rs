//! The tier of Bahn & Kim as a block device that the kernel swaps to: pages that the policy keeps
//! lie in frames of a small fast backing, all others in their own place on a slow one.
//!
//! | module | subject |
//! |---|---|
//! | [`engine`] | the steps for each request: pure, constant time, no allocation |
//! | [`frames`] | the pages of the fast backing, and what is under way with each |
//! | [`map`] | where each slot's page is: shared memory that outlives the server |
//! | [`server`] | performs the steps of one queue |
//! | [`service`] | the threads of all queues |
//! | [`policy`] | which slots' pages the tier keeps |

pub mod engine;
pub mod frames;
pub mod map;
pub mod policy;
pub mod server;
pub mod service;

pub use engine::{Engine, Next, Reply};
