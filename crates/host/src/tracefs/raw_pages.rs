//! Pages of ring buffers, taken while a trace records and decoded later. During
//! the recording, a page costs one copy and no decoding.

use std::path::PathBuf;
use std::sync::Arc;

use super::decode::Decoder;
use super::page::{Layout, Page};
use super::read::{CpuReader, decode_error};
use super::trace::CpuTrace;
use crate::clock::Timestamp;
use crate::error::Result;
use unjank_units::Bytes;

/// Pages of all CPUs of one instance, not decoded yet.
#[derive(Debug, Default)]
pub struct RawPages {
    cpus: Vec<CpuPages>,
    size: u64,
}

/// A page without the unused bytes at its end.
pub(super) type CutPage = Arc<[u8]>;

/// The pages of one CPU, in the kernel's order.
#[derive(Debug)]
struct CpuPages {
    cpu: usize,
    pages: Vec<CutPage>,
    /// The last read may have left events behind.
    cut_off: bool,
}

impl RawPages {
    /// The memory that the pages take.
    pub fn size(&self) -> Bytes {
        Bytes(self.size)
    }

    /// The pages of each CPU; their memory is shared, not copied.
    pub(super) fn shared(&self) -> Vec<(usize, Vec<CutPage>)> {
        self.cpus.iter().map(|pages| (pages.cpu, pages.pages.clone())).collect()
    }

    /// Adds the content of a CPU's buffer, at most `most` pages.
    pub(super) fn take(
        &mut self,
        reader: &mut CpuReader,
        layout: &Layout,
        most: usize,
    ) -> Result<()> {
        let cpu = reader.cpu();
        let index = self.cpus.iter().position(|pages| pages.cpu == cpu).unwrap_or_else(|| {
            self.cpus.push(CpuPages { cpu, pages: Vec::new(), cut_off: false });
            self.cpus.len() - 1
        });
        let Some(own) = self.cpus.get_mut(index) else { return Ok(()) };
        own.cut_off = true;
        for _ in 0..most {
            let Some(page) = reader.next_page()? else {
                own.cut_off = false;
                break;
            };
            let length =
                Page::length(layout, page).map_err(|why| decode_error(&file(cpu), &why))?;
            let page: CutPage = page.get(..length).unwrap_or(page).into();
            self.size = self.size.saturating_add(page.len() as u64);
            own.pages.push(page);
        }
        Ok(())
    }

    /// Decodes all pages of a recording that lasted from `started` to `stopped`. Each page is
    /// freed after its decoding, unless it is shared.
    pub(super) fn decode(
        self,
        layout: &Layout,
        decoder: &Decoder,
        (started, stopped): (Timestamp, Timestamp),
    ) -> Result<Vec<CpuTrace>> {
        let decode = |CpuPages { cpu, pages, cut_off }| {
            let mut trace = CpuTrace::new(cpu);
            for page in pages {
                trace
                    .push_page(layout, decoder, &page)
                    .map_err(|why| decode_error(&file(cpu), &why))?;
            }
            if cut_off {
                trace.cut_off();
            }
            trace.finish(started, stopped);
            Ok(trace)
        };
        self.cpus.into_iter().map(decode).collect()
    }
}

/// The file that a page is from, for errors.
fn file(cpu: usize) -> PathBuf {
    PathBuf::from(format!("per_cpu/cpu{cpu}/trace_pipe_raw"))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::page::tests::{layout, page};
    use super::*;
    use crate::root::Root;

    const PATH: &str = "/per_cpu/cpu3/trace_pipe_raw";

    fn reader(root: &Root, bytes: &[u8]) -> CpuReader {
        let file = root.resolve(PATH);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, bytes).unwrap();
        CpuReader::open(root, Path::new(PATH), 3, &layout()).unwrap()
    }

    fn decoded(pages: RawPages) -> CpuTrace {
        let recorded = (Timestamp::from_nanos(50), Timestamp::from_nanos(900));
        pages.decode(&layout(), &Decoder::default(), recorded).unwrap().remove(0)
    }

    #[test]
    fn pages_are_kept_without_their_unused_part_and_decoded_later() {
        let top = tempfile::tempdir().unwrap();
        let root = Root::at(top.path());
        let mut pages = RawPages::default();
        let bytes: Vec<u8> =
            (1..=3).flat_map(|n| page(n * 100, n == 3, &[(n * 100, vec![0; 8])])).collect();
        pages.take(&mut reader(&root, &bytes), &layout(), 100).unwrap();
        assert_eq!(pages.size(), Bytes(3 * 28));
        let more = page(700, false, &[(700, vec![0; 8]), (705, vec![0; 8])]);
        pages.take(&mut reader(&root, &more), &layout(), 100).unwrap();
        let trace = decoded(pages);
        assert_eq!((trace.cpu, trace.undecoded), (3, 5));
        let gaps: Vec<_> = trace.gaps.iter().map(|gap| gap.from.as_nanos()).collect();
        assert_eq!(gaps, [0, 900], "before page 3, too, but nothing before it was decoded");
    }

    #[test]
    fn a_full_read_leaves_a_gap_unless_another_follows() {
        let top = tempfile::tempdir().unwrap();
        let root = Root::at(top.path());
        let bytes: Vec<u8> =
            (1..=3).flat_map(|n| page(n * 100, false, &[(n * 100, vec![0; 8])])).collect();
        let mut reader = reader(&root, &bytes);
        let mut pages = RawPages::default();
        pages.take(&mut reader, &layout(), 2).unwrap();
        assert!(pages.cpus[0].cut_off);
        pages.take(&mut reader, &layout(), 2).unwrap();
        assert!(!pages.cpus[0].cut_off);
        assert_eq!(decoded(pages).undecoded, 3);
    }

    #[test]
    fn a_malformed_page_is_an_error() {
        let top = tempfile::tempdir().unwrap();
        let mut reader = reader(&Root::at(top.path()), &[0xff; 4096]);
        let error = RawPages::default().take(&mut reader, &layout(), 2).unwrap_err();
        assert!(error.to_string().contains("bytes should be in use"), "{error}");
    }
}
