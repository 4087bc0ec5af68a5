//! A critical path over time: a lane for each thread, and below them the CPUs,
//! the clock and the block devices.
//!
//! A bar of the full height had a CPU; a low one waited. So the two can be
//! distinguished without colours.

use maud::{Markup, html};
use unjank_measure::Unit;

use crate::chart::Chart;
use crate::chart::path::number;
use crate::chart::plot::{Axis, CHARACTER, Paper, Plot, axes, fitted};
use crate::chart::scale::{Domain, Scale};
use crate::timeline::{Activity, Lane, Piece, Timeline, lanes};
use crate::words;

/// The most lanes of threads.
const LANES: usize = 24;
/// The most CPUs, and block devices, with lanes of their own.
const OTHERS: usize = 8;

/// A lane of a thread, and the bar in it.
const ROW: f64 = 22.0;
const BAR: f64 = 16.0;
/// The height of a bar that waits.
const LOW: f64 = 9.0;
/// A lane of a CPU or a device.
const THIN: f64 = 15.0;
const THIN_BAR: f64 = 9.0;
const THIN_LOW: f64 = 5.0;
const CLOCK: f64 = 34.0;
/// The space above CPUs, clock and devices.
const SPACE: f64 = 9.0;
/// The height of names above lanes, on narrow paper.
const NAME: f64 = 15.0;
/// Height of the axis texts.
const AXIS: f64 = 24.0;
/// The narrowest bar.
const THINNEST: f64 = 1.5;

/// A part of a critical path.
#[derive(Debug)]
pub(crate) struct Chronicle {
    title: String,
    timeline: Timeline,
    window: [f64; 2],
    lanes: Vec<Lane>,
    cpus: Vec<u32>,
    devices: Vec<String>,
}

impl Chronicle {
    /// The path between two moments; `None` if it has no pieces.
    pub(crate) fn of(title: String, timeline: &Timeline, window: [f64; 2]) -> Option<Self> {
        let timeline = timeline.between(window[0], window[1]);
        let lanes = lanes(&timeline.pieces, LANES);
        let mut cpus: Vec<u32> = timeline.pieces.iter().filter_map(|piece| piece.cpu).collect();
        cpus.sort_unstable();
        cpus.dedup();
        let mut devices: Vec<String> =
            timeline.requests.iter().map(|request| request.device.clone()).collect();
        devices.sort_unstable();
        devices.dedup();
        devices.truncate(OTHERS);
        let drawn = !timeline.pieces.is_empty() && window[0] < window[1];
        drawn.then_some(Self { title, timeline, window, lanes, cpus, devices })
    }

    fn rows(&self) -> Vec<Row<'_>> {
        let threads = self.lanes.iter().map(Row::Thread);
        // More CPUs share a lane, and the bars have their numbers.
        let cpus: Vec<Row<'_>> = match self.cpus.as_slice() {
            [] => Vec::new(),
            few if few.len() <= OTHERS => few.iter().map(|&cpu| Row::Cpu(Some(cpu))).collect(),
            _ => vec![Row::Cpu(None)],
        };
        let clock = (!self.timeline.clock.is_empty()).then_some(Row::Clock);
        let devices = self.devices.iter().map(|device| Row::Device(device));
        threads.chain(cpus).chain(clock).chain(devices).collect()
    }

    /// Each row with the top of its bars, and the height of all.
    fn places(&self, paper: Paper) -> (Vec<(Row<'_>, f64)>, f64) {
        let mut top = 2.0;
        let mut places = Vec::new();
        let mut before: Option<u8> = None;
        for row in self.rows() {
            if before.is_some_and(|before| before != row.kind()) {
                top += SPACE;
            }
            before = Some(row.kind());
            if !paper.is_wide() {
                top += NAME;
            }
            let height = row.height();
            places.push((row, top));
            top += height;
        }
        (places, top)
    }
}

/// The content of a row.
#[derive(Debug, Clone, Copy)]
enum Row<'a> {
    Thread(&'a Lane),
    /// One CPU, or all of them.
    Cpu(Option<u32>),
    Clock,
    Device(&'a str),
}

impl Row<'_> {
    fn kind(self) -> u8 {
        match self {
            Self::Thread(_) => 0,
            Self::Cpu(_) => 1,
            Self::Clock => 2,
            Self::Device(_) => 3,
        }
    }

    fn height(self) -> f64 {
        match self {
            Self::Thread(_) => ROW,
            Self::Cpu(_) | Self::Device(_) => THIN,
            Self::Clock => CLOCK,
        }
    }

    fn name(self) -> String {
        match self {
            Self::Thread(lane) => lane.name.clone(),
            Self::Cpu(Some(cpu)) => format!("CPU {cpu}"),
            Self::Cpu(None) => "CPUs".to_owned(),
            Self::Clock => "clock".to_owned(),
            Self::Device(device) => format!("block device {device}"),
        }
    }
}

impl Chart for Chronicle {
    fn title(&self) -> String {
        self.title.clone()
    }

