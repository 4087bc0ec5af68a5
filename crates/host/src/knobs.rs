//! Knobs as users write them: `vm.swappiness=10`, `/sys/…/policy*/…=VALUE`.

use std::path::PathBuf;

use wildmatch::WildMatchPattern;

use crate::{Error, Result, Root};

/// A part of a path, in which only `*` is special.
type Glob = WildMatchPattern<'*', '\0'>;

/// The most files that a pattern may match.
const MOST_MATCHES: usize = 4_096;

/// The files and values of `typed`, in the order typed. A name with dots is a sysctl;
/// a `*` in a path stands for any text.
///
/// # Errors
/// `Invalid` without an equals sign, and for a pattern with too many matches;
/// `Unsupported` for a pattern without a match; directories that cannot be listed.
pub fn parse(typed: &[String], root: &Root) -> Result<Vec<(PathBuf, String)>> {
    let mut wanted = Vec::new();
    for typed in typed {
        let Some((knob, value)) = typed.split_once('=').filter(|(knob, _)| !knob.is_empty()) else {
            return Err(Error::Invalid(format!(
                "{typed:?} is not KNOB=VALUE, such as vm.swappiness=10"
            )));
        };
        let path = path(knob);
        for path in expand(&path, root)? {
            wanted.push((PathBuf::from(path), value.to_owned()));
        }
    }
    Ok(wanted)
}

/// The path of a knob: a sysctl name has dots, or slashes where a part of
/// the name itself has a dot (`net/ipv4/conf/eth0.1/forwarding`).
fn path(knob: &str) -> String {
    match knob {
        knob if knob.starts_with('/') => knob.to_owned(),
        knob if knob.contains('/') => format!("/proc/sys/{knob}"),
        knob => format!("/proc/sys/{}", knob.replace('.', "/")),
    }
}

/// The paths that match a pattern. Without a `*`, the pattern itself.
fn expand(pattern: &str, root: &Root) -> Result<Vec<String>> {
    let mut paths = vec![String::new()];
    for part in pattern.split('/').filter(|part| !part.is_empty()) {
        let mut longer = Vec::new();
        let glob = Glob::new(part);
        for path in &paths {
            if part.contains('*') {
                let names = root.list(path)?;
                let matching = names.iter().filter(|name| glob.matches(name));
                longer.extend(matching.map(|name| format!("{path}/{name}")));
            } else {
                longer.push(format!("{path}/{part}"));
            }
        }
        if longer.len() > MOST_MATCHES {
            return Err(Error::Invalid(format!(
                "{pattern} matches more than {MOST_MATCHES} files"
            )));
        }
        paths = longer;
    }
    if pattern.contains('*') {
        paths.retain(|path| root.exists(path));
    }
    if paths.is_empty() {
        return Err(Error::Unsupported(format!("this machine has no {pattern}")));
    }
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn parsed(typed: &[&str], root: &Root) -> Result<Vec<(String, String)>> {
        let typed: Vec<String> = typed.iter().map(|&typed| typed.to_owned()).collect();
        let pairs = parse(&typed, root)?;
        Ok(pairs.into_iter().map(|(path, value)| (path.display().to_string(), value)).collect())
    }

    #[test]
    fn a_name_without_a_slash_in_front_is_a_sysctl() {
        assert_eq!(path("vm.page-cluster"), "/proc/sys/vm/page-cluster");
        assert_eq!(
            path("net/ipv4/conf/eth0.1/forwarding"),
            "/proc/sys/net/ipv4/conf/eth0.1/forwarding"
        );
        assert_eq!(path("/sys/a.b/c"), "/sys/a.b/c");
    }

    #[test]
    fn the_value_is_everything_after_the_first_equals_sign() {
        let root = Root::at("/nonexistent");
        let pairs = parsed(&["vm.x=a=b", "vm.y="], &root).unwrap();
        assert_eq!(
            pairs,
            [("/proc/sys/vm/x", "a=b"), ("/proc/sys/vm/y", "")]
                .map(|(path, value)| (path.to_owned(), value.to_owned()))
        );
        assert!(parsed(&["vm.swappiness"], &root).is_err());
        assert!(parsed(&["=10"], &root).is_err());
    }

    #[test]
    fn a_star_matches_existing_files() {
        let dir = tempfile::tempdir().unwrap();
        for policy in ["policy0", "policy4", "boost"] {
            fs::create_dir_all(dir.path().join("sys/cpufreq").join(policy)).unwrap();
        }
        for policy in ["policy0", "policy4"] {
            fs::write(dir.path().join("sys/cpufreq").join(policy).join("governor"), "").unwrap();
        }
        let root = Root::at(dir.path());
        for pattern in ["/sys/cpufreq/policy*/governor", "/sys/*/*/governor"] {
            let pairs = parsed(&[&format!("{pattern}=x")], &root).unwrap();
            let paths: Vec<_> = pairs.iter().map(|(path, _)| path.as_str()).collect();
            assert_eq!(paths, ["/sys/cpufreq/policy0/governor", "/sys/cpufreq/policy4/governor"]);
        }
        let none = parsed(&["/sys/cpufreq/cpu*/governor=x"], &root).unwrap_err();
        assert_eq!(none.to_string(), "this machine has no /sys/cpufreq/cpu*/governor");
    }
}
