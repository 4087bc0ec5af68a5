//! Reads rt-app's profiles. Settings that do not affect which task runs when are
//! ignored.

use std::fmt;

use serde::Deserialize;
use serde::de::{self, MapAccess, SeqAccess, Visitor};
use unjank_host::Nanos;

use super::load_profile::{Imported, LEAD, MOST_STEPS, Profile, TAIL};
use super::task::{Begins, Step, Task};

/// JSON that keeps the order of an object's keys, and repeated keys: rt-app
/// executes its events in that order.
#[derive(Debug, Clone, PartialEq)]
enum Json {
    Other,
    Number(f64),
    Text(String),
    List(Vec<Json>),
    Object(Vec<(String, Json)>),
}

/// Reads a profile; `name` becomes its name.
pub(super) fn read(text: &str, name: &str) -> Result<Imported, String> {
    let json: Json =
        serde_json::from_str(&without_comments(text)).map_err(|error| error.to_string())?;
    let Json::Object(top) = json else { return Err("the file is not a JSON object".to_owned()) };
    let mut warnings = Warnings::default();
    let mut duration = None;
    let mut tasks = Vec::new();
    for (key, value) in &top {
        match (key.as_str(), value) {
            ("global", Json::Object(entries)) => {
                for (key, value) in entries {
                    match (key.as_str(), value) {
                        ("duration", Json::Number(seconds)) if *seconds > 0.0 => {
                            duration = Some(Nanos((seconds * 1e9) as u64));
                        }
                        // Settings of measuring and logging do not affect the load.
                        _ => {}
                    }
                }
            }
            ("tasks", Json::Object(entries)) => {
                for (name, value) in entries {
                    let Json::Object(entries) = value else {
                        return Err(format!("task {name:?} is not an object"));
                    };
                    tasks.push(task(name, entries, &mut warnings)?);
                }
            }
            (other, _) => warnings.add(format!("{other:?} of the file is ignored")),
        }
    }
    let Some(profile) = complete(tasks, duration, name, &mut warnings) else {
        return Err("it has no tasks".to_owned());
    };
    Ok(Imported { profile, warnings: warnings.0 })
}

/// The launch is over when the tasks that end have ended. If none ends,
/// `global.duration` is its length.
fn complete(
    mut tasks: Vec<Task>,
    duration: Option<Nanos>,
    name: &str,
    warnings: &mut Warnings,
) -> Option<Profile> {
    if tasks.is_empty() {
        return None;
    }
    if tasks.iter().all(|task| task.times.is_none()) {
        let length = duration.unwrap_or(Nanos::from_millis(1_000));
        warnings.add(format!("no task ends: the launch counts as over after {length}"));
        tasks.push(Task {
            name: "end".to_owned(),
            threads: 1,
            begins: Begins::AtLaunch,
            delay: Nanos::ZERO,
            times: Some(1),
            steps: vec![Step::Sleep(length)],
        });
    }
    Some(Profile { name: name.to_owned(), lead: LEAD, tail: TAIL, tasks })
}

fn task(name: &str, entries: &[(String, Json)], warnings: &mut Warnings) -> Result<Task, String> {
    let mut task = Task {
        name: name.to_owned(),
        threads: 1,
        begins: Begins::AtLaunch,
        delay: Nanos::ZERO,
        times: None,
        steps: Vec::new(),
    };
    for (key, value) in entries {
        match (key.as_str(), value) {
            ("instance", Json::Number(n)) => task.threads = *n as usize,
            ("delay", Json::Number(micros)) => task.delay = micros_of(*micros)?,
            ("loop", Json::Number(n)) => task.times = (*n >= 0.0).then_some(*n as u32),
            ("phases", Json::Object(phases)) => {
                for (phase, value) in phases {
                    let Json::Object(entries) = value else {
                        return Err(format!("phase {phase:?} of task {name:?} is not an object"));
                    };
                    repeated(name, entries, &mut task.steps, warnings)?;
                }
            }
            (event, value) => step(name, event, value, &mut task.steps, warnings)?,
        }
    }
    Ok(task)
}

