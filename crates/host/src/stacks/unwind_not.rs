//! On other architectures, callers are found by frame pointers only.

use super::addresses::Frames;
use super::code_file::CodeFiles;
use super::mappings::Mappings;
use crate::perf_event::Sample;
use crate::root::Root;

#[derive(Default)]
pub(super) struct Unwinders;

impl Unwinders {
    pub(super) fn forget(&mut self, _: u32) {}

    pub(super) fn frames(
        &mut self,
        _: &Root,
        _: &Sample<'_>,
        _: &Mappings,
        _: &CodeFiles,
    ) -> Frames {
        Frames::default()
    }
}
