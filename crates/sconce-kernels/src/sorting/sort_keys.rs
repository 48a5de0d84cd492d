//! Sort keys: integers whose order is that of the numbers, which are faster to sort and to select from.

use std::ops::Not;

use sconce_kernel_core::tensor::wide_elements::Real;

use crate::sorting::introsort;

/// Numbers whose order that of integers can stand for: NaN as the largest, both zeros as one.
pub(crate) trait SortKey: Real {
    /// What stands for a number: small where numbers are.
    type Key: Copy + Ord + Into<u64> + Not<Output = Self::Key>;

    /// What stands for it.
    fn rank(self) -> Self::Key;
}

macro_rules! floats {
    ($($float:ident $signed:ident $unsigned:ident;)*) => {$(
        impl SortKey for $float {
            type Key = $unsigned;

            #[inline(always)]
            fn rank(self) -> $unsigned {
                if self.is_nan() {
                    return $unsigned::MAX;
                }
                // A negative zero plus zero is zero.
                let bits = (self + 0.0).to_bits();
                let sign = ((bits as $signed) >> ($unsigned::BITS - 1)) as $unsigned;
                bits ^ (sign | 1 << ($unsigned::BITS - 1))
            }
        }
    )*};
}
floats! {
    f32 i32 u32;
    f64 i64 u64;
}

impl SortKey for i64 {
    type Key = u64;

    #[inline(always)]
    fn rank(self) -> u64 {
        self as u64 ^ 1 << 63
    }
}

/// A rank with the position where it stood, which decides between equal ones.
pub(crate) trait KeyedIndex: Copy + Ord {
    /// Both as one.
    fn new(rank: u64, position: usize) -> Self;
    /// The rank.
    fn rank(self) -> u64;
    /// The position.
    fn position(self) -> usize;
}

macro_rules! placed {
    ($($ty:ident)*) => {$(
        impl KeyedIndex for $ty {
            #[inline(always)]
            fn new(rank: u64, position: usize) -> $ty {
                (rank as $ty) << ($ty::BITS / 2) | position as $ty
            }

            #[inline(always)]
            fn rank(self) -> u64 {
                (self >> ($ty::BITS / 2)) as u64
            }

            #[inline(always)]
            fn position(self) -> usize {
                (self & ($ty::MAX >> ($ty::BITS / 2))) as usize
            }
        }
    )*};
}
placed! { u64 u128 }

/// What is done with the ranks of a row and their positions.
pub(crate) trait WithKeys<R> {
    /// Does it; ranks are below `bound`.
    fn with<P: KeyedIndex>(&mut self, row: &mut [P], bound: u64) -> R;
}

/// Ranks a row, the largest number first where it is `descending`, and hands the ranks on as the
/// shortest integers that hold them.
pub(crate) fn with_keys<T: SortKey, R>(
    row: &[T],
    descending: bool,
    mut then: impl WithKeys<R>,
) -> R {
    let rank = |x: T| -> u64 { x.rank().into() };
    let low = row.iter().map(|&x| rank(x)).min().unwrap_or(0);
    let high = row.iter().map(|&x| rank(x)).max().unwrap_or(0);
    let from_end = |x: T| if descending { high - rank(x) } else { rank(x) - low };
    let bound = (high - low).saturating_add(1);
    if bound <= 1 << 32 && row.len() <= 1 << 32 {
        then.with(&mut placed::<u64>(row.iter().map(|&x| from_end(x))), bound)
    } else {
        then.with(&mut placed::<u128>(row.iter().map(|&x| from_end(x))), bound)
    }
}

fn placed<P: KeyedIndex>(ranks: impl Iterator<Item = u64>) -> Vec<P> {
    ranks.enumerate().map(|(position, rank)| P::new(rank, position)).collect()
}

