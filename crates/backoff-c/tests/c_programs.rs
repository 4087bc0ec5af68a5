//! Programs in C and C++ that use the built library.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use tempfile::TempDir;

/// The libraries that the static library needs (`rustc --print native-static-libs`)
/// and that are not part of glibc before 2.34.
const SYSTEM_LIBRARIES: [&str; 3] = ["-lpthread", "-ldl", "-lm"];

const SIGABRT: i32 = 6;

const SONAME: &str = concat!(
    "libunjank_backoff.so.",
    env!("CARGO_PKG_VERSION_MAJOR"),
    ".",
    env!("CARGO_PKG_VERSION_MINOR")
);

#[derive(Clone, Copy)]
enum Linked {
    Statically,
    Dynamically,
}

/// The directory of the libraries. Cargo does not build them for tests, so this does.
fn libraries() -> &'static Path {
    static DIRECTORY: OnceLock<PathBuf> = OnceLock::new();
    DIRECTORY.get_or_init(|| {
        let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
        let name = "libunjank_backoff.a";
        let file = unjank_needs::library::build(env!("CARGO_PKG_NAME"), target, name);
        file.parent().unwrap().to_owned()
    })
}

fn is_there(compiler: &str) -> bool {
    let there =
        Command::new(compiler).arg("--version").output().is_ok_and(|it| it.status.success());
    unjank_needs::is_there(&format!("the compiler {compiler}"), there)
}

/// A compiled program, removed when dropped.
struct Program {
    directory: TempDir,
}

impl Program {
    fn compile(compiler: &str, standard: &str, source: &str, linked: Linked) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let mut cc = Command::new(compiler);
        cc.args([standard, "-pedantic", "-Wall", "-Wextra", "-Werror", "-O1", "-pthread", "-I"])
            .arg(here.join("include"))
            .arg(here.join(source))
            .arg("-o")
            .arg(directory.path().join("program"));
        let library = match linked {
            Linked::Statically => libraries().join("libunjank_backoff.a"),
            Linked::Dynamically => {
                // At run time it is found by its name, not by the path at link time.
                let shared = libraries().join("libunjank_backoff.so");
                symlink(&shared, directory.path().join(SONAME)).unwrap();
                shared
            }
        };
        let output = cc.arg(&library).args(SYSTEM_LIBRARIES).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Self { directory }
    }

    fn run(&self, arguments: &[&str]) -> Output {
        Command::new(self.directory.path().join("program"))
            .args(arguments)
            .env("LD_LIBRARY_PATH", self.directory.path())
            .env("RUST_BACKTRACE", "0")
            .output()
            .unwrap()
    }

    /// Runs it successfully and returns its standard output.
    fn says(&self) -> String {
        let output = self.run(&[]);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{}: {stderr}", output.status);
        String::from_utf8(output.stdout).unwrap()
    }
}

#[test]
fn c_shares_work() {
    if !is_there("cc") {
        return;
    }
    for linked in [Linked::Statically, Linked::Dynamically] {
        let program = Program::compile("cc", "-std=c11", "examples/pool.c", linked);
        assert_eq!(
            program.says(),
            "2 workers added up 50005000\nfreeing the pool finished 10000 pieces of work\n"
        );
    }
}

#[test]
fn cpp_locks_with_the_guards_of_its_standard_library() {
    if !is_there("c++") {
        return;
    }
    for linked in [Linked::Statically, Linked::Dynamically] {
        let program = Program::compile("c++", "-std=c++17", "examples/pool.cpp", linked);
        assert_eq!(
            program.says(),
            "the work adds up to 500500\nthe work has thrown: late\ntaken twice: no\n"
        );
    }
}

