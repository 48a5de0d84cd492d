//! Transcripts of a terminal of 80 and of 140 columns: what daily use looks like there.
#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::fs::File;
use std::io::Read;
use std::process::Stdio;

use nix::pty::{Winsize, openpty};
use support::command;

const STATE: &str = "2.15/zip/state_dict.pt";
const TRAINING: &str = "2.15/zip/lightning.ckpt";
const SHARED: &str = "2.15/zip/shared.pt";
const CLASSIFIER: &str = "../../examples/classifier.pt";

/// What each transcript types.
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
        ],
    ),
    (
        "differences",
        &[
            &["diff", STATE, "2.15/zip/module_net.pt"],
            &["diff", SHARED, "2.15/legacy/shared.pt"],
            &["diff", CLASSIFIER, "../../examples/shapes.pt"],
            &["diff", "--ignore-prefix", "state_dict.model", TRAINING, STATE],
        ],
    ),
    ("lesson", &[&["trace", STATE, "--tensor", "body.2.bn.weight"]]),
    (
        "slips",
        &[
            &["convrt", "a.pt", "b.pt"],
            &["show", STATE, "bn"],
            &["show", SHARED, "gird"],
            &["convert", STATE, "x.npz", "--take", "bodi"],
            &["run", CLASSIFIER, "encoder.forwrd"],
            &["code", CLASSIFIER, "backward"],
            &["ls", "../../Cargo.toml"],
            &["run", CLASSIFIER, "-i", "cat.gif"],
            &["merge", STATE, "-o", "x.pt"],
        ],
    ),
    (
        "programs",
        &[
            &["code", CLASSIFIER, "encoder.forward"],
            &["graph", CLASSIFIER, "-m", "encoder.forward"],
            &["ops", CLASSIFIER, "encoder.forward"],
            &["run", CLASSIFIER, "encoder.forward", "-i", "zeros(2, 8)"],
            &["run", CLASSIFIER, "name_of", "-i", "2"],
        ],
    ),
    (
        "several",
        &[&["verify", STATE, SHARED], &["scan", STATE, CLASSIFIER, "2.15/zip/module_net.pt"]],
    ),
];

/// What a terminal of some width shows of a command. It has no colours, so that a snapshot can be read.
fn shown(args: &[&str], columns: u16) -> String {
    let size = Winsize { ws_row: 50, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    let terminal = openpty(Some(&size), None).unwrap();
    let mut command = command(args);
    command.env("NO_COLOR", "1").env("SCONCE_NO_PAGER", "1").env("TERM", "xterm");
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
    format!("$ sconce {}\n{text}{exit}\n", args.join(" "))
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
            let shown: String = lines.iter().map(|args| shown(args, columns)).collect();
            insta::assert_snapshot!(format!("{name}_at_{columns}"), shown);
        }
    }
}

#[test]
fn tables_are_no_wider_than_the_terminal() {
    let tables: &[&[&str]] = &[&["ls", STATE], &["tree", TRAINING]];
    for args in tables {
        for columns in [80, 140] {
            let text = shown(args, columns);
            for line in text.lines().skip(1) {
                let width = unicode_width::UnicodeWidthStr::width(line);
                assert!(width <= usize::from(columns), "{args:?} at {columns}: {width}: {line}");
            }
        }
    }
}
