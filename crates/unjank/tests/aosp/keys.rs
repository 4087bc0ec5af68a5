//! The keys of a JSON document.

use std::collections::BTreeSet;

use serde_json::Value;

/// The keys of a document with their paths. The pairs `P0`, `P1` and so on have the
/// common path `P`, and all elements of a list have the list's path.
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
