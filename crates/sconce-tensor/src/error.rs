use std::sync::Arc;

use crate::{DType, Dims};

/// A sketch of a strided view, for error messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ViewShape {
    /// The dtype of the elements.
    pub dtype: DType,
    /// Sizes in elements.
    pub sizes: Dims,
    /// Strides in elements.
    pub strides: Dims,
    /// Where the view starts in its storage, in elements.
    pub offset: i64,
}

/// Why a tensor could not be built or read.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A view reaches beyond the end of its storage.
    #[error(
        "view of sizes {:?}, strides {:?} and storage offset {} ({}) needs {needed} bytes, but its storage holds {held}",
        view.sizes, view.strides, view.offset, view.dtype
    )]
    OutOfBounds {
        /// The view.
        view: Box<ViewShape>,
        /// Bytes from the start of the storage to the end of the last element.
        needed: u128,
        /// Bytes the storage holds.
        held: u64,
    },
    /// Sizes, strides or offset that no tensor can have.
    #[error("{0}")]
    InvalidView(String),
    /// Parts of a sparse tensor that do not fit together.
    #[error("{0}")]
    InvalidSparse(String),
    /// Quantizer parameters that do not fit the tensor.
    #[error("{0}")]
    InvalidQuantizer(String),
    /// Parts of a nested tensor that do not fit together.
    #[error("{0}")]
    InvalidNested(String),
    /// A device string that `torch.device` refuses.
    #[error("{0}")]
    InvalidDevice(String),
    /// A name that is no dtype.
    #[error("no dtype is called '{0}'")]
    UnknownDType(String),
    /// The data was not loaded, or never existed (device `meta`).
    #[error("{0} has no data: it is a meta tensor or was loaded without its data")]
    NoData(&'static str),
    /// A storage that is loaded on first use could not be loaded.
    #[error("storage of {nbytes} bytes could not be loaded: {source}")]
    Load {
        /// Bytes the storage should hold.
        nbytes: u64,
        /// What went wrong.
        #[source]
        source: Arc<dyn std::error::Error + Send + Sync>,
    },
    /// A storage that is loaded on first use gave another number of bytes than promised.
    #[error("storage record holds {found} bytes where {expected} were expected")]
    StorageLength {
        /// Bytes promised.
        expected: u64,
        /// Bytes found.
        found: u64,
    },
    /// The caller asked for elements of another type than the tensor's.
    #[error("tensor holds {found}, not {wanted}")]
    WrongDType {
        /// What the caller asked for.
        wanted: DType,
        /// What the tensor holds.
        found: DType,
    },
    /// The elements cannot be lent as a slice; copying them (`to_vec`) works.
    #[error("elements cannot be borrowed as a slice: {0}")]
    NotBorrowable(&'static str),
    /// The answer would take more memory than allowed.
    #[error("{what} takes {needed} bytes, more than the limit of {limit}")]
    TooLarge {
        /// What was to be made.
        what: &'static str,
        /// Bytes it takes.
        needed: u128,
        /// Bytes allowed.
        limit: u64,
    },
    /// A dimension, index or step that the tensor does not have.
    #[error("{0}")]
    BadIndex(String),
    /// The operation has no meaning for this tensor, or the format has no word for it.
    #[error("{0}")]
    Unsupported(String),
    /// A malformed `.npy` file.
    #[error("npy: byte {offset}: {reason}")]
    Npy {
        /// Where in the file.
        offset: u64,
        /// What is wrong.
        reason: String,
    },
    /// The operating system refused to write.
    #[error("{0}")]
    Io(Arc<std::io::Error>),
}

/// Whose fault an [`Error`] is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The data contradicts itself.
    File,
    /// The caller asked for something that is not there.
    Caller,
    /// A limit was reached.
    Limit,
    /// The disk, or whatever loads the data.
    Io,
    /// Valid, but not something this operation can do.
    Unsupported,
}

impl Error {
    /// Whose fault this is.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Error::OutOfBounds { .. }
            | Error::InvalidView(_)
            | Error::InvalidSparse(_)
            | Error::InvalidQuantizer(_)
            | Error::InvalidNested(_)
            | Error::StorageLength { .. }
            | Error::Npy { .. } => ErrorKind::File,
            Error::InvalidDevice(_)
            | Error::UnknownDType(_)
            | Error::NoData(_)
            | Error::WrongDType { .. }
            | Error::NotBorrowable(_)
            | Error::BadIndex(_) => ErrorKind::Caller,
            Error::TooLarge { .. } => ErrorKind::Limit,
            Error::Load { .. } | Error::Io(_) => ErrorKind::Io,
            Error::Unsupported(_) => ErrorKind::Unsupported,
        }
    }
}

impl From<std::io::Error> for Error {
    fn from(error: std::io::Error) -> Error {
        Error::Io(Arc::new(error))
    }
}
