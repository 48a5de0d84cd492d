//! The list of trusted repositories, which PyTorch and sconce share.

use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;

use sconce_source::AtomicFile;

use crate::hub::Hub;
use crate::repository::Repository;
use crate::watch::Watch;
use crate::{Error, ErrorKind};

/// Who is trusted without being listed.
static TRUSTED_OWNERS: [&str; 4] =
    ["facebookresearch", "facebookincubator", "pytorch", "fairinternal"];
/// A longer list is none.
const LONGEST_LIST: u64 = 64 << 20;

/// How a repository's code may come to run: PyTorch's parameter `trust_repo`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Trust {
    /// Asks where the repository is not trusted yet: `"check"`.
    #[default]
    Check,
    /// Asks in any case: `False`.
    Ask,
    /// Adds it to the list without asking: `True`.
    Yes,
}

impl Hub {
    fn trusted_list(&self) -> PathBuf {
        self.dir().join("trusted_list")
    }

    /// The lines of the list of trusted repositories, `owner_name` each.
    ///
    /// # Errors
    /// When the file is there and cannot be read.
    pub fn trusted(&self) -> Result<Vec<String>, Error> {
        let path = self.trusted_list();
        match fs::metadata(&path) {
            Ok(metadata) if metadata.len() > LONGEST_LIST => {
                let message = format!("{}: this is not a list of repositories", path.display());
                return Err(Error::new(ErrorKind::Io, message));
            }
            _ => {}
        }
        let text = match fs::read(&path) {
            Ok(text) => String::from_utf8_lossy(&text).into_owned(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(Error::io(&path, &error)),
        };
        Ok(text.lines().map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned).collect())
    }

    /// Whether PyTorch would run a repository's code without asking: it is in the list, of an owner that is trusted,
    /// or in the cache with this reference from before there was a list.
    ///
    /// # Errors
    /// As [`Hub::trusted`].
    pub fn is_trusted(&self, repository: &Repository, reference: &str) -> Result<bool, Error> {
        let listed = self.trusted()?.contains(&repository.trust_key());
        let owner = TRUSTED_OWNERS.contains(&repository.owner());
        let cached = self.dir().join(repository.folder(reference)).is_dir();
        Ok(listed || owner || cached)
    }

    /// Adds a repository to the list. Gives whether it was not in it.
    ///
    /// # Errors
    /// When the list cannot be written.
    pub fn add_trust(&self, repository: &Repository) -> Result<bool, Error> {
        let mut lines = self.trusted()?;
        let key = repository.trust_key();
        if lines.contains(&key) {
            return Ok(false);
        }
        lines.push(key);
        self.write_trusted(&lines)?;
        Ok(true)
    }

    /// Takes a repository from the list. Gives whether it was in it.
    ///
    /// # Errors
    /// When the list cannot be written.
    pub fn remove_trust(&self, repository: &Repository) -> Result<bool, Error> {
        let mut lines = self.trusted()?;
        let (before, key) = (lines.len(), repository.trust_key());
        lines.retain(|line| *line != key);
        if lines.len() == before {
            return Ok(false);
        }
        self.write_trusted(&lines)?;
        Ok(true)
    }

    fn write_trusted(&self, lines: &[String]) -> Result<(), Error> {
        let path = self.trusted_list();
        let dir = self.dir();
        fs::create_dir_all(&dir).map_err(|error| Error::io(&dir, &error))?;
        let text: String = lines.iter().flat_map(|line| [line.as_str(), "\n"]).collect();
        let write = || -> Result<(), sconce_source::Error> {
            let mut file = AtomicFile::replace(&path)?;
            let written = file.write_all(text.as_bytes());
            written.map_err(|source| sconce_source::Error::Io { path: path.clone(), source })?;
            file.commit()
        };
        write().map_err(|error| Error::new(ErrorKind::Io, error.to_string()))
    }

