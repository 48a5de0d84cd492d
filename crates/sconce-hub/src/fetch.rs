//! Repositories: which commit is meant, whether it is there, and how it comes into the cache.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use crate::client::{Answer, Request};
use crate::download::{self, Wanted};
use crate::hub::Hub;
use crate::repository::{self, Repository};
use crate::url::Url;
use crate::watch::Watch;
use crate::zipball::Zipball;
use crate::{Error, ErrorKind};

/// Longest page of the API that is read.
const LONGEST_PAGE: u64 = 16 << 20;
/// Most pages: half a million branches.
const MOST_PAGES: u32 = 5000;
/// Longest archive of a repository.
const LONGEST_ZIPBALL: u64 = 4 << 30;
/// What folders are called in which archives are unpacked.
pub(crate) const WORKING: &str = ".sconce-hub-";

/// How a repository is fetched: the parameters of `torch.hub.load`.
#[derive(Debug, Clone, Copy, Default)]
pub struct FetchOptions {
    /// Fetches it although it is in the cache.
    pub force_reload: bool,
    /// Does not ask GitHub's API whether the reference belongs to this repository, and not to a fork of it.
    pub skip_validation: bool,
}

/// A repository in the cache.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Fetched {
    /// Its folder.
    pub path: PathBuf,
    /// The branch, tag or commit.
    pub reference: String,
    /// Whether it was there before.
    pub cached: bool,
}

impl Hub {
    fn web(&self) -> String {
        let web = self.environment().text("SCONCE_GITHUB_URL");
        web.map_or("https://github.com".to_owned(), |web| web.trim_end_matches('/').to_owned())
    }

    fn api(&self) -> String {
        let api = self.environment().text("SCONCE_GITHUB_API_URL");
        api.map_or("https://api.github.com".to_owned(), |api| api.trim_end_matches('/').to_owned())
    }

    /// Gets a repository into the cache, as `torch.hub.load` does, and gives its folder. Nothing in it runs, so nobody
    /// is asked whether it is trusted.
    ///
    /// `SCONCE_GITHUB_URL` and `SCONCE_GITHUB_API_URL` name other servers than GitHub's; `GITHUB_TOKEN` is sent to the
    /// second one alone.
    ///
    /// # Errors
    /// When there is no such repository or reference, or its archive would write anywhere but into its folder. The
    /// cache is as it was then.
    pub fn fetch(
        &self,
        repository: &Repository,
        options: FetchOptions,
        watch: &dyn Watch,
    ) -> Result<Fetched, Error> {
        for warning in self.deprecations() {
            watch.warn(&warning);
        }
        let dir = self.dir();
        let reference = self.resolve(repository, watch)?;
        let path = dir.join(repository.folder(&reference));
        if path.exists() && !options.force_reload {
            watch.say(&format!("Using cache found in {}", path.display()));
            return Ok(Fetched { path, reference, cached: true });
        }
        self.need_network(&repository.to_string())?;
        if !options.skip_validation {
            self.validate(repository, &reference)?;
        }
        fs::create_dir_all(&dir).map_err(|error| Error::io(&dir, &error))?;
        remove_abandoned(&dir);
        let working = Working::new(&dir)?;
        let zip = working.path.join("zipball.zip");
        self.download(repository, &reference, &zip, watch)?;
        let in_repository = |error: Error| error.with_note(format!("the archive of {repository}"));
        let zipball = Zipball::read(&zip).map_err(in_repository)?;
        self.check_top(&zipball.top, repository)?;
        if !zipball.has("hubconf.py") {
            let message = format!(
                "{repository} has no hubconf.py at {reference}: it is not a repository for torch.hub"
            );
            return Err(Error::new(ErrorKind::BadAnswer, message));
        }
        let fresh = working.path.join("fresh");
        fs::create_dir(&fresh).map_err(|error| Error::io(&fresh, &error))?;
        zipball.unpack(&fresh).map_err(in_repository)?;
        put(&fresh, &path, &working.path.join("old"))?;
        Ok(Fetched { path, reference, cached: false })
    }

    /// A local folder with a repository in it. A `~` in front is the home folder.
    ///
    /// # Errors
    /// When there is none.
    pub fn local_folder(&self, path: &str) -> Result<PathBuf, Error> {
        let folder = self.environment().expand_user(Path::new(path));
        if folder.is_dir() {
            return Ok(folder);
        }
        let message = format!(
            "[Errno 2] No such file or directory: '{}'",
            folder.join("hubconf.py").display()
        );
        Err(Error::new(ErrorKind::Usage, message)
            .with_help("OWNER/NAME[:REF] is a repository on GitHub"))
    }

    /// The folder of a repository that is in the cache, without any request.
    ///
    /// # Errors
    /// When it is not there.
    pub fn cached(&self, repository: &Repository) -> Result<(PathBuf, String), Error> {
        let dir = self.dir();
        let references: Vec<&str> = match repository.reference() {
            Some(reference) => vec![reference],
            None => vec!["main", "master"],
        };
        for reference in references {
            let path = dir.join(repository.folder(reference));
            if path.exists() {
                return Ok((path, reference.to_owned()));
            }
        }
        let message = format!("{repository} could not be found in the cache ({})", dir.display());
        Err(Error::new(ErrorKind::Offline, message))
    }

