//! Makes the tools' invalid JSON valid: cyclictest does not escape quotes in its
//! command line (`rt_write_json` of rt-tests), and both write `-nan` as the mean
//! of no wake-ups.

use std::borrow::Cow;

/// The text with both repaired. Every line keeps its number.
pub(super) fn repaired(text: &str) -> Cow<'_, str> {
    if text.lines().all(|line| repair(line).is_none()) {
        return text.into();
    }
    let mut whole = String::with_capacity(text.len() + 64);
    for line in text.split_inclusive('\n') {
        let (line, end) = match line.strip_suffix('\n') {
            Some(line) => (line, "\n"),
            None => (line, ""),
        };
        match repair(line) {
            Some(repaired) => whole.push_str(&repaired),
            None => whole.push_str(line),
        }
        whole.push_str(end);
    }
    whole.into()
}

/// The repaired line; `None` if it needs no repair.
fn repair(line: &str) -> Option<String> {
    command_line(line).or_else(|| mean(line))
}

fn command_line(line: &str) -> Option<String> {
    let start = line.trim_start();
    let key = ["\"cmdline:\":", "\"cmdline\":"].into_iter().find(|key| start.starts_with(key))?;
    let value = start[key.len()..].trim();
    let (value, comma) = match value.strip_suffix(',') {
        Some(value) => (value, ","),
        None => (value, ""),
    };
    let inner = value.strip_prefix('"')?.strip_suffix('"')?;
    let good = serde_json::from_str::<String>(value).is_ok();
    // In a file of a single line, more follows the command line.
    let single = inner.contains("\",") && serde_json::from_str::<serde_json::Value>(line).is_ok();
    (!good && !single).then(|| format!("{key} {}{comma}", serde_json::Value::from(inner)))
}

fn mean(line: &str) -> Option<String> {
    let value = line.trim_start().strip_prefix("\"avg\":")?.trim();
    let (value, comma) = match value.strip_suffix(',') {
        Some(value) => (value, ","),
        None => (value, ""),
    };
    let value = value.strip_prefix('-').unwrap_or(value);
    ["nan", "inf"].contains(&value).then(|| format!("\"avg\": null{comma}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_and_backslashes_of_a_command_line_are_kept() {
        let text =
            "{\n  \"cmdline:\": \"cyclictest --json=a \"b\\ted\".json -q\",\n  \"x\": 1\n}\n";
        let value: serde_json::Value = serde_json::from_str(&repaired(text)).unwrap();
        assert_eq!(value["cmdline:"], "cyclictest --json=a \"b\\ted\".json -q");
    }

    #[test]
    fn a_mean_of_nan_becomes_null() {
        let text = "{\n      \"avg\": -nan,\n      \"cpu\": 0\n}";
        assert_eq!(repaired(text), "{\n\"avg\": null,\n      \"cpu\": 0\n}");
        assert_eq!(repair("  \"avg\": nan"), Some("\"avg\": null".to_owned()));
    }

    #[test]
    fn valid_text_is_not_changed() {
        for text in ["{\"cmdline:\": \"cyclictest -q\", \"avg\": 3.10}", "\"avg\": 3.1,", ""] {
            assert!(matches!(repaired(text), Cow::Borrowed(same) if same == text), "{text}");
        }
    }
}
