//! Whether two TorchScript archives hold the same program, as far as their records tell: code by method, constants,
//! mobile bytecode and extra files byte for byte. Code that is written otherwise and means the same counts as
//! different. Of two programs of torch.export graphs are compared line by line, then what else a program says.

use std::collections::BTreeMap;

use sconce::archive::{Archive, Entry};
use sconce::checkpoint::{Checkpoint, FileKind, mobile_archive};
use sconce::source::Limits;
use serde::Serialize;

use crate::arguments::reading::Load;
use crate::error::Failure;
use crate::output::{Line, Style, count};
use crate::read::{exported, open};
use crate::report::method_diff::{self, MethodDiff};

/// The records of two programs that are not equal.
#[derive(Serialize, Default)]
pub struct Programs {
    /// Whether the records were compared.
    pub compared: bool,
    /// Whether any differs.
    pub same: bool,
    code: Vec<String>,
    methods: Vec<MethodDiff>,
    constants: Vec<String>,
    bytecode: Vec<String>,
    extra: Vec<String>,
    /// Whether they are programs of torch.export.
    #[serde(skip)]
    exported: bool,
    /// Why nothing was compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<&'static str>,
}

/// Compares the programs of two files; `None` where neither has one.
///
/// # Errors
/// When a record cannot be read.
pub fn compare(
    first: &Checkpoint,
    second: &Checkpoint,
    wanted: bool,
    load: &Load,
) -> Result<Option<Programs>, Failure> {
    let is_exported = |checkpoint: &Checkpoint| checkpoint.format() == FileKind::Pt2;
    if wanted && is_exported(first) && is_exported(second) {
        return compare_exported(first, second, load).map(Some);
    }
    let limits = &open::limits(load);
    let is_program = |checkpoint: &Checkpoint| checkpoint.format().is_torchscript();
    let note = match (is_program(first), is_program(second)) {
        (false, false) => return Ok(None),
        (true, true) if wanted => None,
        (true, true) => Some("code, constants and extra files were not compared"),
        (true, false) => Some("the code of the first was not compared: the second has none"),
        (false, true) => Some("the code of the second was not compared: the first has none"),
    };
    if note.is_some() {
        return Ok(Some(Programs { same: true, note, ..Programs::default() }));
    }
    let archives = [archive(first, limits)?, archive(second, limits)?];
    let [left, right] = [records(&archives[0]), records(&archives[1])];
    let mut programs = Programs { compared: true, same: true, ..Programs::default() };
    let only_right = right.iter().filter(|(name, _)| !left.contains_key(*name));
    for (name, entry) in left.iter().chain(only_right) {
        let text = |side: &BTreeMap<String, &Entry>, archive| match side.get(name) {
            Some(entry) => bytes(archive, entry).map(Some),
            None => Ok(None),
        };
        let (a, b) = (text(&left, &archives[0])?, text(&right, &archives[1])?);
        if a.as_deref() != b.as_deref() {
            programs.same = false;
            let name = archives[usize::from(!left.contains_key(name))].record_name(entry);
            if matches!(Part::of(&name), Some(Part::Code)) {
                let [a, b] = [a, b]
                    .map(|bytes| bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()));
                let found =
                    method_diff::methods(&name, &a.unwrap_or_default(), &b.unwrap_or_default());
                programs.methods.extend(found);
            }
            programs.add(&name);
        }
    }
    Ok(Some(programs))
}

/// Compares the programs of two `.pt2` files.
fn compare_exported(
    first: &Checkpoint,
    second: &Checkpoint,
    load: &Load,
) -> Result<Programs, Failure> {
    let [(left, more), (right, others)] = [parts_of(first, load)?, parts_of(second, load)?];
    let mut programs =
        Programs { compared: true, same: true, exported: true, ..Programs::default() };
    programs.methods = method_diff::texts(&left, &right);
    let only_right = others.keys().filter(|name| !more.contains_key(*name));
    let differs = |name: &&String| more.get(*name) != others.get(*name);
    programs.extra = more.keys().chain(only_right).filter(differs).cloned().collect();
    programs.same = programs.methods.is_empty() && programs.extra.is_empty();
    Ok(programs)
}

