//! Transcripts of a terminal of 80 and of 140 columns: what daily use looks like there.
#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Stdio;

use nix::pty::{Winsize, openpty};
use support::{command, fixtures};

const STATE: &str = "2.15/zip/state_dict.pt";
const TRAINING: &str = "2.15/zip/lightning.ckpt";
const SHARED: &str = "2.15/zip/shared.pt";
const NET: &str = "2.15/zip/module_net.pt";
const CLASSIFIER: &str = "classifier.pt";

/// A function and a module in Python.
const SOURCE: &str = "\
import torch

def scale(x, factor: float = 2.0, times: int = 1):
    for _ in range(times):
        x = x * factor
    return x

def forever(x):
    while bool(torch.ones(1)):
        x = x + 1
    return x
";

/// What each transcript types, one line after the other in one folder.
const LINES: &[(&str, &[&[&str]])] = &[
    ("cards", &[&["info", STATE], &["info", TRAINING], &["info", CLASSIFIER]]),
    (
        "tables",
        &[
            &["ls", STATE],
            &["ls", "-l", SHARED],
            &["ls", "--wide", "-l", SHARED],
            &["tree", TRAINING],
            &["stat", STATE],
            &["stat", "odd.npy"],
            &["stat", "--anomalies", NET],
            &["globals", NET],
        ],
    ),
    (
        "differences",
        &[
            &["diff", STATE, NET],
            &["diff", SHARED, "2.15/legacy/shared.pt"],
            &["diff", CLASSIFIER, "shapes.pt"],
            &["diff", "--ignore-prefix", "state_dict.model", TRAINING, STATE],
            &["edit", STATE, "half.pt", "--cast", "bf16:*.weight"],
            &["diff", STATE, "half.pt"],
            &["diff", "--atol", "0.01", STATE, "half.pt"],
            &["edit", STATE, "inner.pt", "--rename", "s/^/module./"],
            &["diff", "--ignore-prefix", "module", STATE, "inner.pt"],
            &["diff", "--ignore-prefix", "module.", STATE, "inner.pt"],
        ],
    ),
    (
        "lesson",
        &[
            &["trace", STATE, "--tensor", "body.2.bn.weight"],
            &["trace", STATE, "--tensor", "body.2.bn.weight", "--html", "life.html"],
        ],
    ),
    (
        "slips",
        &[
            &["convrt", "a.pt", "b.pt"],
            &["show", STATE, "bn"],
            &["show", SHARED, "gird"],
            &["show", TRAINING, "state_dit"],
            &["convert", STATE, "x.npz", "--take", "bodi"],
            &["run", CLASSIFIER, "encoder.forwrd"],
            &["code", CLASSIFIER, "backward"],
            &["ls", "notes.txt"],
            &["ls", "/dev/stdin"],
            &["run", CLASSIFIER, "-i", "cat.gif"],
            &["merge", STATE, "-o", "x.pt"],
            &["convert", STATE, "nowhere/x.npz"],
            &["edit", STATE, "x.pt", "--cast", "float23"],
            &["info", "my model.pt"],
            &["trace", "my model.pt", "--tensor", "body.2.bn.wieght"],
        ],
    ),
    ("help", &[&["ls", "-h"], &["convert", "-h"], &["bench", "-h"], &["shard", "-h"]]),
    (
        "programs",
        &[
            &["code", CLASSIFIER, "encoder.forward"],
            &["graph", CLASSIFIER, "-m", "encoder.forward"],
            &["ops", CLASSIFIER, "encoder.forward"],
            &["run", CLASSIFIER, "encoder.forward", "-i", "zeros(2, 8)"],
            &["run", CLASSIFIER, "name_of", "-i", "2"],
            &["run", CLASSIFIER, "--shape", "2x8", "-i", "2"],
            &["run", CLASSIFIER, "-i", "[2]", "--shape", "8"],
            &["run", "scale.py:scale", "-i", "ones(2)"],
            &["run", "scale.py:scale", "-i", "ones(2)", "-i", "3.0"],
            &["run", "scale.py:forever", "-i", "ones(1)", "--max-seconds", "0.2"],
            &["compare", CLASSIFIER, "encoder.forward", "--shape", "2x8", "--expect", "odd.npy"],
        ],
    ),
    (
        "several",
        &[
            &["info", STATE, SHARED],
            &["ls", STATE, SHARED],
            &["globals", STATE, NET],
            &["stat", "-r", "folder"],
            &["verify", STATE, SHARED],
            &["scan", STATE, CLASSIFIER, NET],
        ],
    ),
    (
        "written",
        &[
            &["edit", STATE, "cuda.pt", "--device", "cuda:0"],
            &["info", "cuda.pt"],
            &["edit", "cuda.pt", "cpu.pt", "--device", "cpu"],
            &["convert", "cuda.pt", "mapped.pt", "--map-location", "cpu", "--verify"],
            &["convert", STATE, "x.safetensors", "--rename", "s/^body/layers/", "--verify"],
            &["convert", STATE, "x.npz", "--dtype", "fp16", "--verify"],
            &["convert", "--dry-run", STATE, "y.npz"],
            &["resave", SHARED, "again.pt"],
            &["shard", STATE, "-C", "new/parts", "--max-size", "200B"],
            &["merge", "new/parts/pytorch_model.bin.index.json", "-o", "whole.pt"],
            &["extract", STATE, "-C", "records"],
            &["ls", "x.safetensors"],
        ],
    ),
];

