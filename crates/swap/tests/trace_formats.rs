//! Reads a small file of every format: recorded if its name has a kernel version, else written by
//! hand from the format's description.

#![expect(clippy::unwrap_used, reason = "the setup of a test may panic")]

use std::io::Write as _;
use std::path::PathBuf;

use lz4_flex::frame::{BlockSize, FrameEncoder, FrameInfo};
use unjank_host::{Bytes, Nanos};
use unjank_swap::trace::{Backing, Event, Format, Operation, Options, Stage, Summary, Trace};

fn fixture(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(name)
}

fn drain(mut trace: Trace) -> (Vec<Event>, Vec<String>, Summary) {
    let mut events = Vec::new();
    while trace.read(&mut events, 3).unwrap() {}
    let names = trace.names();
    let shown = events.iter().map(|event| {
        let process = names.process(event.who);
        let pid = process.pid.map_or(String::new(), |pid| format!("-{pid}"));
        format!(
            "{} {}{pid} {} {} {} {}",
            event.at.get(),
            process.name,
            names.space(event.space),
            event.page,
            event.operation.name(),
            event.backing.name(),
        )
    });
    (events.clone(), shown.collect(), trace.summary())
}

fn read(name: &str, options: &Options) -> (Vec<String>, Summary) {
    let (_, shown, summary) = drain(Trace::open(&[fixture(name)], options).unwrap());
    (shown, summary)
}

fn skipped(summary: &Summary) -> Vec<(&'static str, u64)> {
    summary.inputs[0].skipped.all().iter().map(|skip| (skip.reason, skip.count)).collect()
}

#[test]
fn mobile() {
    let (events, summary) = read("mobile.csv", &Options::default());
    assert_eq!((summary.inputs[0].format, summary.inputs[0].is_guessed), (Format::Mobile, false));
    assert_eq!(
        events,
        [
            "0 kworker/u16 sda 128 write unknown",
            "0 kworker/u16 sda 129 write unknown",
            "250000000 com.game,fg sda 256 read unknown",
            "500001000 com.game,fg sda 0 read unknown",
            "500001000 com.game,fg sda 1 read unknown",
        ]
    );
    assert_eq!(
        skipped(&summary),
        [
            ("the names of the columns", 1),
            ("the mark preconditioning_ended", 1),
            ("a request of no bytes", 1)
        ]
    );
    assert_eq!(summary.span, Nanos(500_001_000));
}

#[test]
fn msr() {
    let (events, summary) = read("msr.csv", &Options::default());
    assert_eq!((summary.inputs[0].format, summary.inputs[0].is_guessed), (Format::Msr, true));
    assert_eq!(events.len(), 8 + 2 + 1, "the write is not aligned");
    assert_eq!(events[0], "0  hm.1 93627 read unknown");
    assert_eq!(events[8], "1332052600  hm.1 689000 write unknown");
    assert_eq!(events[10], "2332061600  hm.0 0 read unknown");
}

#[test]
fn spc() {
    let (events, summary) = read("spc.csv", &Options::default());
    assert_eq!(summary.inputs[0].format, Format::Spc);
    assert_eq!(
        events,
        [
            "0  asu 0 2617658 write unknown",
            "0  asu 0 2617659 write unknown",
            "2335000  asu 1 2617480 read unknown",
            "2335000  asu 1 2617481 read unknown",
        ]
    );
    assert_eq!(skipped(&summary), [("a request of no bytes", 1)]);
}

#[test]
fn systor() {
    let (events, summary) = read("systor.csv", &Options::default());
    assert_eq!(summary.inputs[0].format, Format::Systor);
    assert_eq!(
        events,
        [
            "0  lun 4 1 write unknown",
            "0  lun 4 2 write unknown",
            "109000  lun 4 219496123 read unknown",
        ]
    );
    assert_eq!(summary.inputs[0].skipped.count("no request type"), 1);
}

