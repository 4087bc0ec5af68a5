//! Which build of unjank tests attack.

use std::sync::OnceLock;

/// The program that tests start: the one that Cargo built beside them, or that of `UNJANK_PROGRAM`
/// (an absolute path), so that they can test a release or an installed package.
#[macro_export]
macro_rules! unjank {
    () => {
        $crate::program::or_built(env!("CARGO_BIN_EXE_unjank"))
    };
}

/// The path in `UNJANK_PROGRAM`; without it, that of the program that Cargo `built`.
///
/// # Panics
/// If the path is relative (tests start programs in directories of their own) or leads to no file.
pub fn or_built(built: &'static str) -> &'static str {
    static CHOSEN: OnceLock<Option<String>> = OnceLock::new();
    let chosen = CHOSEN.get_or_init(|| {
        let path = std::env::var("UNJANK_PROGRAM").ok()?;
        let named = std::path::Path::new(&path);
        assert!(
            named.is_absolute() && named.is_file(),
            "UNJANK_PROGRAM={path} is no absolute path"
        );
        Some(path)
    });
    chosen.as_deref().unwrap_or(built)
}