/// The steps of a phase, repeated `loop` times.
fn repeated(
    task: &str,
    entries: &[(String, Json)],
    steps: &mut Vec<Step>,
    warnings: &mut Warnings,
) -> Result<(), String> {
    let mut times = 1.0;
    let mut once = Vec::new();
    for (key, value) in entries {
        match (key.as_str(), value) {
            ("loop", Json::Number(n)) => times = *n,
            (event, value) => step(task, event, value, &mut once, warnings)?,
        }
    }
    if times < 0.0 {
        return Err(format!("task {task:?}: a phase loops for ever"));
    }
    if once.len() as f64 * times > MOST_STEPS as f64 {
        return Err(format!("task {task:?}: more than {MOST_STEPS} steps"));
    }
    for _ in 0..times as usize {
        steps.extend_from_slice(&once);
    }
    Ok(())
}

/// One event. rt-app identifies events by the prefix of their keys: `run1`, `run_b`.
fn step(
    task: &str,
    key: &str,
    value: &Json,
    steps: &mut Vec<Step>,
    warnings: &mut Warnings,
) -> Result<(), String> {
    let step = match value {
        Json::Number(micros) if key.starts_with("runtime") => Step::Runtime(micros_of(*micros)?),
        Json::Number(micros) if key.starts_with("run") => Step::Run(micros_of(*micros)?),
        Json::Number(micros) if key.starts_with("sleep") => Step::Sleep(micros_of(*micros)?),
        Json::Object(entries) if key.starts_with("timer") => {
            let find = |name: &str| entries.iter().find(|(key, _)| key == name).map(|(_, v)| v);
            let Some(Json::Number(period)) = find("period") else {
                return Err(format!("task {task:?}: a timer lacks its period"));
            };
            if find("ref") != Some(&Json::Text("unique".to_owned())) {
                warnings.add(format!("task {task:?}: its timer counts as unique to the task"));
            }
            Step::Timer(micros_of(*period)?)
        }
        _ => {
            warnings.add(format!("task {task:?}: {key:?} is ignored"));
            return Ok(());
        }
    };
    steps.push(step);
    Ok(())
}

fn micros_of(micros: f64) -> Result<Nanos, String> {
    if (0.0..=3.6e9).contains(&micros) {
        Ok(Nanos((micros * 1e3) as u64))
    } else {
        Err(format!("{micros} µs is not between 0 and an hour"))
    }
}

/// Each warning once.
#[derive(Default)]
struct Warnings(Vec<String>);

impl Warnings {
    fn add(&mut self, warning: String) {
        if !self.0.contains(&warning) {
            self.0.push(warning);
        }
    }
}

/// Removes comments, which rt-app allows; line numbers stay the same.
fn without_comments(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let mut quoted = false;
    while let Some(next) = rest.chars().next() {
        if quoted && next == '\\' {
            let escaped = rest.chars().take(2).map(char::len_utf8).sum();
            out.push_str(&rest[..escaped]);
            rest = &rest[escaped..];
            continue;
        }
        if !quoted && rest.starts_with("/*") {
            let end = rest.find("*/").map_or(rest.len(), |at| at + 2);
            out.extend(rest[..end].chars().filter(|c| *c == '\n'));
            rest = &rest[end..];
            continue;
        }
        if !quoted && rest.starts_with("//") {
            rest = &rest[rest.find('\n').unwrap_or(rest.len())..];
            continue;
        }
        quoted ^= next == '"';
        out.push(next);
        rest = &rest[next.len_utf8()..];
    }
    out
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: de::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(JsonVisitor)
    }
}

struct JsonVisitor;

impl<'de> Visitor<'de> for JsonVisitor {
    type Value = Json;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_bool<E>(self, _: bool) -> Result<Json, E> {
        Ok(Json::Other)
    }

    fn visit_unit<E>(self) -> Result<Json, E> {
        Ok(Json::Other)
    }

