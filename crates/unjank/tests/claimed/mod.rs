//! The claims of a record of `unjank reproduce`.

use serde_json::Value;

/// A row of the table of claims.
#[derive(Debug)]
pub(crate) struct Claim {
    pub(crate) source: String,
    pub(crate) what: String,
    pub(crate) published: String,
    /// The number, if there is one.
    pub(crate) ours: Option<f64>,
    pub(crate) how: String,
    pub(crate) answer: String,
}

/// All claims, in order.
pub(crate) fn claims(record: &Value) -> Vec<Claim> {
    let tables = record["tables"].as_array().expect("tables");
    let table = tables.iter().find(|table| table["name"] == "reproduce/claims").expect("claims");
    let text = |cell: &Value| cell.as_str().unwrap_or_default().to_owned();
    let rows = table["rows"].as_array().expect("rows").iter();
    rows.map(|row| Claim {
        source: text(&row[0]),
        what: text(&row[1]),
        published: text(&row[2]),
        ours: row[3]["value"].as_f64(),
        how: text(&row[5]),
        answer: text(&row[6]),
    })
    .collect()
}
