//! What can go wrong when a program is prepared or run.

use sconce_syntax::SourceRange;

/// Why a program could not be prepared, or stopped.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The program came to something that is not here; or it has it, and was refused for that.
    #[error("{what} is not supported{}{}", left_out(what), place(.range.as_ref()))]
    Unsupported {
        /// What is missing: an operator by its full name, or a kind of value.
        what: String,
        /// Where the program uses it.
        range: Option<SourceRange>,
    },
    /// The program raised, or an operator in it did. The text is PyTorch's.
    #[error("{}", .0.text)]
    Raised(Box<Exception>),
    /// The arguments do not fit the method.
    #[error("{0}")]
    Arguments(String),
    /// A limit of the caller was reached.
    #[error("{0}")]
    Limit(String),
    /// The caller asked to stop.
    #[error("the program was interrupted")]
    Interrupted,
    /// The archive or its code is wrong.
    #[error(transparent)]
    Archive(#[from] sconce_torchscript::Error),
    /// A graph that does not hold together, which the verifier would have refused.
    #[error("the program is malformed: {0}")]
    Malformed(String),
}

/// What a program raised.
#[derive(Debug, Clone)]
pub struct Exception {
    /// The class: `builtins.ValueError`, or `RuntimeError` for an operator's own errors.
    pub class: String,
    /// The message alone.
    pub message: String,
    /// The whole text with the traceback, as `str(error)` has it in Python.
    pub text: String,
}

/// Says which feature of the facade brings an operator that this build leaves out.
fn left_out(what: &str) -> &'static str {
    match crate::linalg_operators::is_left_out(what) {
        true => " in a build without sconce's feature `linalg`",
        false => "",
    }
}

fn place(range: Option<&SourceRange>) -> String {
    range
        .map(|range| format!(":\n{}", range.original().as_ref().unwrap_or(range).highlight()))
        .unwrap_or_default()
}

/// What an operator gives instead of a value.
#[derive(Debug, Clone)]
pub(crate) enum Raise {
    /// An exception: its class (`None` for what PyTorch throws itself) and message.
    Exception {
        /// The class's qualified name.
        class: Option<String>,
        /// The message.
        message: String,
    },
    /// An error that no program sees.
    Error(Error),
}

impl Raise {
    /// What an operator throws: `TORCH_CHECK`'s message.
    pub(crate) fn message(message: impl Into<String>) -> Self {
        Raise::Exception { class: None, message: message.into() }
    }

    /// A case of an operator that is not here.
    pub(crate) fn unsupported(what: impl Into<String>) -> Self {
        Raise::Error(Error::Unsupported { what: what.into(), range: None })
    }
}

impl From<Error> for Raise {
    fn from(error: Error) -> Self {
        Raise::Error(error)
    }
}

/// A kernel's error: what it has no kernel for is not supported, the rest is PyTorch's.
pub(crate) fn kernel(error: sconce_kernels::Error) -> Raise {
    match error.kind() {
        sconce_kernels::ErrorKind::NotImplemented => Raise::unsupported(error.message()),
        sconce_kernels::ErrorKind::OutOfMemory => {
            Raise::Error(Error::Limit(error.message().to_owned()))
        }
        _ => Raise::message(error.message()),
    }
}