    fn visit_i64<E>(self, value: i64) -> Result<Json, E> {
        Ok(Json::Number(value as f64))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Json, E> {
        Ok(Json::Number(value as f64))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Json, E> {
        Ok(Json::Number(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Json, E> {
        Ok(Json::Text(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Json, A::Error> {
        let mut found = Vec::new();
        while let Some(value) = list.next_element()? {
            found.push(value);
        }
        Ok(Json::List(found))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Json, A::Error> {
        let mut found = Vec::new();
        while let Some(entry) = object.next_entry()? {
            found.push(entry);
        }
        Ok(Json::Object(found))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = r#"{
        /* An app, and what runs beside it. */
        "global": { "duration": 2, "calibration": "CPU0" },
        "resources": { "m": { "type": "mutex" } },
        "tasks": {
            "app": {
                "instance": 2, "loop": 1, "cpus": [0, 1], // two of them
                "phases": {
                    "p1": { "loop": 2, "run": 20000, "sleep": 5000 },
                    "p2": { "runtime": 1000, "lock": "m", "run_b": 7000 }
                }
            },
            "beat": { "delay": 500, "run": 100, "sleep": 1, "run": 200,
                      "timer": { "ref": "unique", "period": 16000 } }
        }
    }"#;

    fn imported(text: &str) -> Imported {
        Profile::from_rt_app(text, "r.json").unwrap()
    }

    #[test]
    fn tasks_phases_and_events_keep_their_order() {
        let Imported { profile, warnings } = imported(FILE);
        let [run, sleep] = [Step::Run(Nanos(20_000_000)), Step::Sleep(Nanos(5_000_000))];
        let app = &profile.tasks[0];
        assert_eq!((app.threads, app.times), (2, Some(1)));
        let last = [Step::Runtime(Nanos(1_000_000)), Step::Run(Nanos(7_000_000))];
        assert_eq!(app.steps, [run, sleep, run, sleep, last[0], last[1]]);
        let beat = &profile.tasks[1];
        assert_eq!((beat.delay, beat.times), (Nanos(500_000), None));
        assert_eq!(
            beat.steps,
            [
                Step::Run(Nanos(100_000)),
                Step::Sleep(Nanos(1_000)),
                Step::Run(Nanos(200_000)),
                Step::Timer(Nanos(16_000_000)),
            ]
        );
        assert_eq!(
            warnings,
            [
                "\"resources\" of the file is ignored",
                "task \"app\": \"cpus\" is ignored",
                "task \"app\": \"lock\" is ignored",
            ]
        );
    }

    #[test]
    fn a_file_in_which_nothing_ends_lasts_for_its_duration() {
        let endless = r#"{"global": {"duration": 3}, "tasks": {"t": {"run": 10, "sleep": 10}}}"#;
        let Imported { profile, warnings } = imported(endless);
        assert_eq!(profile.tasks[1].steps, [Step::Sleep(Nanos(3_000_000_000))]);
        assert_eq!(warnings, ["no task ends: the launch counts as over after 3.00 s"]);
    }

    #[test]
    fn mistakes_are_named() {
        let refusal = |text: &str| Profile::from_rt_app(text, "r.json").unwrap_err().to_string();
        assert!(refusal("{\n\n\"tasks\": {]").contains("line 3"));
        assert_eq!(refusal("{}"), "profile r.json: it has no tasks");
        assert!(refusal(r#"{"tasks": {"t": 5}}"#).contains("\"t\" is not an object"));
        assert!(refusal(r#"{"tasks": {"t": {"run": -5}}}"#).contains("-5 µs"));
        assert!(refusal(r#"{"tasks": {"t": {"timer": {}}}}"#).contains("lacks its period"));
        let many = r#"{"tasks": {"t": {"phases": {"p": {"loop": 1e9, "run": 1}}}}}"#;
        assert!(refusal(many).contains("more than 100000 steps"));
        assert!(
            refusal(r#"{"tasks": {"t": {"phases": {"p": {"loop": -1, "run": 1}}}}}"#)
                .contains("loops for ever")
        );
    }

    #[test]
    fn comments_go_and_lines_stay() {
        assert_eq!(without_comments("a/*x\ny*/b//c\nd"), "a\nb\nd");
        assert_eq!(without_comments(r#""/*\"//" /*"#), r#""/*\"//" "#);
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in ".{0,200}") {
            let _ = Profile::from_rt_app(&text, "r.json");
            let _ = Profile::from_toml(&text, "r.toml");
        }
    }
}
