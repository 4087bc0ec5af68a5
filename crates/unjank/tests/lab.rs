//! `unjank lab` on machines that lack a part of a virtual phone's requirements: it names that part.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process;

use assert_cmd::Command;

/// Runs the program in `file` with its cache in `cache`, expects the exit
/// code, and returns stderr.
fn fails(file: &Path, cache: &Path, arguments: &[&str], code: i32) -> String {
    let output = Command::new(file)
        .args(["lab", "run", "--no-store", "--accel", "tcg"])
        .args(arguments)
        .args(["--", "unjank", "host"])
        .env("XDG_CACHE_HOME", cache)
        .env("PATH", cache)
        .assert()
        .code(code)
        .get_output()
        .clone();
    assert!(output.stdout.is_empty(), "data on stdout: {:?}", output.stdout);
    String::from_utf8(output.stderr).expect("unjank writes UTF-8")
}

fn unjank() -> &'static Path {
    Path::new(unjank_needs::unjank!())
}

/// The header of a program without segments, which looks statically linked.
fn bare_program() -> Vec<u8> {
    let mut file = vec![0; 64];
    file[..7].copy_from_slice(b"\x7fELF\x02\x01\x01");
    file[18] = 62;
    file[54] = 56;
    file
}

#[test]
fn a_program_whose_library_is_not_installed_is_refused() {
    let directory = tempfile::tempdir().expect("a directory");
    let place = |name: &str| directory.path().join(name).display().to_string();
    let (kernel, library, added) = (place("vmlinuz"), place("libgone.so"), place("added"));
    for (file, content) in [
        (kernel.as_str(), ""),
        ("gone.c", "int gone;"),
        ("added.c", "extern int gone; int main(void) { return gone; }"),
    ] {
        fs::write(directory.path().join(file), content).expect("a file");
    }
    let compile = |arguments: &[&str]| {
        let built =
            process::Command::new("cc").current_dir(directory.path()).args(arguments).status();
        assert!(built.is_ok_and(|status| status.success()));
    };
    compile(&["-shared", "-o", &library, "gone.c"]);
    compile(&["-o", &added, "added.c", &library, "-Wl,-soname=unused"]);
    fs::remove_file(&library).expect("a library to remove");
    let arguments = ["--kernel", &kernel, "--add", &added];
    let stderr = fails(unjank(), directory.path(), &arguments, 2);
    assert!(
        stderr.starts_with(&format!("error: {added}: cannot list its libraries: ")),
        "{stderr}"
    );
    assert!(stderr.contains("libgone.so"), "{stderr}");
    let cache = fs::read_dir(directory.path().join("unjank/lab")).expect("a cache").flatten();
    let left: Vec<_> = cache.filter(|entry| entry.path().is_dir()).collect();
    assert!(left.is_empty(), "files of a boot that was none: {left:?}");
}

/// Nobody could pack such modules into the phone.
#[test]
fn a_module_is_a_regular_file() {
    let directory = tempfile::tempdir().expect("a directory");
    let place = |name: &str| directory.path().join(name);
    let (guest, kernel, module) = (place("guest"), place("vmlinuz"), place("modules/zram.ko"));
    fs::create_dir(place("modules")).expect("a directory");
    fs::write(&guest, bare_program()).expect("a file");
    fs::write(&kernel, "").expect("a file");
    let text = |path: &Path| path.to_str().expect("a path of text").to_owned();
    let (guest, kernel, modules) = (text(&guest), text(&kernel), text(&place("modules")));
    let arguments = ["--guest", &guest, "--kernel", &kernel, "--modules", &modules];
    let refused = || {
        let stderr = fails(unjank(), directory.path(), &arguments, 2);
        let expected = format!("error: {} is not a regular file\n", module.display());
        assert_eq!(stderr, expected);
    };
    for device in ["/dev/null", "/dev/zero"] {
        symlink(device, &module).expect("a link");
        refused();
        fs::remove_file(&module).expect("a link to remove");
    }
    let made = process::Command::new("mkfifo").arg(&module).status();
    assert!(made.is_ok_and(|status| status.success()));
    refused();
}

#[test]
fn a_missing_emulator_or_fetcher_is_named_with_its_package() {
    let directory = tempfile::tempdir().expect("a directory");
    let (guest, kernel) = (directory.path().join("guest"), directory.path().join("vmlinuz"));
    fs::write(&guest, bare_program()).expect("a file");
    fs::write(&kernel, "").expect("a file");
    let guest = guest.to_str().expect("a path of text");
    let kernel = kernel.to_str().expect("a path of text");
    let arguments = ["--guest", guest, "--kernel", kernel];
    let stderr = fails(unjank(), directory.path(), &arguments, 3);
    assert!(stderr.contains("Debian and Ubuntu: qemu-system-x86"), "{stderr}");
    let stderr = fails(unjank(), directory.path(), &["--guest", guest], 3);
    assert!(stderr.contains("while fetching a kernel"), "{stderr}");
}

#[test]
fn impossible_phones_are_refused() {
    let directory = tempfile::tempdir().expect("a directory");
    let (guest, kernel) = (directory.path().join("guest"), directory.path().join("vmlinuz"));
    fs::write(&guest, bare_program()).expect("a file");
    fs::write(&kernel, "").expect("a file");
    let guest = guest.to_str().expect("a path of text");
    let kernel = kernel.to_str().expect("a path of text");
    for (option, value, message) in [
        ("--cpu-count", "0", "a phone has 1 to 255 CPUs, not 0"),
        ("--memory", "1MiB", "1.00 MiB of memory is too little"),
        ("--pstates", "pixel", "profile pixel: unknown profile; built in: exynos4210"),
    ] {
        let arguments = ["--guest", guest, "--kernel", kernel, option, value];
        let stderr = fails(unjank(), directory.path(), &arguments, 2);
        assert!(stderr.contains(message), "{stderr}");
    }
    let arguments =
        ["--guest", guest, "--kernel", kernel, "--cpu-count", "9", "--pstates", "exynos4210"];
    let stderr = fails(unjank(), directory.path(), &arguments, 2);
    assert!(stderr.contains("P-states work for 1 to 8 CPUs, not for 9"), "{stderr}");
}