#[test]
fn the_header_is_c99_and_cpp11() {
    if !is_there("cc") || !is_there("c++") {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    for (compiler, standard, name) in [("cc", "-std=c99", "it.c"), ("c++", "-std=c++11", "it.cc")] {
        let source = directory.path().join(name);
        fs::write(&source, "#include \"unjank_backoff.h\"\nunjank_mutex m = UNJANK_MUTEX_INIT;\n")
            .unwrap();
        let output = Command::new(compiler)
            .args([standard, "-pedantic", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-I"])
            .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("include"))
            .arg(&source)
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn misuse_ends_the_process_and_says_why() {
    if !is_there("c++") {
        return;
    }
    let program = Program::compile("c++", "-std=c++17", "tests/misuse.cpp", Linked::Statically);
    for (what, why) in [
        ("mutex", "mutex is NULL"),
        ("condvar", "condvar is NULL"),
        ("condition", "condition is NULL"),
        ("work", "work is NULL"),
        ("pool", "pool is NULL"),
        ("throwing condition", ""),
        ("throwing work", ""),
    ] {
        let output = program.run(&[what]);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.signal(), Some(SIGABRT), "{what}: {}, {stderr}", output.status);
        assert!(stderr.contains(why), "{what}: {stderr}");
        assert!(!stderr.is_empty(), "{what}");
        assert_eq!(output.stdout, b"", "{what}");
    }
    assert_eq!(program.run(&["nothing"]).stdout, b"still there\n");
}

/// Installs or uninstalls below `root`, as a package does: `DESTDIR` is where it is built, and
/// `PREFIX` where it will be.
fn install(what: &str, destination: &Path, prefix: &str) {
    let output =
        Command::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/install-c.sh"))
            .arg(what)
            .env("DESTDIR", destination)
            .env("PREFIX", prefix)
            .env("LIBRARIES", libraries())
            .output()
            .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn a_program_finds_what_is_installed() {
    let there = Command::new("pkg-config").arg("--version").output().is_ok();
    if !is_there("cc") || !unjank_needs::is_there("pkg-config", there) {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let prefix = directory.path().to_str().unwrap();
    install("install", Path::new(""), prefix);

    let words = |options: &[&str]| {
        let output = Command::new("pkg-config")
            .args(options)
            .arg("unjank_backoff")
            .env("PKG_CONFIG_PATH", directory.path().join("lib/pkgconfig"))
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let words = String::from_utf8(output.stdout).unwrap();
        words.split_whitespace().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(words(&["--modversion"]), [env!("CARGO_PKG_VERSION")]);

    let program = directory.path().join("program");
    let compiled = Command::new("cc")
        .args(["-std=c11", "-o"])
        .arg(&program)
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/pool.c"))
        .args(words(&["--cflags", "--libs"]))
        .output()
        .unwrap();
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    let output = Command::new(&program)
        .env("LD_LIBRARY_PATH", directory.path().join("lib"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(String::from_utf8(output.stdout).unwrap().starts_with("2 workers added up"));
    fs::remove_file(program).unwrap();

    install("uninstall", Path::new(""), prefix);
    assert_eq!(files(directory.path()), Vec::<PathBuf>::new());
}

#[test]
fn a_package_is_installed_where_it_is_built() {
    let directory = tempfile::tempdir().unwrap();
    install("install", directory.path(), "/usr");
    assert_eq!(
        files(directory.path()).iter().map(|file| file.to_str().unwrap()).collect::<Vec<_>>(),
        [
            "usr/include/unjank_backoff.h".to_owned(),
            "usr/lib/libunjank_backoff.a".to_owned(),
            "usr/lib/libunjank_backoff.so".to_owned(),
            format!("usr/lib/{SONAME}"),
            format!("usr/lib/libunjank_backoff.so.{}", env!("CARGO_PKG_VERSION")),
            "usr/lib/pkgconfig/unjank_backoff.pc".to_owned(),
        ]
    );
    let described = directory.path().join("usr/lib/pkgconfig/unjank_backoff.pc");
    assert!(!fs::read_to_string(described).unwrap().contains(directory.path().to_str().unwrap()));
}

/// All files below a directory, relative to it, in order.
fn files(root: &Path) -> Vec<PathBuf> {
    let mut directories = vec![root.to_owned()];
    let mut found = Vec::new();
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let entry = entry.unwrap();
            if entry.file_type().unwrap().is_dir() {
                directories.push(entry.path());
            } else {
                found.push(entry.path().strip_prefix(root).unwrap().to_owned());
            }
        }
    }
    found.sort();
    found
}
