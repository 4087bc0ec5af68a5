//! Finds the callers of a function: by the tables of its file (`.eh_frame`), or by
//! frame pointers in code without any.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

#[cfg(target_arch = "aarch64")]
use framehop::aarch64::{
    CacheAarch64 as Cache, UnwindRegsAarch64 as Registers, UnwinderAarch64 as TableUnwinder,
};
#[cfg(target_arch = "x86_64")]
use framehop::x86_64::{
    CacheX86_64 as Cache, UnwindRegsX86_64 as Registers, UnwinderX86_64 as TableUnwinder,
};
use framehop::{Error, ExplicitModuleSectionInfo, FrameAddress, Module, Unwinder as _};

use super::addresses::{DEEPEST, Frames};
use super::code_file::CodeFiles;
use super::mappings::Mappings;
use crate::perf_event::{REGISTERS, Sample};
use crate::root::Root;

/// The unwinders of all processes, which share a cache.
pub(super) struct Unwinders {
    cache: Cache,
    processes: HashMap<u32, OfProcess>,
}

#[derive(Default)]
struct OfProcess {
    unwinder: TableUnwinder<Arc<[u8]>>,
    /// First addresses of the mappings that were examined.
    known: BTreeSet<u64>,
}

impl Default for Unwinders {
    fn default() -> Self {
        Self { cache: Cache::new(), processes: HashMap::new() }
    }
}

impl Unwinders {
    /// Drops what is known of a process whose mappings have changed.
    pub(super) fn forget(&mut self, process: u32) {
        self.processes.remove(&process);
    }

    /// The frames of a sample, as far as the tables and the copied part of the
    /// stack lead.
    pub(super) fn frames(
        &mut self,
        root: &Root,
        sample: &Sample<'_>,
        mappings: &Mappings,
        files: &CodeFiles,
    ) -> Frames {
        let Some((begin, stack_pointer, mut registers)) = sample.registers.map(split) else {
            return Frames::default();
        };
        let mut read = |address: u64| {
            let at = usize::try_from(address.wrapping_sub(stack_pointer)).map_err(|_| ())?;
            let bytes = sample.stack.get(at..at.checked_add(8).ok_or(())?).ok_or(())?;
            Ok(u64::from_ne_bytes(bytes.try_into().map_err(|_| ())?))
        };
        let process = self.processes.entry(sample.process).or_default();
        let mut frames = Frames { addresses: vec![begin], is_whole: false };
        let mut address = innermost(begin);
        while frames.addresses.len() < DEEPEST {
            process.learn(root, address.address_for_lookup(), mappings, files);
            let unwinder = &process.unwinder;
            match unwinder.unwind_frame(address, &mut registers, &mut self.cache, &mut read) {
                Ok(Some(caller)) if let Some(next) = FrameAddress::from_return_address(caller) => {
                    address = next;
                    frames.addresses.push(caller);
                }
                Ok(_) | Err(Error::ReturnAddressIsNull) => {
                    frames.is_whole = true;
                    break;
                }
                Err(_) => break,
            }
        }
        frames
    }
}

impl OfProcess {
    /// Adds the tables of the file that is mapped at `address`.
    fn learn(&mut self, root: &Root, address: u64, mappings: &Mappings, files: &CodeFiles) {
        let Some(mapping) = mappings.at(address) else { return };
        if !self.known.insert(mapping.start) {
            return;
        }
        let Some(file) = mapping.file.and_then(|file| files.unwinding(root, file)) else {
            return;
        };
        let Some(own) = file.address_of(mapping.offset) else { return };
        let Some(base) = mapping.start.checked_sub(own) else { return };
        let (frame, index) = (file.eh_frame.clone(), file.eh_frame_hdr.clone());
        let range = mapping.start..mapping.end;
        let sections = ExplicitModuleSectionInfo {
            base_svma: 0,
            text_svma: file.text.clone(),
            got_svma: file.got.clone(),
            eh_frame_svma: frame.as_ref().map(|it| it.addresses.clone()),
            eh_frame: frame.map(|it| it.data),
            eh_frame_hdr_svma: index.as_ref().map(|it| it.addresses.clone()),
            eh_frame_hdr: index.map(|it| it.data),
            ..ExplicitModuleSectionInfo::default()
        };
        self.unwinder.add_module(Module::new(String::new(), range, base, sections));
    }
}

/// The innermost address. As a return address behind it, code without a table is followed by its
/// frame pointer; framehop takes such code for a function that has not changed the stack if it is
/// the innermost, and a value that a function left on the stack for a return address.
#[cfg(target_arch = "x86_64")]
fn innermost(address: u64) -> FrameAddress {
    FrameAddress::from_return_address(address.wrapping_add(1))
        .unwrap_or(FrameAddress::from_instruction_pointer(address))
}

/// The innermost address, whose caller can be in the link register.
#[cfg(target_arch = "aarch64")]
fn innermost(address: u64) -> FrameAddress {
    FrameAddress::from_instruction_pointer(address)
}

/// The instruction pointer, the stack pointer, and what the unwinder needs.
#[cfg(target_arch = "x86_64")]
fn split([frame, stack, instruction]: [u64; REGISTERS.len()]) -> (u64, u64, Registers) {
    (instruction, stack, Registers::new(instruction, stack, frame))
}

#[cfg(target_arch = "aarch64")]
fn split([frame, link, stack, instruction]: [u64; REGISTERS.len()]) -> (u64, u64, Registers) {
    (instruction, stack, Registers::new(link, stack, frame))
}
