//! Files of the repository: `os.path`, `open` and `json`. Nothing outside of it is read.

use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use sconce_checkpoint::{Draft, Value as Literal};

use super::super::arguments::LibraryArguments;
use super::super::control_flow::{Outcome, refuse};
use super::super::value::{Cell, TextFile, Value};
use super::Interpreter;

/// The largest text that is read.
const MAX_TEXT: u64 = 64 << 20;

impl Interpreter<'_> {
    /// Calls a function of `os`, `os.path` or `json`, if it is one that is known here.
    pub(super) fn call_files(
        &mut self,
        name: &str,
        given: &mut LibraryArguments,
    ) -> Outcome<Option<Value>> {
        if let Some(function) = name.strip_prefix("os.path.") {
            return self.call_os_path(function, given);
        }
        Ok(Some(match name {
            "os.getenv" | "os.environ.get" => {
                self.needed(given, 0, "key")?;
                given.take(1, "default").unwrap_or(Value::None)
            }
            "os.fspath" => {
                let path = self.needed(given, 0, "path")?;
                Value::Str(self.path_text(&path)?)
            }
            "os.makedirs" | "os.mkdir" => {
                drop((given.rest(), given.named()));
                Value::None
            }
            "os.listdir" => {
                let path = self.needed(given, 0, "path")?;
                let path = self.readable_path(&path)?;
                let mut names: Vec<String> = match std::fs::read_dir(&path) {
                    Ok(entries) => entries
                        .flatten()
                        .map(|entry| entry.file_name().to_string_lossy().into_owned())
                        .collect(),
                    Err(error) => return self.os_error(&path, &error),
                };
                names.sort();
                self.spend_items(names.len())?;
                self.new_list(names.into_iter().map(Value::str).collect())?
            }
            "builtins.open" | "io.open" => {
                let path = self.needed(given, 0, "file")?;
                let mode = match given.take(1, "mode") {
                    Some(mode) => self.string(&mode)?,
                    None => "r".into(),
                };
                drop((given.rest(), given.named()));
                if !matches!(&*mode, "r" | "rt" | "tr") {
                    return refuse(format!(
                        "a file opened with mode '{mode}' is not supported here"
                    ));
                }
                self.opened(&path)?
            }
            "json.load" => {
                let file = self.needed(given, 0, "fp")?;
                drop(given.named());
                let text = self.rest_of_file(&file)?;
                self.parsed_json(&text)?
            }
            "json.loads" => {
                let text = self.needed(given, 0, "s")?;
                drop(given.named());
                let text = self.string(&text)?;
                self.parsed_json(&text)?
            }
            _ => return Ok(None),
        }))
    }

    fn call_os_path(
        &mut self,
        function: &str,
        given: &mut LibraryArguments,
    ) -> Outcome<Option<Value>> {
        if function == "join" {
            let mut joined = String::new();
            for part in given.rest() {
                let part = self.path_text(&part)?;
                match part.starts_with('/') || joined.is_empty() {
                    true => joined = part.to_string(),
                    false if joined.ends_with('/') => joined.push_str(&part),
                    false => {
                        joined.push('/');
                        joined.push_str(&part);
                    }
                }
            }
            return self.new_str(joined).map(Some);
        }
        if !matches!(
            function,
            "dirname"
                | "basename"
                | "abspath"
                | "realpath"
                | "normpath"
                | "expanduser"
                | "split"
                | "splitext"
                | "exists"
                | "isfile"
                | "isdir"
                | "isabs"
                | "expandvars"
        ) {
            return Ok(None);
        }
        let path = self.needed(given, 0, "path")?;
        let text = self.path_text(&path)?;
        let (head, tail) = split(&text);
        Ok(Some(match function {
            "dirname" => Value::str(head),
            "basename" => Value::str(tail),
            "abspath" | "realpath" => Value::str(absolute(&text)),
            "normpath" => Value::str(normal(&text)),
            "isabs" => Value::Bool(text.starts_with('/')),
            "split" => self.new_tuple(vec![Value::str(head), Value::str(tail)])?,
            "splitext" => {
                let (stem, extension) = with_extension(&text);
                self.new_tuple(vec![Value::str(stem), Value::str(extension)])?
            }
            "exists" | "isfile" | "isdir" => {
                let path = PathBuf::from(&*text);
                if !self.may_read_any(&path)? {
                    let why = "it is outside of the repository";
                    let what = format!("whether '{text}' exists");
                    let kind = crate::library::NameKind::Value;
                    return self.new_unknown(&what, Some(why.into()), kind, false).map(Some);
                }
                Value::Bool(match function {
                    "exists" => path.exists(),
                    "isfile" => path.is_file(),
                    _ => path.is_dir(),
                })
            }
            _ if !text.contains(['~', '$']) => Value::Str(text),
            _ => return refuse(format!("os.path.{function}('{text}') is not known here")),
        }))
    }

    /// The text of a path: a string or a `pathlib.Path`.
    pub(super) fn path_text(&mut self, value: &Value) -> Outcome<Arc<str>> {
        match self.arena.cell(value) {
            Some(Cell::Path(text)) => Ok(Arc::clone(text)),
            Some(Cell::Unknown(_)) => self.refuse_unknown(value),
            _ => self.string(value),
        }
    }

    /// Whether an existing file or folder may be read: it is in the repository, in a folder that the
    /// user named, or was downloaded, links followed.
    pub(super) fn may_read(&self, path: &Path) -> Outcome<bool> {
        let Ok(real) = path.canonicalize() else { return Ok(false) };
        Ok(self.execution()?.readable.iter().any(|folder| real.starts_with(folder)))
    }

    /// Whether a module's file may be read. In folders that the user named, links lead anywhere.
    pub(super) fn may_import(&self, path: &Path) -> Outcome<bool> {
        let is_named = self.execution()?.folders.iter().any(|folder| path.starts_with(folder));
        Ok(is_named || self.may_read(path)?)
    }

    /// Whether it may be said if there is something at a path.
    pub(super) fn may_read_any(&self, path: &Path) -> Outcome<bool> {
        let mut at = PathBuf::from(absolute(&path.display().to_string()));
        // The part of it that exists tells.
        while !at.exists() {
            if !at.pop() {
                return Ok(false);
            }
        }
        let Ok(real) = at.canonicalize() else { return Ok(false) };
        let readable = &self.execution()?.readable;
        Ok(readable.iter().any(|folder| real.starts_with(folder)))
    }

    /// A path of something that may be read.
    pub(super) fn readable_path(&mut self, value: &Value) -> Outcome<PathBuf> {
        let text = self.path_text(value)?;
        let path = PathBuf::from(&*text);
        if !self.may_read_any(&path)? {
            return refuse(format!("'{text}' is outside of the repository and is not read"));
        }
        if !path.exists() {
            let message = format!("[Errno 2] No such file or directory: '{text}'");
            return self.raise("FileNotFoundError", message);
        }
        match self.may_read(&path)? {
            true => Ok(path),
            false => refuse(format!("'{text}' is outside of the repository and is not read")),
        }
    }

    fn os_error<T>(&mut self, path: &Path, error: &std::io::Error) -> Outcome<T> {
        self.raise("OSError", format!("{}: {error}", path.display()))
    }

    /// The text of a file of the repository.
    pub(super) fn file_text(&mut self, path: &Value) -> Outcome<Arc<str>> {
        let path = self.readable_path(path)?;
        let metadata = match std::fs::metadata(&path) {
            Ok(metadata) => metadata,
            Err(error) => return self.os_error(&path, &error),
        };
        if !metadata.is_file() {
            return self.raise("OSError", format!("'{}' is not a file", path.display()));
        }
        if metadata.len() > MAX_TEXT {
            return refuse(format!("'{}' is too large for a text", path.display()));
        }
        self.spend(usize::try_from(metadata.len()).unwrap_or(usize::MAX))?;
        let bytes = match std::fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) => return self.os_error(&path, &error),
        };
        match String::from_utf8(bytes) {
            Ok(text) => Ok(text.replace("\r\n", "\n").into()),
            Err(_) => refuse(format!("'{}' is no UTF-8 text", path.display())),
        }
    }

    /// `open(path)`
    pub(super) fn opened(&mut self, path: &Value) -> Outcome<Value> {
        let text = self.file_text(path)?;
        self.new_cell(Cell::File(TextFile { text, at: 0 }))
    }

    /// What has not been read of a file.
    pub(super) fn rest_of_file(&mut self, value: &Value) -> Outcome<Arc<str>> {
        self.check_known(value)?;
        let Value::Ref(id) = value else { return self.type_error("this is not a file") };
        let Some(file) = self.arena.file_mut(*id) else {
            return self.type_error("this is not a file");
        };
        let at = std::mem::replace(&mut file.at, file.text.len());
        Ok(file.text.get(at..).unwrap_or_default().into())
    }

    /// `file.read()` and what else files do.
    pub(in super::super) fn file_method(
        &mut self,
        file: &Value,
        name: &str,
        mut args: Vec<Value>,
    ) -> Outcome<Value> {
        match name {
            "__enter__" => Ok(file.clone()),
            "__exit__" | "close" => Ok(Value::None),
            "read" if args.is_empty() => self.rest_of_file(file).map(Value::Str),
            "readlines" if args.is_empty() => {
                let lines = self.lines_of_file(file)?;
                self.new_list(lines)
            }
            "readline" if args.is_empty() => {
                let Value::Ref(id) = file else { return refuse("no file") };
                let Some(open) = self.arena.file_mut(*id) else { return refuse("no file") };
                let rest = open.text.get(open.at..).unwrap_or_default();
                let line: Arc<str> = rest.split_inclusive('\n').next().unwrap_or_default().into();
                open.at += line.len();
                Ok(Value::Str(line))
            }
            _ => {
                args.clear();
                refuse(format!("the method '{name}' of files is not supported here"))
            }
        }
    }

    /// The lines that have not been read.
    pub(in super::super) fn lines_of_file(&mut self, file: &Value) -> Outcome<Vec<Value>> {
        let text = self.rest_of_file(file)?;
        self.spend_items(text.lines().count())?;
        Ok(text.split_inclusive('\n').map(Value::str).collect())
    }

    fn parsed_json(&mut self, text: &str) -> Outcome<Value> {
        self.spend(text.len().saturating_mul(4))?;
        match Literal::parse(text) {
            Ok(literal) => {
                let draft = Draft::from(literal);
                self.value_of_object(draft.root())
            }
            Err(error) => refuse(format!("this JSON cannot be read here: {error}")),
        }
    }
}