    /// The reference that is meant where none is named: `main` if there is such a branch, else `master`.
    fn resolve(&self, repository: &Repository, watch: &dyn Watch) -> Result<String, Error> {
        if let Some(reference) = repository.reference() {
            return Ok(reference.to_owned());
        }
        if self.is_offline() {
            return Ok(self.cached(repository)?.1);
        }
        let (owner, name) = (repository.owner(), repository.name());
        let url = Url::parse(&format!("{}/{owner}/{name}/tree/main/", self.web()))?;
        match self.client().get(&Request::new(url)) {
            Ok(answer) if (200..300).contains(&answer.status) => Ok("main".to_owned()),
            Ok(answer) if answer.status == 404 => Ok("master".to_owned()),
            Ok(answer) => Err(answer.error()),
            Err(error) if error.kind() == ErrorKind::Network => match self.cached(repository) {
                Ok((_, reference)) => {
                    watch.warn(&format!("{error}; going on with what is in the cache"));
                    Ok(reference)
                }
                Err(_) => {
                    let message = format!(
                        "It looks like there is no internet connection and the repo could not be found in the \
                         cache ({})",
                        self.dir().display()
                    );
                    Err(Error::new(ErrorKind::Network, message).with_note(error.to_string()))
                }
            },
            Err(error) => Err(error),
        }
    }

    /// Asks whether a reference is a branch, a tag or the beginning of a commit at the tip of one.
    fn validate(&self, repository: &Repository, reference: &str) -> Result<(), Error> {
        let (owner, name) = (repository.owner(), repository.name());
        let mut token = self.environment().text("GITHUB_TOKEN");
        for kind in ["branches", "tags"] {
            for page in 1..=MOST_PAGES {
                let address =
                    format!("{}/repos/{owner}/{name}/{kind}?per_page=100&page={page}", self.api());
                let found = self.page(&address, &mut token)?;
                if found.is_empty() {
                    break;
                }
                let is_meant = |item: &serde_json::Value| {
                    let sha = item.pointer("/commit/sha").and_then(serde_json::Value::as_str);
                    item.get("name").and_then(serde_json::Value::as_str) == Some(reference)
                        || sha.is_some_and(|sha| sha.starts_with(reference))
                };
                if found.iter().any(is_meant) {
                    return Ok(());
                }
            }
        }
        let message = format!(
            "Cannot find {reference} in {}/{owner}/{name}. If it's a commit from a forked repo, please call \
             hub.load() with forked repo directly.",
            self.web()
        );
        let error = Error::new(ErrorKind::BadAnswer, message);
        Err(match repository.reference() {
            Some(_) => error
                .with_help("--skip-validation takes commits that are no tip of a branch or tag"),
            None => error.with_help(format!("name the branch: {owner}/{name}:BRANCH")),
        })
    }

    /// One page of the API. A token that is refused is not used again.
    fn page(
        &self,
        address: &str,
        token: &mut Option<String>,
    ) -> Result<Vec<serde_json::Value>, Error> {
        loop {
            let url = Url::parse(address)?;
            let origin = url.origin();
            let request = Request::new(url)
                .header("Accept", "application/vnd.github.v3+json")
                .token(token.as_ref().map(|token| format!("token {token}")), vec![origin]);
            let answer = self.client().get(&request)?;
            if answer.status != 200 {
                if token.take().is_some() {
                    continue;
                }
                return Err(api_error(&answer));
            }
            let (url, text) = (answer.url.clone(), answer.text(LONGEST_PAGE)?);
            let page: Result<Vec<serde_json::Value>, _> = serde_json::from_slice(&text);
            return page.map_err(|_| {
                let message = "the server's answer is not a list of branches or tags";
                Error::new(ErrorKind::BadAnswer, message).url(&url)
            });
        }
    }

    fn download(
        &self,
        repository: &Repository,
        reference: &str,
        zip: &Path,
        watch: &dyn Watch,
    ) -> Result<(), Error> {
        let base = format!("{}/{}/{}/zipball", self.web(), repository.owner(), repository.name());
        let shown = self.dir().join(format!("{}.zip", repository::file_name(reference)));
        watch.say(&format!("Downloading: \"{base}/{reference}\" to {}", shown.display()));
        let wanted = Wanted { most: Some(LONGEST_ZIPBALL), ..Wanted::default() };
        let get = |reference: &str| {
            let request = Request::new(Url::parse(&format!("{base}/{}", escaped(reference)))?);
            download::download(self.client(), &request, zip, &wanted, watch)
        };
        match get(reference) {
            Err(error) if error.kind() == ErrorKind::Http(300) => {
                watch.warn(&format!(
                    "The ref {reference} is ambiguous. Perhaps it is both a tag and a branch in the repo? Torchhub \
                     will now assume that it's a branch. You can disambiguate tags and branches by explicitly passing \
                     refs/heads/branch_name or refs/tags/tag_name as the ref. That might require using \
                     skip_validation=True."
                ));
                get(&format!("refs/heads/{reference}")).map(drop)
            }
            Err(error) if error.kind() == ErrorKind::Http(404) => {
                Err(error.with_help("there is no such repository or reference, or it is private"))
            }
            other => other.map(drop),
        }
    }

