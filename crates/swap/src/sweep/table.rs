//! All cells as a Parquet table, for pandas, `DuckDB` and Spark.

use std::io;
use std::path::Path;
use std::sync::Arc;

use ::parquet::basic::{Compression, ZstdLevel};
use ::parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
use ::parquet::errors::{ParquetError, Result as ParquetResult};
use ::parquet::file::properties::WriterProperties;
use ::parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use ::parquet::schema::parser::parse_message_type;
use unjank_host::Result;
use unjank_host::files::{Existing, Readers, WholeFile};

use super::cell::Cell;

const SCHEMA: &str = "message sweep {
    required binary trace (UTF8);
    required int64 memory_bytes (INTEGER(64,false));
    required int64 tier_bytes (INTEGER(64,false));
    required binary policy (UTF8);
    required int64 storage_ios (INTEGER(64,false));
    required int64 storage_reads (INTEGER(64,false));
    required int64 storage_writes (INTEGER(64,false));
    required int64 tier_reads (INTEGER(64,false));
    required int64 tier_writes (INTEGER(64,false));
    required int64 left_dirty (INTEGER(64,false));
    required int64 without_tier_ios (INTEGER(64,false));
    required int64 page_ins (INTEGER(64,false));
    required int64 page_outs (INTEGER(64,false));
    required int64 clean_drops (INTEGER(64,false));
    required int64 over_budget (INTEGER(64,false));
    required int64 metadata_bytes (INTEGER(64,false));
    optional double launch_again_ns;
}";

/// Writes the table atomically and replaces an existing one.
///
/// # Errors
/// The file cannot be written.
pub fn write(cells: &[Cell], path: &Path) -> Result<()> {
    let whole = WholeFile::create(path, Existing::Replace, Readers::AsUsual)?;
    let written = write_to(cells, whole.file()?);
    written.map_err(|why| whole.error(io::Error::other(why.to_string())))?;
    whole.finish()
}

fn write_to(cells: &[Cell], out: impl io::Write + Send) -> ParquetResult<()> {
    let schema = Arc::new(parse_message_type(SCHEMA)?);
    let compression = Compression::ZSTD(ZstdLevel::default());
    let properties = WriterProperties::builder().set_compression(compression).build();
    let mut file = SerializedFileWriter::new(out, schema, Arc::new(properties))?;
    let mut group = file.next_row_group()?;
    texts(&mut group, cells, |cell| &cell.combination.trace)?;
    numbers(&mut group, cells, |cell| cell.combination.memory)?;
    numbers(&mut group, cells, |cell| cell.combination.tier)?;
    texts(&mut group, cells, |cell| &cell.combination.policy)?;
    numbers(&mut group, cells, Cell::storage_ios)?;
    numbers(&mut group, cells, |cell| cell.storage_reads)?;
    numbers(&mut group, cells, |cell| cell.storage_writes)?;
    numbers(&mut group, cells, |cell| cell.tier_reads)?;
    numbers(&mut group, cells, |cell| cell.tier_writes)?;
    numbers(&mut group, cells, |cell| cell.left_dirty)?;
    numbers(&mut group, cells, |cell| cell.without_tier)?;
    numbers(&mut group, cells, |cell| cell.page_ins)?;
    numbers(&mut group, cells, |cell| cell.page_outs)?;
    numbers(&mut group, cells, |cell| cell.clean_drops)?;
    numbers(&mut group, cells, |cell| cell.over_budget)?;
    numbers(&mut group, cells, |cell| cell.metadata)?;
    times(&mut group, cells)?;
    group.close()?;
    file.close()?;
    Ok(())
}

type Group<'a, W> = SerializedRowGroupWriter<'a, W>;

fn texts<W: io::Write + Send>(
    group: &mut Group<'_, W>,
    cells: &[Cell],
    of: impl Fn(&Cell) -> &String,
) -> ParquetResult<()> {
    let values: Vec<ByteArray> = cells.iter().map(|cell| of(cell).as_str().into()).collect();
    let mut column = group.next_column()?.ok_or_else(missing)?;
    column.typed::<ByteArrayType>().write_batch(&values, None, None)?;
    column.close()
}

fn numbers<W: io::Write + Send>(
    group: &mut Group<'_, W>,
    cells: &[Cell],
    of: impl Fn(&Cell) -> u64,
) -> ParquetResult<()> {
    let values: Vec<i64> = cells.iter().map(|cell| of(cell).cast_signed()).collect();
    let mut column = group.next_column()?.ok_or_else(missing)?;
    column.typed::<Int64Type>().write_batch(&values, None, None)?;
    column.close()
}

fn times<W: io::Write + Send>(group: &mut Group<'_, W>, cells: &[Cell]) -> ParquetResult<()> {
    let values: Vec<f64> = cells.iter().filter_map(|cell| cell.launch_again).collect();
    let there: Vec<i16> = cells.iter().map(|cell| i16::from(cell.launch_again.is_some())).collect();
    let mut column = group.next_column()?.ok_or_else(missing)?;
    column.typed::<DoubleType>().write_batch(&values, Some(&there), None)?;
    column.close()
}

fn missing() -> ParquetError {
    ParquetError::General("the schema has fewer columns".to_owned())
}

#[cfg(test)]
mod tests {
    use ::parquet::file::reader::{FileReader as _, SerializedFileReader};

    use super::super::cell::tests::cell;
    use super::*;

    #[test]
    fn the_table_has_a_row_for_each_cell() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("t.parquet");
        let timed = Cell { left_dirty: 3, launch_again: Some(1.5e9), ..cell("paper", 4096, 7, 9) };
        write(&[cell("gate=4/lru", 8192, 1, 2), timed], &path).unwrap();
        let reader = SerializedFileReader::new(std::fs::File::open(&path).unwrap()).unwrap();
        let rows: Vec<String> =
            reader.get_row_iter(None).unwrap().map(|row| row.unwrap().to_string()).collect();
        assert_eq!(rows.len(), 2);
        assert!(
            rows[0].contains("policy: \"gate=4/lru\"") && rows[0].contains("launch_again_ns: null")
        );
        assert!(
            rows[1].contains("storage_ios: 7")
                && rows[1].contains("left_dirty: 3")
                && rows[1].contains("launch_again_ns: 1500000000.0")
        );
    }
}
