//! What `hash` gives: PyTorch's `IValue::hash` over libstdc++'s hashes.

use crate::Constant;

/// The hash of a constant; `None` for what has none, or none that is the same in every process.
pub fn hash_constant(constant: &Constant) -> Option<i64> {
    Some(match constant {
        Constant::None => 0,
        Constant::Bool(value) => i64::from(*value),
        Constant::Int(value) => *value,
        Constant::Float(value) => hash_float(*value),
        Constant::Str(text) => hash_bytes(text.as_bytes()),
        Constant::Device(name) => {
            let (kind, index) = name.split_once(':').unwrap_or((name, "-1"));
            let kind = match kind {
                "cpu" => 0,
                "cuda" => 1,
                _ => return None,
            };
            (kind << 16) | i64::from(index.parse::<i8>().ok()? as u8)
        }
        Constant::Tuple(elements, _) => {
            let hashes = elements.iter().map(hash_constant);
            hash_sequence(hashes.collect::<Option<Vec<_>>>()?)
        }
        _ => return None,
    })
}

/// The hash of a float: of its bytes, and of both zeros the same.
pub fn hash_float(value: f64) -> i64 {
    if value == 0.0 { 0 } else { hash_bytes(&value.to_bits().to_le_bytes()) }
}

/// The hash of a tuple of the hashes of its elements.
pub fn hash_sequence(elements: impl IntoIterator<Item = i64>) -> i64 {
    let combine = |seed: u64, value: i64| {
        let mixed = (value as u64).wrapping_add(0x9e37_79b9);
        seed ^ mixed.wrapping_add(seed << 6).wrapping_add(seed >> 2)
    };
    elements.into_iter().fold(0, combine) as i64
}

/// MurmurHash64A with libstdc++'s seed: `std::_Hash_bytes`.
pub fn hash_bytes(bytes: &[u8]) -> i64 {
    const MUL: u64 = 0xc6a4_a793_5bd1_e995;
    let mix = |value: u64| value ^ (value >> 47);
    let mut hash = 0xc70f_6907_u64 ^ (bytes.len() as u64).wrapping_mul(MUL);
    let mut chunks = bytes.chunks_exact(8);
    for chunk in &mut chunks {
        let word = chunk.iter().rev().fold(0_u64, |word, &byte| (word << 8) | u64::from(byte));
        let data = mix(word.wrapping_mul(MUL)).wrapping_mul(MUL);
        hash = (hash ^ data).wrapping_mul(MUL);
    }
    let rest = chunks.remainder();
    if !rest.is_empty() {
        let word = rest.iter().rev().fold(0_u64, |word, &byte| (word << 8) | u64::from(byte));
        hash = (hash ^ word).wrapping_mul(MUL);
    }
    mix(mix(hash).wrapping_mul(MUL)) as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What `hash` gives in PyTorch 2.15.
    #[test]
    fn hashes_are_those_of_pytorch() {
        let tuple = |elements: Vec<Constant>| Constant::Tuple(elements.into(), None);
        let cases = [
            (Constant::Int(5), 5),
            (Constant::Bool(true), 1),
            (Constant::None, 0),
            (Constant::Float(1.5), 4_982_507_072_649_106_663),
            (Constant::Float(-0.0), 0),
            (Constant::Device("cpu".into()), 255),
            (Constant::Device("cuda:1".into()), 65537),
            (tuple(vec![Constant::Int(5)]), 2_654_435_774),
            (tuple(vec![Constant::Int(1), Constant::Str("a".into())]), 4_993_892_805_569_072_552),
            (tuple(vec![Constant::Float(1.5), Constant::None]), 2_270_138_021_861_280_705),
        ];
        for (constant, expected) in cases {
            assert_eq!(hash_constant(&constant), Some(expected), "{constant:?}");
        }
    }
}