#[test]
fn the_three_forms_of_ariadne() {
    let named = Options { format: Some(Format::Ariadne), ..Options::default() };
    let (events, summary) = read("ariadne-swapin.txt", &named);
    assert_eq!((summary.inputs[0].format, summary.inputs[0].is_guessed), (Format::Ariadne, false));
    assert_eq!(
        events,
        [
            "0 10123 swap 2 page-in anonymous",
            "0 10123 swap 1 page-in anonymous",
            "0 10130 swap 512 page-in anonymous",
        ]
    );
    let outs = ["0 10123 swap 2 page-out anonymous", "0 10130 swap 512 page-out anonymous"];
    assert_eq!(read("ariadne-swapout-meta.txt", &named).0, outs);
    let mut records = Vec::new();
    for header in ["TEST^^^#10123,53210,16#^^^\n", "TEST^^^#10130,53211,4096#^^^\n"] {
        records.extend(format!("{header:\0<50}").into_bytes());
        records.extend([0x54; 4096]);
    }
    let trace = Trace::from_memory("swapout", records.clone(), &Options::default()).unwrap();
    assert_eq!(drain(trace).1, outs);
    records.truncate(5000);
    let trace = Trace::from_memory("swapout", records, &Options::default()).unwrap();
    let (_, events, summary) = drain(trace);
    assert_eq!(events, outs[..1]);
    assert_eq!(skipped(&summary), [("the last record is cut off", 1)]);
}

#[test]
fn csv_with_named_columns() {
    let (events, summary) = read("named.csv", &Options::default());
    assert_eq!((summary.inputs[0].format, summary.inputs[0].is_guessed), (Format::Csv, false));
    assert_eq!(
        events,
        [
            "0 mail, inbox-12 zram0 2 page-out anonymous",
            "1000 say \"hi\" zram0 2 read unknown",
            "1000 say \"hi\" zram0 3 read unknown",
            "5000 game  0 launch unknown",
        ]
    );
    assert_eq!(summary.operations[Operation::Launch as usize], 1);
}

#[test]
fn blkparse_and_blktrace_of_the_same_recording_agree() {
    let (text, summary) = read("blkparse.txt", &Options::default());
    assert_eq!(summary.inputs[0].format, Format::Blkparse);
    let (binary, summary) = read("loop.blktrace.0", &Options::default());
    assert_eq!(summary.inputs[0].format, Format::Blktrace);
    // The text's times begin with the first record, the events' with the first event.
    let without_time = |shown: &[String]| -> Vec<String> {
        shown.iter().map(|event| event.split_once(' ').unwrap().1.to_owned()).collect()
    };
    assert_eq!(without_time(&text), without_time(&binary));
    assert!(text.len() > 15, "{text:#?}");
    assert_eq!(binary[0], "0 -20116 7,0 16 read unknown");
    let queued = Options { stage: Stage::Queued, ..Options::default() };
    let (text, binary) = (read("blkparse.txt", &queued).0, read("loop.blktrace.0", &queued).0);
    assert_eq!(without_time(&text), without_time(&binary));
    // blkparse skips completions from other CPUs than the file's.
    let completed = Options { stage: Stage::Completed, ..Options::default() };
    let (text, binary) =
        (read("blkparse.txt", &completed).0, read("loop.blktrace.0", &completed).0);
    assert!(!text.is_empty() && without_time(&binary).starts_with(&without_time(&text)));
}

#[test]
fn blktrace_in_the_other_byte_order() {
    let recorded = std::fs::read(fixture("loop.blktrace.0")).unwrap();
    let mut swapped = Vec::new();
    let mut rest = &recorded[..];
    while !rest.is_empty() {
        let mut record = rest[..48].to_vec();
        let data = usize::from(u16::from_le_bytes([record[46], record[47]]));
        for (begin, end) in
            [(0, 4), (4, 8), (8, 16), (16, 24), (24, 28), (28, 32), (32, 36), (36, 40), (40, 44)]
        {
            record[begin..end].reverse();
        }
        record[44..46].reverse();
        record[46..48].reverse();
        swapped.extend(record);
        swapped.extend(&rest[48..48 + data]);
        rest = &rest[48 + data..];
    }
    let events =
        |bytes: Vec<u8>| drain(Trace::from_memory("trace", bytes, &Options::default()).unwrap()).1;
    assert_eq!(events(swapped.clone()), events(recorded.clone()));
    let mixed = [recorded.clone(), swapped].concat();
    let mut trace = Trace::from_memory("mixed", mixed, &Options::default()).unwrap();
    let error = trace.read(&mut Vec::new(), usize::MAX).unwrap_err().to_string();
    let expected = format!("cannot decode mixed: byte {}: the byte order changes", recorded.len());
    assert_eq!(error, expected);
}

