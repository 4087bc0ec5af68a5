//! Making a plan's changes, again and again, and putting them back.

use unjank_host::journal::{Knob, Session};
use unjank_host::{Error, Result};

use super::plan::Move;

/// A knob that is held by a session, with the values it is given: both are in
/// the session's journal before the first launch, so that a change is one write
/// and one read.
#[derive(Debug)]
pub struct Held {
    knob: Knob,
    step: Move,
}

/// The knobs that a boost changes.
#[derive(Debug)]
pub(super) struct Knobs(Vec<Held>);

/// What became of the knobs when they were written.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    /// How many were.
    pub(super) written: usize,
    /// Those that are given up, and why: somebody else has changed them, or
    /// they cannot be written any more.
    pub(super) lost: Vec<(String, String)>,
}

impl Held {
    /// Takes the knob of `step`, and gives it its boosted value and its normal
    /// one again: what the kernel refuses or rounds is known before the first
    /// launch.
    ///
    /// # Errors
    /// As [`Session::change`]; `Unsupported` for a knob that takes the boosted
    /// value and keeps the one it has.
    pub fn take(session: &Session, step: &Move) -> Result<Self> {
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
        Ok(Self { knob, step: Move { normal, boosted, ..step.clone() } })
    }

    /// Where the knob really lies.
    pub fn path(&self) -> &str {
        self.knob.path()
    }

    /// What is changed, with values as the kernel spells them.
    pub fn step(&self) -> &Move {
        &self.step
    }
}

impl Knobs {
    pub(super) fn new(held: Vec<Held>) -> Self {
        Self(held)
    }

    /// What is changed, with values as the kernel spells them.
    pub(super) fn moves(&self) -> Vec<Move> {
        self.0.iter().map(|held| held.step.clone()).collect()
    }

    /// Changes `held` with the others; at once, if there is a boost.
    pub(super) fn add(&mut self, held: Vec<Held>, boosted: bool) -> Outcome {
        let mut added = Self(held);
        let outcome = if boosted { added.boost() } else { Outcome::default() };
        self.0.append(&mut added.0);
        outcome
    }

    /// Gives all knobs their boosted values.
    pub(super) fn boost(&mut self) -> Outcome {
        self.write(|_| true, |step| &step.boosted)
    }

    /// Writes once more what wants to be written a second time.
    pub(super) fn again(&mut self) -> Outcome {
        self.write(|step| step.again, |step| &step.boosted)
    }

    /// Whether anything wants to be written a second time.
    pub(super) fn want_again(&self) -> bool {
        self.0.iter().any(|held| held.step.again)
    }

    /// Gives all knobs their normal values.
    pub(super) fn restore(&mut self) -> Outcome {
        self.write(|_| true, |step| &step.normal)
    }

    fn write(
        &mut self,
        which: impl Fn(&Move) -> bool,
        value: impl Fn(&Move) -> &String,
    ) -> Outcome {
        let mut outcome = Outcome::default();
        // Dropping a guard leaves a knob to whoever has changed it.
        self.0.retain(|held| {
            if !which(&held.step) {
                return true;
            }
            let reason = if !held.knob.is_as_left() {
                "somebody else has changed it, or it is gone".to_owned()
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
