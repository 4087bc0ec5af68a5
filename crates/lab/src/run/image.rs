//! The files of one boot: initramfs and ACPI table.

use std::fs::{self, File};
use std::io::BufWriter;
use std::path::{Path, PathBuf};

use unjank_host::Error as HostError;

use super::Options;
use super::place::Place;
use crate::error::Result;
use crate::initramfs::Archive;
use crate::modules::{self, WANTED};
use crate::order::{self, Module, Order};
use crate::program::{Linkage, linkage};
use crate::pstates::Profile;

/// The name of the guest's program there.
const PROGRAM: &str = "bin/unjank";
/// Where the guest's modules are.
const MODULES: &str = "lib/modules";
/// What helps against libraries.
const BUILD_A_GUEST: &str = "`make guest` builds an unjank that needs none";
const LINK_IT: &str = "link it with -static";
/// Directories that something is put into.
const DIRECTORIES: [&str; 4] = ["bin", "lib", MODULES, "root"];

/// Files that are gone when this is dropped.
#[derive(Debug)]
pub(super) struct Image {
    /// The archive that the kernel unpacks.
    pub(super) initramfs: PathBuf,
    /// The ACPI table, if there are P-states.
    pub(super) table: Option<PathBuf>,
    _directory: Place,
}

impl Image {
    /// Writes both.
    pub(super) fn build(
        options: &Options,
        commands: &[Vec<String>],
        labels: Vec<String>,
    ) -> Result<Self> {
        let directory = Place::new(&options.scratch)?;
        let table = match &options.profile {
            Some(profile) => {
                let path = directory.path().join("pstates.aml");
                let table = profile.table(options.cpus)?;
                fs::write(&path, table).map_err(|e| HostError::file("write", &path, e))?;
                Some(path)
            }
            None => None,
        };
        let initramfs = directory.path().join("initramfs");
        let failed = |error| HostError::file("write", &initramfs, error);
        let file = File::create(&initramfs).map_err(failed)?;
        let mut archive = Archive::new(BufWriter::new(file));
        for name in DIRECTORIES {
            archive.directory(name).map_err(failed)?;
        }
        archive
            .program(PROGRAM, &static_program(&options.guest, BUILD_A_GUEST)?)
            .map_err(failed)?;
        for program in &options.programs {
            let name = program.file_name().and_then(|name| name.to_str()).ok_or_else(|| {
                HostError::Invalid(format!("{} has no name that can be typed", program.display()))
            })?;
            let content = static_program(program, LINK_IT)?;
            archive.program(&format!("bin/{name}"), &content).map_err(failed)?;
        }
        let tunables = options.profile.as_ref().map(Profile::tunable_files).unwrap_or_default();
        let mut order =
            Order { modules: Vec::new(), commands: commands.to_vec(), labels, tunables };
        for (name, parameters, source) in chosen(options)? {
            let file = format!("{MODULES}/{name}");
            let content = fs::read(&source).map_err(|e| HostError::file("read", &source, e))?;
            archive.file(&file, &content).map_err(failed)?;
            order.modules.push(Module { file: format!("/{file}"), parameters });
        }
        let order = serde_json::to_vec(&order).expect("an order has only string keys");
        archive.file(order::PATH, &order).map_err(failed)?;
        archive.finish().map_err(failed)?;
        Ok(Self { initramfs, table, _directory: directory })
    }
}

/// The modules that this phone gets: file name, parameters, and where it is.
fn chosen(options: &Options) -> Result<Vec<(String, String, PathBuf)>> {
    let Some(directory) = &options.kernel.modules else { return Ok(Vec::new()) };
    let found = modules::find(directory)?;
    let with_pstates = options.profile.is_some();
    let wanted = WANTED.iter().zip(found).filter(|(w, _)| with_pstates || !w.with_pstates);
    Ok(wanted
        .filter_map(|(wanted, file)| {
            let file = file?;
            let name = file.file_name()?.to_str()?.to_owned();
            Some((name, wanted.parameters.to_owned(), file))
        })
        .collect())
}

/// The content of a program that runs alone; `remedy` is for one that does not.
fn static_program(file: &Path, remedy: &str) -> Result<Vec<u8>> {
    if linkage(file)? == Linkage::Dynamic {
        return Err(HostError::Invalid(format!(
            "{} needs libraries, which the virtual phone does not have: {remedy}",
            file.display()
        ))
        .into());
    }
    Ok(fs::read(file).map_err(|error| HostError::file("read", file, error))?)
}
