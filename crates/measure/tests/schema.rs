//! `docs/run.schema.json` against records of every shape.
//!
//! Records of this version are validated against two schemas: the published
//! one, which allows fields of later versions, and a closed copy of it, in
//! which every field must be described.

use jsonschema::Validator;
use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use serde_json::{Value, json};
use unjank_host::{Machine, Nanos, Timestamp, Unsupported};
use unjank_measure::record::{Axis, Pooling, Run, Tool};
use unjank_measure::{
    Answer, Bound, Cell, Change, Column, Curve, Direction, Fact, Findings, Mark, Number, Outlier,
    Point, Quantity, RunRecord, Series, Start, Table, Unit, Verdict,
};

fn schema() -> Value {
    serde_json::from_str(include_str!("../../../docs/run.schema.json")).expect("it is JSON")
}

fn published() -> Validator {
    jsonschema::validator_for(&schema()).expect("it is a schema")
}

/// The schema without undescribed fields. The machine stays open, as only a
/// part of it is described.
fn closed() -> Validator {
    fn close(value: &mut Value) {
        match value {
            Value::Object(fields) => {
                let described =
                    fields.contains_key("properties") && fields.contains_key("required");
                if described && fields["type"] == "object" {
                    fields.insert("additionalProperties".to_owned(), json!(false));
                }
                fields.iter_mut().filter(|(name, _)| *name != "host").for_each(|(_, v)| close(v));
            }
            Value::Array(values) => values.iter_mut().for_each(close),
            _ => {}
        }
    }
    let mut schema = schema();
    close(&mut schema);
    jsonschema::validator_for(&schema).expect("it is a schema")
}

fn errors(schema: &Validator, record: &Value) -> Vec<String> {
    let tell = |error: jsonschema::ValidationError| format!("{}: {error}", error.instance_path());
    schema.iter_errors(record).map(tell).collect()
}

fn text() -> impl Strategy<Value = String> {
    "[a-zA-Z0-9 µ/._–-]{1,20}"
}

fn unit() -> impl Strategy<Value = Unit> {
    use Unit::{
        Bytes, BytesPerSecond, Change, Count, Hertz, Joules, Nanoseconds, Pages, PerSecond, Ratio,
        Times, WattHours, Watts,
    };
    prop::sample::select(vec![
        Nanoseconds,
        Count,
        Bytes,
        Pages,
        Ratio,
        Times,
        Change,
        PerSecond,
        BytesPerSecond,
        Hertz,
        WattHours,
        Joules,
        Watts,
    ])
}

fn number() -> impl Strategy<Value = f64> {
    prop_oneof![-1e18..1e18, Just(0.0), -1.0..1.0]
}

fn interval() -> impl Strategy<Value = Option<[f64; 2]>> {
    option::of((number(), 0.0..1e9).prop_map(|(low, width)| [low, low + width]))
}

prop_compose! {
    fn series()(
        name in text(),
        unit in unit(),
        labels in btree_map(text(), text(), 0..3),
        samples in vec(any::<u64>(), 0..40),
        missed in any::<u64>(),
        course in any::<bool>(),
    ) -> Series {
        let start = Timestamp::from_nanos(0);
        let mut series = Series::of(name, unit);
        for (name, value) in &labels {
            series = series.with_label(name, value);
        }
        if course {
            series = series.with_course(start, Nanos(40));
        }
        for (i, sample) in samples.into_iter().enumerate() {
            series.record_at(Timestamp::from_nanos(i as u64), Nanos(sample));
        }
        series.miss(missed);
        series
    }
}

prop_compose! {
    fn fact()(
        name in text(),
        value in number(),
        unit in unit(),
        interval in interval(),
        n in option::of(any::<u64>()),
        better in option::of(prop::sample::select(vec![Direction::Smaller, Direction::Larger])),
        labels in btree_map(text(), text(), 0..3),
    ) -> Fact {
        Fact { name, value, unit, interval, n, better, labels, pooling: Pooling::Median }
    }
}

prop_compose! {
    fn curve()(
        name in text(),
        axes in [(text(), unit()), (text(), unit())],
        labels in btree_map(text(), text(), 0..3),
        points in vec((number(), number(), interval()), 0..5),
    ) -> Curve {
        let [x, y] = axes.map(|(name, unit)| Axis::new(&name, unit));
        let point = |(x, y, interval)| Point { x, y, interval };
        Curve { name, x, y, labels, points: points.into_iter().map(point).collect() }
    }
}

fn cell() -> impl Strategy<Value = Cell> {
    let mark = prop::sample::select(vec![Mark::Won, Mark::Lost, Mark::Best]);
    let number = (
        number(),
        option::of(unit()),
        interval(),
        option::of(0.0..1e9),
        option::of(number()),
        option::of(mark),
    );
    let number = number.prop_map(|(value, unit, interval, deviation, beside, mark)| {
        Cell::Number(Number { value, unit, interval, deviation, beside, mark })
    });
    prop_oneof![number, text().prop_map(Cell::Text), Just(Cell::Empty)]
}

