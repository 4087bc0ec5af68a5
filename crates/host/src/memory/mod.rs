//! The memory of this process: mappings, residency, page-out and locking.

mod code;
mod faults;
mod lock;
mod locked_pages;
mod mapping;
mod region;
mod shared;

pub use code::release_code;
pub use faults::{Faults, page_size};
pub use lock::MemoryLock;
pub use locked_pages::LockedPages;
pub use mapping::{Access, Mapping};
pub use region::SharedRegion;
pub use shared::SharedMemory;
