//! Addresses of files on Hugging Face, and the token for them.

use std::fs;
use std::io::Read;
use std::path::{Component, Path, PathBuf};

use crate::client::Request;
use crate::environment::Environment;
use crate::url::{Origin, Url};
use crate::{Error, ErrorKind};

const HOME: &str = "https://huggingface.co";

/// The server that keeps repositories: `HF_ENDPOINT`, or Hugging Face's own.
pub(crate) struct Endpoint {
    base: String,
    /// What sees the token.
    origins: Vec<Origin>,
    token: Option<String>,
}

impl Endpoint {
    pub(crate) fn of(environment: &Environment) -> Result<Endpoint, Error> {
        let base = environment.text("HF_ENDPOINT").unwrap_or_else(|| HOME.to_owned());
        let base = base.trim_end_matches('/').to_owned();
        let mut origins = vec![Url::parse(&base)?.origin()];
        for own in [HOME, "https://hf.co"] {
            origins.push(Url::parse(own)?.origin());
        }
        Ok(Endpoint { base, origins, token: token(environment) })
    }

    /// Adds the token, for those who may see it.
    pub(crate) fn authorize(&self, request: Request) -> Request {
        let token = self.token.as_ref().map(|token| format!("Bearer {token}"));
        request.token(token, self.origins.clone())
    }

    /// The web address of `hf://[datasets/]owner/name[@revision]/file`.
    pub(crate) fn resolve(&self, address: &str) -> Result<String, Error> {
        let file = HubFile::parse(address)?;
        let kind = if file.kind == "models" { String::new() } else { format!("{}/", file.kind) };
        let revision = file.revision.replace('/', "%2F");
        Ok(format!(
            "{}/{kind}{}/{}/resolve/{revision}/{}",
            self.base, file.owner, file.name, file.path
        ))
    }
}

/// A file on Hugging Face: `hf://[datasets/]owner/name[@revision]/file`.
#[derive(Debug)]
pub(crate) struct HubFile {
    kind: &'static str,
    owner: String,
    name: String,
    revision: String,
    path: String,
}

impl HubFile {
    pub(crate) fn parse(address: &str) -> Result<HubFile, Error> {
        let wrong = |why: &str| {
            let message =
                format!("'{}' is not an address on Hugging Face: {why}", address.escape_debug());
            Error::new(ErrorKind::Usage, message)
                .with_help("hf://[datasets/|spaces/]OWNER/NAME[@REVISION]/FILE")
        };
        let rest =
            address.strip_prefix("hf://").ok_or_else(|| wrong("it does not begin with hf://"))?;
        let mut parts = rest.split('/').peekable();
        let kind = match parts.peek() {
            Some(&"datasets") => "datasets",
            Some(&"spaces") => "spaces",
            Some(&("kernels" | "buckets")) => {
                return Err(wrong("only models, datasets and spaces are read"));
            }
            _ => "models",
        };
        parts.next_if_eq(&kind);
        let (owner, name) =
            parts.next().zip(parts.next()).ok_or_else(|| wrong("OWNER/NAME is missing"))?;
        let (name, revision) = match name.split_once('@') {
            Some((name, revision)) => (name, Some(revision.to_owned())),
            None => (name, None),
        };
        let mut revision = revision.unwrap_or_else(|| "main".to_owned());
        // Names of pull requests and conversions hold slashes.
        if revision == "refs"
            && let (Some(kind), Some(number)) = (parts.next(), parts.next())
        {
            revision = format!("refs/{kind}/{number}");
        }
        let path: Vec<&str> = parts.collect();
        if owner.is_empty() || name.is_empty() {
            return Err(wrong("OWNER/NAME is missing"));
        }
        if path.iter().all(|part| part.is_empty()) {
            return Err(wrong("it names no file"));
        }
        if revision.is_empty() {
            return Err(wrong("the revision is empty"));
        }
        let (owner, name, path) = (owner.to_owned(), name.to_owned(), path.join("/"));
        Ok(HubFile { kind, owner, name, revision, path })
    }

    /// The file in the cache that Hugging Face's own library keeps, if it is there: that of the revision as it was
    /// when the library last asked for it.
    pub(crate) fn cached(&self, environment: &Environment) -> Option<PathBuf> {
        let repository = format!("{}--{}--{}", self.kind, self.owner, self.name);
        let folder = cache(environment).join(inside(&repository)?);
        let commit = match self.is_commit() {
            true => self.revision.clone(),
            false => {
                let reference = folder.join("refs").join(inside(&self.revision)?);
                let mut commit = String::new();
                let file = fs::File::open(reference).ok()?;
                file.take(LONGEST_COMMIT).read_to_string(&mut commit).ok()?;
                commit.trim().to_owned()
            }
        };
        let path = folder.join("snapshots").join(inside(&commit)?).join(inside(&self.path)?);
        path.is_file().then_some(path)
    }

    /// Whether the revision is a commit, which never changes.
    pub(crate) fn is_commit(&self) -> bool {
        self.revision.len() == 40 && self.revision.bytes().all(|byte| byte.is_ascii_hexdigit())
    }
}

/// No commit is longer.
const LONGEST_COMMIT: u64 = 256;

/// A relative path that stays below its folder.
fn inside(path: &str) -> Option<&Path> {
    let path = Path::new(path);
    let mut parts = path.components();
    parts.all(|part| matches!(part, Component::Normal(_))).then_some(path)
}

/// Whether Hugging Face's servers are not to be asked.
pub(crate) fn is_offline(environment: &Environment) -> bool {
    ["HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"].iter().any(|name| is_yes(environment, name))
}