#[test]
fn blkparse_with_names() {
    let (events, summary) = read("blkparse-names.txt", &Options::default());
    assert_eq!(
        events,
        [
            "0 game thread-4162 8,16 256 read unknown",
            "0 game thread-4162 8,16 257 read unknown",
            "999987997 kswapd0-71 8,16 512 write unknown",
            "999987997 kswapd0-71 8,16 513 write unknown",
        ]
        .map(|line: &str| line.replace("999987997", "987997"))
    );
    let expected = [
        ("another stage of a request", 4),
        ("plugging, or a message", 1),
        ("a discard", 1),
        ("neither a read nor a write", 2),
    ];
    assert_eq!(skipped(&summary), expected);
    let options = Options { swap_devices: vec!["8,16".to_owned()], ..Options::default() };
    let (events, _) = read("blkparse-names.txt", &options);
    assert_eq!(events[0], "0 game thread-4162 8,16 256 page-in anonymous");
    assert_eq!(events[3], "987997 kswapd0-71 8,16 513 page-out anonymous");
}

#[test]
fn ftrace_as_recorded() {
    let (events, summary) = read("ftrace-6.18.txt", &Options::default());
    assert_eq!(summary.inputs[0].format, Format::Ftrace);
    assert_eq!(events[0].split_once(' ').unwrap().1, "dd-20104 7,0 145 read unknown");
    let has = |what: &str| events.iter().filter(|event| event.contains(what)).count();
    assert_eq!(has("com.example.app  0 launch unknown"), 1);
    assert_eq!(has("dd-20104 inode c on 7:0 4 page-in file"), 1);
    assert!(has("inode c on 7:0 0 clean-drop file") > 0, "{events:#?}");
    assert!(summary.inputs[0].skipped.count("another stage of a request") > 20);
    assert_eq!(summary.backwards, 0);
}

#[test]
fn ftrace_of_a_phone() {
    let (events, summary) = read("ftrace-phone.txt", &Options::default());
    assert_eq!(
        events,
        [
            "0 -4711 254,0 10 read unknown",
            "100000 kswapd0-71 page frames 305408 page-out anonymous",
            "110000 kswapd0-71 page frames 305408 page-out file",
            "200000 kswapd0-71 254,0 11 write unknown",
            "300000 com.example.game  0 launch unknown",
            "400000 HeapTaskDaemon-4720 inode 1f3a on 8:1 1 read file",
            "400000 HeapTaskDaemon-4720 inode 1f3a on 8:1 2 read file",
            "500000 HeapTaskDaemon-4720 inode 1f3a on 8:1 4 page-in file",
            "500000 HeapTaskDaemon-4720 inode 1f3a on 8:1 5 page-in file",
            "500000 HeapTaskDaemon-4720 inode 1f3a on 8:1 6 page-in file",
            "500000 HeapTaskDaemon-4720 inode 1f3a on 8:1 7 page-in file",
            "600000 HeapTaskDaemon-4720 inode 1f3a on 8:1 0 clean-drop file",
            "700000 HeapTaskDaemon-4720  0 exit unknown",
        ]
    );
    let lost = "an event that the kernel's buffer lost";
    assert_eq!(summary.inputs[0].skipped.count(lost), 3 + 12);
    assert_eq!(summary.inputs[0].skipped.count("a mark other than a launch"), 1);
    assert_eq!(summary.inputs[0].skipped.count("an event of another kind"), 1);
}

#[test]
fn perf_script() {
    let (events, summary) = read("perf-script.txt", &Options::default());
    assert_eq!(summary.inputs[0].format, Format::Ftrace);
    assert_eq!(
        events,
        [
            "0 kworker/u16:3-1201 259,0 512 write unknown",
            "149000 my game-4715 259,0 1024 read unknown",
            "149000 my game-4715 259,0 1025 read unknown",
        ]
    );
}

/// Records of oracleGeneral.
fn oracle(records: &[(u32, u64, u32, i64)]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (second, id, size, next) in records {
        bytes.extend(second.to_le_bytes());
        bytes.extend(id.to_le_bytes());
        bytes.extend(size.to_le_bytes());
        bytes.extend(next.to_le_bytes());
    }
    bytes
}

#[test]
fn oracle_general() {
    let mut bytes = oracle(&[(7, 1 << 40, 4096, 3), (7, 5, 512, -1), (9, 1 << 40, 4096, -1)]);
    bytes.extend([0; 5]);
    let trace = Trace::from_memory("oracle", bytes.clone(), &Options::default()).unwrap();
    let (events, shown, summary) = drain(trace);
    assert_eq!(summary.inputs[0].format, Format::OracleGeneral);
    assert_eq!(shown[0], format!("0  objects {} read unknown", 1_u64 << 40));
    assert_eq!(events[2].at, Nanos(2_000_000_000));
    assert_eq!(skipped(&summary), [("the last record is cut off", 1)]);
}