    fn description(&self) -> String {
        let time = |time: f64| words::value(Unit::Nanoseconds, time);
        let sums = self.timeline.sums();
        let sums: Vec<String> = sums
            .iter()
            .map(|(activity, sum)| format!("{} {}", activity.name(), time(*sum)))
            .collect();
        let lanes: Vec<String> =
            self.lanes.iter().map(|lane| format!("{} {}", lane.name, time(lane.time))).collect();
        let mut longest: Vec<&Piece> = self.timeline.pieces.iter().collect();
        longest.sort_by(|a, b| b.time.total_cmp(&a.time));
        let longest: Vec<String> = longest
            .iter()
            .take(5)
            .map(|piece| {
                let (activity, from) = (piece.activity.name(), time(piece.from));
                format!("{activity} {} of {} after {from}", time(piece.time), piece.thread)
            })
            .collect();
        format!(
            "By activity: {}. By thread: {}. The longest pieces: {}.",
            sums.join(", "),
            lanes.join(", "),
            longest.join(", ")
        )
    }

    fn height(&self, paper: Paper) -> f64 {
        self.places(paper).1 + AXIS
    }

    fn draw(&self, paper: Paper) -> Markup {
        let wide = paper.is_wide();
        let (places, bottom) = self.places(paper);
        let sides = if wide { [196.0, paper.width - 66.0] } else { [2.0, paper.width - 10.0] };
        let [left, right] = sides;
        let plot = Plot { left, right, top: 0.0, bottom: bottom + 2.0 };
        let domain = Domain::linear(self.window[0], self.window[1]);
        let across = Axis::new(domain, Unit::Nanoseconds, if wide { 10 } else { 4 });
        let no_ticks =
            Axis { domain: Domain::linear(0.0, 1.0), ticks: Vec::new(), texts: Vec::new() };
        let x = plot.x(domain);
        html! {
            (axes(&plot, &across, &no_ticks))
            path class="hand-off" d=(self.hand_offs(&places, &x)) {}
            @for (row, top) in &places {
                (name(*row, *top, wide, left, paper))
                (self.bars(*row, *top, &x, wide))
                @if let (Row::Thread(lane), true) = (row, wide) {
                    text class="axis" x=(number(paper.width)) y=(number(top + 13.0)) text-anchor="end" {
                        (words::value(Unit::Nanoseconds, lane.time))
                    }
                }
            }
        }
    }
}

impl Chronicle {
    /// The bars of a row; narrow paper is for phones, where nobody can point at them.
    fn bars(&self, row: Row<'_>, top: f64, x: &Scale, tooltips: bool) -> Markup {
        let pieces = &self.timeline.pieces;
        match row {
            Row::Thread(lane) => {
                let mut shown: Vec<&Piece> = lane.pieces.iter().map(|&it| &pieces[it]).collect();
                // The short ones last, so that the long ones do not hide them.
                shown.sort_by(|a, b| b.time.total_cmp(&a.time));
                html! { @for piece in shown { (bar(piece, top, x, tooltips)) } }
            }
            Row::Cpu(cpu) => {
                let on = |piece: &&Piece| match cpu {
                    Some(cpu) => piece.cpu == Some(cpu),
                    None => piece.cpu.is_some(),
                };
                html! { @for piece in pieces.iter().filter(on) { (on_cpu(piece, top, x, tooltips)) } }
            }
            Row::Clock => self.clock(top, x, tooltips),
            Row::Device(device) => {
                let of = self.timeline.requests.iter().filter(|it| it.device == device);
                html! {
                    @for request in of {
                        @let (left, width) = place(x, request.from, request.time);
                        rect class="a-storage" x=(number(left)) y=(number(top))
                            width=(number(width)) height=(number(THIN_BAR)) {
                            @if tooltips { title { (time(request.time)) ": " (request.about) } }
                        }
                    }
                }
            }
        }
    }

    /// The clock as steps; the full height is the highest frequency.
    fn clock(&self, top: f64, x: &Scale, tooltips: bool) -> Markup {
        let height = CLOCK - 6.0;
        let highest = self.timeline.clock.iter().map(|clock| clock.highest).fold(0.0, f64::max);
        html! {
            @for clock in &self.timeline.clock {
                @let (left, width) = place(x, clock.from, clock.time);
                @let part = height * (clock.hertz / highest).clamp(0.0, 1.0);
                rect class="a-clock" x=(number(left)) y=(number(top + height - part))
                    width=(number(width)) height=(number(part)) {
                    @if tooltips {
                        title {
                            (words::value(Unit::Hertz, clock.hertz)) " of "
                            (words::value(Unit::Hertz, clock.highest)) " for " (time(clock.time))
                        }
                    }
                }
            }
        }
    }

