//! The pickle machine, the disassembler and the tracer on any bytes; they must agree where the same
//! bytes decide.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sconce_pickle::{ErrorKind, Limits, Tracer, dis, instructions, load, render};

/// Steps that are rendered: each costs the stack's top.
const STEPS: usize = 200;

fuzz_target!(|bytes: &[u8]| {
    let limits = Limits::default().with_max_values(1 << 18).with_max_memo(1 << 18);
    let listed: Vec<_> = instructions(bytes).collect();
    let decoded = listed.iter().all(Result::is_ok);
    let read: usize = listed.iter().flatten().map(|instruction| instruction.raw.len()).sum();
    let loaded = load(bytes, &limits);

    let mut tracer = Tracer::new(bytes, &limits);
    let mut failed = tracer.by_ref().take(STEPS).find_map(Result::err);
    if failed.is_none() {
        failed = tracer.skip_until(usize::MAX).err();
    }
    match &loaded {
        Ok(loaded) => {
            assert!(decoded, "what loads can be listed");
            assert_eq!(loaded.consumed, read, "both stop at the same STOP");
            for value in loaded.arena.values() {
                assert!(loaded.arena.offset(value) < loaded.consumed as u64);
            }
            assert!(render(&loaded.arena, loaded.root, 200).len() < 10_000);
            assert_eq!(failed, None, "what loads can be traced");
        }
        Err(error) => {
            assert!(error.offset() <= bytes.len() as u64);
            assert!(!error.to_string().is_empty());
            if error.kind() == ErrorKind::UnknownOpcode {
                assert_eq!(listed.last(), Some(&Err(error.clone())));
            }
            assert_eq!(failed.as_ref(), Some(error), "tracing meets the error that loading met");
        }
    }
    // pickletools' model of the stack is cruder than the machine: it may refuse what loads, but what
    // it lists to the end it reads as far as the machine does.
    let mut listing = Lines(0);
    if let Ok(summary) = dis(bytes, &mut listing) {
        assert!(decoded);
        assert_eq!((summary.end, summary.opcodes), (read, listed.len() as u64));
        assert!(listing.0 > summary.opcodes);
    }
});

/// Counts lines and keeps none.
struct Lines(u64);

impl std::io::Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0 += bytes.iter().filter(|&&byte| byte == b'\n').count() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
