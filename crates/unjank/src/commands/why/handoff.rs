//! The newest `lock probe` of this machine in the store.

use std::time::Duration;

use unjank_host::{Machine, Root};
use unjank_measure::Store;
use unjank_measure::store::{Filter, Selector};
use unjank_why::report::Handoff;

use crate::commands::measured::{INTERRUPTED, OutputArgs};
use crate::paths;

/// How long a busy store is waited for: the explanation does without it.
const PATIENCE: Duration = Duration::from_millis(100);

/// What the hand-off of a lock costs, by the newest stored run of `lock probe` on this
/// machine; `None` with `--no-store`, and if there is none. A run belongs to this
/// machine if kernel, processor, governors and idle states are the same.
pub(super) fn stored(output: &OutputArgs, root: &Root) -> Option<Handoff> {
    if output.no_store {
        return None;
    }
    let path = output.store.clone().or_else(paths::store).filter(|path| path.exists())?;
    let store = Store::open_patiently(&path, PATIENCE).ok()?;
    let filter = Filter { command: Some("lock probe".to_owned()), ..Filter::default() };
    let own = Machine::read(root).summary();
    let mut runs = store.list(&filter).ok()?.into_iter().filter(|run| run.host == own);
    runs.find_map(|run| {
        let record = store.get(&Selector::Prefix(run.id)).ok()?;
        let is_whole = !record.labels.iter().any(|label| label == INTERRUPTED);
        is_whole.then(|| Handoff::of(&record)).flatten()
    })
}
