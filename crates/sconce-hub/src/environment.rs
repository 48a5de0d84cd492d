//! The variables of the environment, and what PyTorch makes of them.

use std::collections::HashMap;
use std::env;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// Where variables come from: the process, unless a caller gives others.
#[derive(Debug, Clone, Default)]
pub struct Environment(Option<HashMap<OsString, OsString>>);

impl Environment {
    /// The variables of this process, as they are whenever they are asked for.
    pub fn process() -> Environment {
        Environment(None)
    }

    /// These variables and no others.
    pub fn of<K: Into<OsString>, V: Into<OsString>>(
        variables: impl IntoIterator<Item = (K, V)>,
    ) -> Environment {
        let pair = |(name, value): (K, V)| (name.into(), value.into());
        Environment(Some(variables.into_iter().map(pair).collect()))
    }

    /// A variable that is set, be it to nothing.
    pub fn var(&self, name: &str) -> Option<OsString> {
        match &self.0 {
            Some(variables) => variables.get(OsStr::new(name)).cloned(),
            None => env::var_os(name),
        }
    }

    /// A variable that is set to something, as text.
    pub(crate) fn text(&self, name: &str) -> Option<String> {
        self.var(name)?.into_string().ok().filter(|text| !text.is_empty())
    }

    /// Python's `os.path.expanduser`: `~` is the home folder, `~user` that of a user in `/etc/passwd`; what is not known
    /// stays as it is.
    pub(crate) fn expand_user(&self, path: &Path) -> PathBuf {
        let Some(text) = path.to_str() else { return path.to_owned() };
        let Some(rest) = text.strip_prefix('~') else { return path.to_owned() };
        let end = rest.find('/').unwrap_or(rest.len());
        let (user, rest) = rest.split_at(end);
        let home = if user.is_empty() { self.home() } else { home_of(user) };
        match home {
            Some(home) => {
                let mut whole = home.trim_end_matches('/').to_owned();
                whole.push_str(rest);
                PathBuf::from(if whole.is_empty() { "/".to_owned() } else { whole })
            }
            None => path.to_owned(),
        }
    }

    fn home(&self) -> Option<String> {
        let home = self.var("HOME").and_then(|home| home.into_string().ok());
        home.or_else(|| match self.0 {
            // The user database.
            None => env::home_dir().and_then(|home| home.into_os_string().into_string().ok()),
            Some(_) => None,
        })
    }

    /// `torch.hub._get_torch_home()`. What is set to nothing counts as set.
    pub fn torch_home(&self) -> PathBuf {
        let home = self.var("TORCH_HOME").map(PathBuf::from).unwrap_or_else(|| {
            let cache = self.var("XDG_CACHE_HOME").unwrap_or_else(|| "~/.cache".into());
            Path::new(&cache).join("torch")
        });
        self.expand_user(&home)
    }

    /// `torch.hub.get_dir()`, where no folder was set. Nothing is created.
    pub fn hub_dir(&self) -> PathBuf {
        self.torch_home().join("hub")
    }

    /// What PyTorch warns of when it looks for its folder.
    pub(crate) fn deprecations(&self, names: &[&str]) -> Vec<String> {
        let set = names.iter().filter(|name| self.var(name).is_some_and(|value| !value.is_empty()));
        set.map(|name| format!("{name} is deprecated, please use env TORCH_HOME instead")).collect()
    }

    /// Where sconce keeps what PyTorch has no folder for: `SCONCE_CACHE_DIR`, or `sconce` in the user's cache.
    pub fn sconce_cache(&self) -> PathBuf {
        if let Some(folder) = self.var("SCONCE_CACHE_DIR").filter(|folder| !folder.is_empty()) {
            return self.expand_user(Path::new(&folder));
        }
        let cache = self.var("XDG_CACHE_HOME").filter(|cache| !cache.is_empty());
        let cache = cache.unwrap_or_else(|| "~/.cache".into());
        self.expand_user(&Path::new(&cache).join("sconce"))
    }
}

/// The home folder of a user.
fn home_of(user: &str) -> Option<String> {
    let users = std::fs::read_to_string("/etc/passwd").ok()?;
    let mut fields = users.lines().map(|line| line.split(':').collect::<Vec<_>>());
    let line = fields.find(|fields| fields.first() == Some(&user))?;
    line.get(5).map(|home| (*home).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What torch 2.15 says for the same variables.
    #[test]
    fn the_folder_is_pytorchs() {
        let cases: &[(&[(&str, &str)], &str)] = &[
            (&[], "/u/.cache/torch/hub"),
            (&[("TORCH_HOME", "/t")], "/t/hub"),
            (&[("TORCH_HOME", "/t/")], "/t/hub"),
            (&[("TORCH_HOME", "")], "hub"),
            (&[("TORCH_HOME", "rel/x")], "rel/x/hub"),
            (&[("TORCH_HOME", "~/y")], "/u/y/hub"),
            (&[("TORCH_HOME", "~")], "/u/hub"),
            (&[("TORCH_HOME", "~nobody_here/y")], "~nobody_here/y/hub"),
            (&[("TORCH_HOME", "$HOME/y")], "$HOME/y/hub"),
            (&[("XDG_CACHE_HOME", "/c")], "/c/torch/hub"),
            (&[("XDG_CACHE_HOME", "")], "torch/hub"),
            (&[("XDG_CACHE_HOME", "/c"), ("TORCH_HOME", "/t")], "/t/hub"),
        ];
        for (variables, expected) in cases {
            let all = variables.iter().copied().chain([("HOME", "/u")]);
            assert_eq!(Environment::of(all).hub_dir(), Path::new(expected), "{variables:?}");
        }
    }
}
