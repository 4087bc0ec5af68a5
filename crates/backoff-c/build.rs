//! Sets the soname of the shared library. A program finds it by this name at run time, wherever it
//! was linked; the name changes when the interface may break.

use std::env;

fn main() {
    let part = |name: &str| env::var(format!("CARGO_PKG_VERSION_{name}")).unwrap_or_default();
    let (major, minor) = (part("MAJOR"), part("MINOR"));
    // Before 1.0, a minor version may break what the one before it promised.
    let interface = if major == "0" { format!("0.{minor}") } else { major };
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libunjank_backoff.so.{interface}");
    println!("cargo::rerun-if-changed=build.rs");
}
