//! Pages of this machine's programs in a zram device for each algorithm.

use std::fs::OpenOptions;

use unjank_host::journal::{Session, Zram};
use unjank_host::machine::zram;
use unjank_host::memory::page_size;
use unjank_host::page_sample::PageSample;
use unjank_host::{Bytes, Error, Result, Root, Support, zram_device};
use unjank_measure::Series;

use super::measured::{Compressed, Groups};
use super::target::Target;

/// One algorithm: its device, and what was measured with it.
#[derive(Debug)]
pub(super) struct Compressor {
    algorithm: String,
    /// Dropped before `device`, which it has open.
    pub(super) target: Target,
    device: Zram,
    pub(super) write: Series,
    pub(super) read: Series,
    pub(super) groups: Groups,
}

/// A device for each algorithm of the kernel, and why others have none. `No` without zram.
pub(super) fn set_up(
    session: &Session,
    root: &Root,
    pages: usize,
) -> Result<Support<(Vec<Compressor>, Vec<String>)>> {
    let algorithms = match zram_device::available_algorithms(root)? {
        Support::Yes(algorithms) => algorithms,
        Support::No(reason) => return Ok(Support::No(reason)),
    };
    let (mut all, mut warnings) = (Vec::new(), Vec::new());
    for algorithm in algorithms {
        match Compressor::new(session, &algorithm, pages) {
            Ok(Support::Yes(compressor)) => all.push(compressor),
            Ok(Support::No(reason)) => return Ok(Support::No(reason)),
            Err(error) => warnings.push(format!("{algorithm} was not measured: {error}")),
        }
    }
    if all.is_empty() {
        let reason = warnings.first().cloned();
        let none = "zram names no algorithm".to_owned();
        return Ok(Support::No(reason.unwrap_or(none)));
    }
    Ok(Support::Yes((all, warnings)))
}

impl Compressor {
    fn new(session: &Session, algorithm: &str, pages: usize) -> Result<Support<Self>> {
        // The first page is the header.
        let size = Bytes(page_size().get() * (pages as u64 + 1));
        let device = match session.add_zram(algorithm, size, None)? {
            Support::Yes(device) => device,
            Support::No(reason) => return Ok(Support::No(reason)),
        };
        let file = OpenOptions::new().read(true).write(true).open(device.path());
        let file = file.map_err(|source| Error::file("open", device.path(), source))?;
        let target = match Target::of(file, device.path(), 1, pages as u64)? {
            Support::Yes(target) => target,
            Support::No(reason) => return Ok(Support::No(reason)),
        };
        let series = |name: &str| Series::new(name).with_label("algorithm", algorithm);
        Ok(Support::Yes(Self {
            algorithm: algorithm.to_owned(),
            device,
            target,
            write: series("swap/tune/write"),
            read: series("swap/tune/read"),
            groups: Groups::default(),
        }))
    }

    /// Compresses one page.
    pub(super) fn compress(&mut self, sample: &PageSample, page: usize) -> Result<()> {
        let taken = self.target.write(page as u64, sample.page(page))?;
        self.write.record(taken);
        Ok(())
    }

    /// Decompresses one page, and compares it.
    pub(super) fn decompress(&mut self, sample: &PageSample, page: usize) -> Result<()> {
        let taken = self.target.read(page as u64, 1)?;
        self.read.record(taken);
        if self.target.last() == sample.page(page) {
            return Ok(());
        }
        Err(Error::Unsupported(format!(
            "{} gave another page than it was given: do not use it",
            self.algorithm
        )))
    }

    /// What it has stored, and what it made of that. The device is removed.
    pub(super) fn finish(self, root: &Root) -> Result<Compressed> {
        let name = format!("zram{}", self.device.number());
        let device = zram::devices(root)?.into_iter().find(|device| device.name == name);
        let device = device.ok_or_else(|| Error::Unsupported(format!("{name} is gone")))?;
        Ok(Compressed {
            algorithm: self.algorithm,
            original: device.original,
            compressed: zram::compressed(root, &name)?,
            write: self.write.finish(),
            read: self.read.finish(),
            groups: self.groups.medians(),
        })
    }
}
