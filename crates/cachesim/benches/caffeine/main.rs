//! Miss ratios of `w-tinylfu` beside those of Caffeine itself, on the requests with which the
//! policies are compared with libCacheSim. `scripts/bench-caffeine.sh` fetches Caffeine and runs
//! this; without its jar this prints what is missing.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a bench")]

#[path = "../../tests/requests/mod.rs"]
mod requests;

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use unjank_cachesim::Policy;

const JAR: &str = "caffeine-3.2.3.jar";

fn main() {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let jar = directory.parent().unwrap().join(JAR);
    if !jar.exists() {
        println!("{} is missing; scripts/bench-caffeine.sh fetches it", jar.display());
        return;
    }
    println!("miss ratios, %                  Caffeine (five caches), counting from");
    println!("requests    pages  w-tinylfu    the first request        when half full");
    for (name, trace) in requests::all() {
        let file = directory.join(name);
        let mut text = String::new();
        for page in &trace {
            writeln!(text, "{page}").unwrap();
        }
        std::fs::write(&file, text).unwrap();
        for size in requests::SIZES {
            let percent = |misses: u64| 100.0 * misses as f64 / trace.len() as f64;
            let policy: Policy = "w-tinylfu".parse().unwrap();
            let ours = percent(requests::misses(policy, size, &trace));
            let [from_first, default] = caffeine(&jar, &file, size).map(|misses| {
                let [least, _, median, _, most] = misses.map(percent);
                format!("{median:6.1} ({least:.1}–{most:.1})")
            });
            println!("{name:8} {size:8} {ours:10.1} {from_first:>20} {default:>21}");
        }
    }
}

/// The misses of five caches each that count from the first request on, and when half full;
/// sorted.
fn caffeine(jar: &Path, requests: &Path, size: u32) -> [[u64; 5]; 2] {
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/caffeine/Misses.java");
    let mut java = Command::new("java");
    java.arg("-cp").arg(jar).arg(program).arg(requests).arg(size.to_string());
    let output = java.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let misses: Vec<u64> = text.lines().map(|line| line.parse().unwrap()).collect();
    assert_eq!(misses.len(), 10, "{text}");
    [&misses[..5], &misses[5..]].map(|five| {
        let mut five: [u64; 5] = five.try_into().unwrap();
        five.sort_unstable();
        five
    })
}
