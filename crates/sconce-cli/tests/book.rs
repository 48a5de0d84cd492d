//! The commands of README and of the book print what those pages say.
//!
//! In a block marked `console`, a line `$ COMMAND` is run by the shell in a copy of `examples`, and what
//! follows it is what a terminal would show. `...` alone on a line stands for any lines, `[..]` for any text within
//! one. Blocks of one page share their folder. With `SCONCE_UPDATE_BOOK=1` the pages get what is printed now.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn pages() -> Vec<PathBuf> {
    let mut pages = vec![repository().join("README.md")];
    let mut folders = vec![repository().join("docs/src")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.extension() {
                None => folders.push(path),
                Some(extension) if extension == "md" => pages.push(path),
                Some(_) => {}
            }
        }
    }
    pages.sort();
    pages
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy(&path, &target);
        } else {
            fs::copy(&path, &target).unwrap();
        }
    }
}

/// A folder with the examples and the Python files that the page shows after the words "This is `NAME`:".
fn folder_of(page: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    copy(&repository().join("examples"), folder.path());
    for part in page.split("This is `").skip(1) {
        let (name, rest) = part.split_once('`').unwrap();
        let source = rest.split_once("```python\n").unwrap().1.split_once("```").unwrap().0;
        fs::write(folder.path().join(name), source).unwrap();
    }
    folder
}

fn shell(command: &str, folder: &Path) -> String {
    let binary = Path::new(env!("CARGO_BIN_EXE_sconce")).parent().unwrap();
    let path = std::env::var("PATH").unwrap_or_default();
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(format!("{command} 2>&1")).current_dir(folder);
    shell.env("PATH", format!("{}:{path}", binary.display()));
    for name in [
        "NO_COLOR",
        "CLICOLOR",
        "CLICOLOR_FORCE",
        "SCONCE_COLOR",
        "SCONCE_BYTES",
        "SCONCE_QUIET",
        "COLUMNS",
    ] {
        shell.env_remove(name);
    }
    let output = shell.output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(|line| line.trim_end().to_owned() + "\n").collect()
}

fn matches(expected: &[&str], printed: &[&str]) -> bool {
    match expected.split_first() {
        None => printed.is_empty(),
        Some((&"...", rest)) => {
            (0..=printed.len()).any(|skipped| matches(rest, &printed[skipped..]))
        }
        Some((line, rest)) => {
            printed.first().is_some_and(|found| line_matches(line, found))
                && matches(rest, &printed[1..])
        }
    }
}

fn line_matches(expected: &str, printed: &str) -> bool {
    let mut parts = expected.trim_end().split("[..]");
    let Some(mut rest) = printed.strip_prefix(parts.next().unwrap_or_default()) else {
        return false;
    };
    let mut last = None;
    for part in parts {
        last = Some(part);
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.is_empty() || last.is_some_and(|last| rest.ends_with(last))
}

/// The page with what its commands print now, and what differs.
fn run_page(page: &str) -> (String, Vec<String>) {
    let folder = folder_of(page);
    let (mut now, mut differences) = (String::new(), Vec::new());
    let mut lines = page.lines().peekable();
    let mut in_console = false;
    while let Some(line) = lines.next() {
        now += &format!("{line}\n");
        if line.starts_with("```") {
            in_console = line == "```console";
            continue;
        }
        let Some(command) = line.strip_prefix("$ ").filter(|_| in_console) else { continue };
        let mut expected = Vec::new();
        while let Some(line) =
            lines.next_if(|line| !line.starts_with("$ ") && !line.starts_with("```"))
        {
            expected.push(line);
        }
        let printed = shell(command, folder.path());
        if matches(&expected, &printed.lines().collect::<Vec<_>>()) {
            now.extend(expected.iter().map(|line| format!("{line}\n")));
        } else {
            let expected = expected.join("\n");
            differences
                .push(format!("$ {command}\n--- the page\n{expected}\n--- printed\n{printed}"));
            now += &printed;
        }
    }
    (now, differences)
}

#[test]
fn commands_print_what_the_pages_say() {
    let mut failures = String::new();
    for path in pages() {
        let (now, differences) = run_page(&fs::read_to_string(&path).unwrap());
        if differences.is_empty() {
            continue;
        }
        if std::env::var_os("SCONCE_UPDATE_BOOK").is_some() {
            fs::write(&path, now).unwrap();
        }
        failures += &format!("== {}\n{}\n", path.display(), differences.join("\n"));
    }
    assert!(failures.is_empty(), "{failures}");
}

#[test]
fn links_lead_to_files() {
    let mut broken = Vec::new();
    for path in pages() {
        let page = fs::read_to_string(&path).unwrap();
        for link in page.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let target = link.split('#').next().unwrap_or_default();
            let is_file = !target.is_empty() && !target.contains("://");
            if is_file && !path.parent().unwrap().join(target).exists() {
                broken.push(format!("{}: {link}", path.display()));
            }
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
}

#[test]
fn wildcards() {
    assert!(matches(&["a", "...", "c"], &["a", "b", "b", "c"]));
    assert!(!matches(&["a", "..."], &["b"]));
    assert!(line_matches("in [..] s", "in 0.03 s") && !line_matches("in [..] s", "in 0.03 m"));
    assert!(line_matches("[..]", "") && !line_matches("a", "ab"));
}
