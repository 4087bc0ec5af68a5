//! Knobs that the kernel resets when another knob changes, and that have to be
//! put back with it.
//!
//! A governor's tunables are created when it starts and removed when it ends
//! (`cpufreq_dbs_governor_exit` in `drivers/cpufreq/cpufreq_governor.c`): after
//! `ondemand` → `performance` → `ondemand` they have the kernel's defaults, not
//! the values that had been set. They are announced before the governor and
//! never settled, so they are written after it, whatever they read then.

use std::path::{Path, PathBuf};

use super::knob_file::KnobFile;
use super::ledger::Held;
use super::site::Site;

const CPUS: &str = "/sys/devices/system/cpu";
const CPUFREQ: &str = "/sys/devices/system/cpu/cpufreq";
const GOVERNOR: &str = "scaling_governor";
/// The most tunables of a governor.
const MOST: usize = 128;

/// The files, with their values, that disappear when `knob` changes from
/// `before` to `wanted`, in one step with the knobs in `batch`.
pub(super) fn of(
    site: &Site,
    knob: &KnobFile,
    before: &str,
    wanted: &str,
    batch: &[String],
) -> Vec<(String, String)> {
    let path = Path::new(knob.path());
    let is_governor = path.file_name().is_some_and(|name| name == GOVERNOR);
    if !is_governor || before == wanted || before.contains('/') {
        return Vec::new();
    }
    let own = path.parent().unwrap_or(path).join(before);
    let mut files = files(site, &own);
    // Shared tunables exist as long as one policy has that governor.
    if !others(site).any(|(other, reads)| reads == before && !batch.contains(&other)) {
        files.extend(self::files(site, &Path::new(CPUFREQ).join(before)));
    }
    let read = |path: PathBuf| {
        let file = KnobFile::open(site, &path).ok()?;
        file.check_both_ways().ok()?;
        Some((file.path().to_owned(), file.read().ok()?))
    };
    files.into_iter().filter_map(read).take(MOST).collect()
}

/// The path and value of every policy's governor. On old kernels every CPU has
/// a directory.
fn others(site: &Site) -> impl Iterator<Item = (String, String)> + '_ {
    let policies = files(site, Path::new(CPUFREQ)).into_iter();
    let cpus = files(site, Path::new(CPUS)).into_iter().map(|cpu| cpu.join("cpufreq"));
    policies.chain(cpus).filter_map(|policy| {
        let governor = KnobFile::open(site, &policy.join(GOVERNOR)).ok()?;
        Some((governor.path().to_owned(), governor.read().ok()?))
    })
}

/// Whether `held` was announced because of another knob.
pub(super) fn is_dependant(held: &Held) -> bool {
    !held.settled && held.before == held.during
}

fn files(site: &Site, place: &Path) -> Vec<PathBuf> {
    let Ok((directory, _)) = site.locate(place) else { return Vec::new() };
    let names = site.root().list(directory).unwrap_or_default();
    let mut paths: Vec<PathBuf> = names.into_iter().map(|name| place.join(name)).collect();
    paths.sort();
    paths
}