/// Sorts a row by rank. Equal ones stay in their order where it is `stable`, and are left as
/// `std::sort` leaves them otherwise.
pub(crate) fn sort<P: KeyedIndex>(row: &mut [P], bound: u64, stable: bool) {
    if stable || row.len() <= introsort::SHORT {
        return row.sort_unstable();
    }
    let less = |a: P, b: P| a.rank() < b.rank();
    if bound < row.len() as u64 {
        return introsort::sort(row, &less);
    }
    // Where no two are equal, every sort gives the same.
    let before = row.to_vec();
    row.sort_unstable();
    if has_equal(row) {
        row.copy_from_slice(&before);
        introsort::sort(row, &less);
    }
}

/// Whether neighbours are of one rank.
pub(crate) fn has_equal<P: KeyedIndex>(row: &[P]) -> bool {
    row.windows(2).any(|pair| pair[0].rank() == pair[1].rank())
}

/// The position of the number at this rank of the sorted row, and whether others equal it; of equal ones
/// those that come first are the smaller.
pub(crate) fn nth<T: SortKey>(row: &[T], nth: usize) -> (usize, bool) {
    let mut ranks: Vec<T::Key> = row.iter().map(|x| x.rank()).collect();
    let (below, &mut found, _) = ranks.select_nth_unstable(nth);
    let before = below.iter().filter(|&&rank| rank == found).count();
    let mut equal = row.iter().enumerate().filter(|(_, x)| x.rank() == found);
    let position = equal.nth(before).map_or(0, |(position, _)| position);
    (position, before > 0 || equal.next().is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_in_the_order_of_the_numbers() {
        let numbers = [
            f64::NEG_INFINITY,
            -1e300,
            -1.0,
            -1e-310,
            -0.0,
            0.0,
            1e-310,
            0.5,
            1.0,
            1e300,
            f64::INFINITY,
            f64::NAN,
        ];
        for a in numbers {
            for b in numbers {
                assert_eq!(a.rank().cmp(&b.rank()), a.order(b), "{a} {b}");
                let (a, b) = (a as f32, b as f32);
                assert_eq!(a.rank().cmp(&b.rank()), a.order(b), "{a} {b}");
            }
        }
        assert!(i64::MIN.rank() < (-1i64).rank() && (-1i64).rank() < 0i64.rank());
    }

    #[test]
    fn sorting_by_rank_is_introsort_of_the_numbers() {
        struct Sorted(bool);
        impl WithKeys<Vec<usize>> for Sorted {
            fn with<P: KeyedIndex>(&mut self, row: &mut [P], bound: u64) -> Vec<usize> {
                sort(row, bound, self.0);
                row.iter().map(|placed| placed.position()).collect()
            }
        }
        for (len, spread) in [(0, 1), (1, 1), (16, 3), (17, 1000), (40, 7), (900, 1 << 40)] {
            let row: Vec<i64> = (0..len).map(|i: i64| (i * 7919 % 1009) % spread).collect();
            let wide: Vec<i64> = row.iter().map(|x| x.wrapping_mul(1 << 53)).collect();
            for (row, descending) in [(&row, false), (&row, true), (&wide, false), (&wide, true)] {
                let compare = |a: usize, b: usize| match descending {
                    true => row[b].cmp(&row[a]),
                    false => row[a].cmp(&row[b]),
                };
                let mut expected: Vec<usize> = (0..row.len()).collect();
                introsort::sort(&mut expected, &|a, b| compare(a, b).is_lt());
                assert_eq!(with_keys(row, descending, Sorted(false)), expected);
                expected.sort_unstable();
                expected.sort_by(|&a, &b| compare(a, b));
                assert_eq!(with_keys(row, descending, Sorted(true)), expected);
                for (rank, &position) in expected.iter().enumerate() {
                    if !descending {
                        let twice = row.iter().filter(|&&x| x == row[position]).count() > 1;
                        assert_eq!(nth(row, rank), (position, twice));
                    }
                }
            }
        }
    }
}
