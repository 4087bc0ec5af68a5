//! The place of a function: in the kernel, in a file, or in generated code.

use super::mappings::FileNumber;

/// The place of code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Place {
    /// An address of the kernel.
    Kernel(u64),
    /// An offset in a file.
    File(FileNumber, u64),
    /// An address of a process that no file is mapped to: generated code.
    Made(u32, u64),
}
