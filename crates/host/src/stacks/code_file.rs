//! The files that processes had mapped, with the unwind tables of their functions.

use std::cell::OnceCell;
use std::collections::HashMap;
use std::fs::File;
use std::ops::Range;
use std::sync::Arc;

use object::{Object as _, ObjectSection as _};

use super::mappings::FileNumber;
use crate::address_space::MappedFile;
use crate::program_code::{BoundedCache, Segments, open_file};
use crate::root::Root;

/// Larger sections are not read.
const LARGEST_SECTION: u64 = 64 << 20;

/// All files, each once.
#[derive(Debug, Default)]
pub(super) struct CodeFiles {
    numbers: HashMap<(String, MappedFile), FileNumber>,
    files: Vec<CodeFile>,
}

/// A mapped file, with its unwind tables.
#[derive(Debug)]
pub(super) struct CodeFile {
    /// The path as `process` sees it.
    pub(super) path: String,
    mapped: MappedFile,
    /// A process that has mapped it.
    process: u32,
    /// The unwind tables, read on first use; `None` if that fails.
    unwinding: OnceCell<Option<Unwinding>>,
}

/// Where its code is loaded, and `.eh_frame`, by its own addresses.
#[derive(Debug, Clone)]
pub(super) struct Unwinding {
    segments: Segments,
    pub(super) text: Option<Range<u64>>,
    pub(super) got: Option<Range<u64>>,
    pub(super) eh_frame: Option<Section>,
    pub(super) eh_frame_hdr: Option<Section>,
}

/// A section of a file.
#[derive(Debug, Clone)]
pub(super) struct Section {
    pub(super) addresses: Range<u64>,
    pub(super) data: Arc<[u8]>,
}

impl CodeFiles {
    /// The number of a file that `process` has mapped; `None` for memory without a
    /// file that could be read.
    pub(super) fn number(
        &mut self,
        path: &[u8],
        mapped: MappedFile,
        process: u32,
    ) -> Option<FileNumber> {
        let path = std::str::from_utf8(path).ok()?;
        let is_file = path.starts_with('/') && !path.starts_with("//") && mapped.inode != 0;
        if !is_file && path != "[vdso]" {
            return None;
        }
        if let Some(number) = self.numbers.get(&(path.to_owned(), mapped)) {
            return Some(*number);
        }
        let number = FileNumber(u32::try_from(self.files.len()).ok()?);
        self.numbers.insert((path.to_owned(), mapped), number);
        self.files.push(CodeFile {
            path: path.to_owned(),
            mapped,
            process,
            unwinding: OnceCell::new(),
        });
        Some(number)
    }

    pub(super) fn get(&self, number: FileNumber) -> Option<&CodeFile> {
        self.files.get(number.0 as usize)
    }

    /// How the functions of a file are unwound; `None` if it cannot be read.
    pub(super) fn unwinding(&self, root: &Root, number: FileNumber) -> Option<&Unwinding> {
        let file = self.get(number)?;
        file.unwinding.get_or_init(|| file.open(root).and_then(Unwinding::read)).as_ref()
    }
}

impl CodeFile {
    /// Opens the file as the process sees it, or as this one does after its end. It
    /// must be the one that was mapped.
    pub(super) fn open(&self, root: &Root) -> Option<File> {
        if self.mapped.inode == 0 {
            return None;
        }
        let Self { path, process, .. } = self;
        let places = [format!("/proc/{process}/root{path}"), path.clone()];
        let files = places.iter().filter_map(|place| open_file(&root.resolve(place)));
        let is_it = |file: &File| MappedFile::of(file) == Some(self.mapped);
        files.into_iter().find(is_it)
    }

    /// `libc.so.6`.
    pub(super) fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or_default()
    }
}

impl Unwinding {
    fn read(file: File) -> Option<Self> {
        let cache = BoundedCache::new(file);
        let file = object::File::parse(&cache).ok()?;
        let range = |name: &str| {
            let section = file.section_by_name(name)?;
            Some(section.address()..section.address().checked_add(section.size())?)
        };
        let section = |name: &str| {
            let addresses = range(name)?;
            let size = addresses.end - addresses.start;
            let data = file.section_by_name(name).filter(|_| size <= LARGEST_SECTION)?.data();
            Some(Section { addresses, data: data.ok()?.into() })
        };
        Some(Self {
            segments: Segments::of(&file),
            text: range(".text"),
            got: range(".got"),
            eh_frame: section(".eh_frame"),
            eh_frame_hdr: section(".eh_frame_hdr"),
        })
    }

    /// The file's own address of an offset.
    pub(super) fn address_of(&self, offset: u64) -> Option<u64> {
        self.segments.address_of(offset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEVEN: MappedFile = MappedFile { device: (0, 0), inode: 7 };

    #[test]
    fn a_file_that_was_replaced_is_not_read() {
        let top = tempfile::tempdir().unwrap();
        let path = top.path().join("program");
        std::fs::copy("/proc/self/exe", &path).unwrap();
        let mapped = MappedFile::of(&File::open(&path).unwrap()).unwrap();
        let text = path.to_str().unwrap().as_bytes();
        let mut files = CodeFiles::default();
        let number = files.number(text, mapped, 0).unwrap();
        assert_eq!(files.number(text, mapped, 0), Some(number));
        let root = Root::system();
        let (major, minor) = mapped.device;
        for wrong in [
            MappedFile { inode: mapped.inode + 1, ..mapped },
            MappedFile { device: (major, minor + 1), ..mapped },
        ] {
            let other = files.number(text, wrong, 0).unwrap();
            assert_ne!(other, number);
            assert!(files.unwinding(&root, other).is_none(), "{wrong:?}");
        }
        let unwinding = files.unwinding(&root, number).unwrap();
        assert!(unwinding.eh_frame.is_some() && unwinding.text.is_some());
        assert_eq!(files.get(number).map(CodeFile::name), Some("program"));
    }

    #[test]
    fn memory_has_no_file() {
        let mut files = CodeFiles::default();
        for path in [&b"//anon"[..], b"[heap]", b"anon_inode:[x]", b"/\xff", b""] {
            assert_eq!(files.number(path, SEVEN, 1), None);
        }
        assert_eq!(files.number(b"/memory", MappedFile::default(), 1), None);
        assert!(files.number(b"[vdso]", MappedFile::default(), 1).is_some());
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_are_read(bytes in proptest::collection::vec(0_u8.., 0..400)) {
            use std::io::Write as _;
            let mut file = tempfile::tempfile().unwrap();
            file.write_all(&[&b"\x7fELF\x02\x01\x01"[..], &bytes].concat()).unwrap();
            let read = Unwinding::read(file);
            let _either = read.and_then(|it| it.address_of(u64::MAX));
        }
    }
}
