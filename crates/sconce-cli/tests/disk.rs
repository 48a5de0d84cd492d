//! Places that cannot be written to, and writing that fails half way: the error says where and what
//! to do, nothing is left behind, and what was there stays.
#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::fs;
use std::path::Path;
use std::process::Command;

use support::{Run, command, sconce};

const FILE: &str = "2.15/zip/state_dict.pt";

/// Verbs that write one file, with what comes after the file's name.
const WRITERS: [(&[&str], &str, &[&str]); 6] = [
    (&["edit", FILE], "out.pt", &["--rename", "s/^/net./"]),
    (&["edit", FILE], "out.ckpt", &["--cast", "float64"]),
    (&["convert", FILE], "out.pt", &[]),
    (&["convert", FILE], "out.safetensors", &[]),
    (&["convert", FILE], "out.npz", &[]),
    (&["merge", FILE, FILE, "-o"], "out.pt", &[]),
];

fn args<'a>(before: &[&'a str], target: &'a str, after: &[&'a str]) -> Vec<&'a str> {
    [before, &[target], after].concat()
}

fn names(folder: &Path) -> Vec<String> {
    let name = |entry: std::io::Result<fs::DirEntry>| entry.unwrap().file_name();
    let mut names: Vec<String> =
        fs::read_dir(folder).unwrap().map(|entry| name(entry).into_string().unwrap()).collect();
    names.sort();
    names
}

fn complains(run: &Run, path: &str, help: &str, case: &str) {
    assert_eq!(run.code, 2, "{case}: {}", run.all());
    assert!(run.err.starts_with("error: cannot write: "), "{case}: {}", run.err);
    assert!(run.err.contains(&format!("--> {path}\n")), "{case}: {}", run.err);
    assert!(run.err.contains(help), "{case}: {}", run.err);
}

/// Runs the binary where no file may grow past a few kilobytes: what a disk does that is full, seen
/// from the program.
fn limited(args: &[&str]) -> Run {
    let inner = command(args);
    let mut shell = Command::new("sh");
    shell.args(["-c", "ulimit -f 1; exec \"$0\" \"$@\""]);
    shell.arg(inner.get_program()).args(inner.get_args());
    shell.current_dir(inner.get_current_dir().unwrap());
    support::run(shell.output().unwrap())
}

#[test]
fn writing_that_fails_half_way_leaves_what_was_there() {
    for (before, name, after) in WRITERS {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join(name).to_string_lossy().into_owned();
        let args = args(before, &target, after);
        let case = args.join(" ");
        let run = limited(&args);
        complains(&run, &target, "help: the file system, or a limit", &case);
        assert_eq!(names(folder.path()), Vec::<String>::new(), "{case}");

        fs::write(&target, b"old").unwrap();
        let forced = [&args[..], &["-f"]].concat();
        complains(&limited(&forced), &target, "help: the file system, or a limit", &case);
        assert_eq!(names(folder.path()), [name], "{case}");
        assert_eq!(fs::read(&target).unwrap(), b"old", "{case}");

        // The limit was the only thing wrong.
        sconce(&forced).ok();
        assert_ne!(fs::read(&target).unwrap(), b"old", "{case}");
    }
}

#[test]
fn shards_appear_together_or_not_at_all() {
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().to_string_lossy().into_owned();
    let args = ["shard", FILE, "-C", &directory, "--max-size", "100"];
    let run = limited(&args);
    let first = folder.path().join("pytorch_model");
    assert_eq!(run.code, 2, "{}", run.all());
    assert!(run.err.contains(&format!("--> {}", first.to_string_lossy())), "{}", run.err);
    assert_eq!(names(folder.path()), Vec::<String>::new());
    sconce(&args).ok();
    assert!(names(folder.path()).len() > 1);
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_device_is_named() {
    for (before, name, after) in WRITERS {
        // A link, since verbs look at a name's end.
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join(name);
        std::os::unix::fs::symlink("/dev/full", &target).unwrap();
        let target = target.to_string_lossy().into_owned();
        let args = args(before, &target, after);
        complains(&sconce(&args), &target, "help: make room on that disk", &args.join(" "));
    }
}

#[test]
fn places_that_cannot_be_written_to() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("file"), b"no folder").unwrap();
    let mut places = vec![
        (folder.path().join("file"), "help: a part of the path is a file"),
        (folder.path().join("none"), "help: mkdir -p "),
    ];
    if cfg!(target_os = "linux") {
        // Nobody may make files there, the superuser included.
        places.push(("/proc/self/fdinfo".into(), "help: "));
    }
    for (place, help) in places {
        for (before, name, after) in WRITERS {
            let target = place.join(name).to_string_lossy().into_owned();
            let args = args(before, &target, after);
            complains(&sconce(&args), &target, help, &args.join(" "));
        }
    }
    assert_eq!(names(folder.path()), ["file"]);
}
