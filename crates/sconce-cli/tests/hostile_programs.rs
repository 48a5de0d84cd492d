//! Programs that hold, print or nest without end: none ends the process, none holds more than its limit
//! allows, and each ends as `hostile_programs.py` says.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use nix::sys::resource::{UsageWho, getrusage};

const MIB: i64 = 1 << 20;
const LIMIT: i64 = 64 * MIB;
/// What a program may hold beyond its limit, with what the process holds without any.
const GRACE: i64 = 16 * MIB;
/// Pages of the binary itself that a program touches and the simplest one does not.
const CODE: i64 = 4 * MIB;

/// A function of the file, the comment before it, and flags.
struct Program {
    name: String,
    end: String,
    flags: Vec<String>,
}

fn file() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/hostile_programs.py")
}

/// The functions that have a comment saying how they end.
fn programs() -> Vec<Program> {
    let text = fs::read_to_string(file()).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let commented = lines.windows(2).filter_map(|pair| {
        let name = pair[1].strip_prefix("def ")?.split('(').next()?;
        let comment = pair[0].strip_prefix("# ")?;
        let (end, flags) = comment.split_once(" --").unwrap_or((comment, ""));
        let flags = flags.split_whitespace().map(|flag| format!("--{flag}"));
        Some(Program { name: name.to_owned(), end: end.to_owned(), flags: flags.collect() })
    });
    commented.collect()
}

/// Bytes that the largest child so far held in memory.
fn peak_of_children() -> i64 {
    getrusage(UsageWho::RUSAGE_CHILDREN).unwrap().max_rss() * 1024
}

fn command(function: &str) -> Command {
    let mut command = support::command(&["run", &format!("{}:{function}", file().display())]);
    command.stdin(Stdio::null());
    command
}

/// Runs one in so many programs.
fn run_every(count: usize, first: usize) {
    let simple = command("identity").args(["-i", "1"]).output().unwrap();
    assert!(simple.status.success(), "{}", String::from_utf8_lossy(&simple.stderr));
    let bound = peak_of_children() + CODE + LIMIT + GRACE;
    let programs = programs();
    assert!(programs.len() > 80, "{}", programs.len());
    let mut faults = Vec::new();
    for program in programs.iter().skip(first).step_by(count) {
        let Program { name, end, flags } = program;
        let before = peak_of_children();
        let has_own = flags.iter().any(|flag| flag.starts_with("--max-seconds"));
        let seconds = if has_own { "--quiet" } else { "--max-seconds=20" };
        let mut command = command(name);
        let output = command.args(["--max-memory=64MiB", seconds]).args(flags).output().unwrap();
        let held = peak_of_children();
        let (out, err) = (
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr).chars().take(500).collect::<String>(),
        );
        let is_limit = err.contains(" limit of ") || err.contains("error: limit of ");
        let ends_well = match (output.status.code(), end.as_str()) {
            (Some(2), "limit") => is_limit && err.contains("exceeded"),
            (Some(0..=2), "any") => true,
            (Some(0), _) => {
                end.strip_prefix("ok: ").is_some_and(|value| out.trim_end().ends_with(value))
            }
            _ => false,
        };
        if !ends_well {
            faults.push(format!("{name} ({end}): {}\n{err}", output.status));
        }
        if held > bound && held > before {
            faults.push(format!("{name} held {} MiB, not {}", held / MIB, bound / MIB));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

// Several tests, so that they share the cores there are.
#[test]
fn hostile_programs_end_well_1() {
    run_every(4, 0);
}

#[test]
fn hostile_programs_end_well_2() {
    run_every(4, 1);
}

#[test]
fn hostile_programs_end_well_3() {
    run_every(4, 2);
}

#[test]
fn hostile_programs_end_well_4() {
    run_every(4, 3);
}
