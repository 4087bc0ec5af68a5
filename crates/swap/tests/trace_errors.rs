//! Malformed files and the messages they produce.

use unjank_swap::trace::{Format, Options, Trace};

fn error(bytes: &[u8], options: &Options) -> String {
    let mut trace = match Trace::from_memory("bad", bytes.to_vec(), options) {
        Ok(trace) => trace,
        Err(error) => return error.to_string(),
    };
    let mut events = Vec::new();
    loop {
        match trace.read(&mut events, 100) {
            Ok(true) => {}
            Ok(false) => return "no error".to_owned(),
            Err(error) => return error.to_string(),
        }
    }
}

fn named(format: Format) -> Options {
    Options { format: Some(format), ..Options::default() }
}

const MSR: &[u8] = b"128166372003061629,hm,1,Read,383496192,32768,413\n";

#[test]
fn an_unknown_format_has_a_message() {
    let message = |bytes: &[u8]| error(bytes, &Options::default());
    assert_eq!(
        message(b"once upon a time\nthere was a page\n"),
        "cannot detect the format of bad: it begins with “once upon a time”, which matches no \
         known format; name it with --format"
    );
    // A file that begins as some format names the line that is not of it.
    let broken = [MSR, MSR, b"128166372003061630,hm,1,Read,x,1,1\n"].concat();
    assert_eq!(
        message(&broken),
        "cannot detect the format of bad: it begins as msr does, but line 3: the offset is not a \
         number: “128166372003061630,hm,1,Read,x,1,1”; name it with --format"
    );
    let compressed = message(b"BZh91AY&SY");
    assert!(compressed.contains("compressed with bzip2, which is not supported"), "{compressed}");
}

#[test]
fn the_format_of_lines_of_numbers_is_not_guessed() {
    for (text, columns) in [
        ("0,100,4096\n1,101,4096\n2,102,4096\n", "time,page,size"),
        ("10123,16\n10123,8\n", "time,page; --format ariadne reads them"),
        ("10123 53210 16\n", "time,page,size"),
        ("17\n18\n", "--columns page"),
    ] {
        let error = error(text.as_bytes(), &Options::default());
        assert!(error.contains("no header names its columns; name them"), "{error}");
        assert!(error.contains(columns), "{error}");
    }
    let columns = Some("page".parse().unwrap());
    let both = Options { columns, ..named(Format::Msr) };
    assert!(error(MSR, &both).contains("--columns is for comma-separated values, not for msr"));
}

#[test]
fn an_empty_file_is_an_error_unless_its_format_is_named() {
    assert!(error(b"", &Options::default()).contains("it is empty"));
    for format in Format::ALL {
        let expected = if format == Format::Parquet { "cannot read bad: " } else { "no error" };
        assert!(error(b"", &named(format)).starts_with(expected), "{format}");
    }
}

#[test]
fn a_malformed_line_is_an_error_or_counted() {
    let bytes = [MSR, b"128166372003061630,hm,1,Read,x,1,1\n", MSR].concat();
    let expected = "cannot parse bad, line 2: the offset is not a number: \
                    “128166372003061630,hm,1,Read,x,1,1”";
    assert_eq!(error(&bytes, &named(Format::Msr)), expected);
    let options = Options { skip_bad: true, ..named(Format::Msr) };
    let mut trace = Trace::from_memory("bad", bytes, &options).unwrap();
    let mut events = Vec::new();
    while trace.read(&mut events, 100).unwrap() {}
    assert_eq!(events.len(), 16);
    let skipped = trace.summary().inputs[0].skipped.clone();
    assert_eq!(skipped.all().len(), 1);
    assert_eq!(skipped.count("the offset is not a number"), 1);
    assert_eq!(skipped.all()[0].first.to_string(), "line 2");
}

#[test]
fn a_format_is_detected_in_spite_of_malformed_lines_that_are_to_be_skipped() {
    let lenient = Options { skip_bad: true, ..Options::default() };
    let good: &[u8] = b"2,5\n";
    let bad: &[u8] = b"3,many\n";
    let header: &[u8] = b"time_ns,page\n";
    for lines in [[header, bad, good], [header, good, bad]] {
        let bytes = lines.concat();
        let expected = "cannot detect the format of bad: ";
        assert!(error(&bytes, &Options::default()).starts_with(expected));
        let mut trace = Trace::from_memory("bad", bytes, &lenient).unwrap();
        let mut events = Vec::new();
        while trace.read(&mut events, 100).unwrap() {}
        assert_eq!(events.len(), 1);
        let input = &trace.summary().inputs[0];
        assert_eq!(input.format, Format::Csv);
        assert_eq!(input.skipped.count("the page is not a number"), 1);
    }
    // Most of the lines are malformed.
    let most = [header, good, bad, bad, bad, bad].concat();
    let expected = "it begins as csv does, but line 3: the page is not a number";
    assert!(error(&most, &lenient).contains(expected), "{}", error(&most, &lenient));
}

