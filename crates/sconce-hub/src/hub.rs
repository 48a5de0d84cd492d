//! `torch.hub` with its folders.

use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sconce_checkpoint::{Checkpoint, LoadOptions};
use sconce_source::AtomicFile;

use crate::client::{Client, Patience};
use crate::download::{self, Downloaded, Wanted};
use crate::environment::Environment;
use crate::state_dict;
use crate::watch::Watch;
use crate::{Error, ErrorKind};

/// No path of a folder is longer.
const LONGEST_PATH: u64 = 4096;

/// `torch.hub`: its cache folder, and the connection to servers.
///
/// Both programs share one cache: the folders, the names of files in them and the list of trusted repositories are
/// PyTorch's.
///
/// ```
/// use sconce_hub::{Environment, Hub};
///
/// let hub = Hub::with(Environment::of([("TORCH_HOME", "/models")]), Default::default())?;
/// assert_eq!(hub.dir(), std::path::Path::new("/models/hub"));
/// # Ok::<(), sconce_hub::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Hub {
    environment: Environment,
    dir: Option<PathBuf>,
    client: Arc<Client>,
    /// Nothing is asked of a server.
    offline: bool,
}

/// How a file is downloaded.
#[derive(Debug, Clone, Default)]
pub struct DownloadOptions {
    /// What the SHA-256 of the file has to begin with, in lower case.
    pub hash_prefix: Option<String>,
    /// Computes the SHA-256 even where nothing is compared with it.
    pub hash: bool,
    /// Begins anew, whatever an earlier try left.
    pub anew: bool,
}

/// How a state dict is downloaded: the parameters of `torch.hub.load_state_dict_from_url`, but for those that say
/// how it is loaded, which [`LoadOptions`] has.
#[derive(Debug, Clone, Default)]
pub struct StateDictOptions {
    /// Where the file goes: `checkpoints` in the hub's folder where this is `None`.
    pub model_dir: Option<PathBuf>,
    /// Whether the file's name says what its hash begins with.
    pub check_hash: bool,
    /// What the file is called: the last part of the address where this is `None`.
    pub file_name: Option<String>,
    /// A file that is there already is used without a look at it, and this downloads it anew.
    pub force: bool,
}

impl Hub {
    /// The hub of this process's environment.
    ///
    /// # Errors
    /// When `SSL_CERT_FILE` names no certificates.
    pub fn new() -> Result<Hub, Error> {
        Hub::with(Environment::process(), Patience::default())
    }

    /// A hub with other variables, or more or less patient.
    ///
    /// # Errors
    /// As [`Hub::new`].
    pub fn with(environment: Environment, patience: Patience) -> Result<Hub, Error> {
        let client = Arc::new(Client::new(&environment, patience)?);
        Ok(Hub { environment, dir: None, client, offline: false })
    }

    /// `torch.hub.set_dir`: another folder than the environment's. A `~` in front is the home folder. Nothing is
    /// created.
    pub fn set_dir(&mut self, dir: impl AsRef<Path>) {
        self.dir = Some(self.environment.expand_user(dir.as_ref()));
    }

    /// Takes the environment's folder again.
    pub fn unset_dir(&mut self) {
        self.dir = None;
    }

    /// Asks no server for anything: what is not in the cache is an error.
    pub fn set_offline(&mut self, offline: bool) {
        self.offline = offline;
    }

    /// Whether no server is asked.
    pub fn is_offline(&self) -> bool {
        self.offline
    }

    /// `torch.hub.get_dir`. Nothing is created.
    pub fn dir(&self) -> PathBuf {
        self.dir.clone().unwrap_or_else(|| self.environment.hub_dir())
    }

    /// The folder that [`Hub::keep_dir`] was told, if it is still kept.
    pub fn kept_dir(&self) -> Option<PathBuf> {
        let mut text = String::new();
        let file = fs::File::open(self.kept()).ok()?;
        file.take(LONGEST_PATH).read_to_string(&mut text).ok()?;
        let text = text.trim_end_matches('\n');
        (!text.is_empty()).then(|| PathBuf::from(text))
    }

