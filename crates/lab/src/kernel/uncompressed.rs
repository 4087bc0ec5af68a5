//! The kernel out of its compressed image.
//!
//! A kernel unpacks itself when it starts, which takes an emulated processor seconds. What it
//! unpacks is an ELF file, which QEMU starts through the entry for virtual machines (PVH) if the
//! kernel was built with one.

use std::io::Read;

use object::LittleEndian;
use object::elf::{FileHeader64, NoteType};
use object::read::elf::{FileHeader as _, ProgramHeader as _};

/// Offsets in the image's header: `Documentation/arch/x86/boot.rst`.
const SETUP_SECTORS: usize = 0x1f1;
const MAGIC: usize = 0x202;
const PAYLOAD_OFFSET: usize = 0x248;
const PAYLOAD_LENGTH: usize = 0x24c;

/// A header without a number of sectors has this many.
const DEFAULT_SETUP_SECTORS: u8 = 4;
const SECTOR: usize = 512;

/// The note of a PVH entry, `XEN_ELFNOTE_PHYS32_ENTRY`: `include/xen/interface/elfnote.h`.
const PVH_OWNER: &[u8] = b"Xen";
const PVH_ENTRY: NoteType = NoteType(18);

/// No kernel is larger than this number of bytes.
const LARGEST: u64 = 256 << 20;

/// The kernel in a compressed image; `None` for an image in another form, of another compression
/// than zstd, or without a PVH entry.
pub(crate) fn uncompressed(image: &[u8]) -> Option<Vec<u8>> {
    let mut kernel = Vec::new();
    // The payload ends with its unpacked length.
    let frame = zstd::Decoder::with_buffer(payload(image)?).ok()?.single_frame();
    frame.take(LARGEST + 1).read_to_end(&mut kernel).ok()?;
    (kernel.len() as u64 <= LARGEST && has_pvh_entry(&kernel)).then_some(kernel)
}

/// The compressed kernel in an image.
fn payload(image: &[u8]) -> Option<&[u8]> {
    let number = |at: usize| {
        let bytes = image.get(at..)?.first_chunk()?;
        usize::try_from(u32::from_le_bytes(*bytes)).ok()
    };
    if image.get(MAGIC..)?.first_chunk() != Some(b"HdrS") {
        return None;
    }
    let sectors = match image[SETUP_SECTORS] {
        0 => DEFAULT_SETUP_SECTORS,
        sectors => sectors,
    };
    let kernel = image.get((usize::from(sectors) + 1) * SECTOR..)?;
    kernel.get(number(PAYLOAD_OFFSET)?..)?.get(..number(PAYLOAD_LENGTH)?)
}

fn has_pvh_entry(kernel: &[u8]) -> bool {
    fn entry(kernel: &[u8]) -> object::Result<bool> {
        let header: &FileHeader64<LittleEndian> = FileHeader64::parse(kernel)?;
        let endian = header.endian()?;
        for segment in header.program_headers(endian, kernel)? {
            let Some(mut notes) = segment.notes(endian, kernel)? else { continue };
            while let Some(note) = notes.next()? {
                if note.name() == PVH_OWNER && note.n_type(endian) == PVH_ENTRY {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }
    entry(kernel).unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// An ELF file of one segment, which contains one note of Xen's.
    fn elf(kind: u32) -> Vec<u8> {
        let mut elf = b"\x7fELF\x02\x01\x01".to_vec();
        elf.resize(16, 0);
        let half = |elf: &mut Vec<u8>, number: u16| elf.extend(number.to_le_bytes());
        half(&mut elf, 2); // ET_EXEC
        half(&mut elf, 62); // EM_X86_64
        elf.extend(1_u32.to_le_bytes());
        for offset in [0_u64, 64, 0] {
            elf.extend(offset.to_le_bytes()); // the entry, program headers, section headers
        }
        elf.extend(0_u32.to_le_bytes());
        for number in [64, 56, 1, 64, 0, 0] {
            half(&mut elf, number);
        }
        elf.extend(4_u32.to_le_bytes()); // PT_NOTE
        elf.extend(0_u32.to_le_bytes());
        for number in [120_u64, 0, 0, 24, 24, 4] {
            elf.extend(number.to_le_bytes()); // the offset, addresses, sizes, the alignment
        }
        for number in [4, 8, kind] {
            elf.extend(number.to_le_bytes());
        }
        elf.extend(b"Xen\0");
        elf.extend([0; 8]);
        elf
    }

    fn image(kernel: &[u8]) -> Vec<u8> {
        let mut payload = zstd::encode_all(kernel, 1).unwrap();
        payload.extend(u32::try_from(kernel.len()).unwrap().to_le_bytes());
        let mut image = vec![0; 2 * SECTOR + 0x100];
        image[SETUP_SECTORS] = 1;
        image[MAGIC..MAGIC + 4].copy_from_slice(b"HdrS");
        image[PAYLOAD_OFFSET..PAYLOAD_OFFSET + 4].copy_from_slice(&0x100_u32.to_le_bytes());
        let length = u32::try_from(payload.len()).unwrap();
        image[PAYLOAD_LENGTH..PAYLOAD_LENGTH + 4].copy_from_slice(&length.to_le_bytes());
        image.extend(payload);
        image.extend([0xcc; 64]);
        image
    }

    #[test]
    fn a_kernel_with_a_pvh_entry_is_unpacked() {
        let kernel = elf(PVH_ENTRY.0);
        assert_eq!(uncompressed(&image(&kernel)), Some(kernel));
    }

    #[test]
    fn any_other_image_is_left_to_the_kernel_itself() {
        assert_eq!(uncompressed(&image(&elf(PVH_ENTRY.0 + 1))), None, "no PVH entry");
        assert_eq!(uncompressed(&image(b"no kernel")), None);
        let whole = image(&elf(PVH_ENTRY.0));
        let mut other = whole.clone();
        other[MAGIC] = 0;
        assert_eq!(uncompressed(&other), None, "no such header");
        assert_eq!(uncompressed(&whole[..whole.len() - 100]), None, "the image is cut off");
        assert_eq!(uncompressed(&[]), None);
    }

    proptest! {
        #[test]
        fn no_image_is_trusted(
            changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..20),
        ) {
            let mut image = image(&elf(PVH_ENTRY.0));
            for (place, byte) in changes {
                let place = place.index(image.len());
                image[place] = byte;
            }
            let _no_panic = uncompressed(&image);
        }
    }
}
