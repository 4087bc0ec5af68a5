//! The layout of records: parses the `format` file of an event.
//!
//! Each traced event is described in `events/<system>/<name>/format`, and a
//! ring-buffer page in `events/header_page`. The parser is a pure function over
//! the text of such a file (`Documentation/trace/events.rst` in the kernel
//! tree).

use std::fmt;

/// A malformed input from the kernel, with the position of the fault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Malformed {
    /// The line of a text, counted from 1; the byte of a page, counted from 0.
    pub place: usize,
    /// What was expected there.
    pub what: String,
}

impl Malformed {
    pub(super) fn new(place: usize, what: impl Into<String>) -> Self {
        Self { place, what: what.into() }
    }
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at {}: {}", self.place, self.what)
    }
}

/// The layout of one event's records.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Format {
    /// The event's name without its system: `sched_switch`.
    pub name: String,
    /// The number that begins each record of this event.
    pub id: u16,
    /// The fields in the order of the file.
    pub fields: Vec<NamedField>,
}

/// A field with its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedField {
    /// The bare name: `prev_comm` of `char prev_comm[16]`.
    pub name: String,
    /// Its offset, size and sign in a record.
    pub field: Field,
}

/// The layout of a field in a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Field {
    /// Offset from the start of the record, in bytes.
    pub offset: u16,
    /// Size in bytes; 0 for an array that takes the rest of the record.
    pub size: u16,
    /// Whether a number is signed.
    pub signed: bool,
    /// Whether the field holds its value or points to it.
    pub place: FieldPlace,
}

/// The location of a field's bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldPlace {
    /// In the field itself.
    Here,
    /// Elsewhere in the record (`__data_loc`): the field holds their offset
    /// from the start of the record and their length, 16 bits each.
    Elsewhere,
    /// As `Elsewhere`, with the offset counted from the end of the field
    /// (`__rel_loc`).
    Behind,
}

impl Format {
    /// Parses a `format` file.
    ///
    /// # Errors
    /// The line that violates `Documentation/trace/events.rst`.
    pub fn parse(text: &str) -> Result<Self, Malformed> {
        let (mut name, mut id) = (None, None);
        for (line, number) in text.lines().zip(1..) {
            if let Some(value) = line.strip_prefix("name:") {
                name = Some(value.trim().to_owned());
            } else if let Some(value) = line.strip_prefix("ID:") {
                let value = value.trim().parse();
                id = Some(value.map_err(|_| Malformed::new(number, "expected an event number"))?);
            }
        }
        let missing = |what| Malformed::new(1, format!("expected a line that begins with {what}"));
        Ok(Self {
            name: name.ok_or_else(|| missing("name:"))?,
            id: id.ok_or_else(|| missing("ID:"))?,
            fields: fields(text)?,
        })
    }

    /// The field called `name`.
    pub fn field(&self, name: &str) -> Option<Field> {
        self.fields.iter().find(|field| field.name == name).map(|found| found.field)
    }
}

impl Field {
    /// The field's number in `record`, sign-extended; `None` if the record is
    /// too short or the field is not 1, 2, 4 or 8 bytes long.
    pub fn number(self, record: &[u8]) -> Option<i64> {
        let bytes = self.own_bytes(record)?;
        Some(match (bytes.len(), self.signed) {
            (1, false) => i64::from(bytes[0]),
            (1, true) => i64::from(bytes[0].cast_signed()),
            (2, false) => i64::from(u16::from_le_bytes(bytes.try_into().ok()?)),
            (2, true) => i64::from(i16::from_le_bytes(bytes.try_into().ok()?)),
            (4, false) => i64::from(u32::from_le_bytes(bytes.try_into().ok()?)),
            (4, true) => i64::from(i32::from_le_bytes(bytes.try_into().ok()?)),
            (8, _) => i64::from_le_bytes(bytes.try_into().ok()?),
            _ => return None,
        })
    }

    /// The bytes that the field holds or points to; `None` if they are not
    /// within `record`.
    pub fn bytes(self, record: &[u8]) -> Option<&[u8]> {
        if self.place == FieldPlace::Here {
            return self.own_bytes(record);
        }
        let pointer = u32::from_le_bytes(self.own_bytes(record)?.try_into().ok()?);
        let (offset, length) = ((pointer & 0xffff) as usize, (pointer >> 16) as usize);
        let base = match self.place {
            FieldPlace::Behind => usize::from(self.offset) + usize::from(self.size),
            FieldPlace::Here | FieldPlace::Elsewhere => 0,
        };
        record.get(base + offset..)?.get(..length)
    }

    fn own_bytes(self, record: &[u8]) -> Option<&[u8]> {
        let rest = record.get(usize::from(self.offset)..)?;
        match self.size {
            0 => Some(rest),
            size => rest.get(..usize::from(size)),
        }
    }
}

/// The `field:` lines of `text`.
pub(super) fn fields(text: &str) -> Result<Vec<NamedField>, Malformed> {
    text.lines()
        .zip(1..)
        .filter_map(|(line, number)| Some((line.trim_start().strip_prefix("field:")?, number)))
        .map(|(line, number)| field(line).map_err(|what| Malformed::new(number, what)))
        .collect()
}

