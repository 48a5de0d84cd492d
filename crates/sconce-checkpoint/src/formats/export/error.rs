use std::io;

use sconce_tensor::DType;

/// Why tensors could not be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The format has no such dtype.
    #[error("{format} has no {dtype}, the dtype of '{name}'")]
    DType {
        /// The tensor's name.
        name: String,
        /// Its dtype.
        dtype: DType,
        /// The format.
        format: &'static str,
    },
    /// The format has no such layout, or the tensor has no data at all.
    #[error("{format} cannot hold '{name}': it is {what}")]
    Layout {
        /// The tensor's name.
        name: String,
        /// What it is.
        what: &'static str,
        /// The format.
        format: &'static str,
    },
    /// Two tensors have one name, or a name means something else in the format.
    #[error("{0}")]
    Name(String),
    /// Two tensors share memory, and [`Sharing::Error`](super::Sharing::Error) was asked for.
    #[error("'{first}' and '{second}' share memory")]
    Shared {
        /// The tensor that comes first.
        first: String,
        /// The tensor that shares its memory.
        second: String,
    },
    /// A tensor's bytes could not be read.
    #[error("{0}")]
    Tensor(#[from] sconce_tensor::Error),
    /// The file that the tensors lie in could not be read.
    #[error("{0}")]
    Source(#[from] sconce_source::Error),
    /// Writing failed.
    #[error("{0}")]
    Io(#[from] io::Error),
}

/// Whose fault an [`Error`] is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The format cannot hold the tensor as it is.
    Unsupported,
    /// The caller's names or policy.
    Caller,
    /// The bytes of the source.
    Source,
    /// The disk, or whatever is written to.
    Io,
}

impl Error {
    /// Whose fault this is.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Error::DType { .. } | Error::Layout { .. } => ErrorKind::Unsupported,
            Error::Name(_) | Error::Shared { .. } => ErrorKind::Caller,
            Error::Tensor(_) | Error::Source(_) => ErrorKind::Source,
            Error::Io(_) => ErrorKind::Io,
        }
    }
}
