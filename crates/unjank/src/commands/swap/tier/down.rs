//! `unjank swap tier down`: takes a tier down.

use std::path::Path;
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use anyhow::Result;
use unjank_host::{Bytes, Error, Root};
use unjank_swap::remedy::tier::directory::{TierDirectory, of_all};
use unjank_swap::remedy::tier::leftovers::{Outcome, take_one_down};
use unjank_swap::remedy::tier::lock::Supervision;
use unjank_swap::remedy::tier::room;
use unjank_swap::remedy::tier::status::{self, TierStatus};

use super::helper::helpers;
use crate::{exit, output};

/// The time between two looks at a tier that is being taken down, and looks per remark.
const BETWEEN_LOOKS: Duration = Duration::from_millis(50);
const LOOKS_PER_REMARK: u64 = 100;

/// Arguments of `unjank swap tier down`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  sudo unjank swap tier down
  sudo unjank swap tier down /dev/ublkb1        # one of several

Returns when the pages are back in memory and the tier is removed. If there is
no room for them, it says how much is missing, and changes nothing: exit code 1.")]
pub(crate) struct Args {
    /// The tier, by its device or its name [default: the only one]
    #[arg(value_name = "DEVICE|NAME")]
    tier: Option<String>,
}

pub(super) fn run(args: &Args) -> Result<ExitCode> {
    let all = of_all();
    let status = chosen(status::of_all(&all)?, args.tier.as_deref())?;
    if status.missing > Bytes::default() {
        return Err(short(status.used.unwrap_or_default(), status.missing).into());
    }
    let directory = TierDirectory::named(&all, &status.name)?;
    directory.request_down()?;
    let mut looks: u64 = 0;
    loop {
        match directory.supervision()? {
            Supervision::Gone => break,
            // Its supervisor and its keeper were killed.
            Supervision::Nobody => match take_one_down(&all, &status.name, &helpers())? {
                Outcome::Down => break,
                Outcome::Failed(error) => return Err(error.into()),
                short @ Outcome::Short(_) => {
                    return Err(
                        Error::Busy(format!("the swap tier {} {short}", status.name)).into()
                    );
                }
            },
            Supervision::Process(_) => {}
        }
        thread::sleep(BETWEEN_LOOKS);
        looks += 1;
        if looks.is_multiple_of(LOOKS_PER_REMARK) {
            remark(status.device.as_deref())?;
        }
    }
    output::remark("the tier is down, and its pages are back in memory");
    Ok(ExitCode::from(exit::FINE))
}

/// Says what is left to be done.
fn remark(device: Option<&Path>) -> Result<()> {
    let Some(device) = device else { return Ok(()) };
    match room::look(&Root::system(), device)? {
        Some((area, Bytes(0))) => output::remark(&format!("{} are still to come back", area.used)),
        Some((area, missing)) => output::remark(&format!(
            "{} are still to come back, and memory is {missing} short of that; waiting",
            area.used
        )),
        None => {}
    }
    Ok(())
}

fn short(used: Bytes, missing: Bytes) -> Error {
    Error::Busy(format!(
        "the tier holds {used}, and memory is {missing} short of that: end a program, or add swap; \
         the tier stays up"
    ))
}

/// The tier that is meant.
fn chosen(tiers: Vec<TierStatus>, named: Option<&str>) -> Result<TierStatus, Error> {
    let is_meant = |tier: &TierStatus| {
        let device = tier.device.as_deref().and_then(|path| path.to_str());
        named.is_none_or(|name| name == tier.name || device == Some(name))
    };
    let mut meant: Vec<TierStatus> = tiers.into_iter().filter(is_meant).collect();
    match (meant.len(), named) {
        (1, _) => Ok(meant.remove(0)),
        (0, None) => Err(Error::Invalid("this machine has no swap tier".to_owned())),
        (0, Some(name)) => Err(Error::Invalid(format!("there is no swap tier {name}"))),
        _ => Err(Error::Invalid(
            "there are several swap tiers: name one (unjank swap tier status)".to_owned(),
        )),
    }
}
