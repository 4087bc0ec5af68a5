//! Knobs that belong together: the kernel changes other files when one of them
//! is written, or shows one variable under two names.
//!
//! | knob | what changes with it | in the kernel |
//! |---|---|---|
//! | `vm.dirty_bytes`, `vm.dirty_ratio` | the other one becomes 0 | `dirty_bytes_handler`, `dirty_ratio_handler` in `mm/page-writeback.c` |
//! | `vm.dirty_background_bytes`, `vm.dirty_background_ratio` | the same | `dirty_background_bytes_handler`, `dirty_background_ratio_handler` there |
//! | `vm.overcommit_kbytes`, `vm.overcommit_ratio` | the same | `overcommit_kbytes_handler`, `overcommit_ratio_handler` in `mm/util.c` |
//! | `enabled` and `shmem_enabled` of transparent huge pages | `vm.min_free_kbytes` | `set_recommended_min_free_kbytes` in `mm/khugepaged.c` |
//! | `queue/scheduler` of a block device | `queue/iosched/*` go and come back, `nr_requests`, `async_depth`, `wbt_lat_usec` | `elevator_switch` in `block/elevator.c`, `wbt_enable_default` in `block/blk-wbt.c` |
//! | `queue/nr_requests` | `iosched/async_depth` and `async_depth` | `dd_depth_updated` in `block/mq-deadline.c` |
//! | `scaling_governor` | its tunables go and come back | `cpufreq_dbs_governor_exit` in `drivers/cpufreq/cpufreq_governor.c` |
//! | `net.ipv4.ip_forward`, which is `net.ipv4.conf.all.forwarding` | `forwarding` of `default` and of every device, `conf.all.accept_redirects` | `inet_forward_change` in `net/ipv4/devinet.c` |
//! | five settings in `net.ipv6.conf.all` | the same name of `default` and of every device | `addrconf_fixup_forwarding`, `addrconf_disable_ipv6`, `addrconf_fixup_linkdown`, `addrconf_sysctl_addr_gen_mode` and `addrconf_sysctl_force_forwarding` in `net/ipv6/addrconf.c` |

/// Where the cpufreq policies and the tunables that they share are.
pub(super) const CPUFREQ: &str = "/sys/devices/system/cpu/cpufreq";
const THP: &str = "/sys/kernel/mm/transparent_hugepage/";
const MIN_FREE: &str = "/proc/sys/vm/min_free_kbytes";
const IPV4: &str = "/proc/sys/net/ipv4/conf";
const IPV4_FORWARDING: &str = "/proc/sys/net/ipv4/conf/all/forwarding";
const IP_FORWARD: &str = "/proc/sys/net/ipv4/ip_forward";
const IPV6: &str = "/proc/sys/net/ipv6/conf";
/// The settings in `net.ipv6.conf.all` that are copied to every device.
const COPIED_BY_IPV6: [&str; 5] = [
    "forwarding",
    "disable_ipv6",
    "ignore_routes_with_linkdown",
    "addr_gen_mode",
    "force_forwarding",
];
/// Two spellings of one setting. Only one is in force; the other one reads 0.
const PAIRS: [[&str; 2]; 3] = [
    ["/proc/sys/vm/dirty_bytes", "/proc/sys/vm/dirty_ratio"],
    ["/proc/sys/vm/dirty_background_bytes", "/proc/sys/vm/dirty_background_ratio"],
    ["/proc/sys/vm/overcommit_kbytes", "/proc/sys/vm/overcommit_ratio"],
];
/// What the member of a pair reads that is not in force. Writing it would change
/// the other member, or is refused.
pub(super) const NOT_IN_FORCE: &str = "0";

/// What happens to a file when the knob is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Effect {
    /// It gets another value.
    Changes,
    /// It goes, and comes back with the kernel's value when the knob is put back.
    ComesBack,
}

/// Files that change with a knob: a path, in which `*` stands for one name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pattern {
    pub(super) path: String,
    pub(super) effect: Effect,
}

