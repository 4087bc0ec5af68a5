//! The settings for now, through the journal.

use std::path::Path;

use unjank_host::journal::{ChangeReport, FoundJournal, Session, Zram, kept, undo_kept};
use unjank_host::{Error, Result, Root, Support};
use unjank_measure::record::Change;

use super::decide::{Backend, Proposal};

/// The name under which the journal keeps the settings.
const NAME: &str = "swap tune";
const ZSWAP: &str = "/sys/module/zswap/parameters";

/// Makes the settings, which stay when this process ends, until [`undo`] or the next boot. Returns
/// what was changed.
///
/// # Errors
/// `Busy` if settings are in place already; the kernel's refusal. Nothing is changed then.
pub fn apply(
    proposal: &Proposal,
    session: Session,
    root: &Root,
    state: &Path,
) -> Result<Vec<Change>> {
    if is_applied(root, state)? {
        return Err(Error::Busy(
            "settings of an earlier unjank swap tune --apply are in place: take them back first, \
             with unjank swap tune --undo"
                .to_owned(),
        ));
    }
    let zram = zram(proposal, &session)?;
    let knobs = session.change_all(&knobs(proposal))?;
    let change = |path: &str, before: &str, during: String| Change {
        knob: path.to_owned(),
        before: before.to_owned(),
        after: Some(during.clone()),
        during,
    };
    let mut changes: Vec<Change> = zram
        .iter()
        .map(|it| change(&it.path().to_string_lossy(), "not added", "added".to_owned()))
        .collect();
    changes.extend(knobs.iter().map(|knob| change(knob.path(), knob.before(), knob.value())));
    if changes.is_empty() {
        return Ok(changes);
    }
    session.keep(NAME)?;
    Ok(changes)
}

/// Whether settings are in place.
///
/// # Errors
/// The journal's directory cannot be used.
pub fn is_applied(root: &Root, state: &Path) -> Result<bool> {
    Ok(!kept(root, state, NAME)?.is_empty())
}

/// Takes the settings back.
///
/// # Errors
/// The journal's directory cannot be used; `Busy` if another unjank has changed the same settings
/// since.
pub fn undo(root: &Root, state: &Path) -> Result<Vec<ChangeReport>> {
    let journals = undo_kept(root, state, NAME)?;
    Ok(journals.into_iter().flat_map(|FoundJournal { changes, .. }| changes).collect())
}

/// A new zram device that the machine swaps to, if the proposal wants one.
fn zram(proposal: &Proposal, session: &Session) -> Result<Option<Zram>> {
    let Backend::Zram { algorithm, size, exists: false } = &proposal.backend else {
        return Ok(None);
    };
    match session.add_zram(algorithm, *size, None)? {
        Support::Yes(zram) => {
            zram.swap_on()?;
            Ok(Some(zram))
        }
        Support::No(reason) => Err(Error::Unsupported(reason)),
    }
}

/// The kernel's files that the proposal changes, in this order.
fn knobs(proposal: &Proposal) -> Vec<(String, String)> {
    let mut knobs = Vec::new();
    let mut set = |path: String, value: String| knobs.push((path, value));
    if let Backend::Zswap { compressor, shrinker } = &proposal.backend {
        if let Some(compressor) = compressor {
            set(format!("{ZSWAP}/compressor"), compressor.clone());
        }
        if *shrinker {
            set(format!("{ZSWAP}/shrinker_enabled"), "Y".to_owned());
        }
        set(format!("{ZSWAP}/enabled"), "Y".to_owned());
    }
    let changes = |name: &str| {
        proposal.settings.iter().any(|setting| setting.name == name && setting.is_changed())
    };
    let sysctls = [("swappiness", proposal.swappiness), ("page-cluster", proposal.page_cluster)];
    for (name, value) in sysctls {
        if let Some(value) = value.filter(|_| changes(&format!("vm.{name}"))) {
            set(format!("/proc/sys/vm/{name}"), value.to_string());
        }
    }
    knobs
}

#[cfg(test)]
mod tests {
    use super::super::decide::Setting;
    use super::*;

    #[test]
    fn only_what_differs_is_changed() {
        let setting = |name, now: &str, proposed: &str| Setting {
            name,
            now: now.to_owned(),
            proposed: Some(proposed.to_owned()),
            why: String::new(),
        };
        let proposal = Proposal {
            backend: Backend::Zswap { compressor: Some("lzo".to_owned()), shrinker: true },
            swappiness: Some(150),
            page_cluster: Some(3),
            settings: vec![
                setting("vm.swappiness", "60", "150"),
                setting("vm.page-cluster", "3", "3"),
            ],
        };
        let all = knobs(&proposal);
        let all: Vec<(&str, &str)> = all.iter().map(|(path, value)| (&**path, &**value)).collect();
        let zswap = "/sys/module/zswap/parameters";
        let expected = [
            (format!("{zswap}/compressor"), "lzo"),
            (format!("{zswap}/shrinker_enabled"), "Y"),
            (format!("{zswap}/enabled"), "Y"),
            ("/proc/sys/vm/swappiness".to_owned(), "150"),
        ];
        let expected: Vec<(&str, &str)> =
            expected.iter().map(|(path, value)| (&**path, *value)).collect();
        assert_eq!(all, expected);
    }
}