prop_compose! {
    fn table()(
        name in text(),
        title in text(),
        columns in vec((text(), option::of(unit()), option::of(unit()), option::of(any::<u8>())), 3),
        rows in vec(vec(cell(), 3), 0..4),
        notes in vec(text(), 0..2),
    ) -> Table {
        let column = |(name, unit, beside, digits)| Column { name, unit, beside, digits };
        Table { name, title, columns: columns.into_iter().map(column).collect(), rows, notes }
    }
}

prop_compose! {
    fn quantity()(
        name in text(),
        value in number(),
        unit in unit(),
        interval in interval(),
        at_least in option::of(number()),
        n in any::<u64>(),
    ) -> Quantity {
        Quantity { name, value, unit, interval, at_least, n }
    }
}

prop_compose! {
    fn verdict()(
        question in text(),
        subject in text(),
        labels in btree_map(text(), text(), 0..3),
        answer in prop::sample::select(vec![
            Answer::Healthy,
            Answer::Slow,
            Answer::Better,
            Answer::Worse,
            Answer::Same,
            Answer::CannotTell,
            Answer::NotAvailable,
        ]),
        quantities in [option::of(quantity()), option::of(quantity())],
        healthy in option::of((number(), text())),
        minimum_effect in option::of(number()),
        reason in text(),
        next in option::of(text()),
    ) -> Verdict {
        let [measured, effect] = quantities;
        let healthy = healthy.map(|(at_most, source)| Bound { at_most, source });
        Verdict {
            question, subject, labels, answer, measured, healthy, effect, minimum_effect, reason, next,
        }
    }
}

prop_compose! {
    fn findings()(
        series in vec(series(), 0..3),
        curves in vec(curve(), 0..3),
        facts in vec(fact(), 0..4),
        tables in vec(table(), 0..2),
        outliers in vec((text(), btree_map(text(), text(), 0..3), any::<[u64; 2]>(), option::of(0..64_usize), option::of(text())), 0..3),
        verdicts in vec(verdict(), 0..4),
        changes in vec((text(), text(), text(), option::of(text())), 0..3),
        warnings in vec(text(), 0..3),
        unsupported in vec((text(), text()), 0..3),
    ) -> Findings {
        let outlier = |(series, labels, [at, value], cpu, cause): (_, _, [u64; 2], _, _)| {
            Outlier { series, labels, at, value, cpu, cause }
        };
        let change = |(knob, before, during, after)| Change { knob, before, during, after };
        Findings {
            headline: warnings.first().cloned(),
            series: series.into_iter().map(Series::finish).collect(),
            curves,
            facts,
            tables,
            outliers: outliers.into_iter().map(outlier).collect(),
            verdicts,
            changes: changes.into_iter().map(change).collect(),
            warnings,
            unsupported: unsupported
                .into_iter()
                .map(|(what, reason)| Unsupported { what, reason })
                .collect(),
        }
    }
}

