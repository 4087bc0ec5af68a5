//! The modules that a phone needs, with their parameters.

use std::io::{self, Read};
use std::path::Path;

use lzma_rust2::XzReader;
use unjank_host::{Error, Result};

/// A module that is loaded if the kernel package has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wanted {
    /// Its name, with `_` where the file may have `-`.
    pub name: &'static str,
    /// Its parameters, as `init_module(2)` takes them; empty for the defaults.
    pub parameters: &'static str,
    /// What alone needs it; `None` if every phone does.
    pub only_for: Option<Part>,
}

/// A part that not every phone has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// P-states.
    Clock,
    /// A disk.
    Disk,
}

const fn wanted(name: &'static str) -> Wanted {
    Wanted { name, parameters: "", only_for: None }
}

const fn clock(name: &'static str) -> Wanted {
    Wanted { name, parameters: "", only_for: Some(Part::Clock) }
}

const fn storage(name: &'static str) -> Wanted {
    Wanted { name, parameters: "", only_for: Some(Part::Disk) }
}

/// All of them, each after its dependencies. Governors come before the driver,
/// which starts with one of them.
pub const WANTED: [Wanted; 18] = [
    Wanted { name: "binder_linux", parameters: "devices=binder,hwbinder", only_for: None },
    wanted("ublk_drv"),
    wanted("loop"),
    wanted("lz4_compress"),
    wanted("lz4hc_compress"),
    wanted("zram"),
    storage("virtio_blk"),
    storage("crc16"),
    storage("crc32c_generic"),
    storage("libcrc32c"),
    storage("mbcache"),
    storage("jbd2"),
    storage("ext4"),
    clock("cpufreq_ondemand"),
    clock("cpufreq_conservative"),
    clock("cpufreq_powersave"),
    clock("cpufreq_userspace"),
    clock("acpi_cpufreq"),
];

/// The deepest level below the modules' directory that is searched.
const DEEPEST: usize = 12;

/// The files of the wanted modules below `directory`, in the same order; `None`
/// for one that is missing, or built into the kernel.
///
/// # Errors
/// A directory cannot be listed.
pub fn find(directory: &Path) -> Result<Vec<Option<std::path::PathBuf>>> {
    let mut found = vec![None; WANTED.len()];
    let mut directories = vec![(directory.to_owned(), 0)];
    while let Some((directory, depth)) = directories.pop() {
        let failed = |error| Error::file("list", &directory, error);
        for entry in std::fs::read_dir(&directory).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            if entry.file_type().map_err(failed)?.is_dir() {
                if depth < DEEPEST {
                    directories.push((entry.path(), depth + 1));
                }
                continue;
            }
            let name = entry.file_name();
            let Some(name) = name.to_str().and_then(module_name) else { continue };
            if let Some(index) = WANTED.iter().position(|wanted| wanted.name == name) {
                found[index] = Some(entry.path());
            }
        }
    }
    Ok(found)
}

/// The largest module: others are left to the kernel.
const LARGEST: u64 = 64 << 20;

/// The file name and content of a module without its compression, if that is one of
/// `CONFIG_MODULE_COMPRESS_XZ` and `_ZSTD`.
pub fn unpacked(name: String, content: Vec<u8>) -> (String, Vec<u8>) {
    let (plain, unpacked) = if let Some(plain) = name.strip_suffix(".xz") {
        (plain, limited(XzReader::new(content.as_slice(), true)))
    } else if let Some(plain) = name.strip_suffix(".zst") {
        (plain, zstd::Decoder::with_buffer(content.as_slice()).and_then(limited))
    } else {
        return (name, content);
    };
    match unpacked {
        Ok(unpacked) => (plain.to_owned(), unpacked),
        Err(_) => (name, content),
    }
}

fn limited(from: impl Read) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    from.take(LARGEST + 1).read_to_end(&mut content)?;
    if content.len() as u64 > LARGEST {
        Err(io::ErrorKind::FileTooLarge.into())
    } else {
        Ok(content)
    }
}

/// The name of the module in a file: `acpi_cpufreq` for `acpi-cpufreq.ko.xz`.
fn module_name(file: &str) -> Option<String> {
    let (name, compression) = file.split_once(".ko")?;
    matches!(compression, "" | ".xz" | ".zst" | ".gz").then(|| name.replace('-', "_"))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// The output of `printf code | xz --check=crc32`.
    const XZ: [u8; 56] = [
        0xfd, 0x37, 0x7a, 0x58, 0x5a, 0x00, 0x00, 0x01, 0x69, 0x22, 0xde, 0x36, 0x02, 0x00, 0x21,
        0x01, 0x16, 0x00, 0x00, 0x00, 0x74, 0x2f, 0xe5, 0xa3, 0x01, 0x00, 0x03, 0x63, 0x6f, 0x64,
        0x65, 0x00, 0x98, 0x30, 0x15, 0x77, 0x00, 0x01, 0x18, 0x04, 0x6b, 0xe9, 0xf0, 0xa5, 0x90,
        0x42, 0x99, 0x0d, 0x01, 0x00, 0x00, 0x00, 0x00, 0x01, 0x59, 0x5a,
    ];

    #[test]
    fn modules_are_found_at_any_depth() {
        let directory = tempfile::tempdir().unwrap();
        let deep = directory.path().join("kernel/drivers/cpufreq");
        fs::create_dir_all(&deep).unwrap();
        fs::write(deep.join("acpi-cpufreq.ko.xz"), "").unwrap();
        fs::write(deep.join("acpi-cpufreq.ko.xz.old"), "").unwrap();
        fs::write(directory.path().join("zram.ko"), "").unwrap();
        let found = find(directory.path()).unwrap();
        let names: Vec<&str> = WANTED
            .iter()
            .zip(&found)
            .filter_map(|(wanted, file)| file.as_ref().map(|_| wanted.name))
            .collect();
        assert_eq!(names, ["zram", "acpi_cpufreq"]);
        assert!(find(&directory.path().join("none")).is_err());
    }

    #[test]
    fn a_module_is_unpacked_and_one_that_cannot_be_is_left_as_it_is() {
        let code = b"code".to_vec();
        let zstd = zstd::encode_all(code.as_slice(), 1).unwrap();
        let xz = XZ.to_vec();
        for (file, content) in [("a.ko.zst", &zstd), ("a.ko.xz", &xz), ("a.ko", &code)] {
            let (name, unpacked) = unpacked(file.to_owned(), content.clone());
            assert_eq!((name.as_str(), &unpacked), ("a.ko", &code), "{file}");
        }
        for file in ["a.ko.zst", "a.ko.xz", "a.ko.gz"] {
            let as_it_is = (file.to_owned(), b"broken".to_vec());
            assert_eq!(unpacked(file.to_owned(), b"broken".to_vec()), as_it_is);
        }
    }

    #[test]
    fn governors_come_before_the_driver() {
        let place = |name| WANTED.iter().position(|wanted| wanted.name == name).unwrap();
        assert!(place("cpufreq_ondemand") < place("acpi_cpufreq"));
        assert!(place("lz4_compress") < place("zram"));
    }
}
