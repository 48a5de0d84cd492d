use std::fmt;
use std::str::FromStr;

use crate::Error;

/// How a tensor's elements are laid out, `torch.layout`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Layout {
    /// `torch.strided`: sizes and strides over a storage.
    Strided,
    /// `torch.sparse_coo`: coordinates and values.
    SparseCoo,
    /// `torch.sparse_csr`: compressed rows.
    SparseCsr,
    /// `torch.sparse_csc`: compressed columns.
    SparseCsc,
    /// `torch.sparse_bsr`: compressed rows of blocks.
    SparseBsr,
    /// `torch.sparse_bsc`: compressed columns of blocks.
    SparseBsc,
    /// `torch._mkldnn`: oneDNN's opaque layout.
    Mkldnn,
    /// `torch.jagged`: the newer nested tensors, a Python class around other tensors.
    Jagged,
    /// The older nested tensors: components in one buffer. PyTorch calls this `torch.strided` too,
    /// although such a tensor has no strides; here it has a name of its own.
    Nested,
}

/// Layout, name after `torch.`, number in TorchScript files (`c10::Layout`).
static TABLE: &[(Layout, &str, i64)] = &[
    (Layout::Strided, "strided", 0),
    (Layout::SparseCoo, "sparse_coo", 1),
    (Layout::SparseCsr, "sparse_csr", 2),
    (Layout::Mkldnn, "_mkldnn", 3),
    (Layout::SparseCsc, "sparse_csc", 4),
    (Layout::SparseBsr, "sparse_bsr", 5),
    (Layout::SparseBsc, "sparse_bsc", 6),
    (Layout::Jagged, "jagged", 7),
    (Layout::Nested, "strided", 0),
];

impl Layout {
    fn row(self) -> &'static (Layout, &'static str, i64) {
        // Every variant has its row; the test below holds the table to that.
        TABLE.iter().find(|row| row.0 == self).unwrap_or(&TABLE[0])
    }

    /// The name after `torch.`.
    pub fn name(self) -> &'static str {
        self.row().1
    }

    /// The layout that `torch.<name>` is.
    pub fn from_name(name: &str) -> Option<Layout> {
        TABLE.iter().find(|row| row.1 == name).map(|row| row.0)
    }

    /// The number of `c10::Layout`.
    pub fn number(self) -> i64 {
        self.row().2
    }

    /// The layout of a `c10::Layout` number.
    pub fn from_number(number: i64) -> Option<Layout> {
        TABLE.iter().find(|row| row.2 == number).map(|row| row.0)
    }

    /// CSR, CSC, BSR or BSC.
    pub fn is_sparse_compressed(self) -> bool {
        matches!(
            self,
            Layout::SparseCsr | Layout::SparseCsc | Layout::SparseBsr | Layout::SparseBsc
        )
    }

    /// BSR or BSC.
    pub fn is_blocked(self) -> bool {
        matches!(self, Layout::SparseBsr | Layout::SparseBsc)
    }

    /// CSR or BSR: the compressed dimension is the rows.
    pub fn compresses_rows(self) -> bool {
        matches!(self, Layout::SparseCsr | Layout::SparseBsr)
    }
}

impl fmt::Display for Layout {
    /// As Python prints it: `torch.sparse_coo`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("torch.{}", self.name()))
    }
}

impl FromStr for Layout {
    type Err = Error;

    /// Reads `torch.sparse_coo` or `sparse_coo`.
    fn from_str(text: &str) -> Result<Layout, Error> {
        Layout::from_name(text.strip_prefix("torch.").unwrap_or(text))
            .ok_or_else(|| Error::Unsupported(format!("no layout is called '{text}'")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers_read_back() {
        for (i, &(layout, name, number)) in TABLE[..8].iter().enumerate() {
            assert_eq!(number, i as i64);
            assert_eq!((layout.name(), layout.number()), (name, number));
            assert_eq!(layout.to_string().parse::<Layout>().unwrap(), layout);
            assert_eq!(Layout::from_number(number), Some(layout));
        }
        assert_eq!(TABLE.len(), Layout::Nested as usize + 1, "a row for every variant");
        assert_eq!(Layout::Nested.to_string(), "torch.strided");
        assert!("torch.sparse".parse::<Layout>().is_err());
    }
}
