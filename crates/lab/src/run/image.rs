//! The files of one boot: kernel, initramfs and ACPI table.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use unjank_host::Error as HostError;

use super::boot_directory::BootDirectory;
use super::disk;
use super::options::Options;
use crate::error::Result;
use crate::initramfs::Archive;
use crate::kernel::uncompressed;
use crate::modules::{self, Part, WANTED};
use crate::order::{self, Module, Order};
use crate::packed_file;
use crate::program::{Library, Program};
use crate::pstates::Profile;
use crate::qemu::Accelerator;

/// The path of the guest's program in the initramfs.
const PROGRAM: &str = "bin/unjank";
/// The directory of the guest's modules.
const MODULES: &str = "lib/modules";
/// The directory of the libraries of the guest's programs.
pub(super) const LIBRARIES: &str = "/lib";
/// The directories of the initramfs.
const DIRECTORIES: [&str; 6] = ["bin", "lib", "lib64", MODULES, "root", "data"];

/// Files that are removed when this is dropped.
#[derive(Debug)]
pub(super) struct Image {
    /// The kernel: its image, or a file with what that unpacks.
    pub(super) kernel: PathBuf,
    /// The archive that the kernel unpacks.
    pub(super) initramfs: PathBuf,
    /// The ACPI table, if there are P-states.
    pub(super) table: Option<PathBuf>,
    /// The disk, if there is one.
    pub(super) disk: Option<PathBuf>,
    _directory: BootDirectory,
}

impl Image {
    /// Writes the initramfs and the ACPI table. What a kernel for an emulator would have to unpack
    /// is unpacked here.
    pub(super) fn build(
        options: &Options,
        commands: &[Vec<String>],
        accelerator: Accelerator,
    ) -> Result<Self> {
        let directory = BootDirectory::new(&options.scratch)?;
        let kernel = match accelerator {
            Accelerator::Kvm => options.kernel.image.clone(),
            Accelerator::Tcg | Accelerator::Icount(_) => unpacked_kernel(options, &directory)?,
        };
        let table = match &options.profile {
            Some(profile) => {
                let path = directory.path().join("pstates.aml");
                let table = profile.table(options.cpus)?;
                fs::write(&path, table).map_err(|e| HostError::file("write", &path, e))?;
                Some(path)
            }
            None => None,
        };
        let disk = match options.disk {
            Some(size) => {
                let path = directory.path().join("disk");
                disk::make(&path, size)?;
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
        let mut packed = BTreeSet::new();
        pack(&mut archive, PROGRAM, &options.guest, &mut packed, options, &failed)?;
        for program in &options.programs {
            let name = program.file_name().and_then(|name| name.to_str()).ok_or_else(|| {
                HostError::Invalid(format!("{} has a name that is not UTF-8", program.display()))
            })?;
            let name = format!("bin/{name}");
            pack(&mut archive, &name, program, &mut packed, options, &failed)?;
        }
        let tunables = options.profile.as_ref().map(Profile::tunable_files).unwrap_or_default();
        let mut order = Order {
            modules: Vec::new(),
            commands: commands.to_vec(),
            labels: accelerator.labels().iter().map(|&label| label.to_owned()).collect(),
            tunables,
            disk: disk.is_some(),
        };
        for (name, parameters, source) in chosen(options)? {
            let content = packed_file::read(&source, &options.stop)?;
            let (name, content) = modules::unpacked(name, content);
            let file = format!("{MODULES}/{name}");
            archive.file(&file, &content).map_err(failed)?;
            order.modules.push(Module { file: format!("/{file}"), parameters });
        }
        let order = serde_json::to_vec(&order).expect("an order has only string keys");
        archive.file(order::PATH, &order).map_err(failed)?;
        archive.finish().map_err(failed)?;
        Ok(Self { kernel, initramfs, table, disk, _directory: directory })
    }
}

/// The kernel without its compression in `directory`, else its image.
fn unpacked_kernel(options: &Options, directory: &BootDirectory) -> Result<PathBuf> {
    let image = &options.kernel.image;
    let Some(kernel) = uncompressed(&packed_file::read(image, &options.stop)?) else {
        return Ok(image.clone());
    };
    let path = directory.path().join("vmlinux");
    fs::write(&path, kernel).map_err(|error| HostError::file("write", &path, error))?;
    Ok(path)
}

/// The modules for this phone: file name, parameters, and path.
fn chosen(options: &Options) -> Result<Vec<(String, String, PathBuf)>> {
    let Some(directory) = &options.kernel.modules else { return Ok(Vec::new()) };
    let found = modules::find(directory)?;
    let is_there = |part: Part| match part {
        Part::Clock => options.profile.is_some(),
        Part::Disk => options.disk.is_some(),
    };
    let wanted = WANTED.iter().zip(found);
    let wanted = wanted.filter(|(wanted, _)| wanted.only_for.is_none_or(is_there));
    Ok(wanted
        .filter_map(|(wanted, file)| {
            let file = file?;
            let name = file.file_name()?.to_str()?.to_owned();
            Some((name, wanted.parameters.to_owned(), file))
        })
        .collect())
}

/// Adds a program to the archive, with its dynamic linker at the path that the
/// program names, and those of its libraries that are not `packed` yet.
fn pack(
    archive: &mut Archive<impl Write>,
    name: &str,
    file: &Path,
    packed: &mut BTreeSet<String>,
    options: &Options,
    failed: &impl Fn(io::Error) -> HostError,
) -> Result<()> {
    let program = Program::read(file, options.architecture, &options.stop)?;
    archive.program(name, &program.content).map_err(failed)?;
    let linker = program.dynamic_linker.iter().map(|it| (it.display().to_string(), it.clone()));
    let library = |it: Library| (format!("{LIBRARIES}/{}", it.name), it.file);
    let libraries = program.libraries()?.into_iter().map(library);
    for (name, file) in linker.chain(libraries) {
        if packed.insert(name.clone()) {
            let content = packed_file::read(&file, &options.stop)?;
            archive.program(&name, &content).map_err(failed)?;
        }
    }
    Ok(())
}
