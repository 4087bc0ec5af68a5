//! Reading the ring buffer of one CPU.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use super::decode::Decoder;
use super::format::Malformed;
use super::page::Layout;
use super::trace::CpuTrace;
use crate::error::{Error, Result};
use crate::root::Root;

/// `per_cpu/cpuN/trace_pipe_raw`, kept open: opening it takes several times as
/// long as finding it empty.
#[derive(Debug)]
pub(super) struct CpuReader {
    cpu: usize,
    path: PathBuf,
    file: File,
    page: Vec<u8>,
}

impl CpuReader {
    pub(super) fn open(root: &Root, path: &Path, cpu: usize, layout: &Layout) -> Result<Self> {
        let file = OpenOptions::new()
            .read(true)
            .custom_flags(libc::O_NONBLOCK)
            .open(root.resolve(path))
            .map_err(|source| Error::file("read", path, source))?;
        Ok(Self { cpu, path: path.to_owned(), file, page: vec![0; layout.page_size()] })
    }

    /// Reads and decodes at most `pages` pages. If it reads that many, a gap
    /// follows them, because the buffer may hold more.
    pub(super) fn read(
        &mut self,
        layout: &Layout,
        decoder: &Decoder,
        pages: usize,
    ) -> Result<CpuTrace> {
        let mut trace = CpuTrace::new(self.cpu);
        for _ in 0..pages {
            let Some(page) = self.next_page()? else { return Ok(trace) };
            trace.push_page(layout, decoder, page).map_err(|why| decode_error(&self.path, &why))?;
        }
        trace.cut_off();
        Ok(trace)
    }

    /// As `read`, without a gap at the end: what may follow is read by the next call.
    pub(super) fn read_part(
        &mut self,
        layout: &Layout,
        decoder: &Decoder,
        pages: usize,
    ) -> Result<CpuTrace> {
        let mut trace = CpuTrace::new(self.cpu);
        for _ in 0..pages {
            let Some(page) = self.next_page()? else { break };
            trace.push_page(layout, decoder, page).map_err(|why| decode_error(&self.path, &why))?;
        }
        Ok(trace)
    }

    /// The number of the CPU whose buffer this reads.
    pub(super) fn cpu(&self) -> usize {
        self.cpu
    }

    /// Takes the next page out of the ring; `None` if it is empty. The kernel
    /// answers each read with one page; a full page is taken without copying it
    /// inside the kernel.
    ///
    /// # Errors
    /// A failed read.
    pub(super) fn next_page(&mut self) -> Result<Option<&[u8]>> {
        loop {
            match self.file.read(&mut self.page) {
                Ok(0) => return Ok(None),
                Ok(length) => return Ok(self.page.get(..length)),
                Err(why) if why.kind() == io::ErrorKind::WouldBlock => return Ok(None),
                Err(why) if why.kind() == io::ErrorKind::Interrupted => {}
                Err(why) => return Err(Error::file("read", &self.path, why)),
            }
        }
    }
}

/// The error for a page of the file `path` that cannot be decoded.
pub(super) fn decode_error(path: &Path, malformed: &Malformed) -> Error {
    let what = format!("byte {}: {}", malformed.place, malformed.what);
    Error::file("decode", path, io::Error::new(io::ErrorKind::InvalidData, what))
}

#[cfg(test)]
mod tests {
    use super::super::page::tests::{layout, page};
    use super::*;

    const PATH: &str = "/per_cpu/cpu3/trace_pipe_raw";

    fn read(bytes: &[u8], pages: usize) -> Result<CpuTrace> {
        let top = tempfile::tempdir().unwrap();
        let root = Root::at(top.path());
        let file = root.resolve(PATH);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, bytes).unwrap();
        let mut reader = CpuReader::open(&root, Path::new(PATH), 3, &layout())?;
        reader.read(&layout(), &Decoder::default(), pages)
    }

    #[test]
    fn pages_are_read_to_the_end_or_to_the_limit() {
        let bytes: Vec<u8> =
            (1..=3).flat_map(|n| page(n * 100, false, &[(n * 100, vec![0; 8])])).collect();
        let trace = read(&bytes, 100).unwrap();
        assert_eq!((trace.cpu, trace.undecoded), (3, 3));
        assert!(trace.gaps.is_empty());
        let trace = read(&bytes, 2).unwrap();
        assert_eq!(trace.undecoded, 2);
        assert_eq!(trace.gaps.len(), 1, "there may be more");
        assert_eq!(read(&[], 100).unwrap().undecoded, 0);
    }

    #[test]
    fn parts_follow_each_other_without_gaps() {
        let top = tempfile::tempdir().unwrap();
        let root = Root::at(top.path());
        let file = root.resolve(PATH);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        let bytes = (1..=3).flat_map(|n| page(n * 100, n == 3, &[(n * 100, vec![0; 8])]));
        std::fs::write(file, bytes.collect::<Vec<u8>>()).unwrap();
        let mut reader = CpuReader::open(&root, Path::new(PATH), 3, &layout()).unwrap();
        let parts = [2, 2, 2].map(|pages| {
            let part = reader.read_part(&layout(), &Decoder::default(), pages).unwrap();
            (part.undecoded, part.gaps.len())
        });
        assert_eq!(parts, [(2, 0), (1, 1), (0, 0)], "events are missing before the third page");
    }

    #[test]
    fn a_malformed_page_is_an_error_with_its_file_and_byte() {
        let error = read(&[0xff; 4096], 100).unwrap_err().to_string();
        let expected = format!("cannot decode {PATH}: byte 8: 1073741823 bytes should be in use");
        assert!(error.starts_with(&expected), "{error}");
        let error = read(&page(1, false, &[])[..10], 100).unwrap_err().to_string();
        assert!(error.contains("byte 10: the page ends before its head does"), "{error}");
    }
}
