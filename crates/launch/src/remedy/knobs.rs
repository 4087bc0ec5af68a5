//! Writes and restores a plan's knobs.

use unjank_host::journal::{Knob, Session};
use unjank_host::{Error, Result};

use super::plan::KnobChange;

/// A knob held by a session, with its two values. Both are in the session's
/// journal before the first launch, so a change is one write and one read.
#[derive(Debug)]
pub struct HeldKnob {
    knob: Knob,
    step: KnobChange,
}

/// The knobs that a boost changes.
#[derive(Debug)]
pub(super) struct Knobs(Vec<HeldKnob>);

/// The result of writing the knobs.
#[derive(Debug, Default)]
pub(super) struct WriteOutcome {
    /// Number of knobs written.
    pub(super) written: usize,
    /// Knobs that are given up, and why: another program changed them, or they
    /// cannot be written any more.
    pub(super) lost: Vec<(String, String)>,
}

impl HeldKnob {
    /// Takes the knob of `step`, writes its boosted value and then its normal one.
    /// So it is known before the first launch what the kernel refuses or rounds.
    ///
    /// # Errors
    /// As [`Session::change`]; `Unsupported` if the knob keeps its value although
    /// the write succeeds.
    pub fn take(session: &Session, step: &KnobChange) -> Result<Self> {
        let knob = session.change(&step.path, &step.normal)?;
        knob.set(&step.boosted)?;
        let boosted = knob.value();
        knob.set(&step.normal)?;
        let normal = knob.value();
        if boosted == normal && !step.again {
            let (path, asked) = (knob.path(), &step.boosted);
            return Err(Error::Unsupported(format!(
                "{path} stays at {normal} when {asked} is written to it"
            )));
        }
        Ok(Self { knob, step: KnobChange { normal, boosted, ..step.clone() } })
    }

    /// The knob's resolved path.
    pub fn path(&self) -> &str {
        self.knob.path()
    }

    /// What is changed, with values as the kernel spells them.
    pub fn step(&self) -> &KnobChange {
        &self.step
    }
}

impl Knobs {
    pub(super) fn new(held: Vec<HeldKnob>) -> Self {
        Self(held)
    }

    /// What is changed, with values as the kernel spells them.
    pub(super) fn moves(&self) -> Vec<KnobChange> {
        self.0.iter().map(|held| held.step.clone()).collect()
    }

    /// Adds knobs; writes their boosted values at once during a boost.
    pub(super) fn add(&mut self, held: Vec<HeldKnob>, boosted: bool) -> WriteOutcome {
        let mut added = Self(held);
        let outcome = if boosted { added.boost() } else { WriteOutcome::default() };
        self.0.append(&mut added.0);
        outcome
    }

    /// Writes all boosted values.
    pub(super) fn boost(&mut self) -> WriteOutcome {
        self.write(|_| true, |step| &step.boosted)
    }

    /// Writes the knobs that need a second write.
    pub(super) fn again(&mut self) -> WriteOutcome {
        self.write(|step| step.again, |step| &step.boosted)
    }

    /// Whether any knob needs a second write.
    pub(super) fn want_again(&self) -> bool {
        self.0.iter().any(|held| held.step.again)
    }

    /// Writes all normal values.
    pub(super) fn restore(&mut self) -> WriteOutcome {
        self.write(|_| true, |step| &step.normal)
    }

    fn write(
        &mut self,
        which: impl Fn(&KnobChange) -> bool,
        value: impl Fn(&KnobChange) -> &String,
    ) -> WriteOutcome {
        let mut outcome = WriteOutcome::default();
        // Dropping its guard leaves a knob as the other program set it.
        self.0.retain(|held| {
            if !which(&held.step) {
                return true;
            }
            let reason = if !held.knob.is_as_left() {
                "another program changed it, or it is gone".to_owned()
            } else if let Err(error) = held.knob.set(value(&held.step)) {
                error.to_string()
            } else {
                outcome.written += 1;
                return true;
            };
            outcome.lost.push((held.knob.path().to_owned(), reason));
            false
        });
        outcome
    }
}