    /// The folder in an archive has a name of its own: PyTorch unpacks it into the hub's folder.
    fn check_top(&self, top: &str, repository: &Repository) -> Result<(), Error> {
        let reserved = ["checkpoints", "trusted_list"].contains(&top.to_lowercase().as_str());
        // What PyTorch leaves behind where unpacking fails.
        let left = format!("{}-{}-", repository.owner(), repository.name());
        let taken = !top.starts_with(&left) && fs::symlink_metadata(self.dir().join(top)).is_ok();
        if reserved || taken {
            let message = format!(
                "the archive's folder '{}' has a name that stands for something else in {}",
                top.escape_debug(),
                self.dir().display()
            );
            return Err(Error::new(ErrorKind::Hostile, message));
        }
        Ok(())
    }
}

fn api_error(answer: &Answer) -> Error {
    let error = answer.error();
    let spent = answer.header("x-ratelimit-remaining") == Some("0");
    match answer.status {
        403 | 429 if spent || answer.status == 429 => error.with_note("GitHub's limit for requests without a token is 60 an hour").with_help(
            "set GITHUB_TOKEN to a token of yours, or leave the question out: --skip-validation",
        ),
        401 | 403 => error.with_help("set GITHUB_TOKEN to a token of yours, or leave the question out: --skip-validation"),
        404 => error.with_note("there is no such repository, or it is private"),
        _ => error,
    }
}

/// What stands in an address for itself.
fn escaped(reference: &str) -> String {
    let mut out = String::new();
    for byte in reference.bytes() {
        match byte {
            b'#' | b'%' => out.push_str(&format!("%{byte:02X}")),
            // The address's own parser knows the rest.
            _ if byte.is_ascii() => out.push(char::from(byte)),
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

/// A folder inside the hub's that goes with this, whatever happens; after a `kill`, with the next fetch.
struct Working {
    path: PathBuf,
    /// Locked as long as somebody is at it.
    _lock: Option<File>,
}

impl Working {
    fn new(dir: &Path) -> Result<Working, Error> {
        use std::hash::{BuildHasher, Hasher};
        let random = std::collections::hash_map::RandomState::new().build_hasher().finish();
        let path = dir.join(format!("{WORKING}{random:016x}"));
        fs::create_dir(&path).map_err(|error| Error::io(&path, &error))?;
        let mut working = Working { path, _lock: None };
        let lock = working.path.join("lock");
        let file = File::create_new(&lock).map_err(|error| Error::io(&lock, &error))?;
        // Where there are no locks, nobody takes it for abandoned before a day is over.
        let _ = file.try_lock();
        working._lock = Some(file);
        Ok(working)
    }
}

impl Drop for Working {
    fn drop(&mut self) {
        // Nobody is left to tell.
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// Removes what runs left that were killed.
fn remove_abandoned(dir: &Path) {
    let Ok(entries) = fs::read_dir(dir) else { return };
    for entry in entries.flatten() {
        let ours = entry.file_name().to_str().is_some_and(|name| name.starts_with(WORKING));
        if ours && entry.file_type().is_ok_and(|kind| kind.is_dir()) && is_abandoned(&entry.path())
        {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// Whether nobody is at a working folder any more.
pub(crate) fn is_abandoned(folder: &Path) -> bool {
    const DAY: std::time::Duration = std::time::Duration::from_secs(24 * 60 * 60);
    match File::open(folder.join("lock")) {
        Ok(lock) => lock.try_lock().is_ok(),
        // It may have been made just now.
        Err(_) => {
            let made = fs::metadata(folder).and_then(|metadata| metadata.modified());
            made.is_ok_and(|made| made.elapsed().is_ok_and(|age| age > DAY))
        }
    }
}

/// Gives a folder its name, in the place of what has it.
fn put(fresh: &Path, path: &Path, old: &Path) -> Result<(), Error> {
    let fail = |error: std::io::Error| Error::io(path, &error);
    if fs::symlink_metadata(path).is_err() {
        return fs::rename(fresh, path).map_err(fail);
    }
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{CWD, RenameFlags, renameat_with};
        if renameat_with(CWD, fresh, CWD, path, RenameFlags::EXCHANGE).is_ok() {
            return Ok(());
        }
    }
    fs::rename(path, old).map_err(fail)?;
    fs::rename(fresh, path).map_err(|error| {
        // What was there is better than nothing.
        let _ = fs::rename(old, path);
        fail(error)
    })
}
