//! A paper, and the claims of one as findings.

use unjank_measure::Findings;
use unjank_measure::claim::{self, Claim, Means};

use crate::commands::measured::is_emulated;

/// A paper whose claims are reproduced.
#[derive(Debug, Clone, Copy)]
pub(super) struct Paper {
    /// Its word on the command line.
    pub(super) name: &'static str,
    /// Its authors.
    pub(super) authors: &'static str,
}

impl Paper {
    /// The subject of its verdict.
    pub(super) fn subject(self) -> String {
        format!("reproduce/{}", self.name)
    }

    /// Its question.
    pub(super) fn question(self) -> String {
        format!("Do the results of {} come out?", self.authors)
    }

    /// Puts its claims before everything else that was found, and its question in place of
    /// those of the experiment.
    pub(super) fn conclude(self, claims: &[Claim], findings: &mut Findings) {
        findings.verdicts = vec![claim::verdict(&self.subject(), &self.question(), claims)];
        let [table, reasons] = claim::tables(claims);
        findings.headline = Some(format!("{}: {}", self.authors, claim::summary(&table)));
        findings.tables.splice(0..0, [table, reasons]);
    }
}

/// How this machine obtains its values.
pub(super) fn means() -> Means {
    if is_emulated() { Means::Emulated } else { Means::Measured }
}
