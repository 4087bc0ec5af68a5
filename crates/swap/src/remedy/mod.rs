//! Takes the time of page-ins back.
//!
//! | module | subject |
//! |---|---|
//! | [`policy`] | makes the policy that decides which pages the fast memory keeps |
//! | `page_key` | the names of pages for a policy |
//! | [`tune`] | what the machine's swap should be, by measurement |
//! | [`tier`] | a tier as a block device that the kernel swaps to |
//! | [`writeback`] | zram as the fast tier: decides which of its pages are written back |

mod page_key;
pub mod policy;
pub mod tier;
pub mod tune;
pub mod writeback;
