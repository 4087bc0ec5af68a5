//! Files that are no good: what is said of them.

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
fn a_file_of_no_known_format_is_told_in_one_sentence() {
    let message = |bytes: &[u8]| error(bytes, &Options::default());
    assert_eq!(
        message(b"once upon a time\nthere was a page\n"),
        "cannot tell the format of bad: it begins with “once upon a time”, which is in none of the \
         formats that are known; --format names the format"
    );
    // What is wrong with the one that it begins as.
    let broken = [MSR, MSR, b"128166372003061630,hm,1,Read,x,1,1\n"].concat();
    assert_eq!(
        message(&broken),
        "cannot tell the format of bad: it begins as msr does, but line 3: the offset is no number: \
         “128166372003061630,hm,1,Read,x,1,1”; --format names the format"
    );
    assert!(message(b"BZh91AY&SY").contains("it is packed with bzip2, which is not unpacked here"));
}

#[test]
fn lines_of_numbers_are_not_guessed_to_be_anything() {
    for (text, columns) in [
        ("0,100,4096\n1,101,4096\n2,102,4096\n", "time,page,size"),
        ("10123,16\n10123,8\n", "time,page; --format ariadne reads them"),
        ("10123 53210 16\n", "time,page,size"),
        ("17\n18\n", "--columns page"),
    ] {
        let error = error(text.as_bytes(), &Options::default());
        assert!(error.contains("no line says what the numbers are: --columns does"), "{error}");
        assert!(error.contains(columns), "{error}");
    }
    let columns = Some("page".parse().unwrap());
    let both = Options { columns, ..named(Format::Msr) };
    assert!(
        error(MSR, &both).contains("columns are named of comma-separated values, and not of msr")
    );
}

#[test]
fn an_empty_file_is_told_apart_from_an_empty_trace() {
    assert!(error(b"", &Options::default()).contains("it is empty"));
    for format in Format::ALL {
        let expected = if format == Format::Parquet { "cannot read bad: " } else { "no error" };
        assert!(error(b"", &named(format)).starts_with(expected), "{format}");
    }
}

#[test]
fn a_bad_line_is_named_and_can_be_counted_instead() {
    let bytes = [MSR, b"128166372003061630,hm,1,Read,x,1,1\n", MSR].concat();
    let expected =
        "cannot parse bad, line 2: the offset is no number: “128166372003061630,hm,1,Read,x,1,1”";
    assert_eq!(error(&bytes, &named(Format::Msr)), expected);
    let options = Options { skip_bad: true, ..named(Format::Msr) };
    let mut trace = Trace::from_memory("bad", bytes, &options).unwrap();
    let mut events = Vec::new();
    while trace.read(&mut events, 100).unwrap() {}
    assert_eq!(events.len(), 16);
    let skipped = trace.summary().inputs[0].skipped.clone();
    assert_eq!(skipped.all().len(), 1);
    assert_eq!(skipped.count("the offset is no number"), 1);
    assert_eq!(skipped.all()[0].first.to_string(), "line 2");
}

#[test]
fn a_last_line_that_is_cut_off_is_counted_but_a_whole_one_counts() {
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
        assert_eq!(events.len(), 16, "what follows is read");
    }
    let exactly = [&b"0,"[..], &vec![b'0'; (64 << 10) - 2], b"\n"].concat();
    let error = error(&exactly, &named(Format::Ariadne));
    assert!(error.contains("the sector is no number"), "{error}");
}

#[test]
fn the_wrong_format_is_an_error_at_its_first_line() {
    for format in [Format::Spc, Format::Systor, Format::Ariadne, Format::Csv, Format::Mobile] {
        let error = error(MSR, &named(format));
        assert!(error.starts_with("cannot parse bad, line 1: "), "{format}: {error}");
    }
    let error = error(MSR, &named(Format::Blktrace));
    assert_eq!(error, "cannot decode bad: byte 0: there is no record of blktrace, version 7");
}

#[test]
fn a_request_that_no_device_makes_is_an_error() {
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
fn bytes_that_steer_a_terminal_are_not_repeated() {
    let error = error(b"\x1b[2J,\n", &named(Format::Spc));
    assert!(!error.contains('\x1b'), "{error:?}");
}

#[test]
fn binary_rubbish_is_none_of_the_binary_formats() {
    let rubbish: Vec<u8> = (0..4096_u32).map(|n| (n * 7 % 251) as u8).collect();
    let error = error(&rubbish, &Options::default());
    assert!(error.contains("it is no text, and in none of the binary formats"), "{error}");
}

/// Found by fuzzing: the crate that decodes Parquet takes it for granted that this cannot be.
#[test]
fn a_column_that_begins_before_the_file_is_damage() {
    let mut table = include_bytes!("../fixtures/duckdb-2.0.parquet").to_vec();
    // A number of Thrift's compact protocol, whose last bit is the sign.
    assert_eq!(table[983], 126);
    table[983] = 127;
    let error = error(&table, &named(Format::Parquet));
    assert!(error.contains("a column begins before the file"), "{error}");
}
