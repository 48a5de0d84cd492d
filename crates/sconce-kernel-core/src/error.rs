//! Errors, with the Python class that PyTorch would raise.

use std::fmt;

use crate::DType;

/// Which Python exception PyTorch raises for the same mistake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// `RuntimeError`.
    Runtime,
    /// `IndexError`.
    Index,
    /// `NotImplementedError`: the operator has no kernel for this dtype.
    NotImplemented,
    /// `TypeError`.
    Type,
    /// `ValueError`.
    Value,
    /// No exception of PyTorch's: the caller's [`crate::Memory`] allows no more.
    OutOfMemory,
}

/// Why a kernel refused its inputs, in PyTorch's words where it has some.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    kind: ErrorKind,
    message: Box<str>,
}

/// What every kernel returns.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// A `RuntimeError`.
    pub fn runtime(message: impl Into<String>) -> Error {
        Error { kind: ErrorKind::Runtime, message: message.into().into() }
    }

    /// An `IndexError`.
    pub fn index(message: impl Into<String>) -> Error {
        Error { kind: ErrorKind::Index, message: message.into().into() }
    }

    /// A `NotImplementedError`.
    pub fn not_implemented(message: impl Into<String>) -> Error {
        Error { kind: ErrorKind::NotImplemented, message: message.into().into() }
    }

    /// A `TypeError`.
    pub fn type_error(message: impl Into<String>) -> Error {
        Error { kind: ErrorKind::Type, message: message.into().into() }
    }

    /// A `ValueError`.
    pub fn value(message: impl Into<String>) -> Error {
        Error { kind: ErrorKind::Value, message: message.into().into() }
    }

    /// More memory than the caller allows.
    pub fn out_of_memory(message: impl Into<String>) -> Error {
        Error { kind: ErrorKind::OutOfMemory, message: message.into().into() }
    }

    /// `"gelu" not implemented for 'Long'`, as PyTorch's dispatch macros say it.
    pub fn no_kernel(kernel: &str, dtype: DType) -> Error {
        let dtype = dtype.scalar_type_name();
        Error::not_implemented(format!("\"{kernel}\" not implemented for '{dtype}'"))
    }

    /// The exception it stands for.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// The text of the exception.
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

impl From<sconce_tensor::Error> for Error {
    fn from(error: sconce_tensor::Error) -> Error {
        Error::runtime(error.to_string())
    }
}

/// The C++ type that some messages name instead of the dtype.
pub fn cpp_type_name(dtype: DType) -> &'static str {
    match dtype {
        DType::Float32 => "float",
        DType::Float64 => "double",
        DType::Float16 => "c10::Half",
        DType::BFloat16 => "c10::BFloat16",
        DType::Int64 => "long int",
        DType::Int32 => "int",
        DType::Int16 => "short int",
        DType::Int8 => "signed char",
        DType::UInt8 => "unsigned char",
        DType::Bool => "bool",
        DType::Complex64 => "c10::complex<float>",
        DType::Complex128 => "c10::complex<double>",
        other => other.name(),
    }
}