    /// Lines from the lane of each piece to the lane of the next.
    fn hand_offs(&self, places: &[(Row<'_>, f64)], x: &Scale) -> String {
        let tops: Vec<(usize, f64)> = places
            .iter()
            .filter_map(|(row, top)| match row {
                Row::Thread(lane) => Some((lane, top + BAR / 2.0)),
                _ => None,
            })
            .flat_map(|(lane, top)| lane.pieces.iter().map(move |&piece| (piece, top)))
            .collect();
        let mut middle = vec![0.0; self.timeline.pieces.len()];
        for (piece, top) in tops {
            middle[piece] = top;
        }
        let pairs = self.timeline.pieces.iter().zip(middle.windows(2));
        let strokes = pairs.filter_map(|(piece, pair)| {
            let [from, to] = [pair[0], pair[1]];
            let moves = (from - to).abs() > 0.1;
            moves.then(|| ([x.at(piece.to()), from], to))
        });
        crate::chart::path::upright(strokes)
    }
}

/// The name of a row: beside it, or above it on narrow paper.
fn name(row: Row<'_>, top: f64, wide: bool, left: f64, paper: Paper) -> Markup {
    let soft = !matches!(row, Row::Thread(_));
    let class = if soft { "axis name" } else { "name" };
    let middle = match row {
        Row::Thread(_) => top + 13.0,
        Row::Clock => top + 18.0,
        Row::Cpu(_) | Row::Device(_) => top + 9.0,
    };
    html! {
        @if wide {
            text class=(class) x=(number(left - 8.0)) y=(number(middle)) text-anchor="end" {
                (fitted(&row.name(), left - 8.0))
            }
        } @else {
            text class=(class) x="2" y=(number(top - 3.0)) { (fitted(&row.name(), paper.width)) }
        }
    }
}

/// A bar for each part of a piece, side by side, with the part of the slow clock at their foot,
/// and a name if there is room.
fn bar(piece: &Piece, top: f64, x: &Scale, tooltips: bool) -> Markup {
    let (left, width) = place(x, piece.from, piece.time);
    let slow = piece.slow();
    let whole = piece.time.max(f64::MIN_POSITIVE);
    let computing =
        |activity: Activity, time: f64| if activity.computes() { time + slow } else { time };
    let mut begin = left;
    let mut bars = Vec::new();
    for (activity, time) in piece.parts.iter().filter(|(of, _)| !of.is_slow_clock()) {
        let wide = width * computing(*activity, *time) / whole;
        bars.push((*activity, begin, wide));
        begin += wide;
    }
    let label = format!("{} {}", piece.activity.name(), time(piece.time));
    let fits = label.chars().count() as f64 * CHARACTER * 0.85 + 8.0 <= width;
    let fits = fits && piece.activity.computes() && bars.len() == 1;
    html! {
        g {
            @if tooltips { title { (in_words(piece)) } }
            @for (activity, left, width) in bars {
                @let height = if activity.has_cpu() { BAR } else { LOW };
                rect class={ "a-" (activity.name()) } x=(number(left))
                    y=(number(top + BAR - height)) width=(number(width)) height=(number(height)) {}
                @let slow = BAR * slow / (computing(activity, part(piece, activity))).max(1e-9);
                @if activity.computes() && slow >= 0.5 {
                    rect class="a-slow-clock" x=(number(left)) y=(number(top + BAR - slow))
                        width=(number(width)) height=(number(slow)) {}
                }
            }
            @if fits {
                text class="in-bar" x=(number(left + 4.0)) y=(number(top + 12.0)) { (label) }
            }
        }
    }
}

/// The time of one activity in a piece.
fn part(piece: &Piece, activity: Activity) -> f64 {
    piece.parts.iter().filter(|(of, _)| *of == activity).map(|(_, time)| time).sum()
}

fn on_cpu(piece: &Piece, top: f64, x: &Scale, tooltips: bool) -> Markup {
    let (left, width) = place(x, piece.from, piece.time);
    let height = if piece.activity.has_cpu() { THIN_BAR } else { THIN_LOW };
    html! {
        rect class={ "a-" (piece.activity.name()) } x=(number(left))
            y=(number(top + THIN_BAR - height)) width=(number(width)) height=(number(height)) {
            @if tooltips { title { (in_words(piece)) } }
        }
    }
}

/// Left edge and width of a bar.
fn place(x: &Scale, from: f64, time: f64) -> (f64, f64) {
    let (left, right) = (x.at(from), x.at(from + time));
    let width = (right - left).max(THINNEST);
    (left.min(x.end - width), width)
}

/// The hover text of a piece.
fn in_words(piece: &Piece) -> String {
    let others = match piece.others {
        0 => String::new(),
        others => format!(" and {others} more"),
    };
    let parts = piece.parts.iter().filter(|(of, _)| !of.is_slow_clock()).count();
    let what = if parts == 1 { piece.activity.name() } else { "in all" };
    let mut text = format!(
        "{}{others}: {what} {}, after {}",
        piece.thread,
        time(piece.time),
        time(piece.from)
    );
    if let Some(cpu) = piece.cpu {
        text = format!("{text}, CPU {cpu}");
    }
    if piece.slow() > 0.0 {
        text = format!("{text}; {} lost to the clock", time(piece.slow()));
    }
    if !piece.detail.is_empty() {
        text = format!("{text}; {}", piece.detail);
    }
    if piece.way == "own" { text } else { format!("{text} ({}, {})", piece.way, piece.evidence) }
}

fn time(time: f64) -> String {
    words::value(Unit::Nanoseconds, time)
}
