//! Parameters of a synthetic phone and its user.

use unjank_host::Bytes;

use super::chance::Chance;
use crate::trace::PAGE;

/// A phone and its user. Counts are in pages of 4 KiB.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Preset {
    /// The preset's name.
    pub name: &'static str,
    /// The user's behaviour in one line, for lists.
    pub about: &'static str,
    /// The phone's memory.
    pub phone: Phone,
    /// Pages of shared libraries.
    pub libraries: u32,
    /// Pages of services.
    pub services: u32,
    /// Share of the libraries and services that a launch touches.
    pub shared_share: f64,
    /// How often a launch touches them, in turns with pages of its app.
    pub shared_passes: u32,
    /// The share of a service's touched pages that is changed.
    pub services_changed: f64,
    /// Number, sizes and access patterns of the apps.
    pub apps: Apps,
    /// The order of launches.
    pub order: Order,
    /// Number of launches.
    pub launches: u32,
}

/// The memory of a phone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Phone {
    /// Memory that a phone with 1 GiB leaves to apps.
    pub memory: u32,
    /// Without swap, apps are killed if fewer pages than this are left for files (`minfree` of
    /// Android's low memory killer).
    pub minfree: u32,
    /// Pages that each living app pins: graphics.
    pub pinned: u32,
}

/// Parameters of the apps; page counts are those of an average app.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Apps {
    /// The number of apps.
    pub count: u32,
    /// How much larger the largest app is than the average, and how much smaller the smallest, as a
    /// share.
    pub spread: f64,
    /// Pages touched at every launch.
    pub hot: u32,
    /// Hot pages that are replaced from one launch to the next.
    pub hot_renewed: u32,
    /// Pages touched at some launches.
    pub warm: u32,
    /// Pages created at every launch.
    pub new: u32,
    /// Pages created when the app starts and not touched again.
    pub cold: u32,
    /// Pages of code.
    pub code: u32,
    /// Pages of assets.
    pub assets: u32,
    /// Pages of databases and settings.
    pub data: u32,
    /// The share of touched hot and warm pages that is changed.
    pub hot_changed: f64,
    /// The share of the warm pages that a launch touches.
    pub warm_share: f64,
    /// The share of the code that later launches touch; the first one touches all.
    pub code_again: f64,
    /// The share of the assets that later launches touch.
    pub assets_again: f64,
    /// The share of the assets that the first launch touches.
    pub assets_at_start: f64,
    /// The share of the data that a launch writes.
    pub data_share: f64,
    /// Writes of the data per launch: transactions of a database.
    pub data_writes: u32,
    /// The share of the hot pages that is touched in the background after each launch, for every
    /// running app but the launched one.
    pub background_share: f64,
}

impl Preset {
    /// The same with this share of all pages, in memory and of apps.
    #[must_use]
    pub fn scaled(self, share: f64) -> Self {
        let scale = |pages: u32| (f64::from(pages) * share).round() as u32;
        let Self { phone, apps, .. } = self;
        Self {
            phone: Phone {
                memory: scale(phone.memory),
                minfree: scale(phone.minfree),
                pinned: scale(phone.pinned),
            },
            libraries: scale(self.libraries),
            services: scale(self.services),
            apps: Apps {
                hot: scale(apps.hot),
                hot_renewed: scale(apps.hot_renewed),
                warm: scale(apps.warm),
                new: scale(apps.new),
                cold: scale(apps.cold),
                code: scale(apps.code),
                assets: scale(apps.assets),
                data: scale(apps.data),
                ..apps
            },
            ..self
        }
    }
}

impl Phone {
    /// Memory that a phone with 1 GiB leaves to apps.
    pub fn memory(&self) -> Bytes {
        Bytes(u64::from(self.memory) * PAGE)
    }
}

impl Apps {
    /// The counts of one app: sizes grow from the first app to the last.
    pub(super) fn of(self, app: u32) -> Self {
        let place = f64::from(app) / f64::from(self.count.saturating_sub(1).max(1));
        let scale = 1.0 + self.spread * (2.0 * place - 1.0);
        let scaled = |pages: u32| (f64::from(pages) * scale).round() as u32;
        Self {
            hot: scaled(self.hot),
            hot_renewed: scaled(self.hot_renewed),
            warm: scaled(self.warm),
            new: scaled(self.new),
            cold: scaled(self.cold),
            code: scaled(self.code),
            assets: scaled(self.assets),
            data: scaled(self.data),
            ..self
        }
    }
}

/// The order of launches.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Order {
    /// One app after the other.
    Turns,
    /// At random: app `k` with a probability in proportion to `k` to the power of minus this.
    Zipf(f64),
}

impl Order {
    pub(super) fn next(self, launch: u32, apps: u32, chance: &mut Chance) -> u32 {
        match self {
            Self::Turns => launch % apps,
            Self::Zipf(skew) => {
                let weight = |place: u32| f64::from(place + 1).powf(-skew);
                let mut left = chance.unit() * (0..apps).map(weight).sum::<f64>();
                let mut place = 0;
                while place + 1 < apps && left >= weight(place) {
                    left -= weight(place);
                    place += 1;
                }
                place
            }
        }
    }
}
