//! How much rather to swap than to drop pages of files.
//!
//! `vm.swappiness` is the relative cost of the two: if swap is read k times as fast as files, a
//! swappiness of s with s/(200 − s) = k weighs them alike, so s = 200·k/(1 + k)
//! (`Documentation/admin-guide/sysctl/vm.rst`, whose example is k = 2 and 133).

use super::super::measured::Measured;
use super::backend::Backend;
use super::setting::{ASSUMED_MISSES, Present, Setting, median, time};

/// Kernels before this one take at most 100.
const WIDER_SINCE: (u32, u32) = (5, 8);
/// A present value stays if it is so near to the interval: another run would measure another one.
const NEAR: u32 = 5;

/// The value, and why.
pub(super) fn decide(
    measured: &Measured,
    present: &Present,
    backend: &Backend,
) -> (Option<u32>, Setting) {
    let now = present.memory.swappiness;
    let setting = |proposed: Option<u32>, why: String| Setting {
        name: "vm.swappiness",
        now: now.map_or_else(|| "none".to_owned(), |now| now.to_string()),
        proposed: proposed.map(|value| value.to_string()),
        why,
    };
    let none = |why: String| (None, setting(None, why));
    if now.is_none() {
        return none("this kernel has no such setting".to_owned());
    }
    let Some((files, files_ends)) =
        measured.file_system.as_ref().and_then(|files| median(&files.read))
    else {
        return none("no file was read, so the two cannot be compared".to_owned());
    };
    if *backend == Backend::Unchanged && present.memory.swap.is_empty() {
        return none("there is no swap".to_owned());
    }
    let (swap, swap_ends, of_what) = match time_of_swap(measured, backend) {
        Ok(time) => time,
        Err(why) => return none(why),
    };
    let most = if is_before(&present.kernel, WIDER_SINCE) { 100 } else { 200 };
    let value = weigh(files / swap, most);
    let ends =
        [weigh(files_ends[0] / swap_ends[1], most), weigh(files_ends[1] / swap_ends[0], most)];
    let near = ends[0].saturating_sub(NEAR)..=ends[1] + NEAR;
    if let Some(now) = now.filter(|now| near.contains(now)) {
        let why = format!("near what is measured, {} to {}", ends[0], ends[1]);
        return (Some(now), setting(Some(now), why));
    }
    let times = files / swap;
    let why = format!(
        "a page comes back from {of_what} in {}, from {} in {}: {times:.1} times as fast ({} to {})",
        time(swap),
        measured.file_system.as_ref().map_or("files", |files| &*files.name),
        time(files),
        ends[0],
        ends[1]
    );
    (Some(value), setting(Some(value), why))
}

/// The time of a page-in with this backend, the ends of its interval, and its name.
fn time_of_swap(measured: &Measured, backend: &Backend) -> Result<(f64, [f64; 2], String), String> {
    let compressed = |name: &str| {
        let it = measured.compressors.iter().find(|it| it.algorithm == name)?;
        median(&it.read)
    };
    // A swap file is on a file system.
    let area = measured.swap_area.as_ref().or(measured.file_system.as_ref());
    let on_storage = area.and_then(|area| Some((median(&area.read)?, area.name.clone())));
    match (backend, on_storage) {
        (Backend::Zram { algorithm, .. }, _) => {
            let (swap, ends) = compressed(algorithm).ok_or("no page was compressed")?;
            Ok((swap, ends, "zram".to_owned()))
        }
        (Backend::Zswap { compressor, .. }, Some(((storage, ends), name))) => {
            let pool = compressor.as_deref().and_then(compressed);
            let (pool, pool_ends) = pool.unwrap_or((storage, ends));
            let mix =
                |pool: f64, storage: f64| (1.0 - ASSUMED_MISSES) * pool + ASSUMED_MISSES * storage;
            let ends = [mix(pool_ends[0], ends[0]), mix(pool_ends[1], ends[1])];
            let name = format!("zswap and, one in ten (assumed), {name}");
            Ok((mix(pool, storage), ends, name))
        }
        (Backend::Unchanged, Some(((storage, ends), name))) => Ok((storage, ends, name)),
        (Backend::Zswap { .. } | Backend::Unchanged, None) => {
            Err("no swap was measured".to_owned())
        }
    }
}

fn weigh(k: f64, most: u32) -> u32 {
    ((200.0 * k / (1.0 + k)).round() as u32).min(most)
}

/// Whether a release, such as `5.4.0-42-generic`, is older; `false` if it cannot be read.
fn is_before(release: &str, version: (u32, u32)) -> bool {
    let mut parts = release.split(|c: char| !c.is_ascii_digit()).map(str::parse::<u32>);
    matches!((parts.next(), parts.next()), (Some(Ok(major)), Some(Ok(minor))) if (major, minor) < version)
}

#[cfg(test)]
mod tests {
    use unjank_host::machine::SwapKind;

    use super::super::fixture::{compressed, device, present, storage};
    use super::*;

    #[test]
    fn the_formula_is_the_kernels() {
        assert_eq!([0.5, 1.0, 2.0, 19.0, 1e9].map(|k| weigh(k, 200)), [67, 100, 133, 190, 200]);
        assert_eq!(weigh(2.0, 100), 100);
        assert!(is_before("5.4.0-42-generic", (5, 8)) && is_before("4.19", (5, 8)));
        assert!(
            !is_before("5.8.0", (5, 8)) && !is_before("6.1", (5, 8)) && !is_before("x", (5, 8))
        );
    }

    #[test]
    fn swappiness_weighs_the_measured_times() {
        let mut measured = Measured {
            compressors: vec![compressed("lz4", 25, 3_000, 5_000)],
            file_system: Some(storage(95_000, 1_000)),
            ..Measured::default()
        };
        let zram = Backend::Zram {
            algorithm: "lz4".to_owned(),
            size: unjank_host::Bytes(0),
            exists: false,
        };
        let (value, setting) = decide(&measured, &present(), &zram);
        assert_eq!(value, Some(190));
        assert!(setting.why.contains("19.0 times as fast"), "{}", setting.why);
        let mut set = present();
        set.memory.swappiness = Some(190);
        assert!(!decide(&measured, &set, &zram).1.is_changed());
        let (without_swap, setting) = decide(&measured, &present(), &Backend::Unchanged);
        assert_eq!((without_swap, setting.why.as_str()), (None, "there is no swap"));
        let mut with_file = present();
        with_file.memory.swap = vec![device(SwapKind::File, "/swap")];
        let (alike, _) = decide(&measured, &with_file, &Backend::Unchanged);
        assert_eq!(alike, Some(100), "a swap file is a file");
        measured.swap_area = Some(storage(95_000, 1_000));
        let zswap = Backend::Zswap { compressor: Some("lz4".to_owned()), shrinker: true };
        let (mixed, setting) = decide(&measured, &present(), &zswap);
        // 0.9 · 5 µs + 0.1 · 95 µs = 14 µs.
        assert_eq!(mixed, Some(174));
        assert!(setting.why.contains("(assumed)"), "{}", setting.why);
        measured.file_system = None;
        assert_eq!(decide(&measured, &present(), &zram).0, None);
    }
}
