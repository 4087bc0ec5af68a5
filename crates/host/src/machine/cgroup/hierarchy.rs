//! The directories of this process's cgroups: `cgroups(7)`.

use std::path::{Component, Path, PathBuf};

use crate::error::{Error, Result};
use crate::root::Root;

const OWN: &str = "/proc/self/cgroup";
const MOUNTS: &str = "/proc/self/mountinfo";

/// The deepest level that is read; only kernel tests go deeper.
const DEEPEST: usize = 64;

/// The cgroups of this process and their mounts: version 1 with one hierarchy
/// per controller, version 2 with one for all, or both.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Hierarchies {
    own: Vec<Membership>,
    mounts: Vec<Mount>,
}

/// One line of `/proc/self/cgroup`.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Membership {
    /// Empty for version 2.
    controllers: Vec<String>,
    path: String,
}

/// One line of `/proc/self/mountinfo` about a cgroup file system.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Mount {
    version: u8,
    /// Version 1: the controllers among the other options.
    options: Vec<String>,
    /// The cgroup at the mount point: `/` except in a container.
    top: String,
    point: String,
}

/// The cgroup of this process in the hierarchy of one controller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Location {
    /// Version of the hierarchy, 1 or 2.
    pub(crate) version: u8,
    /// Its path within the hierarchy.
    pub(crate) path: String,
    /// Its directory, that of its parent, and so on up to the mount point.
    pub(crate) levels: Vec<PathBuf>,
}

impl Hierarchies {
    /// Reads both files; `None` for a kernel without cgroups.
    pub(crate) fn read(root: &Root) -> Result<Option<Self>> {
        Self::read_of(root, OWN)
    }

    /// The same for another process, whose cgroups are in the file `own`.
    pub(crate) fn read_of(root: &Root, own: &str) -> Result<Option<Self>> {
        let Some(own) = root.read_if_there(own)? else { return Ok(None) };
        let mounts = root.read_if_there(MOUNTS)?.unwrap_or_default();
        Self::parse(&own, &mounts).map(Some)
    }

    pub(crate) fn parse(own: &str, mounts: &str) -> Result<Self> {
        let membership = |(number, line): (usize, &str)| {
            Membership::parse(line).ok_or_else(|| {
                Error::parse(OWN, number + 1, "expected a line such as 4:memory:/user.slice")
            })
        };
        Ok(Self {
            own: own.lines().enumerate().map(membership).collect::<Result<_>>()?,
            mounts: mounts.lines().filter_map(Mount::parse).collect(),
        })
    }

    /// The cgroup of this process for `controller`. A controller without a
    /// version 1 hierarchy belongs to version 2, if that exists.
    pub(crate) fn of(&self, controller: &str) -> Option<Location> {
        let own = self
            .own
            .iter()
            .find(|own| own.controllers.iter().any(|name| name == controller))
            .or_else(|| self.own.iter().find(|own| own.controllers.is_empty()))?;
        let version = if own.controllers.is_empty() { 2 } else { 1 };
        let mount = self
            .mounts
            .iter()
            .filter(|mount| mount.shows(version, controller))
            // The mount that shows the most levels.
            .min_by_key(|mount| (mount.below_top(&own.path).is_none(), mount.top.len()));
        let (point, below) = match mount {
            Some(mount) => (mount.point.clone(), mount.below_top(&own.path).unwrap_or_default()),
            // A recorded tree without mounts: use the default location.
            None if version == 2 => ("/sys/fs/cgroup".to_owned(), own.path.clone()),
            None => (format!("/sys/fs/cgroup/{controller}"), own.path.clone()),
        };
        Some(Location { version, path: own.path.clone(), levels: levels(&point, &below) })
    }
}

impl Membership {
    /// `hierarchy:controller,controller:path`
    fn parse(line: &str) -> Option<Self> {
        let mut parts = line.splitn(3, ':');
        let _hierarchy: u32 = parts.next()?.parse().ok()?;
        let controllers = parts.next()?.split(',').filter(|name| !name.is_empty());
        let controllers = controllers.map(str::to_owned).collect();
        Some(Self { controllers, path: parts.next()?.to_owned() })
    }
}

impl Mount {
    /// `36 31 0:33 / /sys/fs/cgroup/memory rw shared:9 - cgroup cgroup rw,memory`;
    /// `None` for other file systems: `proc_pid_mountinfo(5)`.
    fn parse(line: &str) -> Option<Self> {
        let (mount, file_system) = line.split_once(" - ")?;
        let mut file_system = file_system.split(' ');
        let version = match file_system.next()? {
            "cgroup" => 1,
            "cgroup2" => 2,
            _ => return None,
        };
        let options = file_system.nth(1)?.split(',').map(str::to_owned).collect();
        let mut mount = mount.split(' ').skip(3);
        let (top, point) = (unescape(mount.next()?), unescape(mount.next()?));
        Some(Self { version, options, top, point })
    }

    fn shows(&self, version: u8, controller: &str) -> bool {
        let own = version == 2 || self.options.iter().any(|option| option == controller);
        self.version == version && own
    }

