//! The beginning of a line: thread, CPU, flags, time, event.
//!
//! ```text
//!           <idle>-0       [001] d.h2.   123.456789: sched_waking: comm=…
//!             bash-4711  ( 4711) [000] ...1.   123.456789: sys_enter: NR 0 (…
//!   <idle>-0       1d.h2. 123.456789123: sched_waking:         comm=…
//!   <idle>-0       1-0x9 123.456789: irq_handler_entry:     irq=36 …
//! ```
//!
//! The first two lines are the kernel's. The others are printed by
//! `trace-cmd report -l`, without and with `-R`.

use super::super::super::event::Context;
use super::super::limits::HIGHEST_CPU;
use crate::clock::Timestamp;
use crate::sched::ThreadId;
use crate::tracefs::moment::parse_seconds;

/// A line of a trace.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line<'a> {
    Event(Begin<'a>),
    /// An event without a column of flags.
    WithoutFlags,
    /// A line of `perf script`: the thread is `bash  4711` instead of `bash-4711`.
    OfPerfScript,
    /// Events that the kernel lost.
    Lost {
        cpu: usize,
        events: u64,
    },
    /// The next event of this CPU is the oldest one in its buffer. Other CPUs have older events;
    /// this CPU's were overwritten.
    Started {
        cpu: usize,
    },
    /// From the header of the file `trace`: the number of overwritten events.
    Overwritten {
        events: u64,
    },
    /// Another line of a header.
    Head,
    /// Anything else.
    Other,
}

/// The beginning of an event's line, and the rest of it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Begin<'a> {
    pub(super) current: ThreadId,
    /// The name of the thread; `<...>` if the kernel did not know it.
    pub(super) name: &'a str,
    pub(super) cpu: usize,
    pub(super) context: Context,
    pub(super) at: Timestamp,
    pub(super) event: &'a str,
    pub(super) what: &'a str,
}

/// A word before the time.
enum Column {
    Flags(Context),
    CpuAndFlags(usize, Context),
    Cpu(usize),
}

pub(super) fn parse(line: &str) -> Line<'_> {
    if let Some(head) = head(line).or_else(|| lost(line)) {
        return head;
    }
    // A thread's name may contain any text, also a time. The time of the event is
    // the first one after a column of flags or a CPU.
    let mut before: [Option<&str>; 2] = [None, None];
    let mut rest = line;
    loop {
        let Some((word, behind)) = next_word(rest) else { return Line::Other };
        rest = behind;
        if let Some(at) = time(word)
            && let Some((column, cpu_word)) = column(before)
        {
            return match column {
                Some((cpu, context)) => event(line, cpu_word, cpu, context, at, behind),
                None => without_flags(line, cpu_word),
            };
        }
        before = [before[1], Some(word)];
    }
}

/// The CPU and the context before a time, and the word that names the CPU. The pair
/// is `None` if the line has no flags.
fn column(before: [Option<&str>; 2]) -> Option<(Option<(usize, Context)>, &str)> {
    let last = before[1]?;
    match of_word(last)? {
        Column::CpuAndFlags(cpu, context) => Some((Some((cpu, context)), last)),
        Column::Cpu(_) => Some((None, last)),
        Column::Flags(context) => match of_word(before[0]?)? {
            Column::Cpu(cpu) => Some((Some((cpu, context)), before[0]?)),
            Column::Flags(_) | Column::CpuAndFlags(..) => None,
        },
    }
}

fn of_word(word: &str) -> Option<Column> {
    if let Some(cpu) = word.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        return Some(Column::Cpu(cpu_number(cpu)?));
    }
    if let Some(context) = flags(word) {
        return Some(Column::Flags(context));
    }
    let digits = word.bytes().take_while(u8::is_ascii_digit).count();
    let (cpu, rest) = word.split_at(digits);
    let context = match rest.strip_prefix("-0x") {
        Some(bits) => Context::of_flags(i64::from(u8::from_str_radix(bits, 16).ok()?)),
        None => flags(rest)?,
    };
    Some(Column::CpuAndFlags(cpu_number(cpu)?, context))
}

fn cpu_number(digits: &str) -> Option<usize> {
    digits.parse().ok().filter(|cpu| *cpu <= HIGHEST_CPU)
}

