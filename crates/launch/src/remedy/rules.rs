//! Launch rules: which starts of programs count as launches.

use std::path::Path;

use serde::{Deserialize, Serialize};
use wildmatch::WildMatch;

/// A process that has just begun to run a program, as the rules see it.
#[derive(Debug, Clone, Copy)]
pub struct Candidate<'a> {
    /// The program's file; `None` if no rule [needs](Rules::need_executable) it.
    pub executable: Option<&'a Path>,
    /// The process's control group.
    pub control_group: &'a str,
    /// The user id it runs as.
    pub user: u32,
}

/// The reason why a new program is not boosted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rejection {
    /// It leads no process group: another program started it for its own use.
    Follower,
    /// Its executable does not count.
    Executable,
    /// Its control group does not count.
    ControlGroup,
    /// Its user does not count.
    User,
    /// It ended before it could be examined.
    Gone,
    /// Boosts are paused by request.
    Paused,
    /// The power profile is power-saver.
    PowerSaver,
    /// Too many programs start in this second.
    Crowd,
    /// The budget of this minute is used up.
    Budget,
}

impl Rejection {
    /// All reasons.
    pub const ALL: [Self; 9] = [
        Self::Follower,
        Self::Executable,
        Self::ControlGroup,
        Self::User,
        Self::Gone,
        Self::Paused,
        Self::PowerSaver,
        Self::Crowd,
        Self::Budget,
    ];

    /// Its name in metrics.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Follower => "follower",
            Self::Executable => "executable",
            Self::ControlGroup => "control-group",
            Self::User => "user",
            Self::Gone => "gone",
            Self::Paused => "paused",
            Self::PowerSaver => "power-saver",
            Self::Crowd => "crowd",
            Self::Budget => "budget",
        }
    }
}

/// The rules. Patterns match the whole text, with `*` for anything and `?` for
/// one character.
#[derive(Debug, Clone)]
pub struct Rules {
    /// Whether only leaders of process groups count: programs that a user starts,
    /// not those that programs start for themselves.
    pub leaders_only: bool,
    /// Executables that count, and those of them that do not.
    pub executables: Filter,
    /// Control groups that count, and those of them that do not.
    pub control_groups: Filter,
    /// Users that count; empty for all.
    pub users: Vec<u32>,
    /// Users that do not count, even if `users` has them.
    pub not_users: Vec<u32>,
}

/// A filter of texts by patterns.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    wanted: Vec<WildMatch>,
    unwanted: Vec<WildMatch>,
}

impl Filter {
    /// Accepts texts that match one of `wanted` (any text if that is empty) and
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
    /// Whether any rule is about executables. Their lookup is among the slowest
    /// for a new process.
    pub fn need_executable(&self) -> bool {
        !self.executables.is_all()
    }

    /// Why `candidate` is no launch; `None` if it is one. The caller checks whether
    /// it leads a process group.
    pub fn rejection(&self, candidate: &Candidate<'_>) -> Option<Rejection> {
        if candidate
            .executable
            .is_some_and(|file| !self.executables.allows(&file.to_string_lossy()))
        {
            return Some(Rejection::Executable);
        }
        if !self.control_groups.allows(candidate.control_group) {
            return Some(Rejection::ControlGroup);
        }
        let user = &candidate.user;
        let counts = self.users.is_empty() || self.users.contains(user);
        (!counts || self.not_users.contains(user)).then_some(Rejection::User)
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
            executables: Filter::new(&[], &texts(&["/usr/lib/systemd/*", "*/git-?ack"])),
            control_groups: Filter::new(&texts(&["/", "/user.slice*"]), &texts(&["*/cron*"])),
            users: vec![0, 1000],
            not_users: vec![0],
        }
    }

    #[test]
    fn the_first_rule_that_rejects_is_named() {
        let judged = |executable: &str, control_group: &str, user| {
            let executable = Some(Path::new(executable));
            rules().rejection(&Candidate { executable, control_group, user })
        };
        assert_eq!(judged("/usr/bin/gimp", "/user.slice/user-1000.slice/a.scope", 1000), None);
        assert_eq!(judged("/usr/bin/gimp", "/", 1000), None);
        let systemd = "/usr/lib/systemd/systemd-executor";
        assert_eq!(judged(systemd, "/", 1000), Some(Rejection::Executable));
        assert_eq!(judged("/usr/bin/git-pack", "/", 1000), Some(Rejection::Executable));
        assert_eq!(judged("/usr/bin/git-upload-pack", "/", 1000), None);
        let service = "/system.slice/ssh.service";
        assert_eq!(judged("/usr/bin/gimp", service, 1000), Some(Rejection::ControlGroup));
        assert_eq!(judged("/bin/x", "/user.slice/cron.x", 1000), Some(Rejection::ControlGroup));
        assert_eq!(judged("/usr/bin/gimp", "/", 0), Some(Rejection::User));
        assert_eq!(judged("/usr/bin/gimp", "/", 33), Some(Rejection::User));
    }

    #[test]
    fn an_executable_is_looked_up_only_if_a_rule_needs_it() {
        assert!(rules().need_executable());
        let any = Rules { executables: Filter::default(), ..rules() };
        assert!(!any.need_executable());
        let candidate = Candidate { executable: None, control_group: "/", user: 1000 };
        assert_eq!(any.rejection(&candidate), None);
    }

    #[test]
    fn reasons_are_written_as_they_are_stored() {
        for reason in Rejection::ALL {
            assert_eq!(serde_json::to_value(reason).unwrap(), reason.name());
        }
    }
}