/// What a program consists of beside its tensors, by name: texts, and extra files.
type Parts = (BTreeMap<String, (&'static str, String)>, BTreeMap<String, Vec<u8>>);

fn parts_of(checkpoint: &Checkpoint, load: &Load) -> Result<Parts, Failure> {
    let file = checkpoint.source().name();
    let archive = exported::archive(checkpoint.source().clone(), load, file)?;
    let failure = |error| exported::failure(error, file);
    let program = exported::program(&archive, load, file)?;
    let mut texts = BTreeMap::new();
    for (name, code) in program.graph_texts().map_err(failure)? {
        texts.insert(name, ("graph", code));
    }
    texts.insert("signature".to_owned(), ("part", program.signature_text()));
    texts.insert(
        "range constraints".to_owned(),
        ("part", program.ranges_text().map_err(failure)?.replace(", ", "\n")),
    );
    texts.insert("guards".to_owned(), ("part", program.guards_code.join("\n")));
    let (arguments, result) = program.structure_texts();
    texts.insert("structure of arguments".to_owned(), ("part", arguments));
    texts.insert("structure of the result".to_owned(), ("part", result));
    texts.retain(|_, (_, text)| !text.is_empty());
    let package = archive.package();
    let mut extra = BTreeMap::new();
    for (name, _) in package.extra_files() {
        let bytes = package.extra_file(&name);
        let bytes = bytes.map_err(|error| Failure::from(error).in_file(file))?;
        extra.insert(name, bytes.to_vec());
    }
    Ok((texts, extra))
}

fn archive(checkpoint: &Checkpoint, limits: &Limits) -> Result<Archive, Failure> {
    let source = match checkpoint.format() {
        FileKind::MobileFlatbuffer => mobile_archive(checkpoint.source())?,
        _ => checkpoint.source().clone(),
    };
    let archive = Archive::open(source, limits);
    archive.map_err(|error| Failure::from(error).in_file(checkpoint.source().name()))
}

fn bytes(archive: &Archive, entry: &Entry) -> Result<sconce::source::Bytes, Failure> {
    let bytes = archive.directory().bytes(entry);
    bytes.map_err(|error| Failure::from(error).in_file(archive.source().name()))
}

/// The records that make a program, by name. Storages are compared as tensors, and records of places in
/// sources say nothing of what runs.
fn records(archive: &Archive) -> BTreeMap<String, &Entry> {
    let named = archive.records().iter().map(|entry| (archive.record_name(entry), entry));
    let of_program = named.filter(|(name, _)| Part::of(name).is_some());
    of_program.map(|(name, entry)| (name.into_owned(), entry)).collect()
}

enum Part {
    Code,
    Constants,
    Bytecode,
    Extra,
}

impl Part {
    fn of(name: &str) -> Option<Part> {
        Some(match name {
            "constants.pkl" => Part::Constants,
            "bytecode.pkl" | "mobile_debug_handles.pkl" => Part::Bytecode,
            _ if name.starts_with("constants/") => Part::Constants,
            _ if name.starts_with("code/") && !name.ends_with(".debug_pkl") => Part::Code,
            _ if name.starts_with("extra/") => Part::Extra,
            _ => return None,
        })
    }
}

impl Programs {
    fn add(&mut self, name: &str) {
        let names = match Part::of(name) {
            Some(Part::Code) => &mut self.code,
            Some(Part::Constants) => &mut self.constants,
            Some(Part::Bytecode) => &mut self.bytecode,
            Some(Part::Extra) => &mut self.extra,
            None => return,
        };
        names.push(name.to_owned());
    }

    fn parts(&self) -> [(&'static str, &[String]); 4] {
        [
            ("code", &self.code),
            ("constants", &self.constants),
            ("bytecode", &self.bytecode),
            ("extra files", &self.extra),
        ]
    }

    /// What the heading says: what differs, or what was not looked at.
    pub fn heading(&self, mut line: Line) -> Line {
        if let Some(note) = self.note {
            return line.dim(" · ").add(Style::Warn, note);
        }
        if self.same {
            let equal = match self.exported {
                true => "programs and extra files are equal",
                false => "code, constants and extra files are equal",
            };
            return line.dim(" · ").add(Style::Good, equal);
        }
        for (part, names) in self.parts() {
            if part == "code" && !self.methods.is_empty() {
                let text = match self.exported {
                    true => format!("programs differ: {}", count(self.methods.len(), "part")),
                    false => format!("code differs: {}", count(self.methods.len(), "method")),
                };
                line = line.dim(" · ").add(Style::Warn, text);
            } else if !names.is_empty() {
                let verb = if part.ends_with('s') { "differ" } else { "differs" };
                let text = format!("{part} {verb}: {}", count(names.len(), "record"));
                line = line.dim(" · ").add(Style::Warn, text);
            }
        }
        line
    }

    /// The methods that differ, and a line for each other record that does.
    pub fn lines(&self, all: bool) -> Vec<Line> {
        let mut out: Vec<Line> = self.methods.iter().flat_map(|method| method.print(all)).collect();
        for (part, names) in self.parts() {
            // Records whose methods are all the same differ in comments or spaces.
            if part == "code" && !self.methods.is_empty() {
                continue;
            }
            out.extend(names.iter().map(|name| {
                Line::new().add(Style::Warn, "  ~ ").add(Style::Name, name).dim("  record")
            }));
        }
        out
    }
}
