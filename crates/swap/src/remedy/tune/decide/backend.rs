//! zram, or zswap in front of a swap area on storage.

use std::path::Path;

use unjank_host::Bytes;
use unjank_host::machine::{SwapKind, Zram};

use super::super::measured::Measured;
use super::super::reuse::Reuse;
use super::algorithm::{self, NoChoice};
use super::setting::{Present, Setting};
use super::size;
use crate::remedy::tier::room::is_at;

/// What the user wants to swap to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Method {
    /// zswap where there is a swap area on storage, otherwise zram.
    #[default]
    Auto,
    /// zram.
    Zram,
    /// zswap.
    Zswap,
}

/// What to swap to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Backend {
    /// A zram device.
    Zram {
        /// Its algorithm.
        algorithm: String,
        /// Its size.
        size: Bytes,
        /// Whether the machine swaps to such a device already.
        exists: bool,
    },
    /// zswap, in front of the swap area that there is.
    Zswap {
        /// Its algorithm, if there is reason to set it.
        compressor: Option<String>,
        /// Whether it can write cold pages to the area before it is full.
        shrinker: bool,
    },
    /// As it is.
    Unchanged,
}

/// Decides, and explains it in `settings`.
pub(super) fn decide(
    measured: &Measured,
    present: &Present,
    reuse: Option<&Reuse>,
    method: Method,
    settings: &mut Vec<Setting>,
) -> Backend {
    let memory = &present.memory;
    let on_storage = memory.swap.iter().any(|area| area.kind != SwapKind::Zram);
    let on_zram = memory.swap.iter().any(|area| area.kind == SwapKind::Zram);
    let can_zswap = on_storage && memory.zswap.is_some();
    let wants_zswap = match method {
        Method::Auto => can_zswap && !on_zram,
        Method::Zram => false,
        Method::Zswap => true,
    };
    let now = areas(present);
    if wants_zswap && !can_zswap {
        let why = if on_storage {
            "the kernel has no zswap (CONFIG_ZSWAP)"
        } else {
            "zswap needs a swap area on storage behind it, and there is none"
        };
        settings.push(Setting { name: "swap", now, proposed: None, why: why.to_owned() });
        return Backend::Unchanged;
    }
    if wants_zswap {
        let why = "swap on storage is there: zswap keeps what was evicted last in compressed \
                   memory and sends what stays away on to storage, while zram in front of it would \
                   fill with what was evicted first";
        zswap(measured, present, reuse, why, now, settings)
    } else {
        zram(measured, present, reuse, on_storage, now, settings)
    }
}

fn zram(
    measured: &Measured,
    present: &Present,
    reuse: Option<&Reuse>,
    on_storage: bool,
    now: String,
    settings: &mut Vec<Setting>,
) -> Backend {
    let swapped_to = |device: &&Zram| {
        let name = Path::new(&device.name);
        present.memory.swap.iter().any(|area| is_at(&area.path, name))
    };
    let devices: Vec<&Zram> = present.memory.zram.iter().filter(swapped_to).collect();
    let in_use = devices.first().map(|device| &*device.algorithm);
    let choice = match algorithm::choose(measured, present, reuse, in_use) {
        Ok(choice) => choice,
        Err(none) => {
            let why = why_not(none, measured);
            settings.push(Setting { name: "swap", now, proposed: None, why });
            return Backend::Unchanged;
        }
    };
    let (size, why_size) = size::decide(choice.ratio, present.memory.total, reuse);
    let is_such = |device: &&&Zram| {
        device.algorithm == choice.algorithm && size::is_enough(device.size, size)
    };
    let such = devices.iter().find(is_such);
    let why = match (on_storage, such, devices.first()) {
        (_, Some(_), _) => "the machine swaps to such a device already".to_owned(),
        (_, None, Some(other)) => format!(
            "the new device is filled first; what is in {} stays there until it is used again",
            other.name
        ),
        (true, None, None) => "in front of the swap area on storage".to_owned(),
        (false, None, None) => "there is no swap area on storage".to_owned(),
    };
    let proposed = if such.is_some() { now.clone() } else { "zram".to_owned() };
    settings.push(Setting { name: "swap", now, proposed: Some(proposed), why });
    let device = such.or(devices.first());
    let of_device = |value: &dyn Fn(&Zram) -> String| {
        device.map_or_else(|| "none".to_owned(), |device| value(device))
    };
    let now_algorithm = of_device(&|device| device.algorithm.clone());
    settings.push(Setting {
        name: "algorithm of zram",
        now: now_algorithm,
        proposed: Some(choice.algorithm.clone()),
        why: choice.why,
    });
    let now_size = of_device(&|device| device.size.to_string());
    let proposed = if such.is_some() { now_size.clone() } else { size.to_string() };
    let why = if such.is_some() { format!("large enough: {why_size}") } else { why_size };
    settings.push(Setting { name: "size of zram", now: now_size, proposed: Some(proposed), why });
    Backend::Zram { algorithm: choice.algorithm, size, exists: such.is_some() }
}

