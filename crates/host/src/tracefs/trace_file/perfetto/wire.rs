//! Protobuf's wire format: the fields of a message, without copies
//! (<https://protobuf.dev/programming-guides/encoding/>).

/// The error of bytes that are not a protobuf message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Malformed;

/// The value of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Value<'a> {
    /// A variable-length integer, or 4 or 8 bytes, as an unsigned number.
    Number(u64),
    /// A text, a message, or packed numbers.
    Bytes(&'a [u8]),
}

impl<'a> Value<'a> {
    pub(super) fn number(self) -> Result<u64, Malformed> {
        match self {
            Self::Number(number) => Ok(number),
            Self::Bytes(_) => Err(Malformed),
        }
    }

    pub(super) fn bytes(self) -> Result<&'a [u8], Malformed> {
        match self {
            Self::Bytes(bytes) => Ok(bytes),
            Self::Number(_) => Err(Malformed),
        }
    }

    /// A text; bytes that are not UTF-8 are replaced.
    pub(super) fn text(self) -> Result<String, Malformed> {
        Ok(String::from_utf8_lossy(self.bytes()?).into_owned())
    }

    /// Appends the numbers of a repeated field, packed or not.
    pub(super) fn append_to(self, numbers: &mut Vec<u64>) -> Result<(), Malformed> {
        match self {
            Self::Number(number) => numbers.push(number),
            Self::Bytes(mut packed) => {
                while !packed.is_empty() {
                    numbers.push(varint(&mut packed).ok_or(Malformed)?);
                }
            }
        }
        Ok(())
    }
}

/// The fields of a message, each with its number, in the order of the bytes.
#[derive(Debug, Clone)]
pub(super) struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    pub(super) fn of(message: &'a [u8]) -> Self {
        Self(message)
    }

    fn field(&mut self) -> Option<(u32, Value<'a>)> {
        let tag = varint(&mut self.0)?;
        let number = u32::try_from(tag >> 3).ok().filter(|number| *number > 0)?;
        let value = match tag & 7 {
            VARINT => Value::Number(varint(&mut self.0)?),
            FIXED_64 => Value::Number(u64::from_le_bytes(self.take(8)?.try_into().ok()?)),
            BYTES => {
                let length = usize::try_from(varint(&mut self.0)?).ok()?;
                Value::Bytes(self.take(length)?)
            }
            FIXED_32 => {
                Value::Number(u64::from(u32::from_le_bytes(self.take(4)?.try_into().ok()?)))
            }
            // Groups are deprecated, and Perfetto has none.
            _ => return None,
        };
        Some((number, value))
    }

    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }
}

const VARINT: u64 = 0;
const FIXED_64: u64 = 1;
const BYTES: u64 = 2;
const FIXED_32: u64 = 5;

/// After an error there are no more fields.
impl<'a> Iterator for Fields<'a> {
    type Item = Result<(u32, Value<'a>), Malformed>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let field = self.field();
        if field.is_none() {
            self.0 = &[];
        }
        Some(field.ok_or(Malformed))
    }
}

/// Takes a variable-length integer from the front: at most 10 bytes.
#[inline]
pub(super) fn varint(bytes: &mut &[u8]) -> Option<u64> {
    // Most are short.
    let (&first, rest) = bytes.split_first()?;
    if first < 0x80 {
        *bytes = rest;
        return Some(first.into());
    }
    let mut value = 0;
    for (place, &byte) in bytes.iter().enumerate().take(10) {
        value |= u64::from(byte & 0x7f) << (7 * place);
        if byte < 0x80 {
            *bytes = bytes.get(place + 1..)?;
            return Some(value);
        }
    }
    None
}

/// The number of fields that are kept of a small message, with a field 0 that no message has.
const SMALL: usize = 8;

