//! Finds the JVMs of the machine.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use unjank_host::{Error, Result, Root};

/// Directories into which distributions and installers put JVMs.
const PLACES: [&str; 3] = ["/usr/lib/jvm", "/usr/java", "/opt"];

/// An installed JVM.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Jdk {
    /// Its home, which contains `bin/java`.
    pub home: PathBuf,
    /// `JAVA_VERSION` of its `release` file: `17.0.18`.
    pub version: String,
    /// `IMPLEMENTOR` of its `release` file: `Eclipse Adoptium`.
    pub vendor: Option<String>,
}

impl Jdk {
    /// The oldest version that the measuring application runs on.
    pub const OLDEST: u32 = 17;

    /// The JVM with this home.
    ///
    /// # Errors
    /// There is no `release` file or no `bin/java`, or the file names no version.
    pub fn at(root: &Root, home: &Path) -> Result<Self> {
        let wrong = |why: &str| Error::Invalid(format!("{} is not a JDK: {why}", home.display()));
        if !root.exists(home.join("bin/java")) {
            return Err(wrong("it has no bin/java"));
        }
        let text = root.read_if_there(home.join("release"))?;
        let values = parse_release(&text.ok_or_else(|| wrong("it has no file `release`"))?);
        let version = values.get("JAVA_VERSION");
        Ok(Self {
            home: home.to_owned(),
            version: version.ok_or_else(|| wrong("`release` has no JAVA_VERSION"))?.clone(),
            vendor: values.get("IMPLEMENTOR").cloned(),
        })
    }

    /// The path of its `java`.
    pub fn java(&self) -> PathBuf {
        self.home.join("bin/java")
    }

    /// The feature release of its version: 17; 8 for `1.8.0_392`.
    pub fn major(&self) -> Option<u32> {
        let mut numbers = self.version.split(['.', '-', '+', '_']).map(str::parse);
        match numbers.next()?.ok()? {
            1 => numbers.next()?.ok(),
            major => Some(major),
        }
    }
}

impl fmt::Display for Jdk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.version)
    }
}

/// All JVMs from [`Jdk::OLDEST`] on, each once, oldest first: from `java_home`,
/// the directories of `path`, and the directories of distributions.
pub fn find(root: &Root, java_home: Option<&Path>, path: &[PathBuf]) -> Vec<Jdk> {
    let on_path = path.iter().filter_map(|dir| home_of(root, &dir.join("java")));
    let installed = PLACES.iter().flat_map(|place| {
        let names = root.list(place).unwrap_or_default();
        names.into_iter().map(move |name| Path::new(place).join(name))
    });
    let homes = java_home.map(Path::to_owned).into_iter().chain(on_path).chain(installed);
    let mut found: Vec<Jdk> = Vec::new();
    for home in homes {
        let Ok(jdk) = Jdk::at(root, &real(root, &home)) else { continue };
        let is_new = found.iter().all(|known| known.home != jdk.home);
        if is_new && jdk.major().is_some_and(|major| major >= Jdk::OLDEST) {
            found.push(jdk);
        }
    }
    found.sort_by_key(Jdk::major);
    found
}

/// The home of a `java`, after following links.
fn home_of(root: &Root, java: &Path) -> Option<PathBuf> {
    root.exists(java).then(|| real(root, java))?.parent()?.parent().map(Path::to_owned)
}

/// The path below the root after following links.
fn real(root: &Root, path: &Path) -> PathBuf {
    let real = root.resolve(path).canonicalize();
    let below = real.ok().and_then(|real| {
        let dir = root.dir().canonicalize().ok()?;
        Some(Path::new("/").join(real.strip_prefix(dir).ok()?))
    });
    below.unwrap_or_else(|| path.to_owned())
}

/// Parses lines of `KEY="value"`.
fn parse_release(text: &str) -> BTreeMap<String, String> {
    let pairs = text.lines().filter_map(|line| line.split_once('='));
    pairs
        .map(|(key, value)| (key.trim().to_owned(), value.trim().trim_matches('"').to_owned()))
        .collect()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    fn install(dir: &Path, home: &str, version: &str) {
        let home = dir.join(home);
        fs::create_dir_all(home.join("bin")).unwrap();
        fs::write(home.join("bin/java"), "").unwrap();
        let release = format!("IMPLEMENTOR=\"Someone\"\nJAVA_VERSION=\"{version}\"\n");
        fs::write(home.join("release"), release).unwrap();
    }

    #[test]
    fn each_jvm_is_found_once_without_old_versions() {
        let dir = tempfile::tempdir().unwrap();
        install(dir.path(), "usr/lib/jvm/java-25", "25.0.1");
        install(dir.path(), "usr/lib/jvm/java-17", "17.0.18");
        install(dir.path(), "usr/lib/jvm/java-8", "1.8.0_392");
        install(dir.path(), "home/me/jdk", "21-ea");
        symlink("java-17", dir.path().join("usr/lib/jvm/default")).unwrap();
        fs::create_dir_all(dir.path().join("usr/bin")).unwrap();
        symlink("../lib/jvm/java-17/bin/java", dir.path().join("usr/bin/java")).unwrap();
        fs::create_dir(dir.path().join("usr/lib/jvm/no-jvm")).unwrap();
        let root = Root::at(dir.path());
        let found = find(&root, Some(Path::new("/home/me/jdk")), &["/usr/bin".into()]);
        let versions: Vec<_> = found.iter().map(|jdk| jdk.version.as_str()).collect();
        assert_eq!(versions, ["17.0.18", "21-ea", "25.0.1"]);
        assert_eq!(found[0].java(), Path::new("/usr/lib/jvm/java-17/bin/java"));
        assert_eq!(found[0].vendor.as_deref(), Some("Someone"));
    }

    #[test]
    fn an_incomplete_home_gives_the_reason() {
        let dir = tempfile::tempdir().unwrap();
        install(dir.path(), "jdk", "17");
        fs::remove_file(dir.path().join("jdk/release")).unwrap();
        let error = Jdk::at(&Root::at(dir.path()), Path::new("/jdk")).unwrap_err();
        assert_eq!(error.to_string(), "/jdk is not a JDK: it has no file `release`");
    }
}
