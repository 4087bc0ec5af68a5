//! Writes events as a table, one row group after the other.

use std::io::Write;
use std::sync::Arc;

use ::parquet::basic::{Compression, Encoding, ZstdLevel};
use ::parquet::column::writer::ColumnWriter;
use ::parquet::data_type::ByteArray;
use ::parquet::errors::{ParquetError, Result};
use ::parquet::file::metadata::KeyValue;
use ::parquet::file::properties::WriterProperties;
use ::parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use ::parquet::schema::parser::parse_message_type;

use super::super::event::{Backing, Event, Operation, PAGE, ProcessIndex, Space};
use super::super::names::Names;
use super::SCHEMA;

/// Rows of a group, which stay in memory until they are written: 6 MiB of events.
const GROUP: usize = 1 << 18;
/// Rows encoded at once.
const CHUNK: usize = 8192;

/// Writes a table.
pub(crate) struct Writer<W: Write + Send> {
    file: SerializedFileWriter<W>,
    waiting: Vec<Event>,
}

impl<W: Write + Send> Writer<W> {
    pub(crate) fn new(out: W) -> Result<Self> {
        let schema = Arc::new(parse_message_type(SCHEMA)?);
        let properties = WriterProperties::builder()
            .set_created_by(concat!("unjank version ", env!("CARGO_PKG_VERSION")).to_owned())
            .set_key_value_metadata(Some(vec![
                KeyValue::new("unjank.trace".to_owned(), "1".to_owned()),
                KeyValue::new("page_size".to_owned(), PAGE.to_string()),
            ]))
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            // Neighbouring times differ little but are rarely equal.
            .set_column_dictionary_enabled("time_ns".into(), false)
            .set_column_encoding("time_ns".into(), Encoding::DELTA_BINARY_PACKED)
            .build();
        let file = SerializedFileWriter::new(out, schema, Arc::new(properties))?;
        Ok(Self { file, waiting: Vec::new() })
    }

    pub(crate) fn write(&mut self, events: &[Event], names: &Names) -> Result<()> {
        let mut rest = events;
        while !rest.is_empty() {
            let (now, later) = rest.split_at(rest.len().min(GROUP - self.waiting.len()));
            self.waiting.extend_from_slice(now);
            rest = later;
            if self.waiting.len() == GROUP {
                self.flush(names)?;
            }
        }
        Ok(())
    }

    pub(crate) fn finish(mut self, names: &Names) -> Result<W> {
        if !self.waiting.is_empty() {
            self.flush(names)?;
        }
        self.file.into_inner()
    }

    fn flush(&mut self, names: &Names) -> Result<()> {
        let text = |text: &str| ByteArray::from(text.as_bytes().to_vec());
        let processes: Vec<_> =
            names.processes().iter().map(|process| text(&process.name)).collect();
        let cgroups: Vec<_> =
            names.processes().iter().map(|process| process.cgroup.as_deref().map(text)).collect();
        let spaces: Vec<_> = names.spaces().iter().map(|space| text(space)).collect();
        let operations = Operation::ALL.map(|operation| text(operation.name()));
        let backings = Backing::ALL.map(|backing| text(backing.name()));
        let events = &self.waiting;
        let mut group = self.file.next_row_group()?;
        numbers(&mut group, events, |event| event.at.get() as i64)?;
        texts(&mut group, events, |event| {
            // Only the unknown process has no value here.
            (event.who != ProcessIndex::UNKNOWN).then(|| processes[event.who.0 as usize].clone())
        })?;
        small_numbers(&mut group, events, |event| names.process(event.who).pid)?;
        texts(&mut group, events, |event| {
            (event.space != Space::NONE).then(|| spaces[usize::from(event.space.0)].clone())
        })?;
        numbers(&mut group, events, |event| event.page as i64)?;
        all_texts(&mut group, events, |event| operations[event.operation as usize].clone())?;
        all_texts(&mut group, events, |event| backings[event.backing as usize].clone())?;
        texts(&mut group, events, |event| cgroups[event.who.0 as usize].clone())?;
        small_numbers(&mut group, events, |event| names.process(event.who).launch)?;
        small_numbers(&mut group, events, |event| names.process(event.who).command)?;
        group.close()?;
        self.waiting.clear();
        Ok(())
    }
}

type Group<'a, W> = SerializedRowGroupWriter<'a, W>;

/// A column of numbers.
fn numbers<W: Write + Send>(
    group: &mut Group<'_, W>,
    events: &[Event],
    value: impl Fn(&Event) -> i64,
) -> Result<()> {
    let mut column = group.next_column()?.ok_or_else(missing)?;
    if let ColumnWriter::Int64ColumnWriter(writer) = column.untyped() {
        for chunk in events.chunks(CHUNK) {
            let values: Vec<_> = chunk.iter().map(&value).collect();
            writer.write_batch(&values, None, None)?;
        }
    }
    column.close()
}

/// A column of optional text.
fn texts<W: Write + Send>(
    group: &mut Group<'_, W>,
    events: &[Event],
    value: impl Fn(&Event) -> Option<ByteArray>,
) -> Result<()> {
    let mut column = group.next_column()?.ok_or_else(missing)?;
    if let ColumnWriter::ByteArrayColumnWriter(writer) = column.untyped() {
        for chunk in events.chunks(CHUNK) {
            let cells: Vec<_> = chunk.iter().map(&value).collect();
            let levels: Vec<_> = cells.iter().map(|cell| i16::from(cell.is_some())).collect();
            let values: Vec<_> = cells.into_iter().flatten().collect();
            writer.write_batch(&values, Some(&levels), None)?;
        }
    }
    column.close()
}

/// A column of required text.
fn all_texts<W: Write + Send>(
    group: &mut Group<'_, W>,
    events: &[Event],
    value: impl Fn(&Event) -> ByteArray,
) -> Result<()> {
    let mut column = group.next_column()?.ok_or_else(missing)?;
    if let ColumnWriter::ByteArrayColumnWriter(writer) = column.untyped() {
        for chunk in events.chunks(CHUNK) {
            let values: Vec<_> = chunk.iter().map(&value).collect();
            writer.write_batch(&values, None, None)?;
        }
    }
    column.close()
}

/// A column of optional numbers of 32 bits.
fn small_numbers<W: Write + Send>(
    group: &mut Group<'_, W>,
    events: &[Event],
    value: impl Fn(&Event) -> Option<u32>,
) -> Result<()> {
    let mut column = group.next_column()?.ok_or_else(missing)?;
    if let ColumnWriter::Int32ColumnWriter(writer) = column.untyped() {
        for chunk in events.chunks(CHUNK) {
            let cells: Vec<_> = chunk.iter().map(&value).collect();
            let levels: Vec<_> = cells.iter().map(|cell| i16::from(cell.is_some())).collect();
            let values: Vec<_> = cells.into_iter().flatten().map(|cell| cell as i32).collect();
            writer.write_batch(&values, Some(&levels), None)?;
        }
    }
    column.close()
}

fn missing() -> ParquetError {
    ParquetError::General("the schema has fewer columns than are written".to_owned())
}