fn zswap(
    measured: &Measured,
    present: &Present,
    reuse: Option<&Reuse>,
    why: &str,
    now: String,
    settings: &mut Vec<Setting>,
) -> Backend {
    let zswap = present.memory.zswap.clone().unwrap_or_default();
    let switch = |on: bool| if on { "on" } else { "off" }.to_owned();
    let offers = |name: &str| {
        present.crypto.as_ref().is_some_and(|names| names.iter().any(|known| known == name))
    };
    let offered = measured.compressors.iter().filter(|it| offers(&it.algorithm)).cloned().collect();
    let offered = Measured { compressors: offered, ..measured.clone() };
    let in_use = Some(&*zswap.compressor).filter(|_| zswap.enabled);
    let choice = algorithm::choose(&offered, present, reuse, in_use);
    if choice == Err(NoChoice::NotSmaller) {
        let why = why_not(NoChoice::NotSmaller, &offered);
        settings.push(Setting { name: "zswap", now: switch(zswap.enabled), proposed: None, why });
        return Backend::Unchanged;
    }
    settings.push(Setting {
        name: "swap",
        now: now.clone(),
        proposed: Some(now),
        why: "the area on storage stays".to_owned(),
    });
    settings.push(Setting {
        name: "zswap",
        now: switch(zswap.enabled),
        proposed: Some(switch(true)),
        why: why.to_owned(),
    });
    let choice = choice.ok();
    let why = choice.as_ref().map_or_else(
        || "no algorithm that was measured is among those of /proc/crypto".to_owned(),
        |choice| choice.why.clone(),
    );
    let compressor = choice.map(|choice| choice.algorithm);
    settings.push(Setting {
        name: "compressor of zswap",
        now: zswap.compressor,
        proposed: compressor.clone(),
        why,
    });
    if let Some(shrinks) = zswap.shrinker {
        settings.push(Setting {
            name: "shrinker of zswap",
            now: switch(shrinks),
            proposed: Some(switch(true)),
            why: "pages that stay away go to storage before the pool is full, so it has room for \
                  the next ones"
                .to_owned(),
        });
    }
    Backend::Zswap { compressor, shrinker: zswap.shrinker.is_some() }
}

/// Why no algorithm was chosen, for a reader.
fn why_not(none: NoChoice, measured: &Measured) -> String {
    match none {
        NoChoice::NotSmaller => "no algorithm makes these pages smaller, so compressed they would \
                                 take more memory than they free"
            .to_owned(),
        NoChoice::NotMeasured => {
            let reason = measured.unsupported.iter().find(|(what, _)| *what != "swap/tune/files");
            reason.map_or_else(|| "nothing was measured".to_owned(), |(_, why)| why.clone())
        }
    }
}

/// The present swap areas, for a reader.
fn areas(present: &Present) -> String {
    let areas = present.memory.swap.iter().map(|area| format!("{} on {}", area.size, area.path));
    let areas: Vec<String> = areas.collect();
    if areas.is_empty() { "none".to_owned() } else { areas.join(", ") }
}

#[cfg(test)]
mod tests {
    use unjank_host::machine::Zswap;

    use super::super::fixture::{compressed, device, present, storage};
    use super::*;

