//! The trace of both benches: 10 million requests by Zipf's law with exponent 1.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use rand_distr::{Distribution, Zipf};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;
use unjank_cachesim::Page;
use unjank_cachesim::bounds::NextUses;

pub(crate) const REQUESTS: usize = 10_000_000;
pub(crate) const PAGES: u64 = 1_000_000;

/// The file, written if it is not there.
pub(crate) fn trace() -> PathBuf {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("zipf-10M.oracleGeneral");
    if !file.exists() {
        write_trace(&file);
    }
    file
}

/// Records of 24 bytes: u32 seconds, u64 page, u32 size, i64 next request or -1.
fn write_trace(file: &Path) {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
    let zipf = Zipf::new(PAGES as f64, 1.0).unwrap();
    let keys: Vec<u64> = (0..REQUESTS)
        // Scatters the popular pages.
        .map(|_| (zipf.sample(&mut random) as u64).wrapping_mul(2_654_435_761) % PAGES)
        .collect();
    let uses = NextUses::of(keys.iter().map(|key| Page(*key as u32))).unwrap();
    let mut file = BufWriter::new(File::create(file).unwrap());
    for (at, (key, next)) in keys.iter().zip(uses.as_slice()).enumerate() {
        let next = if *next == u32::MAX { -1 } else { i64::from(*next) };
        file.write_all(&(at as u32 / 100_000).to_le_bytes()).unwrap();
        file.write_all(&key.to_le_bytes()).unwrap();
        file.write_all(&1u32.to_le_bytes()).unwrap();
        file.write_all(&next.to_le_bytes()).unwrap();
    }
}
