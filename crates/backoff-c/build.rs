//! Sets the soname of the shared library. A program that was linked by the library's path then
//! finds it by name at run time.

fn main() {
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libunjank_backoff.so");
    println!("cargo::rerun-if-changed=build.rs");
}
