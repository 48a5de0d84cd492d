//! The one error that `?` turns all others into.

use crate::ErrorKind;

/// What went wrong, whichever part of the crate says so.
///
/// Each part has an error of its own, with what only it can say: the record and offset of a damaged file, the
/// traceback of a program. `?` turns any of them into this one, which shows as it does.
///
/// ```
/// fn first_weight(path: &str) -> Result<Vec<f32>, sconce::Error> {
///     let checkpoint = sconce::load(path)?;
///     let weight = checkpoint.tensor("state_dict.conv1.weight").expect("a convolution");
///     Ok(weight.to_vec::<f32>()?)
/// }
///
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/digits.ckpt");
/// assert_eq!(first_weight(path)?.len(), 72);
/// let error = first_weight("missing.pt").unwrap_err();
/// assert_eq!(error.kind(), sconce::ErrorKind::Io);
/// assert!(error.to_string().contains("missing.pt"));
/// # Ok::<(), sconce::Error>(())
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A checkpoint could not be read, changed or written.
    #[error(transparent)]
    Checkpoint(#[from] sconce_checkpoint::Error),
    /// A zip archive is damaged.
    #[error(transparent)]
    Archive(#[from] sconce_archive::Error),
    /// A pickle is damaged.
    #[error(transparent)]
    Pickle(#[from] sconce_pickle::Error),
    /// A file could not be read.
    #[error(transparent)]
    Source(#[from] sconce_source::Error),
    /// A tensor's elements could not be had.
    #[error(transparent)]
    Tensor(#[from] sconce_tensor::Error),
    /// Tensors could not be written as safetensors or npz.
    #[error(transparent)]
    Export(#[from] sconce_checkpoint::export::Error),
    /// A file or a repository could not be fetched.
    #[cfg(feature = "hub")]
    #[error(transparent)]
    Hub(#[from] sconce_hub::Error),
    /// A program of torch.export could not be read.
    #[cfg(feature = "export-program")]
    #[error(transparent)]
    ExportProgram(#[from] sconce_export_program::Error),
    /// Source code could not be parsed.
    #[cfg(feature = "jit")]
    #[error(transparent)]
    Syntax(#[from] sconce_syntax::Error),
    /// A TorchScript archive could not be read, or its code does not compile.
    #[cfg(feature = "jit")]
    #[error(transparent)]
    TorchScript(#[from] sconce_torchscript::Error),
    /// Python source could not be compiled.
    #[cfg(feature = "script")]
    #[error(transparent)]
    Script(#[from] sconce_script::Error),
    /// A program could not be prepared, or it raised.
    #[cfg(feature = "run")]
    #[error(transparent)]
    Run(#[from] sconce_runtime::Error),
    /// A file that is no program was to be run.
    #[cfg(feature = "run")]
    #[error("{file} is not a TorchScript archive but: {}", .kind.description())]
    NotAProgram {
        /// The file.
        file: String,
        /// What it is.
        kind: crate::FileKind,
    },
    /// Tensors of running programs could not be made or read.
    #[cfg(feature = "run")]
    #[error(transparent)]
    RunTensor(#[from] sconce_runtime::TensorError),
}

impl Error {
    /// Whose fault it is.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Error::Checkpoint(error) => error.kind(),
            #[cfg(feature = "export-program")]
            Error::ExportProgram(error) => error.kind(),
            Error::Archive(error) => sconce_checkpoint::Error::from(error.clone()).kind(),
            Error::Pickle(error) => sconce_checkpoint::Error::from(error.clone()).kind(),
            Error::Source(error) => match error.kind() {
                sconce_source::ErrorKind::Io => ErrorKind::Io,
                sconce_source::ErrorKind::Limit => ErrorKind::Limit,
                _ => ErrorKind::Caller,
            },
            Error::Tensor(error) => match error.kind() {
                sconce_tensor::ErrorKind::Caller => ErrorKind::Caller,
                sconce_tensor::ErrorKind::Limit => ErrorKind::Limit,
                sconce_tensor::ErrorKind::Io => ErrorKind::Io,
                sconce_tensor::ErrorKind::Unsupported => ErrorKind::Unsupported,
                _ => ErrorKind::Malformed,
            },
            Error::Export(error) => match error.kind() {
                sconce_checkpoint::export::ErrorKind::Unsupported => ErrorKind::Unsupported,
                sconce_checkpoint::export::ErrorKind::Caller => ErrorKind::Caller,
                sconce_checkpoint::export::ErrorKind::Io => ErrorKind::Io,
                _ => ErrorKind::Malformed,
            },
            #[cfg(feature = "hub")]
            Error::Hub(error) => match error.kind() {
                sconce_hub::ErrorKind::Usage => ErrorKind::Caller,
                sconce_hub::ErrorKind::Untrusted | sconce_hub::ErrorKind::Hostile => {
                    ErrorKind::Refused
                }
                sconce_hub::ErrorKind::BadAnswer | sconce_hub::ErrorKind::WrongHash => {
                    ErrorKind::Malformed
                }
                _ => ErrorKind::Io,
            },
            #[cfg(feature = "jit")]
            Error::Syntax(_) => ErrorKind::Malformed,
            #[cfg(feature = "jit")]
            Error::TorchScript(error) => error.kind(),
            #[cfg(feature = "script")]
            Error::Script(error) => sconce_torchscript::Error::from(error.clone()).kind(),
            #[cfg(feature = "run")]
            Error::Run(error) => match error {
                sconce_runtime::Error::Unsupported { .. } => ErrorKind::Unsupported,
                sconce_runtime::Error::Arguments(_) => ErrorKind::Caller,
                sconce_runtime::Error::Limit(_) => ErrorKind::Limit,
                sconce_runtime::Error::Archive(error) => error.kind(),
                _ => ErrorKind::Malformed,
            },
            #[cfg(feature = "run")]
            Error::NotAProgram { .. } => ErrorKind::NotACheckpoint,
            #[cfg(feature = "run")]
            Error::RunTensor(_) => ErrorKind::Caller,
        }
    }
}