#[test]
fn compressed_files_are_read_and_a_truncated_one_is_an_error() {
    let line = |n: u64| format!("{},hm,1,Read,{},4096,1\n", n + n % 2, n * n * 7919 % (1 << 30));
    let plain = (0..20_000).map(line).collect::<String>().into_bytes();
    let expected = drain(Trace::from_memory("plain", plain.clone(), &Options::default()).unwrap());
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(&plain).unwrap();
    let gzip = gzip.finish().unwrap();
    let zstd = zstd::encode_all(&plain[..], 1).unwrap();
    let blocks = FrameInfo::new().block_size(BlockSize::Max64KB);
    let mut lz4 = FrameEncoder::with_frame_info(blocks, Vec::new());
    lz4.write_all(&plain).unwrap();
    let lz4 = lz4.finish().unwrap();
    for (packed, packing) in [(gzip, "gzip"), (zstd, "zstd"), (lz4, "lz4")] {
        let open = |bytes: &[u8], options: &Options| {
            Trace::from_memory("packed", bytes.to_vec(), options).unwrap()
        };
        let twice = [&packed[..], &packed[..]].concat();
        let (_, events, summary) = drain(open(&twice, &Options::default()));
        assert_eq!(events.len(), 2 * expected.1.len(), "{packing}: both members are read");
        assert!(events.starts_with(&expected.1));
        assert_eq!(summary.inputs[0].packing, packing);
        assert_eq!(summary.backwards, 1, "the second member starts at the first time again");
        let cut = &packed[..packed.len() - 20];
        let mut events = Vec::new();
        let mut trace = open(cut, &Options::default());
        let error = loop {
            match trace.read(&mut events, 1000) {
                Ok(more) => assert!(more, "{packing}: the truncation went unnoticed"),
                Err(error) => break error.to_string(),
            }
        };
        assert!(error.starts_with("cannot read packed: after "), "{error}");
        let lenient = Options { skip_bad: true, ..Options::default() };
        let (_, events, summary) = drain(open(cut, &lenient));
        assert!(events.len() > 1000 && expected.1.starts_with(&events), "{packing}");
        assert_eq!(summary.inputs[0].skipped.all().len(), 1, "{summary:?}");
    }
}

#[test]
fn xz_files_are_read() {
    let (plain, _) = read("msr.csv", &Options::default());
    let (events, summary) = read("msr.csv.xz", &Options::default());
    assert_eq!(summary.inputs[0].packing, "xz");
    assert_eq!(events.len(), 2 * plain.len(), "both streams are read");
    assert!(events.starts_with(&plain));
    let mut bytes = std::fs::read(fixture("msr.csv.xz")).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle - 40] ^= 0xff;
    let trace = Trace::from_memory("damaged", bytes, &Options::default());
    let mut events = Vec::new();
    let error = trace.and_then(|mut trace| {
        while trace.read(&mut events, 1000)? {}
        Ok(())
    });
    assert!(error.unwrap_err().to_string().contains("cannot"), "the checksum does not match");
}

fn in_columns(columns: &str) -> Options {
    Options { columns: Some(columns.parse().unwrap()), ..Options::default() }
}

fn parse(text: &str, options: &Options) -> (Vec<String>, Summary) {
    let trace = Trace::from_memory("t", text.as_bytes().to_vec(), options).unwrap();
    let (_, events, summary) = drain(trace);
    (events, summary)
}

