use std::fmt;

/// The order of the bytes in a word, as the `byteorder` record of a checkpoint names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ByteOrder {
    /// Least significant byte first.
    Little,
    /// Most significant byte first.
    Big,
}

impl ByteOrder {
    /// This machine's order.
    pub const fn native() -> ByteOrder {
        if cfg!(target_endian = "big") { ByteOrder::Big } else { ByteOrder::Little }
    }

    /// `little` or `big`.
    pub const fn name(self) -> &'static str {
        match self {
            ByteOrder::Little => "little",
            ByteOrder::Big => "big",
        }
    }

    /// Reads `little` or `big`, exactly.
    pub fn from_name(name: &str) -> Option<ByteOrder> {
        match name {
            "little" => Some(ByteOrder::Little),
            "big" => Some(ByteOrder::Big),
            _ => None,
        }
    }
}

impl fmt::Display for ByteOrder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Reverses the bytes of every whole word. Bytes after the last whole word belong to no element and
/// stay as they are, as in `UntypedStorage.byteswap`.
pub(crate) fn swap_words(data: &mut [u8], word: usize) {
    if word > 1 {
        data.chunks_exact_mut(word).for_each(<[u8]>::reverse);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_reversed_and_the_rest_kept() {
        let cases: [(usize, &[u8]); 4] = [
            (1, &[1, 2, 3, 4, 5]),
            (2, &[2, 1, 4, 3, 5]),
            (4, &[4, 3, 2, 1, 5]),
            (8, &[1, 2, 3, 4, 5]),
        ];
        for (word, want) in cases {
            let mut data = [1, 2, 3, 4, 5];
            swap_words(&mut data, word);
            assert_eq!(data, want, "word {word}");
        }
    }

    #[test]
    fn names() {
        for order in [ByteOrder::Little, ByteOrder::Big] {
            assert_eq!(ByteOrder::from_name(order.name()), Some(order));
        }
        assert_eq!(ByteOrder::from_name("LITTLE"), None);
    }
}