prop_compose! {
    fn record()(
        tail in any::<u32>(),
        seconds in 0..4_000_000_000_i64,
        elapsed in any::<u64>(),
        version in text(),
        commit in option::of(text()),
        command in text(),
        labels in vec(text(), 0..3),
        seed in any::<u64>(),
        findings in findings(),
    ) -> RunRecord {
        let date = jiff::Timestamp::from_second(seconds).expect("within the year 2100");
        Start::at(date, Timestamp::from_nanos(0), tail).finish(
            Timestamp::from_nanos(elapsed),
            Run {
                tool: Tool { version, commit },
                command,
                host: Machine::default(),
                settings: [("seed".to_owned(), json!(seed))].into(),
                findings,
                labels,
            },
        )
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_record_is_valid_and_every_field_described(record in record()) {
        let value = serde_json::to_value(&record).unwrap();
        prop_assert_eq!(errors(&published(), &value), Vec::<String>::new());
        prop_assert_eq!(errors(&closed(), &value), Vec::<String>::new());
    }

    #[test]
    fn every_record_is_read_back_strictly(record in record()) {
        let read = RunRecord::import(&record.to_json(), "a test").unwrap();
        prop_assert_eq!(read.findings.series, record.findings.series);
        prop_assert_eq!(read.findings.tables, record.findings.tables);
        prop_assert_eq!(read.id, record.id);
    }
}

/// A record with one of everything.
fn full() -> Value {
    let mut series = Series::new("test/series").with_course(Timestamp::from_nanos(0), Nanos(2_400));
    for i in 0..1_000 {
        series.record_at(Timestamp::from_nanos(i * 2), Nanos(i + 1));
    }
    let quantity = Quantity {
        name: "p99".to_owned(),
        value: 1.0,
        unit: Unit::Nanoseconds,
        interval: Some([0.5, 2.0]),
        at_least: None,
        n: 9,
    };
    let mut findings = Findings::default();
    findings.series.push(series.finish());
    findings.facts.push(
        Fact::new("test/fact", 1.5, Unit::Ratio)
            .with_interval([1.0, 2.0], 9)
            .with_better(Direction::Larger)
            .with_label("cpu", "0"),
    );
    findings.curves.push(Curve {
        name: "test/curve".to_owned(),
        x: Axis::new("time", Unit::Nanoseconds),
        y: Axis::new("speed", Unit::Ratio),
        labels: [].into(),
        points: vec![Point { x: 0.0, y: 1.0, interval: Some([0.9, 1.1]) }],
    });
    findings.tables.push(
        Table::new("test/table", "A test", [Column::text("what"), Column::of("x", Unit::Times)])
            .with_rows([["one".into(), Number::new(1.5).marked(Some(Mark::Best)).into()]]),
    );
    findings.verdicts.push(Verdict {
        question: "Is it?".to_owned(),
        subject: "jitter".to_owned(),
        labels: [("against".to_owned(), "boost".to_owned())].into(),
        answer: Answer::Healthy,
        measured: Some(quantity.clone()),
        healthy: Some(Bound { at_most: 3.0, source: "a test".to_owned() }),
        effect: Some(quantity),
        minimum_effect: Some(1.0),
        reason: "it is".to_owned(),
        next: None,
    });
    findings.not_supported("swap", "no swap device");
    findings.warn("the governor changed");
    let run = Run {
        tool: Tool { version: "0.1.0".to_owned(), commit: None },
        command: "test".to_owned(),
        host: Machine::default(),
        settings: [].into(),
        findings,
        labels: vec!["modelled".to_owned()],
    };
    serde_json::to_value(Start::now().finish(Timestamp::now(), run)).expect("a record is JSON")
}

#[test]
fn damage_is_found_where_it_is() {
    let schema = published();
    assert_eq!(errors(&schema, &full()), Vec::<String>::new());
    let cases = [
        ("/schema", json!("unjank.run/3")),
        ("/id", json!("last")),
        ("/id", json!("../../etc")),
        ("/started_at", json!("2026-11-21 10:15")),
        ("/elapsed", json!(-1)),
        ("/tool", json!("0.1.0")),
        ("/command", json!("")),
        ("/series/0/unit", json!("seconds")),
        ("/series/0/n", json!(1.5)),
        ("/series/0/summary", json!(null)),
        ("/series/0/summary/intervals", json!([null, null])),
        ("/series/0/histogram", json!("not base64")),
        ("/series/0/slices/0", json!({"at": 0, "n": 1})),
        ("/series/0/labels", json!({"cpu": 0})),
        ("/curves/0/points/0", json!([0, 1])),
        ("/facts/0/value", json!(null)),
        ("/facts/0/interval", json!([1.0])),
        ("/facts/0/better", json!("up")),
        ("/tables/0/rows/0/0", json!(1.5)),
        ("/tables/0/rows/0/1", json!({"value": 1.5, "mark": "good"})),
        ("/tables/0/columns/1/unit", json!("x")),
        ("/verdicts/0/answer", json!("maybe")),
        ("/verdicts/0/measured/n", json!("9")),
        ("/verdicts/0/healthy", json!({"at_least": 3})),
        ("/unsupported/0", json!("swap")),
        ("/labels", json!("modelled")),
        ("/host/frequency", json!({})),
        ("/host/kernel/release", json!(6.18)),
    ];
    for (pointer, value) in cases {
        let mut record = full();
        *record.pointer_mut(pointer).unwrap() = value;
        let errors = errors(&schema, &record);
        let near = |error: &String| {
            let place = error.split(':').next().unwrap_or_default();
            place.starts_with('/') && (pointer.starts_with(place) || place.starts_with(pointer))
        };
        assert!(errors.iter().any(near), "{pointer}: {errors:?}");
    }
}

#[test]
fn a_missing_field_is_an_error_and_a_new_one_is_not() {
    let schema = published();
    for (parent, field) in [
        ("", "verdicts"),
        ("/series/0", "histogram"),
        ("/series/0/summary", "p99.9"),
        ("/facts/0", "interval"),
        ("/verdicts/0", "minimum_effect"),
        ("/host", "kernel"),
    ] {
        let mut record = full();
        record.pointer_mut(parent).unwrap().as_object_mut().unwrap().remove(field).unwrap();
        assert!(!schema.is_valid(&record), "{parent} without {field}");
    }
    let mut record = full();
    for parent in ["", "/series/0", "/facts/0", "/verdicts/0", "/host", "/host/cpu", "/tool"] {
        let parent = record.pointer_mut(parent).unwrap().as_object_mut().unwrap();
        parent.insert("of_a_later_version".to_owned(), json!(1));
    }
    assert_eq!(errors(&schema, &record), Vec::<String>::new());
    assert!(RunRecord::import(&record.to_string(), "a test").is_ok());
    assert!(!errors(&closed(), &record).is_empty());
}