/// `1`, `ON`, `YES`, `TRUE`.
fn is_yes(environment: &Environment, name: &str) -> bool {
    environment.text(name).is_some_and(|value| {
        ["1", "ON", "YES", "TRUE"].contains(&value.to_ascii_uppercase().as_str())
    })
}

fn home(environment: &Environment) -> String {
    environment.text("HF_HOME").unwrap_or_else(|| {
        let cache = environment.text("XDG_CACHE_HOME").unwrap_or_else(|| "~/.cache".to_owned());
        format!("{cache}/huggingface")
    })
}

/// Where Hugging Face's own library keeps files.
fn cache(environment: &Environment) -> PathBuf {
    let named = ["HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"];
    let named = named.iter().find_map(|name| environment.text(name));
    let folder = named.unwrap_or_else(|| format!("{}/hub", home(environment)));
    environment.expand_user(Path::new(&folder))
}

/// The token that Hugging Face's own library would send.
fn token(environment: &Environment) -> Option<String> {
    if is_yes(environment, "HF_HUB_DISABLE_IMPLICIT_TOKEN") {
        return None;
    }
    let clean = |text: String| {
        let text = text.replace(['\r', '\n'], "").trim().to_owned();
        (!text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic())).then_some(text)
    };
    for name in ["HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"] {
        if let Some(token) = environment.text(name).and_then(clean) {
            return Some(token);
        }
    }
    let path = environment.text("HF_TOKEN_PATH");
    let path = path.unwrap_or_else(|| format!("{}/token", home(environment)));
    let path = environment.expand_user(Path::new(&path));
    fs::read_to_string(path).ok().and_then(clean)
}

/// What Hugging Face means by an error.
pub(crate) fn explain(code: &str) -> Option<&'static str> {
    Some(match code {
        "RepoNotFound" => {
            "there is no such repository, or it is private: HF_TOKEN names the token that may read it"
        }
        "EntryNotFound" => "the repository has no such file",
        "RevisionNotFound" => "the repository has no such revision",
        "GatedRepo" => {
            "the repository wants its terms accepted on its page, and a token in HF_TOKEN"
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn endpoint(variables: &[(&str, &str)]) -> Endpoint {
        Endpoint::of(&Environment::of(variables.iter().copied())).unwrap()
    }

    #[test]
    fn addresses() {
        let there = endpoint(&[("HF_ENDPOINT", "http://127.0.0.1:9/")]);
        for (address, url) in [
            ("hf://o/n/a/m.pt", "http://127.0.0.1:9/o/n/resolve/main/a/m.pt"),
            ("hf://models/o/n@v1/m.pt", "http://127.0.0.1:9/o/n/resolve/v1/m.pt"),
            ("hf://datasets/o/n@a%2Fb/m", "http://127.0.0.1:9/datasets/o/n/resolve/a%2Fb/m"),
            ("hf://o/n@refs/pr/3/m@2", "http://127.0.0.1:9/o/n/resolve/refs%2Fpr%2F3/m@2"),
        ] {
            assert_eq!(there.resolve(address).unwrap(), url);
        }
        for bad in ["hf://o", "hf://o/n", "hf://o/n@/x", "hf:///n/x", "hf://buckets/o/n/x"] {
            assert_eq!(there.resolve(bad).unwrap_err().kind(), ErrorKind::Usage, "{bad}");
        }
    }

    #[test]
    fn files_of_the_librarys_own_cache() {
        let folder = tempfile::tempdir().unwrap();
        let commit = "0123456789abcdef0123456789abcdef01234567";
        let repository = folder.path().join("hub/datasets--o--n");
        let snapshot = repository.join("snapshots").join(commit).join("a");
        fs::create_dir_all(&snapshot).unwrap();
        fs::create_dir_all(repository.join("refs/refs/pr")).unwrap();
        for name in ["main", "refs/pr/3"] {
            fs::write(repository.join("refs").join(name), format!("{commit}\n")).unwrap();
        }
        fs::write(snapshot.join("m.pt"), "x").unwrap();
        fs::write(folder.path().join("outside"), "x").unwrap();
        let home = folder.path().to_str().unwrap();
        let cache = format!("{home}/hub");
        for variables in [[("HF_HOME", home)], [("HF_HUB_CACHE", cache.as_str())]] {
            let environment = Environment::of(variables);
            let found = |address: &str| HubFile::parse(address).unwrap().cached(&environment);
            for address in ["", "@main", "@refs/pr/3", &format!("@{commit}")] {
                let file = format!("hf://datasets/o/n{address}/a/m.pt");
                assert_eq!(found(&file), Some(snapshot.join("m.pt")), "{file}");
            }
            for missing in ["hf://o/n/a/m.pt", "hf://datasets/o/n@v2/a/m.pt"] {
                assert_eq!(found(missing), None, "{missing}");
            }
            let outside = "hf://datasets/o/n/../../../../outside";
            assert_eq!(found(outside), None);
        }
    }

    #[test]
    fn tokens() {
        assert_eq!(endpoint(&[("HF_TOKEN", " t\n")]).token.as_deref(), Some("t"));
        assert_eq!(
            endpoint(&[("HF_TOKEN", "t"), ("HF_HUB_DISABLE_IMPLICIT_TOKEN", "1")]).token,
            None
        );
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("token"), "abc\n").unwrap();
        let home = folder.path().to_str().unwrap();
        assert_eq!(endpoint(&[("HF_HOME", home)]).token.as_deref(), Some("abc"));
    }
}
