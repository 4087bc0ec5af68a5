//! Gives the shared library its name, so that a program which was linked with
//! it by a path looks for it by its name, as any other.

fn main() {
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libunjank_backoff.so");
    println!("cargo::rerun-if-changed=build.rs");
}
