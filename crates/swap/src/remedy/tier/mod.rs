//! The tier of Bahn & Kim as a block device that the kernel swaps to: pages that the policy keeps
//! lie in frames of a small fast backing, all others in their own place on a slow one.
//!
//! | module | subject |
//! |---|---|
//! | [`engine`] | the steps for each request: pure, constant time, no allocation |
//! | [`step`], [`counts`] | what it tells the server to do, and what it counts |
//! | [`frames`] | the pages of the fast backing, and what is under way with each |
//! | [`map`] | where each slot's page is: shared memory that outlives the server |
//! | `naming` | tells the policy which pages the slots hold |
//! | [`server`] | performs the steps of one queue |
//! | [`service`] | the threads of all queues |
//! | [`reserve`] | memory for the requests of these threads when all is in use |
//! | [`published`] | the counts, for other processes |
//! | [`plan`], [`settings`] | what a user wants of a tier, and what it is made of |
//! | `allocates` | devices that no page must be swapped to |
//! | [`backing`] | the files and devices that hold the pages |
//! | [`directory`], `files` | the files of a tier in memory; making and removing them |
//! | [`lock`] | who looks after a tier, serves it, turns its area on or off |
//! | [`helper`], `failure` | the processes of a tier, and their answers |
//! | [`task`], `process` | what they do; among them the server |
//! | [`supervisor`], [`event`] | keeps a server running, and takes the tier down; what it tells |
//! | [`leftovers`] | tiers whose processes were all killed |
//! | [`room`] | memory for the pages of a tier that is taken down |
//! | [`status`] | the tiers of this machine |

mod allocates;
pub mod backing;
pub mod counts;
pub mod directory;
pub mod engine;
pub mod event;
mod failure;
mod files;
pub mod frames;
pub mod helper;
pub mod leftovers;
pub mod lock;
pub mod map;
mod naming;
pub mod plan;
mod process;
pub mod published;
pub mod reserve;
pub mod room;
pub mod server;
pub mod service;
pub mod settings;
pub mod status;
pub mod step;
pub mod supervisor;
pub mod task;
