//! Functions and modules of Python files against what PyTorch makes of them (`generate.py`).

#![allow(clippy::unwrap_used)]

use std::fmt::Write as _;
use std::path::Path;

use sconce_archive::Archive;
use sconce_script::{Error, ScriptOptions, Scripted};
use sconce_source::{Limits, Source};
use sconce_torchscript::SaveOptions;

/// What PyTorch says of one function: titles and texts.
type Sections = Vec<(String, String)>;

/// Splits an expectation file by function.
fn functions(text: &str) -> Vec<(String, Sections)> {
    let mut out: Vec<(String, Sections)> = Vec::new();
    let mut lines = text.split_inclusive('\n').peekable();
    while let Some(line) = lines.next() {
        let title = line.trim_end().strip_prefix("== ").expect("a title").to_owned();
        let mut body = String::new();
        while let Some(next) = lines.next_if(|next| !next.starts_with("== ")) {
            body.push_str(next);
        }
        let (first, rest) = title.split_once(' ').expect("a name and a kind");
        if first != "record" && out.last().is_none_or(|(name, _)| name != first) {
            out.push((first.to_owned(), Vec::new()));
        }
        let title = if first == "record" { title } else { rest.to_owned() };
        out.last_mut().expect("a function").1.push((title, body));
    }
    out
}

fn records(scripted: &Scripted) -> Sections {
    let bytes = match SaveOptions::new().save_to(scripted.module(), Vec::new()) {
        Ok(bytes) => bytes,
        Err(error) => return vec![("save error".into(), format!("{error}\n"))],
    };
    let source = Source::from_vec("archive", bytes);
    let archive = Archive::open(source, &Limits::default()).unwrap();
    let mut out = Vec::new();
    for entry in archive.records() {
        let name = archive.record_name(entry).into_owned();
        let data = archive.read(&name).unwrap();
        if name.ends_with(".py") {
            let text = String::from_utf8(data.to_vec()).unwrap();
            out.push((format!("record {name}"), in_order(&text)));
        } else if !name.starts_with(".data/") && !name.starts_with("code/__torch__/torch/") {
            let crc = crc32fast::hash(&data);
            out.push((format!("record {name} {} {crc:08x}", data.len()), String::new()));
        }
    }
    out
}

/// A source with the constants of each class sorted: PyTorch has them from a set.
fn in_order(source: &str) -> String {
    let is_constant = |line: &&str| line.starts_with("  ") && line.contains(" : Final[");
    let (mut lines, mut constants) = (Vec::new(), Vec::new());
    for line in source.lines() {
        if is_constant(&line) {
            constants.push(line);
            continue;
        }
        constants.sort_unstable();
        lines.append(&mut constants);
        lines.push(line);
    }
    constants.sort_unstable();
    lines.append(&mut constants);
    lines.join("\n") + "\n"
}

fn error_text(error: &Error) -> String {
    let mut lines = String::new();
    let places = error.range().into_iter().chain(error.calls().iter().map(|(_, range)| range));
    for (_, line, _) in places.filter_map(|place| place.file_line_column()) {
        write!(lines, " {line}").unwrap();
    }
    let first = error.message().trim().lines().next().unwrap_or_default();
    format!("{first}\nlines{lines}\n")
}

fn answer(options: &ScriptOptions, shown: &str, text: &str, name: &str) -> Sections {
    match options.clone().name(name).compile_text(shown, text) {
        Ok(scripted) => {
            let graph = scripted.graph().map(ToString::to_string);
            let mut out = vec![
                ("tree".to_owned(), scripted.tree().unwrap_or_default() + "\n"),
                ("graph".to_owned(), graph.unwrap_or_default()),
            ];
            out.extend(records(&scripted));
            out
        }
        Err(error) => vec![("error".to_owned(), error_text(&error))],
    }
}

/// The message may be longer or shorter than PyTorch's; the line is what counts.
fn same_error(expected: &str, found: &str) -> bool {
    let line = |text: &str| {
        let lines = text.lines().nth(1)?;
        lines.split_whitespace().nth(1).map(str::to_owned)
    };
    line(expected).is_none() || line(expected) == line(found)
}

fn difference(expected: &Sections, found: &Sections) -> Option<String> {
    if let ([.., (kind, wanted)], [(other, got)]) = (expected.as_slice(), found.as_slice())
        && kind == "error"
        && other == "error"
    {
        return (!same_error(wanted, got)).then(|| format!("PyTorch: {wanted}here:    {got}"));
    }
    let mut out = String::new();
    for (title, text) in expected {
        match found.iter().find(|(other, _)| other == title) {
            Some((_, other)) if text.trim_end() == other.trim_end() => {}
            Some((_, other)) => write!(out, "-- {title}\n{text}-- here\n{other}").unwrap(),
            None => {
                writeln!(out, "-- missing {title}\n{text}").unwrap();
            }
        }
    }
    for (title, text) in found.iter().filter(|(title, _)| expected.iter().all(|(o, _)| o != title))
    {
        writeln!(out, "-- here {title}\n{text}").unwrap();
    }
    (!out.is_empty()).then_some(out)
}

#[test]
fn functions_and_modules_become_what_pytorch_makes_of_them() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases");
    let only = std::env::var("CASES").unwrap_or_default();
    let mut paths: Vec<_> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ext| ext == "py"))
        .collect();
    paths.sort();
    let (mut failures, mut count) = (String::new(), 0);
    for path in paths {
        let file = path.file_stem().unwrap().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(&path).unwrap();
        let expected = std::fs::read_to_string(path.with_extension("txt")).unwrap();
        let shown = format!("/cases/{file}.py");
        let options = ScriptOptions::new().module_name("__main__").path(&folder);
        for (name, sections) in functions(&expected) {
            if !format!("{file}::{name}").contains(&only) {
                continue;
            }
            count += 1;
            let found = answer(&options, &shown, &text, &name);
            if let Some(difference) = difference(&sections, &found) {
                write!(failures, "==== {file}::{name}\n{difference}").unwrap();
            }
        }
    }
    assert!(count > 0, "no cases");
    let failed = failures.lines().filter(|line| line.starts_with("==== ")).count();
    assert!(failures.is_empty(), "{failures}\n{failed} of {count} differ");
}
