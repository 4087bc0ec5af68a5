//! Reads run records.

use serde::Deserialize;

use crate::error::{Error, Result};
use crate::record::check::check;
use crate::record::run::{RunRecord, SCHEMA};

/// The former schema, without tables and with fewer units. Records of it are
/// converted to this version as they are read.
const FORMER: &str = "unjank.run/1";

impl RunRecord {
    /// Reads a record; `origin` names where the text came from.
    ///
    /// # Errors
    /// `Record` if it is not JSON, not a run record, or of a later version.
    pub fn from_json(text: &str, origin: &str) -> Result<Self> {
        #[derive(Deserialize)]
        struct Head {
            schema: String,
        }
        let wrong = |reason: String| Error::Record { origin: origin.to_owned(), reason };
        let head: Head = serde_json::from_str(text).map_err(|e| wrong(e.to_string()))?;
        if ![SCHEMA, FORMER].contains(&head.schema.as_str()) {
            return Err(wrong(format!(
                "its schema is {:?}; this unjank reads {SCHEMA:?} and {FORMER:?}",
                head.schema
            )));
        }
        let record: Self = serde_json::from_str(text).map_err(|e| wrong(e.to_string()))?;
        Ok(Self { schema: SCHEMA.to_owned(), ..record })
    }

    /// Reads a record from outside, strictly: every histogram must decode, and
    /// the numbers must be consistent.
    ///
    /// # Errors
    /// `Record`, with the first fault.
    pub fn import(text: &str, origin: &str) -> Result<Self> {
        let record = Self::from_json(text, origin)?;
        check(&record).map_err(|reason| Error::Record { origin: origin.to_owned(), reason })?;
        Ok(record)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_version_is_refused_by_name() {
        let error = RunRecord::from_json(r#"{"schema": "unjank.run/3"}"#, "new.json").unwrap_err();
        assert_eq!(
            error.to_string(),
            "new.json is not a run record: its schema is \"unjank.run/3\"; this unjank reads \
             \"unjank.run/2\" and \"unjank.run/1\""
        );
    }

    #[test]
    fn a_malformed_record_is_reported_with_its_position() {
        for (text, reason) in [
            ("", "EOF while parsing a value at line 1 column 0"),
            ("{\"schema\": \"unjank.run/2\"", "EOF while parsing an object at line 1 column 25"),
            ("[1, 2]", "invalid type: integer `1`, expected a string at line 1 column 2"),
            ("{\"schema\": \"unjank.run/2\"}", "missing field `id` at line 1 column 26"),
        ] {
            let error = RunRecord::from_json(text, "x.json").unwrap_err().to_string();
            assert_eq!(error, format!("x.json is not a run record: {reason}"));
        }
    }
}
