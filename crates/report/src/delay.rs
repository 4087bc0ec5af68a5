//! The five delays between a touch and its response, as records name them.

/// The delays in the order in which a touch meets them, with their meanings.
const DELAYS: [(&str, &str); 5] = [
    ("launch", "the CPU is still slow when an app starts"),
    ("swap", "the app's pages were swapped out"),
    ("jitter", "the thread is woken late"),
    ("lock", "the thread waits for a lock"),
    ("ipc", "the answer comes from another process"),
];

/// The delay of a series, curve or fact: the first segment of its name.
pub(crate) fn of(name: &str) -> &str {
    name.split('/').next().unwrap_or(name)
}

/// The meaning of a delay; `None` for other names.
pub(crate) fn meaning(delay: &str) -> Option<&'static str> {
    DELAYS.iter().find(|(name, _)| *name == delay).map(|(_, meaning)| *meaning)
}

/// The subjects in `names`, each once: first the five delays, then others in their
/// order.
pub(crate) fn in_order<'a>(names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut found: Vec<&str> = Vec::new();
    for name in names {
        let delay = of(name);
        if !found.contains(&delay) {
            found.push(delay);
        }
    }
    let place =
        |delay: &&str| DELAYS.iter().position(|(name, _)| name == delay).unwrap_or(DELAYS.len());
    found.sort_by_key(place);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_come_in_the_order_of_a_touch() {
        let names = ["clock/read", "ipc/unix/round_trip", "jitter/a", "launch/b", "jitter/c"];
        assert_eq!(in_order(names.into_iter()), ["launch", "jitter", "ipc", "clock"]);
        assert_eq!(meaning("swap"), Some("the app's pages were swapped out"));
        assert_eq!(meaning("clock"), None);
    }
}
