//! Runs as a Parquet data set in Hive's partitions, for fleets of devices.
//!
//! `DIR/buckets` has the samples of every series, in buckets that are the same in all runs: rows of
//! the same bucket are merged by adding their counts. `DIR/facts` has the single numbers. Below
//! both are `command=…/date=…/DEVICE.parquet`, so the directories of several devices can be copied
//! together, and a second export replaces the first.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, Result};
use parquet::basic::{Compression, ZstdLevel};
use parquet::column::writer::ColumnWriter;
use parquet::data_type::ByteArray;
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use sha2::{Digest as _, Sha256};
use unjank_host::Error;
use unjank_host::files::{Existing, Readers, WholeFile, make_directory};
use unjank_measure::RunRecord;

/// Columns that all tables have.
const RUN: &str = "required binary run (UTF8);
    required binary started_at (UTF8);
    required binary device (UTF8);
    optional binary model (UTF8);
    required binary kernel (UTF8);
    required binary architecture (UTF8);
    required binary tool (UTF8);
    required binary name (UTF8);
    required binary labels (UTF8);
    required binary unit (UTF8);";

const BUCKETS: &str = "required int64 at (INTEGER(64,false));
    required int64 count (INTEGER(64,false));";

const FACTS: &str = "required double value;
    optional double low;
    optional double high;
    optional int64 n (INTEGER(64,false));";

/// A bucket holds values with the same first 7 bits: it is at most 1/64 of its values wide.
const BITS: u32 = 7;

/// The largest value of a value's bucket.
fn bucket(value: u64) -> u64 {
    let low = (u64::BITS - value.leading_zeros()).saturating_sub(BITS);
    value | ((1 << low) - 1)
}

/// A value of a row.
enum Value {
    Text(String),
    /// A text that may be missing.
    Perhaps(Option<String>),
    Count(u64),
    PerhapsCount(Option<u64>),
    Number(f64),
    PerhapsNumber(Option<f64>),
}

/// The rows of a file; each has a value for each column.
#[derive(Default)]
struct Rows(Vec<Vec<Value>>);

/// The part of a data set that holds the runs of a day.
pub(super) struct DataSet {
    device: String,
    /// Rows by the file below the top directory.
    files: BTreeMap<PathBuf, (Kind, Rows)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Buckets,
    Facts,
}

impl Kind {
    fn schema(self) -> String {
        let own = match self {
            Self::Buckets => BUCKETS,
            Self::Facts => FACTS,
        };
        format!("message runs {{ {RUN} {own} }}")
    }
}

impl DataSet {
    /// Without any run. The files are called after the device.
    pub(super) fn of(device: &str) -> Self {
        Self { device: device.to_owned(), files: BTreeMap::new() }
    }

    /// Adds a run.
    pub(super) fn add(&mut self, record: &RunRecord) -> Result<()> {
        for series in &record.findings.series {
            let mut counts: BTreeMap<u64, u64> = BTreeMap::new();
            for step in series.histogram()?.iter_recorded() {
                *counts.entry(bucket(step.value_iterated_to())).or_default() +=
                    step.count_at_value();
            }
            let columns = (&*series.name, &series.labels, series.unit.name());
            for (at, count) in counts {
                let own = [Value::Count(at), Value::Count(count)];
                self.push(record, Kind::Buckets, columns, own);
            }
        }
        for fact in &record.findings.facts {
            let [low, high] = fact.interval.map_or([None; 2], |ends| ends.map(Some));
            let own = [
                Value::Number(fact.value),
                Value::PerhapsNumber(low),
                Value::PerhapsNumber(high),
                Value::PerhapsCount(fact.n),
            ];
            let columns = (&*fact.name, &fact.labels, fact.unit.name());
            self.push(record, Kind::Facts, columns, own);
        }
        Ok(())
    }

    fn push<const N: usize>(
        &mut self,
        record: &RunRecord,
        kind: Kind,
        (name, labels, unit): (&str, &BTreeMap<String, String>, &str),
        own: [Value; N],
    ) {
        let labels: Vec<String> =
            labels.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let host = &record.host;
        let mut row = vec![
            Value::Text(record.id.clone()),
            Value::Text(record.started_at.clone()),
            Value::Text(self.device.clone()),
            Value::Perhaps(host.device.clone()),
            Value::Text(host.kernel.release.clone()),
            Value::Text(host.kernel.architecture.clone()),
            Value::Text(record.tool.version.clone()),
            Value::Text(name.to_owned()),
            Value::Text(labels.join(" ")),
            Value::Text(unit.to_owned()),
        ];
        row.extend(own);
        let top = match kind {
            Kind::Buckets => "buckets",
            Kind::Facts => "facts",
        };
        let date = day(record);
        let place = [
            top.to_owned(),
            format!("command={}", plain(&record.command)),
            format!("date={}", plain(&date)),
            format!("{}.parquet", plain(&self.device)),
        ];
        let (_, rows) =
            self.files.entry(place.iter().collect()).or_insert_with(|| (kind, Rows::default()));
        rows.0.push(row);
    }

