//! The change that is tried if the user names none.

use unjank_measure::Unit;

use super::about::Remedy;
use super::proof::Prediction;

/// A change that is tried.
#[derive(Debug, Clone)]
pub struct BestChange<T> {
    /// What it is predicted to save.
    pub prediction: Prediction,
    /// How it is applied.
    pub applied: T,
    /// A change that is predicted to save more and has to be named to be tried.
    pub better: Option<String>,
}

/// The first of the predictions, the largest saving first, that is worth an experiment and can be
/// applied by `apply`.
///
/// # Errors
/// There is none: what the user can try instead.
pub fn best<T>(
    predictions: impl Iterator<Item = Prediction>,
    apply: impl Fn(Remedy) -> Option<T>,
) -> Result<BestChange<T>, String> {
    let mut better = None;
    for prediction in predictions.filter(Prediction::is_worth_proving) {
        // The cache is warm in launches that are not cold.
        let shows = prediction.remedy != Remedy::Cached;
        if let Some(applied) = shows.then(|| apply(prediction.remedy)).flatten() {
            return Ok(BestChange { prediction, applied, better });
        }
        better = better.or_else(|| of_better(&prediction));
    }
    Err(better.unwrap_or_else(|| {
        "no change that can be applied from outside is predicted to save 1 % of the launch"
            .to_owned()
    }))
}

/// How to try a change by its name; `None` if this machine lacks it.
fn of_better(prediction: &Prediction) -> Option<String> {
    let remedy = prediction.remedy;
    let by = match remedy {
        Remedy::Cached => String::new(),
        Remedy::EnoughMemory => format!(" --by {}", remedy.instead()?),
        _ => return None,
    };
    let change = Unit::Change.show(prediction.shift.value);
    let (condition, option) = (remedy.condition(), remedy.option()?);
    Some(format!(
        "{condition}, a launch is predicted to change by {change}: try --prove={option}{by}"
    ))
}

#[cfg(test)]
mod tests {
    use super::super::proof::Shift;
    use super::*;

    fn prediction((remedy, value): (Remedy, f64)) -> Prediction {
        let shift = Shift { value, spread: None, n: 1 };
        Prediction { remedy, shift, lengths: Vec::new() }
    }

    fn best_of(predictions: &[(Remedy, f64)]) -> Result<(Remedy, Option<String>), String> {
        let own = |remedy| matches!(remedy, Remedy::ProgramFirst).then_some(());
        let all = predictions.iter().copied().map(prediction);
        best(all, own).map(|best| (best.prediction.remedy, best.better))
    }

    #[test]
    fn a_larger_saving_that_must_be_named_is_said() {
        let cpu = (Remedy::ProgramFirst, -0.1);
        assert_eq!(best_of(&[cpu, (Remedy::Cached, -0.05)]), Ok((Remedy::ProgramFirst, None)));
        let swap = "with enough memory, a launch is predicted to change by −66.00 %: try \
                    --prove=swap --by vm.swappiness=0";
        let with_swap = best_of(&[(Remedy::EnoughMemory, -0.66), cpu]);
        assert_eq!(with_swap, Ok((Remedy::ProgramFirst, Some(swap.to_owned()))));
        // This machine has no clock to raise.
        let clock = best_of(&[(Remedy::HighestClock, -0.3), cpu]);
        assert_eq!(clock, Ok((Remedy::ProgramFirst, None)));
        let cached = best_of(&[(Remedy::Cached, -0.3), (Remedy::ProgramFirst, -0.005)]);
        assert!(cached.unwrap_err().ends_with("try --prove=cache"));
        let none = best_of(&[(Remedy::ProgramFirst, -0.005)]);
        assert!(none.unwrap_err().starts_with("no change that can be applied"));
    }
}
