//! Finds the JVMs and the measuring application on this machine.

use std::env;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context as _, Result};
use unjank_host::{Error, Root};
use unjank_jitter::jvm::jdk::{self, Jdk};

/// File name of the measuring application.
const JAR: &str = "unjank-jitter.jar";

/// The JVMs with these homes; all JVMs if there are none.
pub(crate) fn jdks(named: &[PathBuf]) -> Result<Vec<Jdk>> {
    let root = Root::system();
    if !named.is_empty() {
        let jdks = named.iter().map(|home| Jdk::at(&root, home));
        return Ok(jdks.collect::<unjank_host::Result<_>>()?);
    }
    let java_home = env::var_os("JAVA_HOME").map(PathBuf::from);
    let path: Vec<PathBuf> =
        env::var_os("PATH").map(|path| env::split_paths(&path).collect()).unwrap_or_default();
    let found = jdk::find(&root, java_home.as_deref(), &path);
    if found.is_empty() {
        let what = format!(
            "no JVM of version {} or later in JAVA_HOME, PATH, /usr/lib/jvm, /usr/java and /opt; \
             give one with --jdk DIR",
            Jdk::OLDEST
        );
        return Err(Error::Unsupported(what).into());
    }
    Ok(found)
}

/// The jar that was given, or the one beside this program or in its source tree.
pub(crate) fn jar(named: Option<&PathBuf>) -> Result<PathBuf> {
    if let Some(jar) = named {
        let missing = |why| Error::file("read", jar, why).of_named_file();
        fs::metadata(jar).map_err(missing)?;
        return Ok(jar.clone());
    }
    let program = env::current_exe().context("while looking for the measuring application")?;
    let beside = program.ancestors().skip(1).flat_map(|dir| {
        [
            dir.join(JAR),
            dir.join("share/unjank").join(JAR),
            dir.join("java/jitter/target").join(JAR),
        ]
    });
    let found = beside.into_iter().find(|jar| jar.is_file());
    Ok(found.ok_or_else(|| {
        Error::Unsupported(format!(
            "{JAR} is not beside this program: build it with `make java`, or give its path with \
             --jar"
        ))
    })?)
}