fn field(line: &str) -> Result<NamedField, String> {
    let mut parts = line.split(';').map(str::trim);
    let declaration = parts.next().unwrap_or_default();
    let (mut offset, mut size, mut signed) = (None, None, false);
    for part in parts {
        match part.split_once(':') {
            Some(("offset", value)) => offset = value.trim().parse().ok(),
            Some(("size", value)) => size = value.trim().parse().ok(),
            // Kernels before 2.6.32 lack this part.
            Some(("signed", value)) => signed = value.trim() == "1",
            _ => {}
        }
    }
    let place = match declaration.split_whitespace().next() {
        Some("__data_loc") => FieldPlace::Elsewhere,
        Some("__rel_loc") => FieldPlace::Behind,
        _ => FieldPlace::Here,
    };
    let without_length = declaration.split('[').next().unwrap_or_default();
    let name = match place {
        // `__data_loc char[] name`: the brackets belong to the type.
        FieldPlace::Elsewhere | FieldPlace::Behind => declaration,
        FieldPlace::Here => without_length,
    };
    let name = name.rsplit(|c: char| c.is_whitespace() || c == '*').next().unwrap_or_default();
    match (name, offset, size) {
        ("", ..) => Err("expected the declaration of a field".to_owned()),
        (_, Some(offset), Some(size)) => {
            Ok(NamedField { name: name.to_owned(), field: Field { offset, size, signed, place } })
        }
        _ => Err(format!("expected an offset and a size of at most {}", u16::MAX)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const IRQ: &str = "name: irq_handler_entry\nID: 225\nformat:\n\
        \tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\
        \tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n\
        \tfield:int irq;\toffset:8;\tsize:4;\tsigned:1;\n\
        \tfield:__data_loc char[] name;\toffset:12;\tsize:4;\tsigned:0;\n\n\
        print fmt: \"irq=%d name=%s\", REC->irq, __get_str(name)\n";

    #[test]
    fn a_format_names_its_fields() {
        let format = Format::parse(IRQ).unwrap();
        assert_eq!((format.name.as_str(), format.id), ("irq_handler_entry", 225));
        let names: Vec<&str> = format.fields.iter().map(|field| field.name.as_str()).collect();
        assert_eq!(names, ["common_type", "common_pid", "irq", "name"]);
        let name = format.field("name").unwrap();
        assert_eq!((name.offset, name.size, name.place), (12, 4, FieldPlace::Elsewhere));
        assert_eq!(format.field("nothing"), None);
    }

    #[test]
    fn arrays_and_pointers_have_their_bare_names() {
        let fields = fields(
            "field:char comm[16];\toffset:8;\tsize:16;\tsigned:0;\n\
             field: void *timer;\toffset:24;\tsize:8;\tsigned:0;\n\
             field:char buf[];\toffset:32;\tsize:0;\n",
        )
        .unwrap();
        let names: Vec<&str> = fields.iter().map(|field| field.name.as_str()).collect();
        assert_eq!(names, ["comm", "timer", "buf"]);
    }

    #[test]
    fn errors_name_the_line() {
        let text = IRQ.replace("offset:8", "offset:-8");
        let error = Format::parse(&text).unwrap_err();
        assert_eq!(error.place, 7);
        assert_eq!(error.what, "expected an offset and a size of at most 65535");
        let error = Format::parse(&IRQ.replace("ID: 225", "ID: 70000")).unwrap_err();
        assert_eq!(error.to_string(), "at 2: expected an event number");
        assert!(Format::parse("").is_err());
    }

    #[test]
    fn numbers_have_the_fields_sign_and_size() {
        let field = |offset, size, signed| Field { offset, size, signed, place: FieldPlace::Here };
        let record = [0xff, 0xff, 0xff, 0xff, 1, 2, 3, 4];
        assert_eq!(field(0, 4, true).number(&record), Some(-1));
        assert_eq!(field(0, 4, false).number(&record), Some(0xffff_ffff));
        assert_eq!(field(0, 1, true).number(&record), Some(-1));
        assert_eq!(field(4, 2, false).number(&record), Some(0x0201));
        assert_eq!(field(6, 4, false).number(&record), None, "beyond the record");
        assert_eq!(field(0, 3, false).number(&record), None, "not a number's size");
    }

    #[test]
    fn a_field_elsewhere_must_be_within_the_record() {
        let field = |place| Field { offset: 0, size: 4, signed: false, place };
        let record = [6, 0, 2, 0, b'-', b'-', b'o', b'k', b'!', b'!', b'o', b'k'];
        assert_eq!(field(FieldPlace::Elsewhere).bytes(&record).unwrap(), b"ok");
        assert_eq!(field(FieldPlace::Behind).bytes(&record).unwrap(), b"ok");
        let outside = [0xff, 0xff, 0xff, 0xff, 0];
        assert_eq!(field(FieldPlace::Elsewhere).bytes(&outside), None);
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_parsed_or_refused(text in "(name: |ID: |\tfield:|char a\\[4\\];|offset:|size:|[0-9]{1,7};|\\n|.){0,60}") {
            let _parsed_or_refused = Format::parse(&text);
        }
    }
}