impl Pattern {
    fn matches(&self, path: &str) -> bool {
        let (mut mine, mut theirs) = (self.path.split('/'), path.split('/'));
        loop {
            match (mine.next(), theirs.next()) {
                (None, None) => return true,
                (Some(mine), Some(theirs)) if mine == "*" || mine == theirs => {}
                _ => return false,
            }
        }
    }
}

/// What the kernel changes when `knob` is written that reads `before`.
#[derive(Debug)]
pub(super) struct Couplings<'a> {
    knob: &'a str,
    patterns: Vec<Pattern>,
}

impl<'a> Couplings<'a> {
    pub(super) fn of(knob: &'a str, before: &str) -> Self {
        Self { knob, patterns: patterns(knob, before) }
    }

    /// In the order in which the files are announced.
    pub(super) fn patterns(&self) -> &[Pattern] {
        &self.patterns
    }

    pub(super) fn is_empty(&self) -> bool {
        self.patterns.is_empty()
    }

    /// What happens to `other`, if anything.
    pub(super) fn effect_on(&self, other: &str) -> Option<Effect> {
        // Two names of one variable change together, and are one knob.
        let is_same = setting(other) == setting(self.knob) && sibling(self.knob) != Some(other);
        let mut matching = self.patterns.iter().filter(|pattern| pattern.matches(other));
        matching.next().filter(|_| !is_same).map(|pattern| pattern.effect)
    }
}

/// One name for all files that show one setting. Two sessions must not hold the
/// same setting.
pub(super) fn setting(path: &str) -> &str {
    match PAIRS.iter().find(|pair| pair[1] == path) {
        Some(pair) => pair[0],
        None if path == IP_FORWARD => IPV4_FORWARDING,
        None => path,
    }
}

/// The other member of a pair.
pub(super) fn sibling(path: &str) -> Option<&'static str> {
    PAIRS.iter().find_map(|&[one, other]| match path {
        _ if path == one => Some(other),
        _ if path == other => Some(one),
        _ => None,
    })
}

