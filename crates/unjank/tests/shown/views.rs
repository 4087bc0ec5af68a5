//! The parts of a record that a reader sees: the sections of its Markdown and of its page, and the
//! blocks of its text, without markup.

/// A part of a report under its heading.
#[derive(Debug)]
pub(super) struct Section {
    pub(super) title: String,
    /// The cells of its tables, heads first.
    pub(super) rows: Vec<Vec<String>>,
    /// Everything else, a line each.
    pub(super) lines: Vec<String>,
}

/// The sections of a report in Markdown. The one before the first heading has the title of
/// the report.
pub(super) fn of_markdown(report: &str) -> Vec<Section> {
    let mut sections: Vec<Section> = Vec::new();
    let mut fence: Option<&str> = None;
    for line in report.lines() {
        let is_fence = line.starts_with("```");
        // The machine and the settings at the end have no heading.
        let titled = ["## ", "# ", "<details>"].into_iter().find_map(|it| line.strip_prefix(it));
        match (titled.filter(|_| fence.is_none()), sections.last_mut()) {
            (Some(title), _) => {
                let title = without_markup(title);
                sections.push(Section { title, rows: Vec::new(), lines: Vec::new() });
            }
            (None, Some(section)) => match fence {
                Some(end) if end == line => fence = None,
                Some(_) => section.lines.push(line.to_owned()),
                None if is_fence => fence = Some(line),
                None if line.starts_with("| --") => {}
                None if line.starts_with("| ") => section.rows.push(cells(line)),
                None if line.is_empty() => {}
                None => section.lines.push(without_markup(line)),
            },
            (None, None) => {}
        }
    }
    sections
}

/// The cells of a row. A bar after a backslash does not separate cells.
fn cells(row: &str) -> Vec<String> {
    let (mut cells, mut cell, mut before) = (Vec::new(), String::new(), ' ');
    for letter in row.trim_start_matches('|').chars() {
        if letter == '|' && before != '\\' {
            cells.push(without_markup(cell.trim()));
            cell.clear();
        } else {
            cell.push(letter);
        }
        // The second of two backslashes escapes nothing.
        before = if before == '\\' { ' ' } else { letter };
    }
    cells
}

/// A line, or a cell, of Markdown as text.
pub(super) fn without_markup(text: &str) -> String {
    let text = text.strip_prefix("- ").unwrap_or(text);
    if let Some(code) = text.strip_prefix('`').and_then(|text| text.strip_suffix('`')) {
        return code.trim_matches('`').replace("\\|", "|");
    }
    let (mut plain, mut letters) = (String::new(), text.chars());
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => plain.extend(letters.next()),
            '*' => {}
            letter => plain.push(letter),
        }
    }
    without_entities(&plain)
}

/// The sections of a page.
pub(super) fn of_page(page: &str) -> Vec<Section> {
    let sections = page.split("<section ").skip(1);
    let sections = sections.filter_map(|section| section.split_once("<h2>")?.1.split_once("</h2>"));
    let section = |(title, body): (&str, &str)| {
        let rows = body.split("<tr").skip(1).filter_map(|row| Some(row.split_once('>')?.1));
        let rows = rows.map(|row| {
            let cells = row.split("</th>").flat_map(|part| part.split("</td>"));
            let cells = cells.filter(|cell| cell.starts_with("<t"));
            cells.map(without_tags).collect()
        });
        let lines = body.split("</").map(without_tags).filter(|line| !line.is_empty());
        Section { title: without_tags(title), rows: rows.collect(), lines: lines.collect() }
    };
    sections.map(section).collect()
}

/// A part of a page as text.
pub(super) fn without_tags(part: &str) -> String {
    let (mut text, mut is_tag) = (String::new(), false);
    for letter in part.chars() {
        match letter {
            '<' => is_tag = true,
            '>' if is_tag => is_tag = false,
            letter if !is_tag => text.push(letter),
            _ => {}
        }
    }
    without_entities(&text)
}

fn without_entities(text: &str) -> String {
    let entities = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&amp;", "&")];
    entities.iter().fold(text.to_owned(), |text, (entity, letter)| text.replace(entity, letter))
}

/// The lines after a heading to the next empty line, and those after them. A long heading has
/// several lines.
pub(super) fn block<'a>(
    lines: &'a [&'a str],
    heading: &str,
) -> Option<(&'a [&'a str], &'a [&'a str])> {
    let is_heading = |&(at, length): &(usize, usize)| {
        lines.get(at..at + length).is_some_and(|of| words(&of.join(" ")) == words(heading))
    };
    let places = (0..lines.len()).flat_map(|at| [1, 2, 3].map(|length| (at, length)));
    let (at, length) = places.into_iter().find(is_heading)?;
    let lines = &lines[at + length..];
    let end = lines.iter().position(|line| line.is_empty()).unwrap_or(lines.len());
    Some(lines.split_at(end))
}

/// Words with one space between them: lines are wrapped anywhere.
pub(super) fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
