//! What comes from outside of a repository.

use std::error::Error;
use std::path::PathBuf;

/// The arguments of `torch.hub.load_state_dict_from_url`, `map_location` aside: tensors are on the CPU.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct UrlRequest {
    /// The URL.
    pub url: String,
    /// The folder that the file is to be in, instead of the cache.
    pub model_dir: Option<String>,
    /// Whether progress is shown.
    pub progress: bool,
    /// Whether the hash in the file's name is checked.
    pub check_hash: bool,
    /// What the file is called, instead of the last part of the URL.
    pub file_name: Option<String>,
    /// Whether the repository wants nothing but tensors and plain values in the file.
    pub weights_only: bool,
}

impl UrlRequest {
    /// A request with PyTorch's defaults.
    pub fn new(url: &str) -> Self {
        Self {
            url: url.to_owned(),
            model_dir: None,
            progress: true,
            check_hash: false,
            file_name: None,
            weights_only: false,
        }
    }
}

/// The arguments of `torch.hub.load` in a repository that loads from another one.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RepositoryRequest {
    /// `owner/name[:ref]`
    pub repository: String,
    /// `trust_repo`, where it is a bool.
    pub trusts: Option<bool>,
    /// Whether it is downloaded again.
    pub force_reload: bool,
    /// Whether a message says that the cache is used.
    pub verbose: bool,
    /// Whether the branch or tag is not looked up.
    pub skip_validation: bool,
}

impl RepositoryRequest {
    /// A request with PyTorch's defaults.
    pub fn new(repository: &str) -> Self {
        Self {
            repository: repository.to_owned(),
            trusts: None,
            force_reload: false,
            verbose: true,
            skip_validation: false,
        }
    }
}

/// What a `hubconf.py` gets from outside of its repository.
pub trait Environment {
    /// The file of a URL, downloaded or from the cache: what `load_state_dict_from_url` loads.
    ///
    /// # Errors
    /// When it cannot be had.
    fn load_state_dict_from_url(
        &mut self,
        request: &UrlRequest,
    ) -> Result<PathBuf, Box<dyn Error + Send + Sync>>;

    /// The folder of another repository, which is loaded from.
    ///
    /// # Errors
    /// When it cannot be had, or is not trusted.
    fn repository(
        &mut self,
        request: &RepositoryRequest,
    ) -> Result<PathBuf, Box<dyn Error + Send + Sync>>;

    /// Takes what files print, line ends included.
    fn print(&mut self, text: &str);
}

/// An environment that has nothing, and drops what is printed.
#[derive(Debug, Clone, Copy, Default)]
pub struct Offline;

impl Environment for Offline {
    fn load_state_dict_from_url(
        &mut self,
        _: &UrlRequest,
    ) -> Result<PathBuf, Box<dyn Error + Send + Sync>> {
        Err("nothing is downloaded here".into())
    }

    fn repository(
        &mut self,
        _: &RepositoryRequest,
    ) -> Result<PathBuf, Box<dyn Error + Send + Sync>> {
        Err("nothing is downloaded here".into())
    }

    fn print(&mut self, _: &str) {}
}
