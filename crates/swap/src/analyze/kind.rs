//! The kind of a page: library, code, memory of an app, and so on.

use crate::trace::Backing;

/// The kind of a page, as far as names and backing show it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PageKind {
    /// Code that several programs map: `.so`.
    SharedLibrary,
    /// Android's files of apps: `.apk`, `.odex`, `.vdex` …
    AppCode,
    /// Any other file.
    OtherFile,
    /// Anonymous memory of an app.
    AppMemory,
    /// Anonymous memory of a system service.
    ServiceMemory,
    /// Anonymous memory of any other process, or of an unknown one.
    OtherMemory,
    /// The trace does not say.
    Unknown,
}

/// The suffix of shared libraries, possibly before a version.
const LIBRARY: &str = ".so";
/// Suffixes of files with apps and their compiled code.
const CODE: [&str; 9] =
    [".apk", ".dex", ".odex", ".oat", ".vdex", ".art", ".jar", ".apex", " code"];
/// Android's services with names of one word, and the processes that start them.
const SERVICES: [&str; 21] = [
    "system_server",
    "surfaceflinger",
    "servicemanager",
    "hwservicemanager",
    "vndservicemanager",
    "zygote",
    "zygote64",
    "mediaserver",
    "mediaswcodec",
    "audioserver",
    "cameraserver",
    "statsd",
    "keystore2",
    "netd",
    "vold",
    "logd",
    "lmkd",
    "installd",
    "init",
    "storaged",
    "services",
];
/// Packages of the system itself.
const SYSTEM: [&str; 4] = ["com.android.", "android.", "system:", "com.google.android.gms"];
/// The least user id of an app (AOSP, `android_filesystem_config.h`, `AID_APP_START`).
const FIRST_APP: u32 = 10_000;

impl PageKind {
    /// The kind in words.
    pub fn words(self) -> &'static str {
        match self {
            Self::SharedLibrary => "shared library",
            Self::AppCode => "code of apps",
            Self::OtherFile => "other file",
            Self::AppMemory => "memory of apps",
            Self::ServiceMemory => "memory of services",
            Self::OtherMemory => "other anonymous memory",
            Self::Unknown => "unknown",
        }
    }

    /// The kind of a page in `space` that is mostly accessed by the process `user`.
    pub fn of(space: &str, backing: Backing, user: &str) -> Self {
        let file = space.rsplit('/').next().unwrap_or(space);
        if backing != Backing::Anonymous {
            if is_library(file) {
                return Self::SharedLibrary;
            }
            if CODE.iter().any(|end| file.ends_with(end)) {
                return Self::AppCode;
            }
        }
        match backing {
            Backing::File => Self::OtherFile,
            Backing::Anonymous if is_service(user) => Self::ServiceMemory,
            Backing::Anonymous if is_app(user) => Self::AppMemory,
            Backing::Anonymous => Self::OtherMemory,
            Backing::Unknown => Self::Unknown,
        }
    }
}

/// `libc.so`, `libssl.so.3`.
fn is_library(file: &str) -> bool {
    file.ends_with(LIBRARY)
        || file == "libraries"
        || file
            .split_once(".so.")
            .is_some_and(|(_, version)| version.starts_with(|first: char| first.is_ascii_digit()))
}

fn is_service(process: &str) -> bool {
    SERVICES.contains(&process)
        || SYSTEM.iter().any(|begin| process.starts_with(begin))
        || process.ends_with("-service")
}

/// A package's name, an app's user id, or an app of a synthetic phone.
fn is_app(process: &str) -> bool {
    let number = process.parse::<u32>();
    let synthetic =
        process.strip_prefix("app ").is_some_and(|number| number.parse::<u32>().is_ok());
    synthetic
        || number.is_ok_and(|id| id >= FIRST_APP)
        || (process.contains('.') && !process.contains(['/', ' ', ':']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kind_follows_from_names_and_backing() {
        use Backing::{Anonymous, File, Unknown};
        for (space, backing, user, kind) in [
            ("/system/lib64/libhwui.so", File, "com.king.candycrushsaga", PageKind::SharedLibrary),
            ("libssl.so.3", Unknown, "", PageKind::SharedLibrary),
            ("notes.so.txt", File, "", PageKind::OtherFile),
            ("/data/app/x/oat/arm64/base.odex", File, "", PageKind::AppCode),
            ("/data/game.db", File, "", PageKind::OtherFile),
            ("swap", Anonymous, "10123", PageKind::AppMemory),
            ("swap", Anonymous, "com.king.candycrushsaga", PageKind::AppMemory),
            ("swap", Anonymous, "system_server", PageKind::ServiceMemory),
            ("swap", Anonymous, "com.android.systemui", PageKind::ServiceMemory),
            ("app 3 heap", Anonymous, "app 3", PageKind::AppMemory),
            ("app 3 code", File, "app 3", PageKind::AppCode),
            ("libraries", File, "app 3", PageKind::SharedLibrary),
            ("services", Anonymous, "services", PageKind::ServiceMemory),
            ("zram0", Anonymous, "kswapd0", PageKind::OtherMemory),
            ("zram0", Anonymous, "1000", PageKind::OtherMemory),
            ("8,0", Unknown, "kswapd0", PageKind::Unknown),
        ] {
            assert_eq!(PageKind::of(space, backing, user), kind, "{space} {user}");
        }
    }
}
