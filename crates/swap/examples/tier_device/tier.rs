//! A tier of `unjank swap tier up`, whose processes are killed.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use serde_json::Value;

use crate::{Result, kernel};

/// The time between two looks at something that is about to happen.
const LOOK: Duration = Duration::from_millis(20);

/// A tier that is up.
pub(crate) struct Tier {
    supervisor: Child,
    device: String,
}

impl Tier {
    /// Starts one, and waits until the machine swaps to it.
    pub(crate) fn up(options: &[&str]) -> Result<Self> {
        let mut command = Command::new("unjank");
        command.args(["swap", "tier", "up", "--verify"]).args(options);
        let mut supervisor = command.stderr(Stdio::piped()).spawn()?;
        let mut messages = BufReader::new(supervisor.stderr.take().ok_or("no messages")?);
        let mut line = String::new();
        // Warnings come first.
        while messages.read_line(&mut line)? > 0 && !line.contains("swapping to ") {
            eprint!("{line}");
            line.clear();
        }
        let (_, device) = line.trim_end().split_once("swapping to ").ok_or(line.as_str())?;
        let device = device.to_owned();
        let tell = |line: String| eprintln!("{line}");
        thread::spawn(move || messages.lines().map_while(std::io::Result::ok).for_each(tell));
        Ok(Self { supervisor, device })
    }

    /// Kills its server, and waits for another one.
    pub(crate) fn kill_server(&self) -> Result<()> {
        let former = number(&self.status()?, "server")?;
        kill(former)?;
        until(|| Ok(number(&self.status()?, "server").is_ok_and(|server| server != former)))
    }

    /// Its state.
    pub(crate) fn status(&self) -> Result<Value> {
        let text = run(&["swap", "tier", "status", "--json"])?;
        let mut status: Value = serde_json::from_str(&text)?;
        let mut tiers = status["tiers"].as_array_mut().into_iter().flatten();
        let found = tiers.find(|tier| tier["device"] == self.device.as_str());
        Ok(found.ok_or_else(|| format!("no {}: {text}", self.device))?.take())
    }

    /// Kills the supervisor.
    pub(crate) fn kill_supervisor(mut self) -> Result<()> {
        self.supervisor.kill()?;
        self.supervisor.wait()?;
        Ok(())
    }

    /// Kills everything at once.
    pub(crate) fn kill_all(mut self) -> Result<()> {
        let server = number(&self.status()?, "server")?;
        let keepers = processes("unjank-keeper")?;
        if keepers.len() != 1 {
            return Err(format!("{keepers:?} are not one keeper").into());
        }
        self.supervisor.kill()?;
        for process in keepers.into_iter().chain([server]) {
            kill(process)?;
        }
        self.supervisor.wait()?;
        until(|| Ok(processes("unjank-keeper")?.is_empty()))
    }

    /// Takes it down by a command, and returns what was counted.
    pub(crate) fn down(mut self) -> Result<Value> {
        let counted = self.status()?["progress"].take();
        run(&["swap", "tier", "down", &self.device])?;
        let status = self.supervisor.wait()?;
        if status.success() { Ok(counted) } else { Err(format!("the tier: {status}").into()) }
    }
}

/// Kills the keeper, and waits for another one.
pub(crate) fn kill_keeper() -> Result<()> {
    let [former] = processes("unjank-keeper")?[..] else { return Err("not one keeper".into()) };
    kill(former)?;
    until(|| Ok(matches!(processes("unjank-keeper")?[..], [keeper] if keeper != former)))
}

/// Waits until nothing is left of a tier.
pub(crate) fn until_nothing_is_left() -> Result<()> {
    until(|| Ok(kernel::leftovers()?.is_empty()))
}

/// Waits until something is so.
pub(crate) fn until(mut is_so: impl FnMut() -> Result<bool>) -> Result<()> {
    while !is_so()? {
        thread::sleep(LOOK);
    }
    Ok(())
}

/// Runs unjank, which must succeed.
pub(crate) fn run(arguments: &[&str]) -> Result<String> {
    let output = Command::new("unjank").args(arguments).output()?;
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    let (stdout, stderr) = (text(output.stdout), text(output.stderr));
    if output.status.success() {
        Ok(stdout)
    } else {
        Err(format!("unjank {arguments:?}: {}: {stdout}{stderr}", output.status).into())
    }
}

fn number(status: &Value, name: &str) -> Result<u32> {
    let number = status[name].as_u64().and_then(|number| u32::try_from(number).ok());
    number.ok_or_else(|| format!("no {name}: {status}").into())
}

/// The processes with this name.
fn processes(name: &str) -> Result<Vec<u32>> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc")? {
        let path = entry?.path();
        let number = path.file_name().and_then(|name| name.to_str()?.parse().ok());
        let comm = fs::read_to_string(path.join("comm")).unwrap_or_default();
        if let Some(number) = number.filter(|_| comm.trim() == name) {
            found.push(number);
        }
    }
    Ok(found)
}

fn kill(process: u32) -> Result<()> {
    Ok(unjank_host::process::send_signal(process, libc::SIGKILL)?)
}