/// The flags: irqs-off, need-resched, hardirq/softirq, preempt-depth, and
/// migrate-disable of newer kernels (`trace_print_lat_fmt` of
/// `kernel/trace/trace_output.c`).
fn flags(word: &str) -> Option<Context> {
    let [irqs_off, resched, interrupt, depth, others @ ..] = word.as_bytes() else { return None };
    let is_depth = |byte: &u8| matches!(byte, b'.' | b'+') || byte.is_ascii_hexdigit();
    let plausible = b"dDbX.".contains(irqs_off)
        && b"NnpbBlLT.".contains(resched)
        && is_depth(depth)
        && others.len() <= 2
        && others.iter().all(is_depth);
    match interrupt {
        _ if !plausible => None,
        b'h' | b'H' | b'z' | b'Z' => Some(Context::Irq),
        b's' => Some(Context::Softirq),
        b'.' => Some(Context::Thread),
        _ => None,
    }
}

/// `123.456789:` or `123.456789123:`.
fn time(word: &str) -> Option<Timestamp> {
    parse_seconds(word.strip_suffix(':')?)
}

/// A line without flags, by what is before the word that names the CPU.
fn without_flags<'a>(line: &'a str, cpu_word: &'a str) -> Line<'a> {
    let thread = before(line, cpu_word).split_whitespace().next_back().unwrap_or_default();
    // With its process: 4710/4711.
    let is_number = |byte: u8| byte.is_ascii_digit() || byte == b'/';
    if !thread.is_empty() && thread.bytes().all(is_number) {
        Line::OfPerfScript
    } else {
        Line::WithoutFlags
    }
}

/// What is in a line before a word of it.
fn before<'a>(line: &'a str, word: &str) -> &'a str {
    // `word` is a slice of `line`, so this is its offset in it.
    line.get(..word.as_ptr().addr() - line.as_ptr().addr()).unwrap_or_default()
}

fn event<'a>(
    line: &'a str,
    cpu_word: &'a str,
    cpu: usize,
    context: Context,
    at: Timestamp,
    behind: &'a str,
) -> Line<'a> {
    let Some((name, current)) = current(before(line, cpu_word)) else { return Line::Other };
    let Some((event, what)) = behind.trim_start().split_once(':') else { return Line::Other };
    Line::Event(Begin {
        current,
        name,
        cpu,
        context,
        at,
        event,
        what: what.trim_end().trim_start_matches(' '),
    })
}

/// The name and the thread of `comm-4711` or `comm-4711 ( 4710)`.
fn current(before: &str) -> Option<(&str, ThreadId)> {
    let mut before = before.trim_end();
    if let Some((rest, process)) = before.strip_suffix(')').and_then(|rest| rest.rsplit_once('('))
        && process.trim().bytes().all(|byte| byte.is_ascii_digit() || byte == b'-')
    {
        before = rest.trim_end();
    }
    let (name, number) = before.rsplit_once('-')?;
    Some((name.trim_start(), ThreadId(number.parse().ok()?)))
}

/// Lines of the file `trace` that are no events (`test_cpu_buff_start`,
/// `print_event_info` of `kernel/trace/trace.c`), and the head of `trace-cmd report`.
fn head(line: &str) -> Option<Line<'_>> {
    if line.is_empty() || line.starts_with("cpus=") {
        return Some(Line::Head);
    }
    let comment = line.strip_prefix('#')?.trim_matches(['#', ' ']);
    let started =
        comment.strip_prefix("CPU ").and_then(|rest| rest.strip_suffix(" buffer started"));
    if let Some(cpu) = started.and_then(cpu_number) {
        return Some(Line::Started { cpu });
    }
    let entries = comment.strip_prefix("entries-in-buffer/entries-written:");
    let (kept, written) = entries
        .and_then(|rest| rest.split_whitespace().next())
        .and_then(|word| word.split_once('/'))
        .and_then(|(kept, written)| Some((kept.parse().ok()?, written.parse().ok()?)))
        .unwrap_or((0_u64, 0_u64));
    match written.saturating_sub(kept) {
        0 => Some(Line::Head),
        events => Some(Line::Overwritten { events }),
    }
}

/// `CPU:1 [LOST 5 EVENTS]` of the kernel, `CPU:1 [5 EVENTS DROPPED]` of
/// trace-cmd.
fn lost(line: &str) -> Option<Line<'_>> {
    let (cpu, what) = line.trim_start().strip_prefix("CPU:")?.split_once(" [")?;
    let cpu = cpu_number(cpu)?;
    // An event of a thread with such a name does not end with the bracket.
    let what = what.trim_end().strip_suffix(']')?;
    if what == "EVENTS DROPPED" {
        return Some(Line::Lost { cpu, events: 1 });
    }
    let lost = what.strip_prefix("LOST ").and_then(|rest| rest.strip_suffix(" EVENTS"));
    let events = lost.or(what.strip_suffix(" EVENTS DROPPED"))?.parse().ok()?;
    Some(Line::Lost { cpu, events })
}

