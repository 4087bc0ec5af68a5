//! Passes the commit to the compiler, if git knows it, and links for tests what starts quickly.

use std::env;
use std::path::Path;
use std::process::Command;

fn main() {
    if env::var("PROFILE").as_deref() == Ok("debug") {
        // Tests start the program thousands of times, some in an emulator, and 140,000 relocations
        // take half of a start. What is released keeps its random addresses.
        println!("cargo::rustc-link-arg-bins=-no-pie");
    }
    let git = |arguments: &[&str]| {
        let output = Command::new("git").args(arguments).output().ok()?;
        let text = String::from_utf8(output.stdout).ok()?;
        output.status.success().then(|| text.trim().to_owned())
    };
    if let Some(commit) = git(&["rev-parse", "--short=12", "HEAD"]) {
        println!("cargo::rustc-env=UNJANK_COMMIT={commit}");
    }
    // A new commit changes the log of HEAD; a build outside git watches nothing.
    if let Some(log) =
        git(&["rev-parse", "--git-path", "logs/HEAD"]).filter(|log| Path::new(log).exists())
    {
        println!("cargo::rerun-if-changed={log}");
    }
    println!("cargo::rerun-if-changed=build.rs");
}
