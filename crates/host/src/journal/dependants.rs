//! Knobs that the kernel changes with another knob, and that have to be put back
//! with it. [`couplings`](super::couplings) lists them.
//!
//! They are announced before their knob is written for the first time, and put
//! back after it, because that write changes them again. Of a pair, the member
//! in force is put back first: the other one then reads 0 again by itself, and
//! cannot be written.

use std::path::{Path, PathBuf};

use super::couplings::{CPUFREQ, Couplings, NOT_IN_FORCE, sibling};
use super::knob_file::KnobFile;
use super::site::Site;
use crate::error::{Error, Result};

const CPUS: &str = "/sys/devices/system/cpu";
const GOVERNOR: &str = "scaling_governor";
/// The most dependants of a knob: every network device can have one.
const MOST: usize = 4_096;

/// The files that change with `knob` when it is written while it reads `before`,
/// in one step with the knobs in `batch`.
///
/// # Errors
/// `Unsupported` if there are too many.
pub(super) fn of(
    site: &Site,
    knob: &KnobFile,
    before: &str,
    wanted: &str,
    batch: &[String],
) -> Result<Vec<KnobFile>> {
    let path = Path::new(knob.path());
    if let Some(pair) = way_back(site, knob.path(), before) {
        return Ok(vec![pair.0]);
    }
    let is_governor = path.file_name().is_some_and(|name| name == GOVERNOR);
    if sibling(knob.path()).is_some() || is_governor && before == wanted {
        return Ok(Vec::new());
    }
    let couplings = Couplings::of(knob.path(), before);
    // Shared tunables exist as long as one policy has that governor.
    let stay = is_governor
        && others(site).any(|(other, reads)| reads == before && !batch.contains(&other));
    let shared = stay.then(|| Path::new(CPUFREQ).join(before));
    let mut found: Vec<KnobFile> = Vec::new();
    for file in couplings.patterns().iter().flat_map(|pattern| files(site, &pattern.path)) {
        let Ok(file) = KnobFile::open(site, &file) else { continue };
        let is_new = !found.iter().any(|other| other.path() == file.path());
        if is_new
            && couplings.effect_on(file.path()).is_some()
            && (shared.is_none() || Path::new(file.path()).parent() != shared.as_deref())
            && file.check_both_ways().is_ok()
        {
            found.push(file);
        }
    }
    if found.len() > MOST {
        let what = format!("{} changes more than {MOST} other knobs", path.display());
        return Err(Error::Unsupported(what));
    }
    Ok(found)
}

/// The file that puts `knob`, which reads `before`, back, and its value, if that
/// is the other member of a pair: the one that is in force.
pub(super) fn way_back(site: &Site, knob: &str, before: &str) -> Option<(KnobFile, String)> {
    let other = sibling(knob).filter(|_| before == NOT_IN_FORCE)?;
    let other = KnobFile::open(site, Path::new(other)).ok()?;
    other.check_both_ways().ok()?;
    let value = other.read().ok().filter(|value| value != NOT_IN_FORCE)?;
    Some((other, value))
}

/// The path and value of every policy's governor. On old kernels every CPU has
/// a directory.
fn others(site: &Site) -> impl Iterator<Item = (String, String)> + '_ {
    let policies = list(site, Path::new(CPUFREQ)).into_iter();
    let cpus = list(site, Path::new(CPUS)).into_iter().map(|cpu| cpu.join("cpufreq"));
    policies.chain(cpus).filter_map(|policy| {
        let governor = KnobFile::open(site, &policy.join(GOVERNOR)).ok()?;
        Some((governor.path().to_owned(), governor.read().ok()?))
    })
}

/// The files that a pattern matches.
fn files(site: &Site, pattern: &str) -> Vec<PathBuf> {
    match pattern.split_once("/*") {
        None => vec![PathBuf::from(pattern)],
        Some((place, rest)) => {
            let rest = rest.trim_start_matches('/');
            let places = list(site, Path::new(place)).into_iter();
            places.map(|place| if rest.is_empty() { place } else { place.join(rest) }).collect()
        }
    }
}

fn list(site: &Site, place: &Path) -> Vec<PathBuf> {
    let Ok((directory, _)) = site.locate(place) else { return Vec::new() };
    let names = site.root().list(directory).unwrap_or_default();
    let mut paths: Vec<PathBuf> = names.into_iter().map(|name| place.join(name)).collect();
    paths.sort();
    paths
}
