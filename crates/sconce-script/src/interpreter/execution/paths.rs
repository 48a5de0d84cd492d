//! `pathlib.Path`.

use std::path::PathBuf;
use std::sync::Arc;

use super::super::control_flow::{Outcome, refuse};
use super::super::value::{Cell, Value};
use super::Interpreter;
use super::files::{absolute, split, with_extension};

const METHODS: &[&str] = &[
    "exists",
    "is_file",
    "is_dir",
    "is_absolute",
    "read_text",
    "open",
    "resolve",
    "absolute",
    "joinpath",
    "as_posix",
    "with_suffix",
    "with_name",
    "mkdir",
    "__str__",
    "__fspath__",
];

impl Interpreter<'_> {
    /// `Path(…)`
    pub(super) fn new_path(&mut self, parts: &[Value]) -> Outcome<Value> {
        let mut joined = PathBuf::new();
        for part in parts {
            joined.push(&*self.path_text(part)?);
        }
        // `a/./b` and `a//b` are `a/b`; `a/..` stays.
        let plain: PathBuf = joined.components().collect();
        let text = plain.display().to_string();
        let text = if text.is_empty() { ".".to_owned() } else { text };
        self.spend(text.len())?;
        self.new_cell(Cell::Path(text.into()))
    }

    /// `path.name`
    pub(in super::super) fn path_attribute(
        &mut self,
        value: &Value,
        text: &Arc<str>,
        name: &str,
    ) -> Outcome<Option<Value>> {
        let (head, tail) = split(text);
        let (stem, suffix) = with_extension(tail);
        Ok(Some(match name {
            "name" => Value::str(tail),
            "stem" => Value::str(stem),
            "suffix" => Value::str(suffix),
            "parent" => self.new_path(&[Value::str(if head.is_empty() { "." } else { head })])?,
            "parents" => {
                let mut parents = Vec::new();
                let mut at = Arc::clone(text);
                while let (head, _) = split(&at)
                    && head != &*at
                    && parents.len() < 256
                {
                    let head: Arc<str> = if head.is_empty() { ".".into() } else { head.into() };
                    parents.push(self.new_path(&[Value::Str(Arc::clone(&head))])?);
                    if &*head == "." {
                        break;
                    }
                    at = head;
                }
                self.new_tuple(parents)?
            }
            name if METHODS.contains(&name) => {
                self.new_cell(Cell::BuiltinMethod(value.clone(), name.into()))?
            }
            _ => return Ok(None),
        }))
    }

    /// `path.name(…)`
    pub(in super::super) fn path_method(
        &mut self,
        value: &Value,
        name: &str,
        args: Vec<Value>,
    ) -> Outcome<Value> {
        let text = self.path_text(value)?;
        match (name, args.as_slice()) {
            ("exists" | "is_file" | "is_dir", _) => {
                let function = match name {
                    "exists" => "os.path.exists",
                    "is_file" => "os.path.isfile",
                    _ => "os.path.isdir",
                };
                self.call_library(function, vec![Value::Str(text)], Vec::new())
            }
            ("is_absolute", _) => Ok(Value::Bool(text.starts_with('/'))),
            ("read_text", _) => self.file_text(value).map(Value::Str),
            ("open", []) => self.opened(value),
            ("open", [Value::Str(mode)]) if matches!(&**mode, "r" | "rt") => self.opened(value),
            ("resolve" | "absolute", _) => self.new_path(&[Value::str(absolute(&text))]),
            ("joinpath", parts) => {
                let mut all = vec![value.clone()];
                all.extend_from_slice(parts);
                self.new_path(&all)
            }
            ("as_posix" | "__str__" | "__fspath__", _) => Ok(Value::Str(text)),
            ("with_name", [Value::Str(new)]) => {
                self.new_path(&[Value::str(split(&text).0), Value::Str(Arc::clone(new))])
            }
            ("with_suffix", [Value::Str(new)]) => {
                let (stem, _) = with_extension(&text);
                self.new_path(&[Value::str(format!("{stem}{new}"))])
            }
            ("mkdir", _) => Ok(Value::None),
            _ => refuse(format!("the method '{name}' of paths is not supported here")),
        }
    }

    /// `path / other`
    pub(in super::super) fn joined_paths(
        &mut self,
        left: &Value,
        right: &Value,
    ) -> Outcome<Option<Value>> {
        let is_path = |value: &Value| matches!(self.arena.cell(value), Some(Cell::Path(_)));
        let is_part = |value: &Value| is_path(value) || matches!(value, Value::Str(_));
        match (is_path(left) || is_path(right)) && is_part(left) && is_part(right) {
            true => self.new_path(&[left.clone(), right.clone()]).map(Some),
            false => Ok(None),
        }
    }
}