    /// Asks before a repository's code runs, as PyTorch does. `ask` shows a question and gives the answer, `None` where
    /// nobody answers.
    ///
    /// # Errors
    /// When the answer is no, or none.
    pub fn check_trust(
        &self,
        repository: &Repository,
        reference: &str,
        trust: Trust,
        ask: impl FnOnce(&str) -> Option<String>,
        watch: &dyn Watch,
    ) -> Result<(), Error> {
        let trusted = self.is_trusted(repository, reference)?;
        match trust {
            Trust::Check if trusted => return Ok(()),
            Trust::Yes if trusted => return Ok(()),
            Trust::Yes => return self.add_trust(repository).map(drop),
            Trust::Check | Trust::Ask => {}
        }
        let key = repository.trust_key();
        let untrusted = |message: String| Err(Error::new(ErrorKind::Untrusted, message));
        let answer = ask(&format!(
            "The repository {key} does not belong to the list of trusted repositories and as such cannot be \
             downloaded. Do you trust this repository and wish to add it to the trusted list of repositories (y/N)?"
        ));
        let Some(answer) = answer else {
            let error = Error::new(ErrorKind::Untrusted, "Untrusted repository.");
            return Err(error
                .with_note("nobody answers the question whether to trust it")
                .with_help(format!(
                    "sconce hub trust {}/{}",
                    repository.owner(),
                    repository.name()
                )));
        };
        match answer.to_lowercase().as_str() {
            "y" | "yes" if trusted => {
                watch.say("The repository is already trusted.");
                Ok(())
            }
            "y" | "yes" => self.add_trust(repository).map(drop),
            "n" | "no" | "" => untrusted("Untrusted repository.".to_owned()),
            _ => untrusted(format!("Unrecognized response {answer}.")),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::{Environment, Silent};

    fn hub(folder: &Path) -> Hub {
        Hub::with(Environment::of([("TORCH_HOME", folder)]), Default::default()).unwrap()
    }

    #[test]
    fn the_list_is_pytorchs() {
        let folder = tempfile::tempdir().unwrap();
        let hub = hub(folder.path());
        let (ours, other): (Repository, Repository) =
            ("a/b:x".parse().unwrap(), "c/d".parse().unwrap());
        assert!(!hub.is_trusted(&ours, "x").unwrap());
        assert!(hub.add_trust(&ours).unwrap() && !hub.add_trust(&ours).unwrap());
        // PyTorch may leave the last line without an end.
        fs::write(folder.path().join("hub/trusted_list"), " a_b ").unwrap();
        assert!(hub.add_trust(&other).unwrap());
        let text = fs::read_to_string(folder.path().join("hub/trusted_list")).unwrap();
        assert_eq!(text, "a_b\nc_d\n");
        assert!(hub.remove_trust(&ours).unwrap() && !hub.remove_trust(&ours).unwrap());
        fs::create_dir(folder.path().join("hub/a_b_x")).unwrap();
        assert!(hub.is_trusted(&ours, "x").unwrap() && !hub.is_trusted(&ours, "y").unwrap());
        assert!(hub.is_trusted(&"pytorch/vision".parse().unwrap(), "main").unwrap());
    }

    #[test]
    fn answers() {
        let folder = tempfile::tempdir().unwrap();
        let hub = hub(folder.path());
        let repository: Repository = "a/b".parse().unwrap();
        let check = |trust, answer: Option<&str>| {
            let answer = answer.map(str::to_owned);
            hub.check_trust(&repository, "main", trust, |_| answer, &Silent)
                .map_err(|error| error.message().to_owned())
        };
        assert_eq!(check(Trust::Check, Some("")), Err("Untrusted repository.".into()));
        assert_eq!(check(Trust::Check, None), Err("Untrusted repository.".into()));
        assert_eq!(check(Trust::Check, Some(" y")), Err("Unrecognized response  y.".into()));
        assert_eq!(check(Trust::Check, Some("YES")), Ok(()));
        assert_eq!(check(Trust::Check, Some("n")), Ok(()), "it is trusted now, and not asked for");
        assert_eq!(check(Trust::Ask, Some("n")), Err("Untrusted repository.".into()));
        assert_eq!(check(Trust::Ask, Some("y")), Ok(()));
        assert_eq!(check(Trust::Yes, None), Ok(()));
    }
}