#[test]
fn the_user_names_the_columns_of_a_file_without_a_header() {
    let text = "\u{feff}0,100,4096\r\n1.5,101,4096\n2,102,4096\n";
    let (events, summary) = parse(text, &in_columns("time,page,size"));
    let expected =
        ["0   100 read unknown", "1500000000   101 read unknown", "2000000000   102 read unknown"];
    assert_eq!(events, expected);
    assert_eq!((summary.inputs[0].format, summary.inputs[0].is_guessed), (Format::Csv, false));
    // The header is skipped, tabs are detected, and fields after the columns are ignored.
    let (events, summary) =
        parse("when\twhat\tlong\tx\n5\t7\t1\ty\n", &in_columns("time,page,size"));
    assert_eq!(events, ["0   7 read unknown"]);
    assert_eq!(skipped(&summary), [("the names of the columns", 1)]);
    // Volumes of Alibaba and Tencent, and keys of Twitter.
    let alibaba = "419,W,8192,8192,1577808144360767\n725,R,4096,4096,1577808144361000\n";
    let (events, _) = parse(alibaba, &in_columns("device,op,offset,size,time_us"));
    let expected =
        ["0  419 2 write unknown", "0  419 3 write unknown", "233000  725 1 read unknown"];
    assert_eq!(events, expected);
    let tencent = "1538323200,8,16,1,1283\n1538323201,0,8,0,1283\n";
    let (events, _) = parse(tencent, &in_columns("time,sector,sectors,op,device"));
    assert_eq!(events[2], "1000000000  1283 0 read unknown");
    assert_eq!(events.len(), 3);
    let twitter = "0,nz:u:eeW511W3dcH3de3d15ec,22,304,10,get,0\n1,other,22,304,10,set,0\n\
                   1,nz:u:eeW511W3dcH3de3d15ec,22,304,10,delete,0\n";
    let (events, summary) = parse(twitter, &in_columns("time,key,-,-,-,op"));
    assert!(events[0].ends_with("read unknown") && events[1].ends_with("write unknown"));
    assert_eq!(skipped(&summary), [("a deletion", 1)]);
}

#[test]
fn libcachesims_csv_and_text_are_objects() {
    let text = "time;size;id\n0;10;0xff\n0;10;a\n3;10;255\n4;10;a\n";
    let typed = "time-col=1,obj-id-col=3,obj-size-col=2,delimiter=;,has-header=true";
    let (events, _) = parse(text, &in_columns(typed));
    let page = |event: &String| event.split(' ').nth(3).unwrap().to_owned();
    let pages: Vec<String> = events.iter().map(page).collect();
    assert!(pages[0] == "255" && pages[2] == "255" && pages[1] == pages[3], "{pages:?}");
    assert!(events[3].starts_with("4000000000 "), "{events:?}");
    let named = Options { format: Some(Format::Txt), ..Options::default() };
    let (events, _) = parse("7\nimage.png\n\n7\n", &named);
    let pages: Vec<String> = events.iter().map(page).collect();
    assert!(pages.len() == 3 && pages[0] == "7" && pages[2] == "7", "{events:?}");
}

/// A record of version 1 or 2.
fn vscsi(version: u8, command: u16, length: u32, block: u64, micros: u64) -> Vec<u8> {
    let about = [command.to_le_bytes(), [0, version]].concat();
    let numbers = [7_u32, length, 1].map(u32::to_le_bytes).concat();
    let head = if version == 1 { [numbers, about].concat() } else { [about, numbers].concat() };
    let tail = [block.to_le_bytes(), micros.to_le_bytes()].concat();
    let response = if version == 1 { Vec::new() } else { 55_u64.to_le_bytes().to_vec() };
    [head, tail, response].concat()
}

#[test]
fn vscsi_in_both_versions() {
    for version in [1, 2] {
        let mut bytes = [
            vscsi(version, 0x28, 8192, 16, 5_000_000),
            vscsi(version, 0x2a, 4096, 8, 5_000_100),
            vscsi(version, 0x35, 0, 0, 5_000_150),
            vscsi(version, 0x88, 512, 1, 5_000_200),
        ]
        .concat();
        bytes.extend([1, 2, 3]);
        let trace = Trace::from_memory("disk.vscsi", bytes, &Options::default()).unwrap();
        let (_, events, summary) = drain(trace);
        assert_eq!((summary.inputs[0].format, summary.inputs[0].is_guessed), (Format::Vscsi, true));
        let expected = [
            "0  disk 2 read unknown",
            "0  disk 3 read unknown",
            "100000  disk 1 write unknown",
            "200000  disk 0 read unknown",
        ];
        assert_eq!(events, expected, "version {version}");
        let skips =
            [("a command that neither reads nor writes", 1), ("the last record is cut off", 1)];
        assert_eq!(skipped(&summary), skips);
    }
}

