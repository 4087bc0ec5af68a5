//! A tier's server alone, killed again and again.

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::thread;
use std::time::Duration;

use unjank_host::ublk::{Control, State, path_of};
use unjank_swap::remedy::tier::backing;
use unjank_swap::remedy::tier::lock::HeldTier;
use unjank_swap::remedy::tier::settings::Settings;

use crate::Result;

/// A device whose server is killed.
pub(crate) struct KilledServer {
    tier: HeldTier,
    settings: Settings,
    process: Child,
    output: BufReader<ChildStdout>,
    control: Control,
}

impl KilledServer {
    pub(crate) fn start(all: &Path, settings: Settings) -> Result<Self> {
        let tier = HeldTier::make(all)?;
        tier.fill(&settings)?;
        let fast = settings.fast.iter().map(|fast| (fast, settings.frames + 1));
        for (backing, pages) in fast.chain([(&settings.slow, settings.slots)]) {
            backing::prepare(backing, pages, settings.mark, &|| false)?;
        }
        let control = Control::open()?.yes().ok_or("no ublk")?;
        let (process, output) = serve(&tier)?;
        Ok(Self { tier, settings, process, output, control })
    }

    /// The path of the device.
    pub(crate) fn device(&mut self) -> Result<String> {
        let found = self.control.find(self.settings.mark)?.ok_or("no device")?;
        Ok(path_of(found.id).display().to_string())
    }

    /// Kills the server, and starts another one.
    pub(crate) fn replace(&mut self) -> Result<()> {
        self.process.kill()?;
        self.process.wait()?;
        loop {
            let found = self.control.find(self.settings.mark)?.ok_or("the device is gone")?;
            if found.state == State::WithoutServer {
                break;
            }
            thread::sleep(Duration::from_millis(10));
        }
        (self.process, self.output) = serve(&self.tier)?;
        Ok(())
    }

    /// Stops and removes the device. Returns how often the last server has allocated memory since it
    /// had begun.
    pub(crate) fn end(mut self) -> Result<u64> {
        let found = self.control.find(self.settings.mark)?.ok_or("no device")?;
        self.control.stop(found.id)?;
        let mut allocations = String::new();
        self.output.read_to_string(&mut allocations)?;
        self.process.wait()?;
        self.control.remove(found.id)?;
        for backing in self.settings.fast.iter().chain([&self.settings.slow]) {
            backing::give_back(backing, self.settings.mark)?;
        }
        self.tier.remove()?;
        Ok(allocations.trim().parse()?)
    }
}

/// A server that has begun.
fn serve(tier: &HeldTier) -> Result<(Child, BufReader<ChildStdout>)> {
    let directory = &tier.directory;
    let mut process = Command::new(std::env::current_exe()?)
        .args(["helper", "serve"])
        .arg(directory.all())
        .arg(directory.name())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut line = String::new();
    let mut output = BufReader::new(process.stdout.take().ok_or("no output")?);
    output.read_line(&mut line)?;
    if line.trim() == "ok" { Ok((process, output)) } else { Err(line.into()) }
}
