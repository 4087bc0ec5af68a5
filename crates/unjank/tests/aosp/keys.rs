//! The keys of a JSON document.

use std::collections::BTreeSet;

use serde_json::Value;

/// The keys of a document with their paths. All pairs, and all elements of a list,
/// count as one.
pub(crate) fn keys(value: &Value) -> BTreeSet<String> {
    fn walk(value: &Value, path: &str, keys: &mut BTreeSet<String>) {
        match value {
            Value::Object(object) => {
                for (key, value) in object {
                    let is_pair = key.strip_prefix('P').is_some_and(|n| n.parse::<u32>().is_ok());
                    let path = format!("{path}/{}", if is_pair { "P" } else { key });
                    walk(value, &path, keys);
                    keys.insert(path);
                }
            }
            Value::Array(elements) => elements.iter().for_each(|value| walk(value, path, keys)),
            _ => {}
        }
    }
    let mut found = BTreeSet::new();
    walk(value, "", &mut found);
    found
}
