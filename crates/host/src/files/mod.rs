//! Writing files at paths that a user names, safely for root.
//!
//! The directory may belong to another user, who can plant links and pipes in
//! it and swap files at any moment. So
//!
//! - the directory is opened once, and root follows no link of another user on
//!   its path;
//! - a file is written without a name or under a random one, and gets its own
//!   name when it is complete: readers never see half of it, and a full disk
//!   leaves the former file as it was;
//! - a link with that name is replaced, never followed, and a pipe is refused,
//!   never waited for.
//!
//! `-` is the standard output. It, other streams of this process
//! (`/dev/stderr`, `/dev/fd/3`) and `/dev/null` are written directly.

mod alone;
mod destination;
mod directory;
mod in_place;
mod private;
mod tree;
mod unnamed;
mod whole_file;

pub use crate::trusted_place::{
    is_untrusted, is_untrusted_directory, open_untrusted, read_trusted, read_untrusted,
    resolve_links,
};
pub use alone::open_for_this_alone;
pub use destination::{Destination, is_stdout};
pub use directory::make_directory;
pub use in_place::overwrites_in_place;
pub use private::make_private_directory;
pub(crate) use tree::write_tree;
pub(crate) use unnamed::UnnamedPlace;
pub use whole_file::{Existing, Readers, WholeFile, exists};