    fn measured() -> Measured {
        Measured {
            compressors: vec![
                compressed("lzo", 24, 6_000, 3_500),
                compressed("lz4", 25, 3_000, 2_000),
            ],
            file_system: Some(storage(100_000, 10_000)),
            ..Measured::default()
        }
    }

    fn decided(present: &Present, method: Method) -> (Backend, Vec<Setting>) {
        let mut settings = Vec::new();
        let backend = decide(&measured(), present, None, method, &mut settings);
        (backend, settings)
    }

    #[test]
    fn swap_on_storage_gets_zswap_with_an_algorithm_that_the_kernel_has() {
        let mut machine = present();
        machine.memory.swap = vec![device(SwapKind::File, "/swapfile")];
        assert!(matches!(decided(&machine, Method::Auto).0, Backend::Zram { .. }), "no zswap");
        let zswap = Zswap { compressor: "zstd".to_owned(), ..Zswap::default() };
        machine.memory.zswap = Some(zswap);
        machine.crypto = Some(vec!["lzo".to_owned(), "aes".to_owned()]);
        let (backend, settings) = decided(&machine, Method::Auto);
        let compressor = Some("lzo".to_owned());
        assert_eq!(backend, Backend::Zswap { compressor, shrinker: false });
        assert_eq!(settings.iter().filter(|setting| setting.is_changed()).count(), 2);
        assert!(matches!(decided(&machine, Method::Zram).0, Backend::Zram { .. }));
        machine.crypto = None;
        let (backend, _) = decided(&machine, Method::Auto);
        assert_eq!(backend, Backend::Zswap { compressor: None, shrinker: false });
    }

    #[test]
    fn zswap_needs_a_swap_area_on_storage() {
        let (backend, settings) = decided(&present(), Method::Zswap);
        assert_eq!(backend, Backend::Unchanged);
        assert!(settings[0].why.starts_with("zswap needs a swap area"), "{}", settings[0].why);
        let mut machine = present();
        machine.memory.zswap = Some(Zswap::default());
        assert!(matches!(decided(&machine, Method::Auto).0, Backend::Zram { exists: false, .. }));
    }

    #[test]
    fn without_measurements_nothing_is_changed_and_the_reason_is_given() {
        let nothing = Measured {
            unsupported: vec![("swap/tune/zram", "no zram here".to_owned())],
            ..Measured::default()
        };
        let mut settings = Vec::new();
        let backend = decide(&nothing, &present(), None, Method::Auto, &mut settings);
        assert_eq!((backend, settings[0].why.as_str()), (Backend::Unchanged, "no zram here"));
    }

    #[test]
    fn memory_that_does_not_compress_gets_neither_zram_nor_zswap() {
        let measured =
            Measured { compressors: vec![compressed("lz4", 10, 3_000, 2_000)], ..measured() };
        let mut machine = present();
        machine.memory.swap = vec![device(SwapKind::File, "/swapfile")];
        machine.memory.zswap = Some(Zswap::default());
        machine.crypto = Some(vec!["lz4".to_owned()]);
        for method in [Method::Zram, Method::Zswap] {
            let mut settings = Vec::new();
            let backend = decide(&measured, &machine, None, method, &mut settings);
            assert_eq!(backend, Backend::Unchanged);
            let [only] = &settings[..] else { panic!("{settings:?}") };
            assert_eq!(only.proposed, None);
            assert!(only.why.starts_with("no algorithm makes these pages smaller"), "{}", only.why);
        }
    }

    #[test]
    fn a_zram_device_with_another_algorithm_gets_another_beside_it() {
        let mut machine = present();
        machine.memory.swap = vec![device(SwapKind::Zram, "/dev/zram0")];
        machine.memory.zram = vec![Zram {
            name: "zram0".to_owned(),
            size: Bytes::from_mib(8192),
            algorithm: "lzo".to_owned(),
            ..Zram::default()
        }];
        let (backend, settings) = decided(&machine, Method::Auto);
        assert!(matches!(backend, Backend::Zram { exists: false, .. }));
        assert!(settings[0].why.contains("zram0 stays there"), "{}", settings[0].why);
        assert_eq!((settings[1].now.as_str(), settings[1].is_changed()), ("lzo", true));
    }
}
