//! Garbage collectors of `HotSpot`.

use std::fmt;
use std::process::Command;
use std::str::FromStr;

use unjank_host::{Error, Result};

use super::jdk::Jdk;

/// A garbage collector that an option of `java` selects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Collector {
    /// Stop-the-world, one thread.
    Serial,
    /// Stop-the-world, several threads.
    Parallel,
    /// By regions, mostly stop-the-world.
    G1,
    /// Concurrent.
    Z,
    /// Concurrent; not in every build.
    Shenandoah,
}

impl Collector {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Serial, Self::Parallel, Self::G1, Self::Z, Self::Shenandoah];

    /// The option of `java` that selects it.
    pub fn option(self) -> &'static str {
        match self {
            Self::Serial => "-XX:+UseSerialGC",
            Self::Parallel => "-XX:+UseParallelGC",
            Self::G1 => "-XX:+UseG1GC",
            Self::Z => "-XX:+UseZGC",
            Self::Shenandoah => "-XX:+UseShenandoahGC",
        }
    }

    /// Whether this JVM starts with it.
    ///
    /// # Errors
    /// `bin/java` cannot be executed.
    pub fn is_in(self, jdk: &Jdk) -> Result<bool> {
        let mut java = Command::new(jdk.java());
        java.args([self.option(), "-Xmx64m", "-version"]);
        let output = java.output().map_err(|error| Error::file("start", jdk.java(), error))?;
        Ok(output.status.success())
    }
}

impl fmt::Display for Collector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Serial => "serial",
            Self::Parallel => "parallel",
            Self::G1 => "g1",
            Self::Z => "zgc",
            Self::Shenandoah => "shenandoah",
        })
    }
}

impl FromStr for Collector {
    type Err = Error;

    fn from_str(typed: &str) -> Result<Self> {
        super::one_of(&Self::ALL, "collector", typed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_parse_back() {
        for collector in Collector::ALL {
            assert_eq!(collector.to_string().parse::<Collector>().unwrap(), collector);
        }
        assert!("cms".parse::<Collector>().is_err());
    }
}
