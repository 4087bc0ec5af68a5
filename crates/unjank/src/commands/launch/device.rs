//! Devices by name: profiles of the virtual phone, as tables of frequency and
//! power.

use anyhow::Result;
use unjank_host::{Error, Hertz, Watts};
use unjank_lab::pstates::{Profile, State};
use unjank_launch::model::{Opp, OppTable};

use crate::interrupt;

/// The frequencies and powers of the device called `name`, or of the profile
/// in the file `name`.
pub(crate) fn device(name: &str) -> Result<OppTable> {
    Ok(table(&Profile::find(name, &interrupt::stop())?)?)
}

/// The frequencies and powers of a profile.
pub(crate) fn table(profile: &Profile) -> Result<OppTable, Error> {
    let milliwatts = |power: u32| Watts::from_milliwatts(f64::from(power));
    let point = |state: &State| Opp {
        frequency: Hertz::from_khz(u64::from(state.mhz) * 1_000),
        busy: milliwatts(state.milliwatts),
    };
    let none = || Error::Invalid(format!("the profile {:?} has no states", profile.name));
    let mut table = OppTable::new(profile.states.iter().map(point).collect()).ok_or_else(none)?;
    table.idle = milliwatts(profile.idle_milliwatts);
    table.rest = milliwatts(profile.device_milliwatts);
    Ok(table)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profile_is_a_table() {
        let exynos = device("exynos4210").unwrap();
        assert_eq!(exynos.points().len(), 5);
        assert_eq!(exynos.busy_at(Hertz(1_200_000_000)), Watts(0.629));
        assert_eq!((exynos.idle, exynos.rest), (Watts(0.005), Watts(0.952)));
        assert!(device("pixel").is_err());
    }
}
