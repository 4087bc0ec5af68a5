//! The tone of an answer, good or bad, which decides its sign and its colour.

use unjank_measure::Answer;

/// The meaning of an answer to the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tone {
    /// Healthy, better, yes.
    Good,
    /// Slow, worse, no.
    Bad,
    /// The data does not decide.
    Open,
    /// Neither good nor bad: no difference, or nothing measured.
    None,
}

impl Tone {
    /// The tone of an answer.
    pub(crate) fn of(answer: Answer) -> Self {
        match answer {
            Answer::Healthy | Answer::Better | Answer::Yes => Self::Good,
            Answer::Slow | Answer::Worse | Answer::No => Self::Bad,
            Answer::CannotTell => Self::Open,
            Answer::Same | Answer::NotAvailable => Self::None,
        }
    }
}

/// A sign for an answer, which does not need colour.
pub(crate) fn symbol(answer: Answer) -> &'static str {
    match Tone::of(answer) {
        Tone::Good => "✓",
        Tone::Bad => "✗",
        Tone::Open => "?",
        Tone::None if answer == Answer::Same => "=",
        Tone::None => "–",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn good_answers_have_one_sign_and_bad_answers_another() {
        let signs = |answers: &[Answer]| answers.iter().map(|it| symbol(*it)).collect::<String>();
        assert_eq!(signs(&[Answer::Healthy, Answer::Better, Answer::Yes]), "✓✓✓");
        assert_eq!(signs(&[Answer::Slow, Answer::Worse, Answer::No]), "✗✗✗");
        assert_eq!(signs(&[Answer::CannotTell, Answer::Same, Answer::NotAvailable]), "?=–");
    }
}
