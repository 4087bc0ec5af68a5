//! Creates an instance: its directory, its events, its keeper.

use std::fs::OpenOptions;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, AtomicUsize};
use std::sync::{Mutex, OnceLock};

use super::{Files, Instance, malformed};
use crate::error::{Error, Result};
use crate::keeper::{Keeper, Order};
use crate::process::HelperCommand;
use crate::support::Unsupported;
use crate::tracefs::decode::Decoder;
use crate::tracefs::format::Format;
use crate::tracefs::leftovers::{create_instance_dir, fresh_name, remove_instance_dir};
use crate::tracefs::mount::Tracefs;
use crate::tracefs::options::InstanceOptions;
use crate::tracefs::page::Layout;

/// The command that starts the keeper of each instance.
static KEEPER: OnceLock<HelperCommand> = OnceLock::new();

/// Gives every later instance of this process a keeper, which removes it if the
/// process is killed. Only the first call has an effect.
pub fn keep_instances_with(command: HelperCommand) {
    let _the_first_counts = KEEPER.set(command);
}

impl Tracefs {
    /// Creates an instance, which records from [`Instance::start`] on. Events
    /// are enabled here and not at the start, because the kernel patches its own
    /// code for that, which takes time.
    ///
    /// # Errors
    /// The file that could not be written; class `Permission` without root.
    pub fn instance(&self, options: &InstanceOptions) -> Result<Instance> {
        let name = fresh_name(self.root());
        let dir = self.path("instances").join(&name);
        let keeper = KEEPER.get().map(|command| self.keeper(command, &name)).transpose()?;
        create_instance_dir(self.root(), &dir)?;
        self.set_up(options, name, &dir, keeper).inspect_err(|_| {
            // Return the first error.
            let _left_for_later = remove_instance_dir(self.root(), &dir);
        })
    }

    fn keeper(&self, command: &HelperCommand, instance: &str) -> Result<Keeper> {
        let root = self.root().dir().display().to_string();
        Keeper::start(command.clone(), Order::Trace { root, instance: instance.to_owned() })
    }

    fn set_up(
        &self,
        options: &InstanceOptions,
        name: String,
        dir: &Path,
        keeper: Option<Keeper>,
    ) -> Result<Instance> {
        let open = |name: &str| {
            let path = dir.join(name);
            let file = OpenOptions::new().write(true).open(self.root().resolve(&path));
            file.map_err(|source| Error::file("open", path, source))
        };
        let files = Files {
            tracing_on: open("tracing_on")?,
            marker: open("trace_marker")?,
            _free_buffer: open("free_buffer")?,
        };
        let mut notes = options.apply(self, dir)?;
        let layout = self.layout(dir)?;
        let decoder = self.decoder(dir, &options.events, &mut notes)?;
        let pages = options.buffer.get() as usize / layout.page_size();
        Ok(Instance {
            tracefs: self.clone(),
            name,
            notes,
            layout,
            decoder,
            pages: AtomicUsize::new(pages),
            files: Some(files),
            readers: Mutex::default(),
            started: AtomicU64::new(u64::MAX),
            stopped: AtomicU64::new(u64::MAX),
            _keeper: keeper,
        })
    }

    /// The layout of this instance's pages; older kernels have one layout for
    /// all instances.
    fn layout(&self, dir: &Path) -> Result<Layout> {
        let own = dir.join("events/header_page");
        let path = if self.root().exists(&own) { own } else { self.path("events/header_page") };
        Layout::parse(&self.root().read(&path)?).map_err(|error| malformed(&path, &error))
    }

    /// A decoder for `events` and for marks.
    fn decoder(
        &self,
        dir: &Path,
        events: &[String],
        notes: &mut Vec<Unsupported>,
    ) -> Result<Decoder> {
        let mut decoder = Decoder::default();
        let mut learn = |event: &str, path: PathBuf| -> Result<()> {
            let Some(text) = self.root().read_if_there(&path)? else { return Ok(()) };
            let format = Format::parse(&text).map_err(|error| malformed(&path, &error))?;
            let system = event.split('/').next().unwrap_or_default();
            if let Err(why) = decoder.learn(system, &format) {
                let reason = format!("its records are skipped: {why}");
                notes.push(Unsupported { what: event.to_owned(), reason });
            }
            Ok(())
        };
        for event in events {
            learn(event, dir.join("events").join(event).join("format"))?;
        }
        learn("ftrace/print", self.path("events/ftrace/print/format"))?;
        Ok(decoder)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::root::Root;

    #[test]
    fn an_instance_that_cannot_be_set_up_is_removed() {
        let top = tempfile::tempdir().unwrap();
        let instances = top.path().join("sys/kernel/tracing/instances");
        std::fs::create_dir_all(&instances).unwrap();
        let tracefs = Tracefs::open(&Root::at(top.path())).yes().unwrap();
        // A plain directory has no files after its creation.
        let error = tracefs.instance(&InstanceOptions::default()).unwrap_err().to_string();
        assert!(error.starts_with("cannot open /sys/kernel/tracing/instances/unjank-"), "{error}");
        assert_eq!(std::fs::read_dir(&instances).unwrap().count(), 0);
    }
}
