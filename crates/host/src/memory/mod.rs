//! The memory of this process: mappings, what of them is resident, how to
//! have them paged out, and how to keep them in.

mod code;
mod faults;
mod lock;
mod mapping;
mod region;
mod shared;

pub use code::let_go_of_code;
pub use faults::{Faults, page_size};
pub use lock::MemoryLock;
pub use mapping::{Access, Mapping};
pub use region::SharedRegion;
pub use shared::SharedMemory;