    /// Writes all files below the directory, which is made if it is missing. Returns how many rows
    /// there are.
    pub(super) fn write(self, top: &Path) -> Result<usize> {
        make_directory(top)?;
        let mut count = 0;
        for (place, (kind, rows)) in self.files {
            let path = top.join(place);
            if let Some(directory) = path.parent() {
                make_directory(directory)?;
            }
            count += rows.0.len();
            let whole = WholeFile::create(&path, Existing::Replace, Readers::AsUsual)?;
            rows.write(kind, whole.file()?)
                .map_err(|why| whole.error(io::Error::other(why.to_string())))
                .with_context(|| format!("while writing {}", path.display()))?;
            whole.finish()?;
        }
        Ok(count)
    }
}

/// The day on which a run started, in UTC: `2026-11-29`.
pub(super) fn day(record: &RunRecord) -> String {
    record.started_at.chars().take(10).collect()
}

/// A part of a path without separators and signs that Hive's form gives a meaning.
fn plain(text: &str) -> String {
    let fine = |sign: char| sign.is_ascii_alphanumeric() || matches!(sign, '-' | '_' | '.');
    let text: String = text.chars().map(|sign| if fine(sign) { sign } else { '-' }).collect();
    if text.trim_matches('.').is_empty() { format!("-{text}") } else { text }
}

/// The name of this device if the user gives none: a hash of `/etc/machine-id`, which should not
/// leave the machine itself (machine-id(5)).
pub(super) fn device() -> Result<String> {
    let id = std::fs::read_to_string("/etc/machine-id").unwrap_or_default();
    if id.trim().is_empty() {
        return Err(Error::Invalid(
            "/etc/machine-id does not name this machine: name it with --device-name".to_owned(),
        )
        .into());
    }
    let sum = Sha256::digest(format!("unjank fleet {}", id.trim()));
    let first = sum.iter().take(8).fold(0, |number, byte| number << 8 | u64::from(*byte));
    Ok(format!("{first:016x}"))
}

impl Rows {
    fn write(self, kind: Kind, out: impl io::Write + Send) -> ParquetResult<()> {
        let schema = Arc::new(parse_message_type(&kind.schema())?);
        let columns = schema.get_fields().len();
        let compression = Compression::ZSTD(ZstdLevel::default());
        let properties = WriterProperties::builder().set_compression(compression).build();
        let mut file = SerializedFileWriter::new(out, schema, Arc::new(properties))?;
        let mut group = file.next_row_group()?;
        for index in 0..columns {
            let missing = || ParquetError::General("the schema has fewer columns".to_owned());
            let mut column = group.next_column()?.ok_or_else(missing)?;
            write_column(column.untyped(), self.0.iter().map(|row| &row[index]))?;
            column.close()?;
        }
        group.close()?;
        file.close()?;
        Ok(())
    }
}

fn write_column<'a>(
    column: &mut ColumnWriter<'_>,
    values: impl Iterator<Item = &'a Value>,
) -> ParquetResult<()> {
    let (mut texts, mut counts, mut numbers) = (Vec::new(), Vec::new(), Vec::new());
    let (mut there, mut is_optional) = (Vec::new(), false);
    for value in values {
        let is_there = match value {
            Value::Text(text) => {
                texts.push(ByteArray::from(text.as_str()));
                true
            }
            Value::Perhaps(text) => {
                is_optional = true;
                texts.extend(text.as_deref().map(ByteArray::from));
                text.is_some()
            }
            Value::Count(count) => {
                counts.push(count.cast_signed());
                true
            }
            Value::PerhapsCount(count) => {
                is_optional = true;
                counts.extend(count.map(u64::cast_signed));
                count.is_some()
            }
            Value::Number(number) => {
                numbers.push(*number);
                true
            }
            Value::PerhapsNumber(number) => {
                is_optional = true;
                numbers.extend(*number);
                number.is_some()
            }
        };
        there.push(i16::from(is_there));
    }
    let there = is_optional.then_some(&*there);
    match column {
        ColumnWriter::ByteArrayColumnWriter(column) => column.write_batch(&texts, there, None)?,
        ColumnWriter::Int64ColumnWriter(column) => column.write_batch(&counts, there, None)?,
        ColumnWriter::DoubleColumnWriter(column) => column.write_batch(&numbers, there, None)?,
        _ => return Err(ParquetError::General("the schema has no other types".to_owned())),
    };
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_narrow_and_the_same_for_all() {
        for value in [0, 1, 5, 127, 128, 129, 1_000, 123_456, u64::MAX - 1, u64::MAX] {
            let end = bucket(value);
            assert!(end >= value && bucket(end) == end, "{value}: {end}");
            assert!((end - value) as f64 <= value as f64 / 64.0, "{value}: {end}");
        }
        assert_eq!([127, 128, 129, 130].map(bucket), [127, 129, 129, 131]);
    }

    #[test]
    fn names_cannot_leave_their_directory() {
        for hostile in ["../x", "..", ".", "a/b", "a=b", "", "\u{202e}"] {
            let name = plain(hostile);
            assert!(!name.is_empty() && !name.contains(['/', '=']) && name != ".." && name != ".");
        }
        assert_eq!(plain("jitter native"), "jitter-native");
    }
}
