//! The commands that try a change. Each can be typed as it stands.

use std::ffi::OsStr;

use super::about::{About, Remedy};
use super::shell;

/// The number of launches to propose: an interval of the median needs at least six.
const MANY: u32 = 10;
/// The number of launches that `unjank why --prove` records unless the user asks for more.
const PROOF: u32 = 6;

impl About {
    /// A command to try `remedy` with; `None` if unjank has none, and for a recording.
    pub(super) fn next(&self, remedy: Remedy) -> Option<String> {
        match (remedy, self.process) {
            // A server that has ended cannot be put first.
            (Remedy::ServersFirst, _) if self.server.is_none() => None,
            // Only its author knows how to tell a program to do less.
            (Remedy::HalfSections, _) => None,
            _ if !self.command.is_empty() => Some(self.for_launch(remedy)),
            (_, Some(process)) => self.for_window(process, remedy),
            (_, None) => None,
        }
    }

    fn for_launch(&self, remedy: Remedy) -> String {
        if let Some(name) = remedy.option() {
            let change = format!("--prove={name}");
            let launches = self.launches.to_string();
            let more = (self.launches > PROOF).then_some(["-n", launches.as_str()]);
            let options: Vec<&str> = more.into_iter().flatten().collect();
            return format!("sudo {}", self.why(&[&[change.as_str()], &options[..]].concat()));
        }
        match remedy {
            // A program that ends at once cannot be watched.
            Remedy::SpunLocks if !self.runs_on() => "unjank lock bench --quick".to_owned(),
            Remedy::SpunLocks => {
                format!("{} & sudo unjank lock doctor $!", shell::line(&self.command))
            }
            _ => format!("sudo {}", self.launches()),
        }
    }

    fn for_window(&self, process: u32, remedy: Remedy) -> Option<String> {
        match remedy {
            Remedy::ProgramFirst => {
                Some(format!("sudo unjank rt set {process} --others other:-20"))
            }
            Remedy::SpunLocks => Some(format!("sudo unjank lock doctor {process}")),
            Remedy::Cached | Remedy::EnoughMemory => {
                Some("sudo unjank checkup --only swap".to_owned())
            }
            Remedy::HighestClock => Some(format!(
                "sudo unjank with \
                 '/sys/devices/system/cpu/cpufreq/policy*/scaling_governor=performance' -- {}",
                self.window(process)
            )),
            // Records another window while the server's threads run before others.
            Remedy::ServersFirst => self.server.map(|server| {
                format!(
                    "sudo unjank rt set {server} --others other:-20 --keep && sudo {}; \
                     sudo unjank rt restore {server}",
                    self.window(process)
                )
            }),
            Remedy::All | Remedy::HalfSections => None,
        }
    }

    /// Launches the program often enough for an interval, without `sudo`.
    fn launches(&self) -> String {
        self.why(&["-n", &self.launches.max(MANY).to_string()])
    }

    /// Another window of the running program, without `sudo`.
    fn window(&self, process: u32) -> String {
        self.why(&["--pid", &process.to_string()])
    }

    /// `unjank why` with these words, the user's options, and the program.
    fn why(&self, words: &[&str]) -> String {
        let own = ["unjank", "why"].iter().chain(words).map(OsStr::new);
        let options = self.options.iter().map(AsRef::as_ref);
        let dashes = (!self.command.is_empty()).then_some(OsStr::new("--"));
        let command = self.command.iter().map(AsRef::as_ref);
        shell::line(own.chain(options).chain(dashes).chain(command))
    }

    /// Whether the program runs on when it is ready.
    fn runs_on(&self) -> bool {
        self.options.iter().any(|word| word == "--ready")
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use super::super::what_if::REMEDIES;
    use super::*;

    fn words(words: &[&str]) -> Vec<OsString> {
        words.iter().map(OsString::from).collect()
    }

    fn about(command: &[&str], options: &[&str]) -> About {
        let (command, options) = (words(command), words(options));
        About { command, options, launches: 1, ..About::default() }
    }

    #[test]
    fn every_command_has_the_options_and_the_program_as_a_shell_reads_them() {
        let command = ["sh", "-c", "echo 'a b' > /dev/null; ls", ""];
        let options = ["--ready", "stdout:it is up", "--timeout", "120s"];
        let about = About { server: Some(47), ..about(&command, &options) };
        for remedy in REMEDIES.into_iter().filter(|remedy| *remedy != Remedy::HalfSections) {
            let next = about.next(remedy).unwrap();
            let read = shlex::split(&next).unwrap();
            let has = |words: &[&str]| read.windows(words.len()).any(|window| window == words);
            assert!(has(&command), "{next}");
            assert!(has(&options) || remedy == Remedy::SpunLocks, "{next}");
        }
        let first = about.next(Remedy::ServersFirst).unwrap();
        let expected = "sudo unjank why --prove=servers --ready 'stdout:it is up' --timeout 120s \
                        -- sh -c \"echo 'a b' > /dev/null; ls\" ''";
        assert_eq!(first, expected);
    }

    #[test]
    fn a_server_that_ended_cannot_be_put_first() {
        assert!(about(&["git"], &[]).next(Remedy::ServersFirst).is_none());
    }

    #[test]
    fn more_launches_than_a_proof_needs_stay() {
        let proof = |launches| About { launches, ..about(&["git"], &[]) }.next(Remedy::Cached);
        assert_eq!(proof(6).unwrap(), "sudo unjank why --prove=cache -- git");
        assert_eq!(proof(20).unwrap(), "sudo unjank why --prove=cache -n 20 -- git");
        let swap = About { launches: 20, ..about(&["git"], &[]) }.next(Remedy::EnoughMemory);
        let expected = "sudo unjank why --prove=swap -n 20 -- git";
        assert_eq!(swap.unwrap(), expected);
        let again = About { launches: 20, ..about(&["git"], &[]) }.next(Remedy::All);
        assert_eq!(again.unwrap(), "sudo unjank why -n 20 -- git");
    }

    #[test]
    fn a_recording_has_commands_only_for_a_process_that_runs() {
        let served = About { server: Some(9), ..About::default() };
        assert!(REMEDIES.iter().all(|remedy| served.next(*remedy).is_none()));
        let options = ["--thread", "a b", "--for", "2s"];
        let running = About { process: Some(47), ..about(&[], &options) };
        let next = running.next(Remedy::SpunLocks);
        assert_eq!(next.as_deref(), Some("sudo unjank lock doctor 47"));
        let clock = running.next(Remedy::HighestClock).unwrap();
        assert!(clock.ends_with(" -- unjank why --pid 47 --thread 'a b' --for 2s"), "{clock}");
        let first = About { server: Some(9), ..running }.next(Remedy::ServersFirst).unwrap();
        assert!(first.contains("&& sudo unjank why --pid 47 --thread 'a b' --for 2s; "), "{first}");
    }
}
