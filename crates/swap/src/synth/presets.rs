//! Synthetic phones by name.

use super::preset::{Apps, Order, Phone, Preset};

/// All of them.
pub const ALL: &[Preset] = &[GAMES, MANY_GAMES, FAVOURITES, BACKGROUND, CHANGING];

/// What Bahn & Kim did: nine games in turn, five times.
pub const GAMES: Preset = Preset {
    name: "games",
    about: "nine games in turn, five rounds: Bahn & Kim's",
    phone: Phone { memory: 152_840, minfree: 50_000, pinned: 15_630 },
    libraries: 31_080,
    services: 8_000,
    shared_share: 1.0,
    services_changed: 0.4,
    apps: Apps {
        count: 9,
        spread: 0.8,
        hot: 680,
        hot_renewed: 0,
        warm: 9_870,
        new: 260,
        cold: 0,
        code: 410,
        assets: 23_660,
        data: 1_110,
        hot_changed: 0.1,
        warm_share: 0.16,
        code_again: 0.19,
        assets_again: 0.15,
        assets_at_start: 0.1,
        data_share: 0.35,
        data_writes: 1,
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

/// Apps that are not on screen go on working a little.
pub const BACKGROUND: Preset = Preset {
    name: "background",
    about: "nine games in turn, and those that are not on screen go on working a little",
    apps: Apps { background_share: 0.1, ..GAMES.apps },
    launches: 72,
    ..GAMES
};

/// What is hot gives way to something else.
pub const CHANGING: Preset = Preset {
    name: "changing",
    about: "nine apps in turn, a tenth of whose hot pages give way to others at each launch",
    apps: Apps { hot_renewed: 68, ..GAMES.apps },
    launches: 90,
    ..GAMES
};