#[test]
fn a_truncated_last_line_is_skipped_and_a_complete_one_is_read() {
    for (rest, events, skips) in [(&MSR[..MSR.len() - 1], 16, 0), (&MSR[..30], 8, 1)] {
        let bytes = [MSR, rest].concat();
        let mut trace = Trace::from_memory("cut", bytes, &Options::default()).unwrap();
        let mut all = Vec::new();
        while trace.read(&mut all, 100).unwrap() {}
        assert_eq!(all.len(), events);
        let skipped = trace.summary().inputs[0].skipped.clone();
        assert_eq!(skipped.count("the last line is cut off"), skips);
    }
}

#[test]
fn lines_of_megabytes_are_an_error_wherever_they_end() {
    let long = vec![b'1'; 3 << 20];
    for end in [&b"\n"[..], b""] {
        let bytes = [MSR, &long, end].concat();
        let error = error(&bytes, &named(Format::Msr));
        assert!(error.starts_with("cannot parse bad, line 2: the line is longer than 64 KiB"));
        let options = Options { skip_bad: true, ..named(Format::Msr) };
        let bytes = [MSR, &long, b"\n", MSR].concat();
        let mut trace = Trace::from_memory("long", bytes, &options).unwrap();
        let mut events = Vec::new();
        while trace.read(&mut events, 100).unwrap() {}
        assert_eq!(events.len(), 16, "the lines after it are read");
    }
    let exactly = [&b"0,"[..], &vec![b'0'; (64 << 10) - 2], b"\n"].concat();
    let error = error(&exactly, &named(Format::Ariadne));
    assert!(error.contains("the sector is not a number"), "{error}");
}

#[test]
fn the_wrong_format_is_an_error_at_its_first_line() {
    for format in [Format::Spc, Format::Systor, Format::Ariadne, Format::Csv, Format::Mobile] {
        let error = error(MSR, &named(format));
        assert!(error.starts_with("cannot parse bad, line 1: "), "{format}: {error}");
    }
    let error = error(MSR, &named(Format::Blktrace));
    assert_eq!(error, "cannot decode bad: byte 0: this is not a blktrace record of version 7");
}

#[test]
fn requests_of_impossible_size_or_offset_are_rejected() {
    let huge = b"0,0,2000000000,r,0.5\n";
    assert!(error(huge, &named(Format::Spc)).contains("larger than 1 GiB"));
    let beyond = b"0,36893488147419103,4096,r,0.5\n0,0,4096,r,0.6\n";
    let mut trace = Trace::from_memory("beyond", beyond.to_vec(), &Options::default()).unwrap();
    let mut events = Vec::new();
    while trace.read(&mut events, 100).unwrap() {}
    assert_eq!(events.len(), 1);
    assert_eq!(trace.summary().inputs[0].skipped.count("beyond the end of the device"), 1);
}

#[test]
fn control_characters_are_not_echoed() {
    let error = error(b"\x1b[2J,\n", &named(Format::Spc));
    assert!(!error.contains('\x1b'), "{error:?}");
}

#[test]
fn random_bytes_match_no_binary_format() {
    let rubbish: Vec<u8> = (0..4096_u32).map(|n| (n * 7 % 251) as u8).collect();
    let error = error(&rubbish, &Options::default());
    assert!(error.contains("it is not text and matches no known binary format"), "{error}");
}

/// Found by fuzzing: the Parquet decoder takes it for granted that this does not occur.
#[test]
fn a_column_that_begins_before_the_file_is_an_error() {
    let mut table = include_bytes!("../fixtures/duckdb-2.0.parquet").to_vec();
    // A number of Thrift's compact protocol, whose last bit is the sign.
    assert_eq!(table[983], 126);
    table[983] = 127;
    let error = error(&table, &named(Format::Parquet));
    assert!(error.contains("a column begins before the file"), "{error}");
}