/// The folder in which a transcript is typed: files of the fixtures and the examples by short names.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    symlink(fixtures().join("2.15"), at("2.15")).unwrap();
    for name in [CLASSIFIER, "shapes.pt"] {
        symlink(fixtures().join("../../examples").join(name), at(name)).unwrap();
    }
    fs::copy(fixtures().join(STATE), at("my model.pt")).unwrap();
    fs::create_dir(at("folder")).unwrap();
    fs::copy(fixtures().join(STATE), at("folder/a.pt")).unwrap();
    fs::copy(fixtures().join(SHARED), at("folder/b.pt")).unwrap();
    fs::write(at("notes.txt"), "Some words on the model.\n").unwrap();
    fs::write(at("scale.py"), SOURCE).unwrap();
    let mut odd = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
    let header = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }";
    odd.extend(format!("{header:<117}\n").bytes());
    for number in [0.5, 1.0, f32::NAN, 2.0, f32::INFINITY, -1.0] {
        odd.extend(number.to_le_bytes());
    }
    fs::write(at("odd.npy"), odd).unwrap();
    folder
}

/// What a terminal of some width shows of a command. It has no colours, so that a snapshot can be read.
fn shown(args: &[&str], folder: &Path, columns: u16) -> String {
    let text = on_terminal(args, folder, columns, &[("NO_COLOR", "1")]);
    let line: Vec<String> = args.iter().map(|arg| quoted(arg)).collect();
    format!("$ sconce {}\n{text}\n", line.join(" "))
}

fn quoted(arg: &str) -> String {
    match arg.contains([' ', '*', '(', '[', '^']) {
        true => format!("'{arg}'"),
        false => arg.to_owned(),
    }
}

/// What a command puts on a terminal, and how it ends.
fn on_terminal(args: &[&str], folder: &Path, columns: u16, env: &[(&str, &str)]) -> String {
    let size = Winsize { ws_row: 50, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    let terminal = openpty(Some(&size), None).unwrap();
    let mut command = command(args);
    command.current_dir(folder).env("SCONCE_NO_PAGER", "1").env("TERM", "xterm");
    command.envs(env.iter().copied());
    command.stdin(Stdio::null());
    command.stdout(terminal.slave.try_clone().unwrap()).stderr(terminal.slave);
    let mut child = command.spawn().unwrap();
    // The terminal ends when nobody holds its other side.
    drop(command);
    let mut text = Vec::new();
    // Linux tells the end by an error.
    let _ = File::from(terminal.master).read_to_end(&mut text);
    let code = child.wait().unwrap().code();
    let text = without_times(&String::from_utf8(text).unwrap().replace("\r\n", "\n"));
    let exit =
        code.filter(|code| *code != 0).map_or(String::new(), |code| format!("exit {code}\n"));
    text + &exit
}

/// `(24.1 KiB in 0.01 s)` as `(24.1 KiB in [..] s)`.
fn without_times(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(" in 0.") {
        out.push_str(before);
        out.push_str(" in [..]");
        rest = after.trim_start_matches(|c: char| c.is_ascii_digit());
    }
    out + rest
}

#[test]
fn transcripts_at_80_and_140_columns() {
    for (name, lines) in LINES {
        for columns in [80, 140] {
            let folder = folder();
            let all = lines.iter().map(|args| shown(args, folder.path(), columns));
            insta::assert_snapshot!(format!("{name}_at_{columns}"), all.collect::<String>());
        }
    }
}

#[test]
fn code_has_colours_on_a_terminal() {
    let folder = folder();
    let text = on_terminal(&["code", CLASSIFIER, "encoder.forward"], folder.path(), 80, &[]);
    insta::assert_snapshot!("code_in_colour", text.replace('\u{1b}', "ESC"));
}

#[test]
fn tables_are_no_wider_than_the_terminal() {
    let tables: &[&[&str]] = &[&["ls", STATE], &["tree", TRAINING]];
    let folder = folder();
    for args in tables {
        for columns in [80, 140] {
            let text = shown(args, folder.path(), columns);
            for line in text.lines().skip(1) {
                let width = unicode_width::UnicodeWidthStr::width(line);
                assert!(width <= usize::from(columns), "{args:?} at {columns}: {width}: {line}");
            }
        }
    }
}