/// A table with one row for each time and page, both signed.
fn table(rows: &[(i64, i64)], compression: parquet::basic::Compression) -> Vec<u8> {
    use parquet::column::writer::ColumnWriter;
    let schema = "message t { required int64 time_ns; required int64 page; \
                  required binary operation (STRING); }";
    let schema = parquet::schema::parser::parse_message_type(schema).unwrap();
    let properties = parquet::file::properties::WriterProperties::builder();
    let properties = properties.set_compression(compression).build();
    let mut bytes = Vec::new();
    let mut file = parquet::file::writer::SerializedFileWriter::new(
        &mut bytes,
        schema.into(),
        properties.into(),
    )
    .unwrap();
    let mut group = file.next_row_group().unwrap();
    let (times, pages): (Vec<i64>, Vec<i64>) = rows.iter().copied().unzip();
    for values in [times, pages] {
        let mut column = group.next_column().unwrap().unwrap();
        let ColumnWriter::Int64ColumnWriter(writer) = column.untyped() else { panic!() };
        writer.write_batch(&values, None, None).unwrap();
        column.close().unwrap();
    }
    let mut column = group.next_column().unwrap().unwrap();
    let ColumnWriter::ByteArrayColumnWriter(writer) = column.untyped() else { panic!() };
    writer.write_batch(&vec!["read".into(); rows.len()], None, None).unwrap();
    column.close().unwrap();
    group.close().unwrap();
    file.close().unwrap();
    bytes
}

#[test]
fn a_negative_page_or_time_in_a_table_is_an_error() {
    let plain = parquet::basic::Compression::UNCOMPRESSED;
    for (row, what) in [((1, -5), "the page is negative"), ((-1, 5), "the time is negative")] {
        let bytes = table(&[(0, 1), row, (2, 3)], plain);
        let mut trace = Trace::from_memory("t", bytes.clone(), &Options::default()).unwrap();
        let error = trace.read(&mut Vec::new(), 10).unwrap_err().to_string();
        assert_eq!(error, format!("cannot decode t: row 1: {what}"));
        let lenient = Options { skip_bad: true, ..Options::default() };
        let (events, _, summary) = drain(Trace::from_memory("t", bytes, &lenient).unwrap());
        let pages: Vec<u64> = events.iter().map(|event| event.page).collect();
        assert_eq!((pages, skipped(&summary)), (vec![1, 3], vec![(what, 1)]));
    }
}

#[test]
fn tables_are_read_with_any_compression() {
    use parquet::basic::{Compression, GzipLevel};
    let rows = [(0, 1), (5, 2)];
    let expected = ["0   1 read unknown", "5   2 read unknown"];
    for compression in
        [Compression::GZIP(GzipLevel::default()), Compression::LZ4, Compression::LZ4_RAW]
    {
        let trace = Trace::from_memory("t", table(&rows, compression), &Options::default());
        assert_eq!(drain(trace.unwrap()).1, expected, "{compression:?}");
    }
    // A table in a compressed file.
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(&table(&rows, Compression::UNCOMPRESSED)).unwrap();
    let trace = Trace::from_memory("t", gzip.finish().unwrap(), &Options::default()).unwrap();
    let (_, events, summary) = drain(trace);
    assert_eq!(events, expected);
    assert_eq!((summary.inputs[0].format, summary.inputs[0].packing), (Format::Parquet, "gzip"));
}

#[test]
fn several_files_are_merged_by_time() {
    let dir = tempfile::tempdir().unwrap();
    let files = ["1,a,1\n4,a,4\n4,a,5\n9,a,9\n", "2,b,2\n3,b,3\n5,b,6\n", ""].map(|text| {
        let path = dir.path().join(format!("{}.csv", text.len()));
        std::fs::write(&path, format!("time_ns,process,page\n{text}")).unwrap();
        path
    });
    let options = Options { format: Some(Format::Csv), ..Options::default() };
    let (events, _, summary) = drain(Trace::open(&files, &options).unwrap());
    let pages: Vec<u64> = events.iter().map(|event| event.page).collect();
    assert_eq!(pages, [1, 2, 3, 4, 5, 6, 9]);
    assert_eq!(events[0].at, Nanos::ZERO);
    assert_eq!((summary.backwards, summary.span), (0, Nanos(8)));
    assert_eq!(summary.inputs.iter().map(|input| input.events).collect::<Vec<_>>(), [4, 3, 0]);
}

#[test]
fn requests_beyond_the_device_are_counted() {
    let options = Options { device_size: Some(Bytes(1 << 30)), ..Options::default() };
    let (events, summary) = read("msr.csv", &options);
    assert_eq!(events.len(), 9);
    assert_eq!(skipped(&summary), [("beyond the end of the device", 1)]);
}

#[test]
fn file_and_anonymous_backing_are_distinguished() {
    let (events, _, _) =
        drain(Trace::open(&[fixture("ftrace-phone.txt")], &Options::default()).unwrap());
    let of = |backing| events.iter().filter(|event| event.backing == backing).count();
    assert_eq!((of(Backing::File), of(Backing::Anonymous)), (8, 1));
}