    /// The part of a cgroup's path below the mount point. `None` if it is
    /// elsewhere, as for a process outside its cgroup namespace.
    fn below_top(&self, path: &str) -> Option<String> {
        let path = Path::new(path);
        if path.components().any(|part| part == Component::ParentDir) {
            return None;
        }
        Some(path.strip_prefix(&self.top).ok()?.to_string_lossy().into_owned())
    }
}

/// The directories from `below` up to `point`.
fn levels(point: &str, below: &str) -> Vec<PathBuf> {
    let below = Path::new(below.trim_start_matches('/'));
    // The last ancestor of a relative path is the empty one: `point` itself.
    below.ancestors().map(|below| Path::new(point).join(below)).take(DEEPEST).collect()
}

/// Blanks in a path are octal numbers: `\040`.
pub(crate) fn unescape(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        plain.push_str(before);
        match escape.get(1..4).and_then(|octal| u8::from_str_radix(octal, 8).ok()) {
            Some(byte) if byte.is_ascii() => {
                plain.push(char::from(byte));
                rest = &escape[4..];
            }
            _ => {
                plain.push('\\');
                rest = &escape[1..];
            }
        }
    }
    plain.push_str(rest);
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(own: &str, mounts: &str, controller: &str) -> (u8, String, Vec<String>) {
        let location = Hierarchies::parse(own, mounts).unwrap().of(controller).unwrap();
        let levels = location.levels.iter().map(|dir| dir.display().to_string()).collect();
        (location.version, location.path, levels)
    }

    fn expect(version: u8, path: &str, levels: &[&str]) -> (u8, String, Vec<String>) {
        (version, path.to_owned(), levels.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn version_2_is_one_hierarchy_for_all() {
        let mounts = "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw";
        let levels = ["/sys/fs/cgroup/app/a.scope", "/sys/fs/cgroup/app", "/sys/fs/cgroup/"];
        assert_eq!(found("0::/app/a.scope", mounts, "cpu"), expect(2, "/app/a.scope", &levels));
    }

    #[test]
    fn version_1_is_a_hierarchy_per_controller() {
        let mounts = "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n\
                      35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory";
        let own = "4:memory:/jobs\n2:cpu,cpuacct:/";
        assert_eq!(found(own, mounts, "cpu"), expect(1, "/", &["/sys/fs/cgroup/cpu,cpuacct/"]));
        let memory = ["/sys/fs/cgroup/memory/jobs", "/sys/fs/cgroup/memory/"];
        assert_eq!(found(own, mounts, "memory"), expect(1, "/jobs", &memory));
    }

    #[test]
    fn a_hybrid_uses_version_2_for_controllers_without_version_1() {
        let mounts = "32 31 0:29 / /dev/cpuset rw - cgroup none rw,cpuset,noprefix\n\
                      41 31 0:38 / /sys/fs/cgroup rw - cgroup2 none rw";
        let own = "3:cpuset:/top-app\n0::/uid_10123";
        assert_eq!(
            found(own, mounts, "cpuset"),
            expect(1, "/top-app", &["/dev/cpuset/top-app", "/dev/cpuset/"])
        );
        assert_eq!(found(own, mounts, "memory").0, 2);
    }

    #[test]
    fn a_container_sees_its_own_cgroup_at_the_mount_point() {
        let mounts = "35 31 0:32 /docker/1f2e /sys/fs/cgroup/cpu ro - cgroup cgroup rw,cpu";
        assert_eq!(
            found("2:cpu:/docker/1f2e", mounts, "cpu"),
            expect(1, "/docker/1f2e", &["/sys/fs/cgroup/cpu/"])
        );
        // Outside the cgroup namespace only the mount point is visible.
        let mounts = "35 31 0:32 / /sys/fs/cgroup ro - cgroup2 cgroup rw";
        assert_eq!(
            found("0::/../other", mounts, "cpu"),
            expect(2, "/../other", &["/sys/fs/cgroup/"])
        );
    }

    #[test]
    fn without_mounts_the_default_location_is_used() {
        assert_eq!(found("0::/a", "", "cpu").2, ["/sys/fs/cgroup/a", "/sys/fs/cgroup/"]);
        assert_eq!(found("2:cpu:/", "", "cpu").2, ["/sys/fs/cgroup/cpu/"]);
    }

    #[test]
    fn malformed_lines_are_reported_and_other_mounts_skipped() {
        let error = Hierarchies::parse("0::/\nmemory", "").unwrap_err().to_string();
        assert!(error.contains("/proc/self/cgroup, line 2"), "{error}");
        assert_eq!(Mount::parse("1 2 3 - cgroup2"), None);
        assert_eq!(Mount::parse("- cgroup2 x y"), None);
    }

    #[test]
    fn escaped_blanks_come_back() {
        assert_eq!(unescape(r"/mnt/my\040disk\011"), "/mnt/my disk\t");
        for odd in [r"\", r"\9", r"\04", r"\377", r"\é12", "é"] {
            assert_eq!(unescape(odd), odd);
        }
    }
}
