//! Bounds of strided operands in their slices. Unsafe code relies on these checks.

/// How many elements `count` runs of `len` elements reach over, `stride` from one to the next; `None` where
/// that is more than a slice can have.
pub(crate) fn extent(count: usize, stride: usize, len: usize) -> Option<usize> {
    match count.checked_sub(1) {
        None => Some(0),
        Some(last) => last.checked_mul(stride)?.checked_add(len),
    }
}

/// Whether `count` runs of `len` elements, `stride` from one to the next, lie in a slice of `available`.
pub(crate) fn lies_in(count: usize, stride: usize, len: usize, available: usize) -> bool {
    extent(count, stride, len).is_some_and(|end| end <= available)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_whose_product_overflows_lie_in_no_slice() {
        assert!(lies_in(0, usize::MAX, usize::MAX, 0));
        assert!(lies_in(3, 10, 4, 24) && !lies_in(3, 10, 4, 23));
        for (count, stride, len) in [
            (usize::MAX, 2, 1),
            (2, usize::MAX, 1),
            ((1 << (usize::BITS / 2)) + 1, 1 << (usize::BITS / 2), 0),
            (1, 0, usize::MAX),
        ] {
            assert!(!lies_in(count, stride, len, usize::MAX >> 1), "{count} {stride} {len}");
        }
    }
}
