//! Files that are pickles: the old stream format, and pickles by themselves.

use num_bigint::BigInt;
use sconce_pickle::{AllowAll, Error, Limits, Machine, Node};

use super::{FileKind, Identity};

/// The number that the first pickle of the old stream format is.
const MAGIC_NUMBER: u128 = 0x1950_a86a_20f9_469c_fc6c;
/// Bytes of a file that are looked at.
const HEAD: usize = 1 << 16;
/// Opcodes that are tried: a file that makes sense for so long is a pickle.
const MAX_STEPS: usize = 256;
/// Fewer opcodes than this prove nothing when a pickle of protocol 0 or 1 does not fill the file.
const MIN_STEPS: usize = 8;

pub(super) fn identify(bytes: &[u8], len: usize) -> Option<Identity> {
    let binary = matches!(bytes, [0x80, 2..=5, ..]);
    // Protocols 0 and 1 begin with the opcode of a value.
    if !binary
        && !matches!(bytes, [b'(' | b')' | b'F'..=b'N' | b'S'..=b'X' | b'c' | b']' | b'}', ..])
    {
        return None;
    }
    let head = &bytes[..bytes.len().min(HEAD)];
    let limits = Limits::default().with_max_values(4 * MAX_STEPS).with_max_memo(4 * MAX_STEPS);
    let mut machine = Machine::new(head, &limits);
    let mut steps = 0;
    let end = loop {
        steps += 1;
        match machine.step(&mut AllowAll) {
            Ok(Some(root)) => break Ok(Some(root)),
            Ok(None) if steps >= MAX_STEPS => break Ok(None),
            Ok(None) => {}
            Err(error) => break Err(error),
        }
    };
    let protocol = machine.protocol();
    let detail = format!("protocol {protocol}");
    match end {
        Ok(Some(root)) => {
            if let Node::BigInt(number) = machine.arena().node(root)
                && **number == BigInt::from(MAGIC_NUMBER)
            {
                return Some(Identity::new(FileKind::Legacy, detail));
            }
            let fills = bytes.len() == len && bytes[machine.position()..].trim_ascii().is_empty();
            (binary || steps >= MIN_STEPS || fills).then(|| {
                let more = if fills { "" } else { ", with more after it" };
                Identity::new(FileKind::Pickle, format!("{detail}{more}"))
            })
        }
        Ok(None) => Some(Identity::new(FileKind::Pickle, detail)),
        Err(Error::Exhausted { .. } | Error::Truncated { .. }) => {
            let beyond = head.len() < len;
            let certain = binary && (steps > 1 || beyond);
            (certain || steps >= MIN_STEPS && beyond).then(|| {
                let cut = if beyond { "" } else { ", cut short" };
                Identity::new(FileKind::Pickle, format!("{detail}{cut}"))
            })
        }
        Err(Error::Limit { .. }) => Some(Identity::new(FileKind::Pickle, detail)),
        Err(error) => {
            // Something is wrong with a pickle that began well: its reader says what.
            (binary && steps >= MIN_STEPS)
                .then(|| Identity::new(FileKind::Pickle, format!("{detail}, damaged: {error}")))
        }
    }
}
