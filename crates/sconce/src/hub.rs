//! `torch.hub`: its cache, downloads and repositories; files on web servers; what a `hubconf.py` offers.
//!
//! ```no_run
//! use sconce::hub::{Hub, HubFiles, RepositoryOptions, Silent, hubconf};
//!
//! let hub = Hub::new()?;
//! let folder = sconce::hub::folder(&hub, "pytorch/vision:v0.10.0", &RepositoryOptions::default(), &Silent)?;
//! let mut files = HubFiles::new(&hub, &Silent);
//! for entry in hubconf::list(&folder, &hubconf::Options::new(), &mut files)?.entries {
//!     println!("{}", entry.name);
//! }
//! # Ok::<(), sconce::Error>(())
//! ```

use std::path::PathBuf;

pub use sconce_hub::*;
#[cfg(feature = "script")]
pub use sconce_script::hub as hubconf;

/// Where a repository is, and how it is fetched.
#[derive(Debug, Clone, Copy, Default)]
pub struct RepositoryOptions {
    /// The name is that of a local folder, whatever it begins with: PyTorch's `source="local"`.
    pub local: bool,
    /// How it is fetched otherwise.
    pub fetch: FetchOptions,
}

/// The folder of a repository: a local one where the name begins with `.`, `/` or `~`, else one of the cache, which is
/// fetched where it is not there.
///
/// # Errors
/// As [`Hub::fetch`]; when there is no such folder.
pub fn folder(
    hub: &Hub,
    repository: &str,
    options: &RepositoryOptions,
    watch: &dyn Watch,
) -> Result<PathBuf, Error> {
    if options.local || is_local(repository) {
        return hub.local_folder(repository);
    }
    Ok(hub.fetch(&repository.parse()?, options.fetch, watch)?.path)
}

/// Whether a text names a local folder rather than a repository on GitHub.
pub fn is_local(repository: &str) -> bool {
    repository.starts_with(['.', '/', '~']) || repository.contains('\\')
}

/// What a `hubconf.py` gets from outside of its repository: state dicts and other repositories, by way of a hub.
/// What files print is said to the watch, a line at a time.
#[cfg(feature = "script")]
pub struct HubFiles<'h> {
    hub: &'h Hub,
    watch: &'h dyn Watch,
    line: String,
}

#[cfg(feature = "script")]
impl<'h> HubFiles<'h> {
    /// Files by way of `hub`.
    pub fn new(hub: &'h Hub, watch: &'h dyn Watch) -> Self {
        HubFiles { hub, watch, line: String::new() }
    }
}

#[cfg(feature = "script")]
impl std::fmt::Debug for HubFiles<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HubFiles").field("hub", self.hub).finish_non_exhaustive()
    }
}

#[cfg(feature = "script")]
type AnyError = Box<dyn std::error::Error + Send + Sync>;

#[cfg(feature = "script")]
impl hubconf::Environment for HubFiles<'_> {
    fn load_state_dict_from_url(
        &mut self,
        request: &hubconf::UrlRequest,
    ) -> Result<PathBuf, AnyError> {
        let options = StateDictOptions {
            model_dir: request.model_dir.as_ref().map(PathBuf::from),
            check_hash: request.check_hash,
            file_name: request.file_name.clone(),
            force: false,
        };
        Ok(self.hub.fetch_state_dict(&request.url, &options, self.watch)?)
    }

    fn repository(&mut self, request: &hubconf::RepositoryRequest) -> Result<PathBuf, AnyError> {
        let fetch = FetchOptions {
            force_reload: request.force_reload,
            skip_validation: request.skip_validation,
        };
        Ok(self.hub.fetch(&request.repository.parse()?, fetch, self.watch)?.path)
    }

    fn print(&mut self, text: &str) {
        self.line.push_str(text);
        while let Some(end) = self.line.find('\n') {
            let line: String = self.line.drain(..=end).collect();
            self.watch.say(line.trim_end_matches('\n'));
        }
    }
}

#[cfg(feature = "script")]
impl Drop for HubFiles<'_> {
    fn drop(&mut self) {
        if !self.line.is_empty() {
            self.watch.say(&self.line);
        }
    }
}
