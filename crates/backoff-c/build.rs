//! Sets the soname of the shared library, so that a program that was linked with
//! its path looks for it by its name at run time.

fn main() {
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libunjank_backoff.so");
    println!("cargo::rerun-if-changed=build.rs");
}
