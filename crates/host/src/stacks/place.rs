//! The places of functions.

use super::mappings::FileNumber;

/// Where code is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Place {
    /// An address of the kernel.
    Kernel(u64),
    /// An offset in a file.
    File(FileNumber, u64),
    /// An address of a process that no file is mapped to: generated code.
    Made(u32, u64),
}
