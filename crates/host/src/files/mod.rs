//! Files that are written wherever a user says, by root as well.
//!
//! The directory may belong to somebody else, who can plant links and pipes in
//! it and swap what is there at any moment. So
//!
//! - the directory is opened once, and root follows no link of another user on
//!   the way to it;
//! - a file gets its content under no name or a random one, and its own name
//!   when it is whole: readers never see half of it, and a full disk leaves
//!   what was there;
//! - a link by that name is replaced, never followed, and a pipe is refused,
//!   never waited for.
//!
//! Streams of this process (`/dev/stdout`, `/dev/fd/3`) and `/dev/null` are
//! written to where they are.

mod destination;
mod tree;
mod whole_file;

pub use crate::trusted_place::{is_of_others, read_of_others, read_trusted, without_links};
pub use destination::Destination;
pub(crate) use tree::write_tree;
pub use whole_file::{Existing, Readers, WholeFile, exists};