fn patterns(knob: &str, before: &str) -> Vec<Pattern> {
    let pattern = |path: String, effect| Pattern { path, effect };
    let changes = |path: String| pattern(path, Effect::Changes);
    let Some((place, name)) = knob.rsplit_once('/') else { return Vec::new() };
    let is_queue = place.starts_with("/sys/") && place.ends_with("/queue");
    let is_thp = knob.starts_with(THP) && matches!(name, "enabled" | "shmem_enabled");
    match name {
        "scheduler" if is_queue => vec![
            pattern(format!("{place}/iosched/*"), Effect::ComesBack),
            changes(format!("{place}/async_depth")),
            changes(format!("{place}/wbt_lat_usec")),
            changes(format!("{place}/nr_requests")),
        ],
        "nr_requests" if is_queue => vec![
            changes(format!("{place}/iosched/async_depth")),
            changes(format!("{place}/async_depth")),
        ],
        "scaling_governor" if !before.is_empty() && !before.contains('/') => vec![
            pattern(format!("{place}/{before}/*"), Effect::ComesBack),
            pattern(format!("{CPUFREQ}/{before}/*"), Effect::ComesBack),
        ],
        _ if is_thp => vec![changes(MIN_FREE.to_owned())],
        _ if setting(knob) == IPV4_FORWARDING => vec![
            changes(format!("{IPV4}/*/forwarding")),
            changes(format!("{IPV4}/all/accept_redirects")),
        ],
        _ if place.strip_prefix(IPV6) == Some("/all") && COPIED_BY_IPV6.contains(&name) => {
            vec![changes(format!("{IPV6}/*/{name}"))]
        }
        _ => sibling(knob).map(|other| changes(other.to_owned())).into_iter().collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn effect(knob: &str, other: &str) -> Option<Effect> {
        Couplings::of(knob, "ondemand").effect_on(other)
    }

    #[test]
    fn the_members_of_a_pair_are_one_setting_and_change_each_other() {
        for [one, other] in PAIRS {
            assert_eq!((sibling(one), sibling(other)), (Some(other), Some(one)));
            assert_eq!(setting(one), setting(other));
            assert_eq!(effect(one, other), Some(Effect::Changes));
            assert_eq!(effect(other, one), Some(Effect::Changes));
            assert_eq!(effect(one, one), None);
        }
        assert_ne!(setting(PAIRS[0][0]), setting(PAIRS[1][0]));
    }

    #[test]
    fn a_change_of_scheduler_resets_its_queue() {
        let nvme = "/sys/devices/pci0000:00/0000:00:04.0/nvme/nvme0/nvme0n1/queue";
        for queue in ["/sys/devices/virtual/block/loop7/queue", nvme] {
            let scheduler = format!("{queue}/scheduler");
            let on = |name: &str| effect(&scheduler, &format!("{queue}/{name}"));
            assert_eq!(on("iosched/read_expire"), Some(Effect::ComesBack));
            assert_eq!(on("nr_requests"), Some(Effect::Changes));
            assert_eq!(on("wbt_lat_usec"), Some(Effect::Changes));
            assert_eq!(on("read_ahead_kb"), None);
            let depth =
                effect(&format!("{queue}/nr_requests"), &format!("{queue}/iosched/async_depth"));
            assert_eq!(depth, Some(Effect::Changes));
        }
        let other = "/sys/devices/virtual/block/loop6/queue/nr_requests";
        assert_eq!(effect("/sys/devices/virtual/block/loop7/queue/scheduler", other), None);
    }

    #[test]
    fn a_governor_takes_its_tunables_with_it() {
        let policy = format!("{CPUFREQ}/policy0");
        let on = |other: &str| effect(&format!("{policy}/scaling_governor"), other);
        assert_eq!(on(&format!("{CPUFREQ}/ondemand/up_threshold")), Some(Effect::ComesBack));
        assert_eq!(on(&format!("{policy}/ondemand/up_threshold")), Some(Effect::ComesBack));
        assert_eq!(on(&format!("{CPUFREQ}/conservative/up_threshold")), None);
        assert_eq!(on(&format!("{policy}/scaling_max_freq")), None);
    }

    #[test]
    fn huge_pages_set_the_free_memory() {
        for name in ["enabled", "shmem_enabled", "hugepages-64kB/enabled"] {
            assert_eq!(effect(&format!("{THP}{name}"), MIN_FREE), Some(Effect::Changes), "{name}");
        }
        assert_eq!(effect(&format!("{THP}defrag"), MIN_FREE), None);
    }

    #[test]
    fn forwarding_has_two_names_and_reaches_every_device() {
        assert_eq!(setting(IP_FORWARD), setting(IPV4_FORWARDING));
        for knob in [IP_FORWARD, IPV4_FORWARDING] {
            for device in ["default", "lo", "eth0.1"] {
                let other = format!("{IPV4}/{device}/forwarding");
                assert_eq!(effect(knob, &other), Some(Effect::Changes), "{other}");
            }
            assert_eq!(
                effect(knob, &format!("{IPV4}/all/accept_redirects")),
                Some(Effect::Changes)
            );
            assert_eq!((effect(knob, IP_FORWARD), effect(knob, IPV4_FORWARDING)), (None, None));
            assert_eq!(effect(knob, &format!("{IPV4}/lo/rp_filter")), None);
        }
        for name in COPIED_BY_IPV6 {
            let (all, lo) = (format!("{IPV6}/all/{name}"), format!("{IPV6}/lo/{name}"));
            assert_eq!((effect(&all, &lo), effect(&lo, &all)), (Some(Effect::Changes), None));
        }
        assert_eq!(effect(&format!("{IPV6}/all/accept_ra"), &format!("{IPV6}/lo/accept_ra")), None);
    }

    #[test]
    fn other_knobs_stand_alone() {
        for knob in ["/proc/sys/vm/swappiness", "/sys/x/scheduler", "/sys/nr_requests", "x", ""] {
            assert!(Couplings::of(knob, "60").is_empty(), "{knob}");
            assert_eq!(setting(knob), knob);
        }
    }
}