/// The next word, and what follows it.
fn next_word(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_start();
    let end = text.find(char::is_whitespace).unwrap_or(text.len());
    (end > 0).then(|| text.split_at(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn begin(line: &str) -> Begin<'_> {
        match parse(line) {
            Line::Event(begin) => begin,
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn the_forms_of_the_kernel_and_of_trace_cmd_are_read() {
        let at = Timestamp::from_nanos(123_456_789_000);
        for (line, context, cpu, (name, current)) in [
            (
                "          <idle>-0       [001] d.h2.   123.456789: sched_waking: comm=a b",
                Context::Irq,
                1,
                ("<idle>", 0),
            ),
            (
                " my - [0] prog-4711  ( 4710) [000] ..s1   123.456789: sched_waking: comm=a b",
                Context::Softirq,
                0,
                ("my - [0] prog", 4711),
            ),
            (
                "b-7 (-----) [000] ....  123.456789: sched_waking: comm=a b",
                Context::Thread,
                0,
                ("b", 7),
            ),
            (
                "  <...>-5    12d.Zf. 123.456789: sched_waking:   comm=a b",
                Context::Irq,
                12,
                ("<...>", 5),
            ),
            (
                "  <...>-5    1-0x34 123.456789: sched_waking:   comm=a b",
                Context::Softirq,
                1,
                ("<...>", 5),
            ),
        ] {
            let (event, what) = ("sched_waking", "comm=a b");
            let current = ThreadId(current);
            let expected = Begin { current, name, cpu, context, at, event, what };
            assert_eq!(begin(line), expected, "{line}");
        }
        let exact = begin("a-5  1d.... 0.000000789: x: y");
        assert_eq!(exact.at, Timestamp::from_nanos(789));
    }

    #[test]
    fn text_without_flags_is_recognised() {
        let line = "   <...>-19138 [001] 38735.805942: sched_process_exec: pid=19138";
        assert_eq!(parse(line), Line::WithoutFlags);
        for thread in ["bash  4711", "my prog  4710/4711"] {
            let line = format!("{thread} [001] 38735.805942: sched:sched_switch: prev_comm=bash");
            assert_eq!(parse(&line), Line::OfPerfScript, "{line}");
        }
    }

    #[test]
    fn lost_events_name_their_cpu() {
        assert_eq!(parse("CPU:1 [LOST 5 EVENTS]"), Line::Lost { cpu: 1, events: 5 });
        assert_eq!(parse("CPU:3 [7 EVENTS DROPPED]"), Line::Lost { cpu: 3, events: 7 });
        assert_eq!(parse("CPU:0 [EVENTS DROPPED]"), Line::Lost { cpu: 0, events: 1 });
        let named = begin("CPU:1 [2 EVENTS-77 [000] d..2. 1.000000: sched_switch: x");
        assert_eq!(named.at, Timestamp::from_nanos(1_000_000_000), "a thread of that name");
    }

    #[test]
    fn the_head_of_a_trace_tells_what_was_overwritten() {
        let started = "##### CPU 12 buffer started ####";
        assert_eq!(parse(started), Line::Started { cpu: 12 });
        let entries = "# entries-in-buffer/entries-written: 205/7000   #P:4";
        assert_eq!(parse(entries), Line::Overwritten { events: 6_795 });
        for line in [&entries.replace("7000", "205"), "", "# tracer: nop", "cpus=2", "#"] {
            assert_eq!(parse(line), Line::Head, "{line}");
        }
    }

    #[test]
    fn other_lines_are_not_events() {
        for line in ["hello", "a-5 [001] d.h2. soon: x: y", "a [001] d.h2. 1.000000: x: y"] {
            assert_eq!(parse(line), Line::Other, "{line}");
        }
        let forged = "0.000000: x-5 [000] d.... 1.000000: irq: x";
        assert_eq!(begin(forged).at, Timestamp::from_nanos(1_000_000_000), "a thread's name");
    }

    proptest::proptest! {
        #[test]
        fn any_line_is_read(line in "( |a-[0-9]{1,3}|\\[00[0-9]\\]|d\\.h1\\.|[0-9]\\.[0-9]{6}:|sched_waking:|.){0,30}") {
            let _read = parse(&line);
        }
    }
}
