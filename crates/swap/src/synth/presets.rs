//! Synthetic phones by name.

use super::preset::{Apps, Order, Phone, Preset};

/// All presets.
pub const ALL: &[Preset] = &[GAMES, MANY_GAMES, FAVOURITES, BACKGROUND, CHANGING];

/// The experiment of Bahn & Kim: nine games in turn, five times.
pub const GAMES: Preset = Preset {
    name: "games",
    about: "nine games in turn, five rounds: Bahn & Kim's",
    phone: Phone { memory: 158_500, minfree: 10_100, pinned: 16_380 },
    libraries: 11_300,
    services: 2_140,
    shared_share: 1.0,
    shared_passes: 5,
    services_changed: 0.6,
    apps: Apps {
        count: 9,
        spread: 0.77,
        hot: 2_360,
        hot_renewed: 0,
        warm: 500,
        new: 240,
        cold: 5_000,
        code: 220,
        assets: 5_130,
        data: 1_090,
        hot_changed: 0.09,
        warm_share: 0.22,
        code_again: 0.12,
        assets_again: 0.134,
        assets_at_start: 0.3,
        data_share: 0.83,
        data_writes: 3,
        background_share: 0.0,
    },
    order: Order::Turns,
    launches: 45,
};

/// The same with 25 games.
pub const MANY_GAMES: Preset = Preset {
    name: "many-games",
    about: "25 games in turn, five rounds: Bahn & Kim's, with 2 GiB",
    apps: Apps { count: 25, ..GAMES.apps },
    launches: 125,
    ..GAMES
};

/// Some apps are launched more often than others.
pub const FAVOURITES: Preset = Preset {
    name: "favourites",
    about: "some of nine apps are launched more often than others, in no order",
    order: Order::Zipf(0.8),
    launches: 120,
    ..GAMES
};

/// Apps in the background do a little work.
pub const BACKGROUND: Preset = Preset {
    name: "background",
    about: "nine games in turn, and those in the background do a little work",
    apps: Apps { background_share: 0.1, ..GAMES.apps },
    launches: 72,
    ..GAMES
};

/// A part of the hot pages is replaced at each launch.
pub const CHANGING: Preset = Preset {
    name: "changing",
    about: "nine apps in turn; a tenth of their hot pages is replaced at each launch",
    apps: Apps { hot_renewed: 236, ..GAMES.apps },
    launches: 90,
    ..GAMES
};

/// A name that no synthetic phone has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown preset {typed:?}; expected one of {}", names())]
pub struct UnknownPreset {
    typed: String,
}

fn names() -> String {
    ALL.iter().map(|preset| preset.name).collect::<Vec<_>>().join(", ")
}

impl Preset {
    /// The preset of this name.
    ///
    /// # Errors
    /// No preset has this name.
    pub fn named(typed: &str) -> Result<&'static Self, UnknownPreset> {
        let known = ALL.iter().find(|preset| preset.name == typed);
        known.ok_or_else(|| UnknownPreset { typed: typed.to_owned() })
    }
}
