//! The effect of the machine's load on the verdict on locks.

use unjank_measure::load::SWITCHES;
use unjank_measure::{Answer, Load, Verdict};

/// How often a second a program gave CPUs away, from which on it is named if the probe is healthy.
const MANY_SWITCHES: f64 = 1_000.0;

const NEXT: &str = "unjank lock bench";

/// Names the program that gave its CPUs away most often, and leads to `lock doctor`. A program with
/// one thread has no locks to diagnose, and a slow row leads to `why` on it.
pub fn beside_load(mut verdict: Verdict, load: &Load) -> Verdict {
    // A program with one thread switches for other reasons than locks.
    let switching = load.most(|program| program.switches, SWITCHES, |program| program.threads > 1);
    match switching {
        Some((program, rate)) if verdict.next.is_some() || rate >= MANY_SWITCHES => {
            verdict.next = Some(format!("sudo unjank lock doctor {}", program.number));
            verdict.also(&format!(
                "{program} gave its CPUs away most often, {rate:.0} times a second; lock doctor \
                 shows whether it waits for locks"
            ));
        }
        _ if load.lead_to_switching(&mut verdict, "what it waits for") => {}
        _ if verdict.answer == Answer::Slow => verdict.next = Some(NEXT.to_owned()),
        _ => {}
    }
    verdict
}

#[cfg(test)]
mod tests {
    use unjank_host::Nanos;
    use unjank_host::surroundings::{MachineActivity, ProgramActivity};
    use unjank_measure::Answer;

    use super::*;

    fn row(answer: Answer) -> Verdict {
        let next = (answer != Answer::Healthy).then(|| "unjank lock probe".to_owned());
        Verdict { next, ..Verdict::new("lock", "?", answer, "as the probe says") }
    }

    #[test]
    fn the_row_leads_to_the_program_that_switches_most() {
        let whole = MachineActivity { length: Nanos(1_000_000_000), ..MachineActivity::default() };
        let program = |process, name: &str, threads, switches| ProgramActivity {
            process,
            name: name.to_owned(),
            threads,
            switches,
            ..ProgramActivity::default()
        };
        let programs =
            vec![program(5, "redis-server", 1, 90_000), program(4711, "mysqld", 40, 500)];
        let mut load = Load { whole, programs, ..Load::default() };
        let next = |answer, load: &Load| beside_load(row(answer), load).next;
        let doctor = Some("sudo unjank lock doctor 4711".to_owned());
        assert_eq!(next(Answer::Slow, &load), doctor);
        assert_eq!(next(Answer::Healthy, &load), None);
        load.programs[1].switches = 51_000;
        assert_eq!(next(Answer::Healthy, &load), doctor);
        load.programs.remove(1);
        let why = Some("sudo unjank why --pid 5 --for 5s".to_owned());
        assert_eq!(next(Answer::Slow, &load), why);
        let longer = Some("unjank lock probe".to_owned());
        assert_eq!(next(Answer::CannotTell, &load), longer);
        assert_eq!(next(Answer::Healthy, &load), None);
        load.programs.clear();
        assert_eq!(next(Answer::Slow, &load).as_deref(), Some(NEXT));
        assert_eq!(beside_load(row(Answer::Healthy), &load), row(Answer::Healthy));
    }
}
