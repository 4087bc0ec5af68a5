//! A histogram as text: HdrHistogram's V2 compressed form, base64.
//!
//! A record may come from anywhere, so unpacking is bounded: the text is
//! inflated up to a limit and checked before its claims determine any
//! allocation.

use std::io::Read as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use flate2::read::ZlibDecoder;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Deserializer, Serializer, V2DeflateSerializer};

/// The first four bytes of the compressed form.
const COMPRESSED: [u8; 4] = 0x1c84_9314_u32.to_be_bytes();

/// Cookie and length in front of the compressed form.
const OUTER_HEADER: usize = 8;

/// Cookie, length, offset, digits, lowest and highest value, and ratio in
/// front of the counts.
const INNER_HEADER: usize = 40;

/// The largest histogram that is unpacked, in bytes: twenty times the size of
/// all buckets of a series.
const LARGEST: u64 = 8 << 20;

/// The text form of a histogram.
pub(super) fn pack(histogram: &Histogram<u64>) -> String {
    let mut bytes = Vec::new();
    V2DeflateSerializer::new()
        .serialize(histogram, &mut bytes)
        .expect("writing to memory cannot fail and the counts fit 64 bits");
    BASE64.encode(bytes)
}

/// Decodes the text form of a histogram that holds `n` samples. The error is
/// the first fault.
pub(super) fn unpack(text: &str, n: u64) -> Result<Histogram<u64>, String> {
    match decode(text)? {
        (histogram, held) if held == n => Ok(histogram),
        (_, held) => Err(format!("it holds {held} samples, but the series claims {n}")),
    }
}

/// Decodes the text form of a histogram. Returns its number of samples, too.
pub(crate) fn decode(text: &str) -> Result<(Histogram<u64>, u64), String> {
    let bytes = BASE64.decode(text).map_err(|e| e.to_string())?;
    let bytes = inflate(bytes)?;
    let word = |at: usize| -> Option<u32> {
        Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
    };
    let (Some(length), Some(digits)) = (word(4), word(12)) else {
        return Err("it ends within its header".to_owned());
    };
    let counts = bytes.get(INNER_HEADER..).unwrap_or_default();
    if counts.len() != length as usize {
        return Err(format!("it holds {} bytes of counts but claims {length}", counts.len()));
    }
    // A run of more than 2^62 empty buckets, which the decoder cannot negate.
    if digits > 5 || counts.windows(9).any(|window| window == [0xff; 9]) {
        return Err("its parameters are out of range".to_owned());
    }
    let histogram: Histogram<u64> =
        Deserializer::new().deserialize(&mut bytes.as_slice()).map_err(|e| e.to_string())?;
    let held = histogram
        .iter_recorded()
        .try_fold(0_u64, |sum, step| sum.checked_add(step.count_at_value()));
    let held = held.ok_or("it holds more samples than can be counted")?;
    Ok((histogram, held))
}

/// Inflates the text form, up to a limit.
fn inflate(bytes: Vec<u8>) -> Result<Vec<u8>, String> {
    if !bytes.starts_with(&COMPRESSED) {
        return Ok(bytes);
    }
    let mut inflated = Vec::new();
    ZlibDecoder::new(bytes.get(OUTER_HEADER..).unwrap_or_default())
        .take(LARGEST + 1)
        .read_to_end(&mut inflated)
        .map_err(|e| e.to_string())?;
    if inflated.len() as u64 > LARGEST {
        return Err(format!("it is larger than {} MiB", LARGEST >> 20));
    }
    Ok(inflated)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use flate2::Compression;
    use flate2::write::ZlibEncoder;
    use proptest::prelude::*;

    use super::*;

    fn histogram(values: &[u64]) -> Histogram<u64> {
        let mut histogram = Histogram::new_with_bounds(1, 1 << 42, 3).unwrap();
        for &value in values {
            histogram.record(value).unwrap();
        }
        histogram
    }

    /// Compresses bytes that stand for a histogram.
    fn compressed(inner: &[u8]) -> String {
        let mut body = ZlibEncoder::new(Vec::new(), Compression::fast());
        body.write_all(inner).unwrap();
        let body = body.finish().unwrap();
        let length = (body.len() as u32).to_be_bytes();
        BASE64.encode([&COMPRESSED[..], &length, &body].concat())
    }

    fn header(length: u32, digits: u32, high: u64) -> Vec<u8> {
        let mut bytes = 0x1c84_9313_u32.to_be_bytes().to_vec();
        bytes.extend([length, 0, digits].iter().flat_map(|word| word.to_be_bytes()));
        bytes.extend([1, high].iter().flat_map(|word| word.to_be_bytes()));
        bytes.extend(1_f64.to_be_bytes());
        bytes
    }

    #[test]
    fn claims_are_checked_before_anything_is_allocated() {
        let bomb = compressed(&vec![0; 9 << 20]);
        assert_eq!(unpack(&bomb, 0).unwrap_err(), "it is larger than 8 MiB");
        let claim = compressed(&header(u32::MAX, 3, 1 << 42));
        assert_eq!(
            unpack(&claim, 0).unwrap_err(),
            "it holds 0 bytes of counts but claims 4294967295"
        );
        let digits = compressed(&header(0, 200, 1 << 42));
        assert_eq!(unpack(&digits, 0).unwrap_err(), "its parameters are out of range");
        let run = compressed(&[header(9, 3, 1 << 42), vec![0xff; 9]].concat());
        assert_eq!(unpack(&run, 0).unwrap_err(), "its parameters are out of range");
        assert_eq!(unpack("", 0).unwrap_err(), "it ends within its header");
        assert!(unpack("not base64!", 0).is_err());
    }

    #[test]
    fn a_wrong_number_of_samples_is_damage() {
        let text = pack(&histogram(&[1, 5, 5]));
        assert!(unpack(&text, 3).is_ok());
        assert_eq!(unpack(&text, 4).unwrap_err(), "it holds 3 samples, but the series claims 4");
    }

    proptest! {
        #[test]
        fn packing_and_unpacking_are_inverse(values in prop::collection::vec(0..1_u64 << 42, 0..50)) {
            let histogram = histogram(&values);
            prop_assert!(unpack(&pack(&histogram), values.len() as u64) == Ok(histogram));
        }

        #[test]
        fn damage_is_an_error_or_harmless(
            values in prop::collection::vec(0..1_u64 << 42, 1..50),
            place in any::<prop::sample::Index>(),
            byte in any::<u8>(),
        ) {
            let mut inner = Vec::new();
            hdrhistogram::serialization::V2Serializer::new()
                .serialize(&histogram(&values), &mut inner)
                .unwrap();
            let place = place.index(inner.len());
            inner[place] = byte;
            if let Ok(histogram) = unpack(&compressed(&inner), values.len() as u64) {
                prop_assert_eq!(histogram.len(), values.len() as u64);
                let _no_panic = histogram.value_at_quantile(0.99);
            }
        }

        #[test]
        fn noise_does_not_panic(noise in prop::collection::vec(any::<u8>(), 0..200)) {
            let _error = unpack(&compressed(&[header(noise.len() as u32, 3, 1 << 42), noise].concat()), 7);
        }
    }
}
