//! Memory that a JVM and a critical task share, with arbitrary content from the other side.

#![no_main]

use libfuzzer_sys::fuzz_target;
use unjank_host::memory::SharedRegion;
use unjank_rt::layout::{CONTROL, MAGIC, MESSAGE, SLOTS_IN, SLOTS_OUT, Sizes, VERSION};
use unjank_rt::ring::Ring;

fuzz_target!(|input: (u8, u8, u16, &[u8])| {
    let (slots_out, slots_in, message, bytes) = input;
    // Arbitrary sizes and bytes.
    let _any =
        Sizes { slots_out: slots_out.into(), slots_in: slots_in.into(), message: bytes.len() }
            .check();
    as_they_are(bytes);
    let sizes = Sizes {
        slots_out: 1 << (slots_out & 7),
        slots_in: 1 << (slots_in & 7),
        message: usize::from(message & 1023) + 1,
    };
    let sizes = sizes.check().expect("small powers of two");
    let (region, _descriptor) = SharedRegion::create("fuzz", sizes.total()).expect("memory");
    region.write(0, &bytes[..bytes.len().min(sizes.total())]);
    let words = [sizes.slots_out, sizes.slots_in, sizes.message].map(|size| size as u64);
    let header =
        [(MAGIC, VERSION), (SLOTS_OUT, words[0]), (SLOTS_IN, words[1]), (MESSAGE, words[2])];
    for (offset, word) in header {
        region.write(offset, &word.to_ne_bytes());
    }
    assert_eq!(Sizes::of(&region).ok(), Some(sizes));
    for ring in [Ring::to_java(&region, sizes), Ring::from_java(&region, sizes)] {
        use_ring(ring, sizes.message);
    }
});

fn as_they_are(bytes: &[u8]) {
    let length = bytes.len().max(CONTROL);
    let (region, _descriptor) = SharedRegion::create("fuzz", length).expect("memory");
    region.write(0, bytes);
    if let Ok(sizes) = Sizes::of(&region) {
        assert_eq!(sizes.total(), length);
        use_ring(Ring::from_java(&region, sizes), sizes.message);
    }
}

fn use_ring(ring: Ring<'_>, most: usize) {
    let mut buffer = vec![0; most + 8];
    for _ in 0..4 {
        assert!(ring.receive(&mut buffer).is_none_or(|length| length <= most));
        let _is_room = ring.send(&buffer[..most]);
    }
}
