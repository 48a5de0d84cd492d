use std::sync::{Arc, OnceLock};

use sconce_tensor::{DType, Storage};

use crate::{Error, ErrorKind};

/// One thing that an edit changed.
#[derive(Debug, Clone)]
pub struct Change {
    /// The dotted name before the edit.
    pub name: String,
    /// What became of it.
    pub kind: ChangeKind,
}

/// What became of an entry or a tensor.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum ChangeKind {
    /// It is gone, with all below it.
    Dropped,
    /// It has another name.
    Renamed {
        /// The name after the edit.
        to: String,
    },
    /// It has another dtype.
    Cast {
        /// The dtype before.
        from: DType,
        /// The dtype after.
        to: DType,
        /// Numbers that were too large.
        overflow: CastOverflow,
        /// A tensor that shared its memory and keeps the old dtype: they share no longer.
        parted_from: Option<String>,
    },
    /// It was left as it is, though it was asked for.
    Left {
        /// Why.
        why: &'static str,
    },
    /// It has another value.
    Set {
        /// The value before, as Python shows it; `None` where there was no such entry.
        from: Option<String>,
        /// The value after.
        to: String,
    },
    /// Several tensors stand where it stood.
    Split {
        /// Their names.
        into: Vec<String>,
        /// The sizes of each.
        sizes: Vec<Vec<i64>>,
    },
    /// It is made of tensors that were there before.
    Joined {
        /// Their names.
        from: Vec<String>,
        /// Its sizes.
        sizes: Vec<i64>,
    },
    /// Two dimensions changed places.
    Transposed {
        /// The sizes after.
        sizes: Vec<i64>,
    },
    /// It has a smaller storage of its own.
    Cloned {
        /// Bytes of the storage before.
        before: u64,
        /// Bytes of the storage after.
        after: u64,
    },
}

/// How many numbers of a cast tensor, and of those that share its memory, were too large for the new
/// dtype. It is known when the tensor has been written; asking earlier converts it once more.
#[derive(Debug, Clone)]
pub struct CastOverflow {
    pub(super) cast: Storage,
    pub(super) counted: Arc<OnceLock<u64>>,
}

impl CastOverflow {
    /// Whether both are of tensors that share their memory, which were counted together.
    pub fn is_shared_with(&self, other: &CastOverflow) -> bool {
        self.cast.ptr_eq(&other.cast)
    }

    /// The count.
    ///
    /// # Errors
    /// When the tensor's data cannot be read.
    pub fn count(&self) -> Result<u64, Error> {
        if self.counted.get().is_none() {
            self.cast
                .bytes_once()
                .map_err(|error| Error::new(ErrorKind::Malformed, error.to_string()))?;
        }
        Ok(self.counted.get().copied().unwrap_or(0))
    }
}
