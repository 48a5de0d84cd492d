//! Factorizations of matrices, what is computed by them, and Fourier transforms: the operators of the feature `linalg`.
//!
//! Products are not of it, nor norms of vectors.

#[cfg(feature = "linalg")]
pub(crate) mod factorizations;
#[cfg(feature = "linalg")]
pub(crate) mod fft;

#[cfg(all(test, feature = "linalg"))]
mod tests {
    use super::*;

    #[test]
    fn the_names_are_those_of_the_tables() {
        let tables = [factorizations::TABLE, fft::TABLE];
        let rows = tables.iter().flat_map(|table| table.iter());
        let rows: std::collections::BTreeSet<&str> = rows.map(|row| row.symbol).collect();
        assert_eq!(crate::linalg_operators::SYMBOLS, rows.into_iter().collect::<Vec<_>>());
    }
}