/// The fields 1 to 7 of a small message, by number. A missing number is 0, a missing text empty, as
/// protobuf defines; of a repeated field, the last value counts.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Small<'a> {
    numbers: [u64; SMALL],
    texts: [&'a [u8]; SMALL],
}

impl<'a> Small<'a> {
    #[inline]
    pub(super) fn of(message: &'a [u8]) -> Result<Self, Malformed> {
        let mut small = Self::default();
        for field in Fields::of(message) {
            let (number, value) = field?;
            let place = number as usize;
            match value {
                Value::Number(value) => {
                    if let Some(slot) = small.numbers.get_mut(place) {
                        *slot = value;
                    }
                }
                Value::Bytes(value) => {
                    if let Some(slot) = small.texts.get_mut(place) {
                        *slot = value;
                    }
                }
            }
        }
        Ok(small)
    }

    /// The number in a field.
    pub(super) fn number(&self, field: usize) -> u64 {
        self.numbers[field]
    }

    /// A number of 32 bits, with its sign.
    pub(super) fn signed(&self, field: usize) -> i32 {
        self.numbers[field] as i32
    }

    /// The text in a field.
    pub(super) fn text(&self, field: usize) -> &'a [u8] {
        self.texts[field]
    }
}

#[cfg(test)]
mod tests {
    use prost::Message as _;

    use super::*;

    #[derive(Clone, PartialEq, prost::Message)]
    struct Sample {
        #[prost(int32, tag = "1")]
        signed: i32,
        #[prost(string, tag = "2")]
        text: String,
        #[prost(fixed64, tag = "3")]
        fixed: u64,
        #[prost(fixed32, tag = "4")]
        short: u32,
        #[prost(uint64, repeated, tag = "5")]
        packed: Vec<u64>,
        #[prost(uint64, repeated, packed = "false", tag = "6")]
        apart: Vec<u64>,
        #[prost(uint64, tag = "300")]
        far: u64,
    }

    fn sample() -> Sample {
        Sample {
            signed: -5,
            text: "é".to_owned(),
            fixed: u64::MAX,
            short: 7,
            packed: vec![0, 127, 128, u64::MAX],
            apart: vec![3, 1 << 40],
            far: 9,
        }
    }

    #[test]
    fn another_encoder_s_message_is_read() {
        let bytes = sample().encode_to_vec();
        let small = Small::of(&bytes).unwrap();
        assert_eq!((small.signed(1), small.number(3), small.number(4)), (-5, u64::MAX, 7));
        assert_eq!(small.text(2), "é".as_bytes());
        let (mut packed, mut apart, mut far) = (Vec::new(), Vec::new(), 0);
        for field in Fields::of(&bytes) {
            match field.unwrap() {
                (5, value) => value.append_to(&mut packed).unwrap(),
                (6, value) => value.append_to(&mut apart).unwrap(),
                (300, value) => far = value.number().unwrap(),
                _ => {}
            }
        }
        assert_eq!((packed, apart, far), (sample().packed, sample().apart, 9));
    }

    #[test]
    fn what_is_cut_or_impossible_is_malformed() {
        let whole = sample().encode_to_vec();
        let is_read = |bytes: &[u8]| Fields::of(bytes).all(|field| field.is_ok());
        let read = (0..=whole.len()).filter(|&length| is_read(&whole[..length])).count();
        assert_eq!(read, 1 + 8, "only at the end of one of the 8 fields");
        for wrong in [&[0x00, 1][..], &[0x0b], &[0x0a, 0xff, 0xff, 3], &[0x80; 11], &[0x08]] {
            assert!(!is_read(wrong), "{wrong:?}");
        }
        assert_eq!(Value::Bytes(&[0x80]).append_to(&mut Vec::new()), Err(Malformed));
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_end(bytes in proptest::collection::vec(0_u8.., 0..200)) {
            assert!(Fields::of(&bytes).count() <= bytes.len());
            let _read_or_malformed = Small::of(&bytes);
        }
    }
}
