//! What a launch is: which new programs are worth a faster clock.

use std::path::Path;

use serde::{Deserialize, Serialize};
use wildmatch::WildMatch;

/// A process that has just begun to run a program, as far as rules see it.
#[derive(Debug, Clone, Copy)]
pub struct Candidate<'a> {
    /// The program's file; `None` where no rule [asks](Rules::ask_for_executable)
    /// for it.
    pub executable: Option<&'a Path>,
    /// The process's control group.
    pub control_group: &'a str,
    /// The user it runs as.
    pub user: u32,
}

/// Why a new program is no launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reason {
    /// It leads no process group: another program has started it for itself.
    Follower,
    /// Its executable is none of those that count, or one of those that do not.
    Executable,
    /// Its control group is not one that counts.
    ControlGroup,
    /// Its user is not one that counts.
    User,
    /// It had ended before it could be looked at.
    Gone,
    /// Boosts are paused.
    Paused,
    /// More programs start than anybody starts by hand.
    Crowd,
    /// The budget of this minute is used up.
    Budget,
}

impl Reason {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Follower,
        Self::Executable,
        Self::ControlGroup,
        Self::User,
        Self::Gone,
        Self::Paused,
        Self::Crowd,
        Self::Budget,
    ];

    /// As it is written in metrics.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Follower => "follower",
            Self::Executable => "executable",
            Self::ControlGroup => "control-group",
            Self::User => "user",
            Self::Gone => "gone",
            Self::Paused => "paused",
            Self::Crowd => "crowd",
            Self::Budget => "budget",
        }
    }
}

/// The rules. Patterns are of the whole text, with `*` for anything and `?`
/// for one character.
#[derive(Debug, Clone)]
pub struct Rules {
    /// Whether only leaders of process groups count: what a user starts, and
    /// not what programs start for themselves.
    pub leaders_only: bool,
    /// Executables that count, and those of them that do not.
    pub executables: Choice,
    /// Control groups that count, and those of them that do not.
    pub control_groups: Choice,
    /// Users that count; empty for all.
    pub users: Vec<u32>,
    /// Those of them that do not.
    pub not_users: Vec<u32>,
}

/// What counts, and what of that does not.
#[derive(Debug, Clone, Default)]
pub struct Choice {
    wanted: Vec<WildMatch>,
    unwanted: Vec<WildMatch>,
}

impl Choice {
    /// Texts that match one of `wanted`, or any text if there is none, and
    /// none of `unwanted`.
    pub fn new(wanted: &[String], unwanted: &[String]) -> Self {
        let all = |patterns: &[String]| patterns.iter().map(|one| WildMatch::new(one)).collect();
        Self { wanted: all(wanted), unwanted: all(unwanted) }
    }

    fn is_all(&self) -> bool {
        self.wanted.is_empty() && self.unwanted.is_empty()
    }

    fn allows(&self, text: &str) -> bool {
        let matches = |patterns: &[WildMatch]| patterns.iter().any(|one| one.matches(text));
        (self.wanted.is_empty() || matches(&self.wanted)) && !matches(&self.unwanted)
    }
}

impl Rules {
    /// Whether any rule is about executables. Looking one up is among the
    /// slowest questions about a new process.
    pub fn ask_for_executable(&self) -> bool {
        !self.executables.is_all()
    }

    /// Why `candidate` is no launch; `None` if it is one. Whether it leads a
    /// process group has been seen to.
    pub fn objection(&self, candidate: &Candidate<'_>) -> Option<Reason> {
        if candidate
            .executable
            .is_some_and(|file| !self.executables.allows(&file.to_string_lossy()))
        {
            return Some(Reason::Executable);
        }
        if !self.control_groups.allows(candidate.control_group) {
            return Some(Reason::ControlGroup);
        }
        let user = &candidate.user;
        let counts = self.users.is_empty() || self.users.contains(user);
        (!counts || self.not_users.contains(user)).then_some(Reason::User)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|&text| text.to_owned()).collect()
    }

    fn rules() -> Rules {
        Rules {
            leaders_only: true,
            executables: Choice::new(&[], &texts(&["/usr/lib/systemd/*", "*/git-?ack"])),
            control_groups: Choice::new(&texts(&["/", "/user.slice*"]), &texts(&["*/cron*"])),
            users: vec![0, 1000],
            not_users: vec![0],
        }
    }

    #[test]
    fn the_first_rule_that_objects_is_named() {
        let judged = |executable: &str, control_group: &str, user| {
            let executable = Some(Path::new(executable));
            rules().objection(&Candidate { executable, control_group, user })
        };
        assert_eq!(judged("/usr/bin/gimp", "/user.slice/user-1000.slice/a.scope", 1000), None);
        assert_eq!(judged("/usr/bin/gimp", "/", 1000), None);
        let systemd = "/usr/lib/systemd/systemd-executor";
        assert_eq!(judged(systemd, "/", 1000), Some(Reason::Executable));
        assert_eq!(judged("/usr/bin/git-pack", "/", 1000), Some(Reason::Executable));
        assert_eq!(judged("/usr/bin/git-upload-pack", "/", 1000), None);
        let service = "/system.slice/ssh.service";
        assert_eq!(judged("/usr/bin/gimp", service, 1000), Some(Reason::ControlGroup));
        assert_eq!(judged("/bin/x", "/user.slice/cron.x", 1000), Some(Reason::ControlGroup));
        assert_eq!(judged("/usr/bin/gimp", "/", 0), Some(Reason::User));
        assert_eq!(judged("/usr/bin/gimp", "/", 33), Some(Reason::User));
    }

    #[test]
    fn an_executable_is_looked_up_only_where_a_rule_asks_for_it() {
        assert!(rules().ask_for_executable());
        let any = Rules { executables: Choice::default(), ..rules() };
        assert!(!any.ask_for_executable());
        let candidate = Candidate { executable: None, control_group: "/", user: 1000 };
        assert_eq!(any.objection(&candidate), None);
    }

    #[test]
    fn reasons_are_written_as_they_are_stored() {
        for reason in Reason::ALL {
            assert_eq!(serde_json::to_value(reason).unwrap(), reason.name());
        }
    }
}
