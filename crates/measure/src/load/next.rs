//! Next steps that explain a running program.

use unjank_host::surroundings::ProgramActivity;

use super::{Load, Program};
use crate::record::{Answer, Verdict};

/// How often a second a program got CPUs, from which on it is named.
pub const SWITCHES: f64 = 100.0;

impl Load {
    /// Leads a slow row to `unjank why` on the program that got CPUs most often.
    /// `shows` says what `why` then shows, such as `what it waits for`. Returns whether there is
    /// such a program.
    pub fn lead_to_switching(&self, verdict: &mut Verdict, shows: &str) -> bool {
        let say = |program: &Program, rate| {
            format!("{program} got CPUs most often, {rate:.0} times a second; why shows {shows}")
        };
        self.lead_to_why(verdict, |program| program.switches, SWITCHES, say)
    }

    /// Leads a slow row to `unjank why` on the program with the highest count `what`, if
    /// that is at least `at_least` a second, and adds what `say` says of the program and its rate.
    /// Returns whether there is such a program. A row that cannot tell is not led anywhere: it
    /// needs a longer measurement.
    pub fn lead_to_why(
        &self,
        verdict: &mut Verdict,
        what: impl Fn(&ProgramActivity) -> u64,
        at_least: f64,
        say: impl FnOnce(&Program, f64) -> String,
    ) -> bool {
        if verdict.answer != Answer::Slow {
            return false;
        }
        let Some((program, rate)) = self.most_active(what, at_least, |_| true) else {
            return false;
        };
        verdict.also(&say(&Program::of(program), rate));
        verdict.next = Some(why(program));
        true
    }
}

/// The command that explains the thread of a program that got CPUs most often. The main thread,
/// which is the default of `why`, may sleep all the time.
fn why(program: &ProgramActivity) -> String {
    match program.busiest {
        Some(busiest) if busiest.thread.0 != busiest.process => {
            let (process, thread) = (busiest.process, busiest.thread.0);
            format!("sudo unjank why --pid {process} --thread {thread} --for 5s")
        }
        busiest => {
            let process = busiest.map_or(program.process, |busiest| busiest.process);
            format!("sudo unjank why --pid {process} --for 5s")
        }
    }
}

#[cfg(test)]
mod tests {
    use unjank_host::Nanos;
    use unjank_host::sched::ThreadId;
    use unjank_host::surroundings::{BusiestThread, MachineActivity};

    use super::*;

    /// A run of one second beside a program whose thread `thread` of process 12 is the busiest.
    fn beside(switches: u64, thread: u32) -> Load {
        let whole = MachineActivity { length: Nanos(1_000_000_000), ..MachineActivity::default() };
        let thread = ThreadId(thread);
        let server = ProgramActivity {
            process: 10,
            name: "server".to_owned(),
            switches,
            busiest: Some(BusiestThread { process: 12, thread, switches }),
            ..ProgramActivity::default()
        };
        let other = ProgramActivity { process: 7, switches: 3, ..ProgramActivity::default() };
        Load { whole, programs: vec![server, other], ..Load::default() }
    }

    fn row(answer: Answer) -> Verdict {
        let next = Some("unjank swap probe".to_owned());
        Verdict { next, ..Verdict::new("swap", "?", answer, "as the probe says") }
    }

    #[test]
    fn a_slow_row_leads_to_the_busiest_thread_of_the_program_that_switches_most() {
        let mut slow = row(Answer::Slow);
        assert!(beside(500, 15).lead_to_switching(&mut slow, "what it waits for"));
        assert_eq!(slow.next.as_deref(), Some("sudo unjank why --pid 12 --thread 15 --for 5s"));
        assert_eq!(
            slow.reason,
            "as the probe says; server[10] got CPUs most often, 500 times a second; why shows what \
             it waits for"
        );
        // The main thread is why's default.
        let mut slow = row(Answer::Slow);
        assert!(beside(500, 12).lead_to_switching(&mut slow, "what it waits for"));
        assert_eq!(slow.next.as_deref(), Some("sudo unjank why --pid 12 --for 5s"));
    }

    #[test]
    fn other_rows_and_idle_programs_lead_nowhere() {
        for (answer, switches) in
            [(Answer::CannotTell, 500), (Answer::Healthy, 500), (Answer::Slow, 99)]
        {
            let mut unchanged = row(answer);
            assert!(!beside(switches, 15).lead_to_switching(&mut unchanged, "what it waits for"));
            assert_eq!(unchanged, row(answer));
        }
    }
}
