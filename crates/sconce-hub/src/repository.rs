//! Names of repositories.

use std::fmt;
use std::str::FromStr;

use crate::{Error, ErrorKind};

/// A repository on GitHub, `OWNER/NAME[:REF]`, where the reference is a branch, a tag or the beginning of the hash of
/// the commit at the tip of one.
///
/// ```
/// use sconce_hub::Repository;
///
/// let repository: Repository = "pytorch/vision:v0.10.0".parse()?;
/// assert_eq!(repository.reference(), Some("v0.10.0"));
/// assert_eq!(repository.folder("v0.10.0"), "pytorch_vision_v0.10.0");
/// # Ok::<(), sconce_hub::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repository {
    owner: String,
    name: String,
    reference: Option<String>,
}

impl FromStr for Repository {
    type Err = Error;

    fn from_str(text: &str) -> Result<Repository, Error> {
        let wrong = |why: &str| {
            let message = format!("'{}' is not a repository: {why}", text.escape_debug());
            Error::new(ErrorKind::Usage, message)
                .with_help("OWNER/NAME or OWNER/NAME:REF, as pytorch/vision:v0.10.0; a local folder begins with . / or ~")
        };
        if text.contains("://") {
            return Err(wrong("it is an address"));
        }
        let (repository, reference) = match text.split_once(':') {
            Some((repository, reference)) => (repository, Some(reference)),
            None => (text, None),
        };
        let Some((owner, name)) = repository.split_once('/') else {
            return Err(wrong("there is no slash in it"));
        };
        let plain = |part: &str| {
            let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
            !part.is_empty() && part != "." && part != ".." && part.bytes().all(allowed)
        };
        if !plain(owner) || !plain(name) {
            return Err(wrong("owner and name have letters, digits, '-', '_' and '.'"));
        }
        if let Some(reference) = reference {
            check_reference(reference).map_err(wrong)?;
        }
        let reference = reference.map(str::to_owned);
        Ok(Repository { owner: owner.to_owned(), name: name.to_owned(), reference })
    }
}

/// What git allows, as far as it matters for names of folders and addresses.
fn check_reference(reference: &str) -> Result<(), &'static str> {
    if reference.is_empty() {
        return Err("the reference is empty");
    }
    let bad = |c: char| c.is_control() || c.is_whitespace() || "\\:?*[~^".contains(c);
    if reference.contains(bad) || reference.starts_with('-') {
        return Err("no reference of git has such characters");
    }
    if reference.split('/').any(|part| part.is_empty() || part == "." || part.contains("..")) {
        return Err("no reference of git has such parts");
    }
    if reference.len() > 200 {
        return Err("the reference is longer than the name of a folder can be");
    }
    Ok(())
}

impl Repository {
    /// Who it belongs to.
    pub fn owner(&self) -> &str {
        &self.owner
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The branch, tag or commit, where one was named.
    pub fn reference(&self) -> Option<&str> {
        self.reference.as_deref()
    }

    /// The name of its folder in the hub's, as PyTorch has it.
    pub fn folder(&self, reference: &str) -> String {
        format!("{}_{}_{}", self.owner, self.name, file_name(reference))
    }

    /// Its line in the list of trusted repositories.
    pub fn trust_key(&self) -> String {
        format!("{}_{}", self.owner, self.name)
    }
}

/// A reference in the name of a file.
pub(crate) fn file_name(reference: &str) -> String {
    reference.replace('/', "_")
}

impl fmt::Display for Repository {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.owner, self.name)?;
        match &self.reference {
            Some(reference) => write!(f, ":{reference}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        let parsed: Repository = "o/r:feat/x".parse().unwrap();
        assert_eq!((parsed.owner(), parsed.name(), parsed.reference()), ("o", "r", Some("feat/x")));
        assert_eq!(
            (parsed.folder("feat/x").as_str(), parsed.trust_key().as_str()),
            ("o_r_feat_x", "o_r")
        );
        assert_eq!(parsed.to_string(), "o/r:feat/x");
        for bad in [
            "a",
            "a/b/c",
            "a/b:c:d",
            "a/b:",
            "/b",
            "a/",
            "../b",
            "a/..",
            "a/b:../c",
            "a/b:-c",
            "a b/c",
            "https://github.com/a/b",
            "a/b:x y",
            "a/b:c\\d",
            "/abs/folder",
        ] {
            assert_eq!(bad.parse::<Repository>().unwrap_err().kind(), ErrorKind::Usage, "{bad}");
        }
    }
}
