//! Whatever the bytes are, nothing panics, and the readers agree with each other.

use proptest::prelude::*;
use sconce_pickle::{ErrorKind, Limits, Tracer, dis, instructions, load, opcode::OPCODES};

/// Pieces that pickles are made of, so that random ones get somewhere.
fn piece() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        4 => (0..OPCODES.len()).prop_map(|row| vec![OPCODES[row].byte]),
        1 => any::<u8>().prop_map(|byte| vec![byte]),
        6 => prop::sample::select(vec![
            b"(".as_slice(), b"N", b"K\x01", b"]", b"}", b")", b"\x8f", b"\x8c\x01a", b"U\x01b",
            b"q\x00", b"h\x00", b"\x94", b"cm\nf\n", b"I01\n", b"L12L\n", b"Vx\\u0041\n", b"F1\n",
            b"\x96\x01\0\0\0\0\0\0\0a", b"\x8a\x01\xff", b"g0\n", b"p0\n", b"\x82\x01", b"\x97",
        ]).prop_map(<[u8]>::to_vec),
    ]
}

proptest! {
    #[test]
    fn random_pickles(pieces in prop::collection::vec(piece(), 0..60), stop: bool) {
        let mut bytes = pieces.concat();
        if stop {
            bytes.push(b'.');
        }
        let listed: Vec<_> = instructions(&bytes).collect();
        let mut out = Vec::new();
        let _ = dis(&bytes, &mut out);
        let traced: Vec<_> = Tracer::new(&bytes, &Limits::default()).collect();
        for step in traced.iter().flatten() {
            prop_assert!(step.stack.values.iter().all(|value| value.len() < 1000));
        }
        let outcome = load(&bytes, &Limits::default());
        prop_assert_eq!(
            traced.last().and_then(|step| step.as_ref().err()),
            outcome.as_ref().err()
        );
        match outcome {
            // What loads is readable, up to the same STOP.
            Ok(loaded) => {
                prop_assert!(listed.iter().all(Result::is_ok));
                let read: usize = listed.iter().flatten().map(|i| i.raw.len()).sum();
                prop_assert_eq!(loaded.consumed, read);
                for value in loaded.arena.values() {
                    prop_assert!(loaded.arena.offset(value) < loaded.consumed as u64);
                }
            }
            Err(error) => {
                prop_assert!(error.offset() <= bytes.len() as u64);
                // A byte that is no opcode is one for both.
                if error.kind() == ErrorKind::UnknownOpcode {
                    prop_assert_eq!(listed.last(), Some(&Err(error)));
                }
            }
        }
    }

    #[test]
    fn random_bytes(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = load(&bytes, &Limits::default());
        let mut out = Vec::new();
        let _ = dis(&bytes, &mut out);
        let _ = instructions(&bytes).count();
    }
}