/// `os.path.split(path)`
pub(super) fn split(path: &str) -> (&str, &str) {
    let at = path.rfind('/').map_or(0, |at| at + 1);
    let (head, tail) = path.split_at(at);
    let trimmed = head.trim_end_matches('/');
    (if trimmed.is_empty() { head } else { trimmed }, tail)
}

/// `os.path.splitext(path)`
pub(super) fn with_extension(path: &str) -> (&str, &str) {
    let name = path.rfind('/').map_or(0, |at| at + 1);
    let dots = path.get(name..).unwrap_or_default();
    let leading = dots.len() - dots.trim_start_matches('.').len();
    match dots.get(leading..).and_then(|rest| rest.rfind('.')) {
        Some(at) => path.split_at(name + leading + at),
        None => (path, ""),
    }
}

/// `os.path.abspath(path)`
pub(super) fn absolute(path: &str) -> String {
    match std::path::absolute(path) {
        Ok(full) => normal(&full.display().to_string()),
        Err(_) => normal(path),
    }
}

/// `os.path.normpath(path)`
pub(super) fn normal(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    let is_absolute = path.starts_with('/');
    for part in Path::new(path).components() {
        match part {
            Component::Normal(part) => parts.push(part.to_str().unwrap_or_default()),
            Component::ParentDir => match parts.last() {
                Some(&last) if last != ".." => drop(parts.pop()),
                _ if is_absolute => {}
                _ => parts.push(".."),
            },
            Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
        }
    }
    let joined = parts.join("/");
    match (is_absolute, joined.is_empty()) {
        (true, _) => format!("/{joined}"),
        (false, true) => ".".to_owned(),
        (false, false) => joined,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_taken_apart_as_python_does() {
        assert_eq!(split("a/b/c"), ("a/b", "c"));
        assert_eq!(split("/a"), ("/", "a"));
        assert_eq!(split("a"), ("", "a"));
        assert_eq!(split("a/"), ("a", ""));
        assert_eq!(with_extension("a.b/c.tar.gz"), ("a.b/c.tar", ".gz"));
        assert_eq!(with_extension("a/.bashrc"), ("a/.bashrc", ""));
        assert_eq!(normal("a/./b/../c//d"), "a/c/d");
        assert_eq!(normal("/../a"), "/a");
        assert_eq!(normal("../a/.."), "..");
        assert_eq!(normal(""), ".");
    }
}
