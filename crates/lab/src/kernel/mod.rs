//! The kernel and its modules: from a Debian package, unpacked or not, or from
//! separate files.

mod cache;
mod directory;
mod package;
mod uncompressed;

pub use cache::{Cache, MIRROR};
pub(crate) use uncompressed::uncompressed;

use std::fs;
use std::path::{Path, PathBuf};

use unjank_host::Error as HostError;

use crate::error::Result;
use directory::names;

/// A kernel that QEMU can boot.
#[derive(Debug)]
pub struct Kernel {
    /// The compressed image: `vmlinuz`.
    pub image: PathBuf,
    /// The directory of its modules, if there is one.
    pub modules: Option<PathBuf>,
    /// The directory of an unpacked package, which is removed when this is
    /// dropped.
    _unpacked: Option<tempfile::TempDir>,
}

/// Directories in which packages hold modules: with and without a merged
/// `/usr`.
const MODULES: [&str; 2] = ["usr/lib/modules", "lib/modules"];

impl Kernel {
    /// The kernel at `path`: a package (`.deb`), which is unpacked below
    /// `scratch`; the directory of an unpacked package; or an image, with the
    /// modules in `modules`, if given.
    ///
    /// # Errors
    /// `Invalid` if there is none, or more than one.
    pub fn at(path: &Path, modules: Option<&Path>, scratch: &Path) -> Result<Self> {
        let mut kernel = if path.is_dir() {
            Self::unpacked(path)?
        } else if package::is_package(path) {
            let directory = package::unpack_below(scratch, path)?;
            Self { _unpacked: None, ..Self::unpacked(directory.path())? }.kept_in(directory)
        } else {
            fs::metadata(path)
                .map_err(|error| HostError::file("read", path, error).of_named_file())?;
            Self { image: path.to_owned(), modules: None, _unpacked: None }
        };
        if let Some(modules) = modules {
            kernel.modules = Some(modules.to_owned());
        }
        Ok(kernel)
    }

    /// The one kernel of an unpacked package.
    fn unpacked(directory: &Path) -> Result<Self> {
        let boot = directory.join("boot");
        let mut images = names(&boot)?;
        images.retain(|name| name.starts_with("vmlinuz-"));
        let [name] = images.as_slice() else {
            return Err(HostError::Invalid(format!(
                "{} has {} kernels (vmlinuz-*); one is needed",
                boot.display(),
                images.len()
            ))
            .into());
        };
        let release = name.trim_start_matches("vmlinuz-");
        let modules = MODULES.iter().map(|place| directory.join(place).join(release));
        Ok(Self {
            image: boot.join(name),
            modules: modules.into_iter().find(|place| place.is_dir()),
            _unpacked: None,
        })
    }

    fn kept_in(self, directory: tempfile::TempDir) -> Self {
        Self { _unpacked: Some(directory), ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unpacked_package_has_one_kernel() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path();
        let at = || Kernel::at(path, None, path);
        assert!(at().unwrap_err().to_string().contains("boot"));
        fs::create_dir_all(path.join("boot")).unwrap();
        fs::create_dir_all(path.join("lib/modules/6.12-x")).unwrap();
        assert!(at().unwrap_err().to_string().contains("0 kernels"));
        fs::write(path.join("boot/vmlinuz-6.12-x"), "").unwrap();
        let kernel = at().unwrap();
        assert_eq!(kernel.image, path.join("boot/vmlinuz-6.12-x"));
        assert_eq!(kernel.modules, Some(path.join("lib/modules/6.12-x")));
        fs::write(path.join("boot/vmlinuz-6.13-x"), "").unwrap();
        assert!(at().unwrap_err().to_string().contains("2 kernels"));
    }

    #[test]
    fn an_image_has_the_given_modules() {
        let directory = tempfile::tempdir().unwrap();
        let image = directory.path().join("bzImage");
        assert!(Kernel::at(&image, None, directory.path()).is_err());
        fs::write(&image, "").unwrap();
        assert_eq!(Kernel::at(&image, None, directory.path()).unwrap().modules, None);
        let modules = Some(directory.path());
        let kernel = Kernel::at(&image, modules, directory.path()).unwrap();
        assert_eq!(kernel.modules.as_deref(), modules);
    }
}
