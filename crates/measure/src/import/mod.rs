//! Results of other tools, as findings: fio, HdrHistogram's interval logs (jHiccup), JMH, rtla.
//!
//! | module | format |
//! |---|---|
//! | `fio` | `fio --output-format=json` and `json+` |
//! | `hlog` | HdrHistogram's interval log, version 1.x, as jHiccup writes it |
//! | `jmh` | `-rf json` of the Java Microbenchmark Harness |
//! | `rtla` | `rtla timerlat hist` and `rtla osnoise hist` |

mod fio;
mod foreign;
mod hlog;
mod jmh;
mod rtla;

use crate::error::{Error, Result};

pub use foreign::Foreign;

/// Reads the result of another tool; `None` if the text does not begin like one. `origin` is its
/// name, for errors.
pub fn read(text: &str, origin: &str) -> Option<Result<Foreign>> {
    let readers = [
        (fio::is as fn(&str) -> bool, fio::read as fn(&str) -> Result<Foreign, String>),
        (hlog::is, hlog::read),
        (jmh::is, jmh::read),
        (rtla::is, rtla::read),
    ];
    let (_, read) = readers.into_iter().find(|(is, _)| is(text))?;
    let wrong = |reason| Error::Foreign { origin: origin.to_owned(), reason };
    let foreign = read(text).map_err(wrong);
    let has_numbers =
        |it: &Foreign| !it.findings.series.is_empty() || !it.findings.facts.is_empty();
    Some(match foreign {
        Ok(foreign) if !has_numbers(&foreign) => {
            Err(wrong(format!("it has no numbers of {} that unjank knows", foreign.tool)))
        }
        foreign => foreign,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const FILES: [&str; 4] = [
        include_str!("fixtures/fio-json-plus.json"),
        include_str!("fixtures/jhiccup.hlog"),
        include_str!("fixtures/jmh.json"),
        include_str!("fixtures/timerlat.txt"),
    ];

    #[test]
    fn each_format_is_known_by_its_beginning() {
        let tools = FILES.map(|text| read(text, "x").unwrap().unwrap().tool);
        assert_eq!(tools, ["fio", "hlog", "jmh", "rtla timerlat"]);
        for other in ["", "{}", "[]", "{\"schema\": \"unjank.run/2\"}", "# RTLA", "PERFILE2"] {
            assert!(read(other, "x").is_none(), "{other}");
        }
        let error = read("{\"fio version\": 3}", "a.json").unwrap().unwrap_err().to_string();
        assert!(error.starts_with("a.json cannot be imported: "), "{error}");
    }

    #[test]
    fn no_count_is_too_large_for_a_record() {
        let count = (1_u64 << 63).to_string();
        let fio = format!(
            "{{\"fio version\": \"\", \"jobs\": [{{\"jobname\": \"a\", \"read\": {{\"clat_ns\": \
             {{\"max\": 1, \"N\": {count}, \"bins\": {{\"77\": {count}}}}}}}}}]}}"
        );
        let rtla = format!(
            "# RTLA osnoise histogram\n# Time unit is nanoseconds (ns)\nIndex CPU-000\n1 {count}\n"
        );
        let jmh = FILES[2].replacen("2317", &count, 1);
        assert_ne!(jmh, FILES[2]);
        for text in [fio, rtla, jmh] {
            let error = read(&text, "x").unwrap().unwrap_err().to_string();
            assert!(error.contains("more samples than can be counted"), "{error}");
        }
    }

    #[test]
    fn a_file_without_numbers_is_refused() {
        let text = "{\"fio version\": \"fio-3.33\", \"jobs\": []}";
        let error = read(text, "x").unwrap().unwrap_err().to_string();
        assert!(error.contains("no numbers of fio"), "{error}");
    }

    proptest! {
        #[test]
        fn damage_is_an_error_or_harmless(
            file in 0..FILES.len(),
            place in any::<prop::sample::Index>(),
            with in "[-0-9eE.\":,\\[{}\\]A-Za-z \n]{0,6}",
            length in 0_usize..9,
        ) {
            let text = FILES[file];
            let start = place.index(text.len());
            let mut bytes = text.as_bytes().to_vec();
            bytes.splice(start..(start + length).min(text.len()), with.bytes());
            let text = String::from_utf8_lossy(&bytes);
            if let Some(Ok(foreign)) = read(&text, "x") {
                for series in &foreign.findings.series {
                    prop_assert_eq!(series.histogram().unwrap().len(), series.n);
                }
            }
        }
    }
}
