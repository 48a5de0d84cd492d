//! Programs whose graphs and errors PyTorch wrote down (`filetests/generate.py`).

#![expect(clippy::unwrap_used, reason = "a panic is what a test fails with")]

use std::path::Path;
use std::sync::Arc;

use sconce_compiler::define;
use sconce_ir::Unit;
use sconce_syntax::Source;

/// A program and what PyTorch makes of it.
struct Case {
    file: String,
    line: usize,
    is_error: bool,
    source: String,
    expected: String,
}

#[derive(Clone, Copy, Default)]
struct Count {
    exact: usize,
    renumbered: usize,
    different: usize,
}

#[test]
fn programs_are_pytorch_s() {
    let directory = std::env::var("SCONCE_FILETESTS")
        .unwrap_or_else(|_| concat!(env!("CARGO_MANIFEST_DIR"), "/tests/filetests").into());
    let filter = std::env::var("SCONCE_FILETEST").unwrap_or_default();
    let mut count = Count::default();
    let mut report = String::new();
    let mut renumbered = String::new();
    for case in cases(Path::new(&directory)) {
        if !format!("{}:{}", case.file, case.line).contains(&filter) {
            continue;
        }
        let found = outcome(&case);
        let place = format!("{}:{}", case.file, case.line);
        if found == case.expected {
            count.exact += 1;
        } else if canonical(&found) == canonical(&case.expected) {
            count.renumbered += 1;
            renumbered.push_str(&format!("{place}\n{}", difference(&case.expected, &found)));
        } else {
            count.different += 1;
            let source = &case.source;
            report.push_str(&format!(
                "\n== {place}\n{source}-- difference\n{}",
                difference(&case.expected, &found)
            ));
        }
    }
    let Count { exact, renumbered: alike, different } = count;
    let figures = format!("{exact} exact, {alike} after renumbering, {different} different");
    if let Ok(path) = std::env::var("SCONCE_FILETEST_REPORT") {
        std::fs::write(path, format!("{figures}\n{renumbered}\n{report}")).unwrap();
    }
    assert!(exact + alike > 100 || !filter.is_empty(), "{figures}");
    assert_eq!(different, 0, "{figures}\n{report}");
}

fn cases(directory: &Path) -> Vec<Case> {
    let entries = std::fs::read_dir(directory).unwrap();
    let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let is_program = |path: &std::path::PathBuf| {
        path.extension().is_some_and(|extension| extension == "py")
            && path.file_name().is_some_and(|name| name != "generate.py")
    };
    paths.into_iter().filter(is_program).flat_map(|path| read(&path)).collect()
}

fn read(path: &Path) -> Vec<Case> {
    let text = std::fs::read_to_string(path).unwrap();
    let file = path.file_name().unwrap().to_string_lossy().into_owned();
    let mut cases: Vec<Case> = Vec::new();
    for (index, line) in text.lines().enumerate() {
        if let Some(kind) = line.strip_prefix("# test: ") {
            cases.push(Case {
                file: file.clone(),
                line: index + 1,
                is_error: kind == "error",
                source: String::new(),
                expected: String::new(),
            });
            continue;
        }
        let Some(case) = cases.last_mut() else { continue };
        let expected = line.strip_prefix("#|");
        let into = if expected.is_some() { &mut case.expected } else { &mut case.source };
        into.push_str(expected.map_or(line, |line| line.strip_prefix(' ').unwrap_or(line)));
        into.push('\n');
    }
    cases
}

fn outcome(case: &Case) -> String {
    let source =
        Arc::new(Source::new(case.source.clone()).with_filename("<string>").with_starting_line(1));
    let mut unit = Unit::new();
    let text = match define(&mut unit, &source) {
        Ok(functions) => functions
            .into_iter()
            .map(|id| unit.function(id).graph.as_ref().unwrap().to_string())
            .collect(),
        Err(error) if case.is_error => error.report(),
        Err(error) => format!("error: {}", error.report()),
    };
    let lines = text.trim_matches('\n').lines().map(str::trim_end);
    lines.flat_map(|line| [line, "\n"]).collect()
}

/// The text with values named in the order in which they stand there.
fn canonical(text: &str) -> String {
    let mut names = std::collections::HashMap::new();
    let mut result = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('%') {
        result.push_str(&rest[..at]);
        let name = &rest[at + 1..];
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
        let end = name.find(|c| !is_name(c)).unwrap_or(name.len());
        let base = name[..end].split('.').next().unwrap_or_default();
        let base = if base.bytes().all(|byte| byte.is_ascii_digit()) { "" } else { base };
        let next = names.len();
        let number = *names.entry(&name[..end]).or_insert(next);
        result.push_str(&format!("%{base}.{number}"));
        rest = &name[end..];
    }
    result + rest
}

/// The lines that only one of the texts has, in order.
fn difference(expected: &str, found: &str) -> String {
    let (a, b): (Vec<&str>, Vec<&str>) = (expected.lines().collect(), found.lines().collect());
    let mut text = String::new();
    for index in 0..a.len().max(b.len()) {
        let (a, b) = (a.get(index).copied(), b.get(index).copied());
        if a != b {
            a.into_iter().for_each(|line| text.push_str(&format!("  - {line}\n")));
            b.into_iter().for_each(|line| text.push_str(&format!("  + {line}\n")));
        }
    }
    text
}