    /// Keeps a folder for later runs, as `torch.hub.set_dir` does for one: a `~` in front is the home folder, and
    /// nothing is created but the note in PyTorch's home. `None` forgets it. PyTorch does not look at the note.
    ///
    /// # Errors
    /// When the note cannot be written.
    pub fn keep_dir(&self, dir: Option<&Path>) -> Result<(), Error> {
        let note = self.kept();
        let Some(dir) = dir else {
            return match fs::remove_file(&note) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    Err(Error::io(&note, &error))
                }
                _ => Ok(()),
            };
        };
        let dir = self.environment.expand_user(dir);
        let text = dir.to_str().filter(|text| !text.is_empty() && !text.contains('\n'));
        let Some(text) = text.filter(|text| text.len() as u64 <= LONGEST_PATH) else {
            let message = format!("{} is not a name of a folder that can be kept", dir.display());
            return Err(Error::new(ErrorKind::Usage, message));
        };
        if let Some(home) = note.parent().filter(|home| !home.as_os_str().is_empty()) {
            fs::create_dir_all(home).map_err(|error| Error::io(home, &error))?;
        }
        let write = || -> Result<(), sconce_source::Error> {
            let mut file = AtomicFile::replace(&note)?;
            let written = file.write_all(text.as_bytes());
            written.map_err(|source| sconce_source::Error::Io { path: note.clone(), source })?;
            file.commit()
        };
        write().map_err(|error| Error::new(ErrorKind::Io, error.to_string()))
    }

    fn kept(&self) -> PathBuf {
        self.environment.torch_home().join("sconce-hub-dir")
    }

    /// What PyTorch warns of when it looks for its folder: variables that it once had.
    pub fn deprecations(&self) -> Vec<String> {
        self.environment.deprecations(&["TORCH_HUB"])
    }

    /// The folder of downloaded files.
    pub fn checkpoints(&self) -> PathBuf {
        self.dir().join("checkpoints")
    }

    /// The variables that this hub goes by.
    pub fn environment(&self) -> &Environment {
        &self.environment
    }

    /// How many requests were made so far.
    pub fn requests(&self) -> u64 {
        self.client.requests()
    }

    pub(crate) fn client(&self) -> &Arc<Client> {
        &self.client
    }

    /// `torch.hub.download_url_to_file`. The file has its name when all of it is there. What a broken connection
    /// leaves is used by the next try, of another process too, where the server says that it is the same file.
    ///
    /// # Errors
    /// When the file does not come whole, is a web page, or has another hash. What stood under the name stands there
    /// still.
    pub fn download_url_to_file(
        &self,
        url: &str,
        target: impl AsRef<Path>,
        options: &DownloadOptions,
        watch: &dyn Watch,
    ) -> Result<Downloaded, Error> {
        self.need_network(url)?;
        let target = self.environment.expand_user(target.as_ref());
        let wanted = Wanted {
            hash_prefix: options.hash_prefix.as_deref(),
            hash: options.hash,
            anew: options.anew,
            ..Wanted::default()
        };
        download::download(&self.client, &self.request(url)?, &target, &wanted, watch)
    }

    /// Where the file of `torch.hub.load_state_dict_from_url` is, or will be.
    ///
    /// # Errors
    /// When the name of the file leads out of its folder, or the address names no file.
    pub fn state_dict_path(&self, url: &str, options: &StateDictOptions) -> Result<PathBuf, Error> {
        let folder = match &options.model_dir {
            Some(folder) => self.environment.expand_user(folder),
            None => self.checkpoints(),
        };
        let name = match &options.file_name {
            Some(name) => {
                state_dict::inside(name)?;
                name.clone()
            }
            None if url.starts_with("hf://") => {
                let endpoint = crate::hugging_face::Endpoint::of(&self.environment)?;
                state_dict::file_name(&endpoint.resolve(url)?)?
            }
            None => state_dict::file_name(url)?,
        };
        Ok(folder.join(name))
    }

    /// What downloads the file of `torch.hub.load_state_dict_from_url`: it is looked for in the cache first.
    ///
    /// # Errors
    /// As [`Hub::download_url_to_file`], and when the name of the file leads out of its folder.
    pub fn fetch_state_dict(
        &self,
        url: &str,
        options: &StateDictOptions,
        watch: &dyn Watch,
    ) -> Result<PathBuf, Error> {
        for warning in self.environment.deprecations(&["TORCH_MODEL_ZOO"]) {
            watch.warn(&warning);
        }
        let path = self.state_dict_path(url, options)?;
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if !options.force && path.exists() {
            return Ok(path);
        }
        self.need_network(url)?;
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(|error| Error::io(folder, &error))?;
        }
        watch.say(&format!(
            "Downloading: \"{}\" to {}",
            crate::url::without_secrets(url),
            path.display()
        ));
        let hash_prefix = if options.check_hash { state_dict::hash_prefix_of(&name) } else { None };
        let wanted = Wanted { hash_prefix, once: !options.force, ..Wanted::default() };
        download::download(&self.client, &self.request(url)?, &path, &wanted, watch)?;
        Ok(path)
    }

    /// `torch.hub.load_state_dict_from_url`: downloads the file unless it is there, and opens it.
    ///
    /// # Errors
    /// As [`Hub::fetch_state_dict`], and when the file is not a checkpoint.
    pub fn load_state_dict_from_url(
        &self,
        url: &str,
        options: &StateDictOptions,
        load: &LoadOptions,
        watch: &dyn Watch,
    ) -> Result<Checkpoint, Error> {
        let path = self.fetch_state_dict(url, options, watch)?;
        self.open_state_dict(&path, load, watch)
    }

    /// Opens a downloaded file as `torch.hub.load_state_dict_from_url` does: of a zip file with one file in it, that
    /// one.
    ///
    /// # Errors
    /// When the file is not a checkpoint.
    pub fn open_state_dict(
        &self,
        path: &Path,
        load: &LoadOptions,
        watch: &dyn Watch,
    ) -> Result<Checkpoint, Error> {
        let (source, old) = state_dict::source(path, &Default::default())?;
        if old {
            watch.warn(state_dict::OLD_FORMAT);
        }
        load.open_source(source)
            .map_err(|error| Error::new(ErrorKind::BadAnswer, error.to_string()))
    }

    pub(crate) fn need_network(&self, what: &str) -> Result<(), Error> {
        if !self.is_offline_for(what) {
            return Ok(());
        }
        let message = format!("{} is not in the cache", crate::url::without_secrets(what));
        let why = match self.offline {
            true => "--offline asks no server",
            false => "offline mode is enabled: HF_HUB_OFFLINE or TRANSFORMERS_OFFLINE says so",
        };
        Err(Error::new(ErrorKind::Offline, message).with_note(why))
    }

    /// Whether no server is asked for something: by the caller's wish, or of Hugging Face by the environment's.
    pub(crate) fn is_offline_for(&self, what: &str) -> bool {
        self.offline
            || what.starts_with("hf://") && crate::hugging_face::is_offline(&self.environment)
    }

    /// The request for an address, with the token that Hugging Face's own servers get.
    fn request(&self, url: &str) -> Result<crate::client::Request, Error> {
        let endpoint = crate::hugging_face::Endpoint::of(&self.environment)?;
        match url.strip_prefix("hf://") {
            Some(_) => Ok(endpoint.authorize(download::plain(&endpoint.resolve(url)?)?)),
            None => Ok(endpoint.authorize(download::plain(url)?)),
        }
    }

    /// The address that is asked for a file: that of a `hf://` address, or the address itself.
    pub(crate) fn file_request(&self, url: &str) -> Result<crate::client::Request, Error> {
        self.request(url)
    }
}
