//! The documents that other programs read.

mod support;

use support::sconce;

/// Fields of a row of `ls --json`; other tools depend on them.
const ROW: [&str; 15] = [
    "device",
    "dtype",
    "file_offset",
    "layout",
    "name",
    "nbytes",
    "numel",
    "requires_grad",
    "sha256",
    "shape",
    "storage",
    "storage_bytes",
    "storage_offset",
    "stride",
    "class",
];

#[test]
fn every_reading_verb_has_json() {
    let file = "2.15/zip/state_dict.pt";
    let runs: [&[&str]; 12] = [
        &["info", "--json", file],
        &["identify", "--json", file],
        &["ls", "--json", file],
        &["tree", "--json", file],
        &["show", "--json", file, "*"],
        &["stat", "--json", file],
        &["diff", "--json", file, file],
        &["verify", "--json", file],
        &["dis", "--json", file],
        &["globals", "--json", file],
        &["extract", "--list", "--json", file],
        &["convert", "--dry-run", "--json", file, "x.npz"],
    ];
    for args in runs {
        let run = sconce(args);
        assert_eq!(run.code, 0, "{args:?} {}", run.err);
        assert_eq!(run.err, "", "{args:?}");
        assert_eq!(run.json()["schema_version"], 1, "{args:?}");
    }
    for line in sconce(&["trace", "--json", file]).ok().lines() {
        let step: serde_json::Value = serde_json::from_str(line).unwrap();
        assert_eq!(step["schema_version"], 1);
    }
}

#[test]
fn rows_of_ls_are_what_was_agreed() {
    let document = sconce(&["ls", "--json", "--sha256", "2.15/zip/parameters.pt"]).json();
    assert_eq!(document["format"], "zip");
    assert_eq!(document["file"], "2.15/zip/parameters.pt");
    for row in document["tensors"].as_array().unwrap() {
        for key in row.as_object().unwrap().keys() {
            assert!(ROW.contains(&key.as_str()), "{key}");
        }
        for key in &ROW[..14] {
            assert!(row.get(key).is_some(), "{key}");
        }
        assert_eq!(row["sha256"].as_str().unwrap().len(), 64);
    }
    let sparse = sconce(&["ls", "--json", "2.15/zip/sparse.pt"]).json();
    let row = &sparse["tensors"][0];
    for key in ["stride", "storage_offset", "storage", "storage_bytes", "sha256"] {
        assert!(row[key].is_null(), "{key}");
    }
}

#[test]
fn what_torch_sees() {
    let expected = include_str!("../../../fixtures/expected.json");
    // A name of one fixture holds half a surrogate pair, which no Rust string can.
    let expected = expected.replace("\\ud800", "?");
    let expected: serde_json::Value = serde_json::from_str(&expected).unwrap();
    let fields = [
        "name",
        "dtype",
        "layout",
        "shape",
        "stride",
        "storage_offset",
        "requires_grad",
        "device",
        "storage",
        "storage_bytes",
        "nbytes",
        "sha256",
    ];
    for file in [
        "2.15/zip/shared.pt",
        "2.15/zip/sparse.pt",
        "2.15/zip/dtype_qint8.pt",
        "2.15/zip/nested.pt",
        "2.15/zip/meta.pt",
        "2.15/legacy/lazy_bits.pt",
        "2.15/zip/lightning.ckpt",
    ] {
        let theirs = expected["files"][file]["tensors"].as_array().unwrap();
        let ours = sconce(&["ls", "--json", "-l", "--sha256", file]).json();
        let ours = ours["tensors"].as_array().unwrap();
        assert_eq!(ours.len(), theirs.len(), "{file}");
        for (ours, theirs) in ours.iter().zip(theirs) {
            for field in fields {
                assert_eq!(ours[field], theirs[field], "{file} {} {field}", theirs["name"]);
            }
        }
    }
}

#[test]
fn lines_and_tables_for_scripts() {
    let lines = sconce(&["ls", "--jsonl", "2.15/zip/shared.pt"]).ok();
    assert_eq!(lines.lines().count(), 9);
    let csv = sconce(&["ls", "--csv", "--no-header", "2.15/zip/shared.pt"]).ok();
    assert_eq!(csv.lines().next().unwrap(), "whole,float32,strided,12,1,0,false,cpu,0,48,12,48,");
    let values = sconce(&["show", "2.15/zip/shared.pt", "grid", "--format", "csv"]).ok();
    assert_eq!(values.lines().count(), 3);
    let values = sconce(&["show", "2.15/zip/shared.pt", "grid", "--format", "json"]);
    assert_eq!(values.json().as_array().unwrap().len(), 3);
    let raw = sconce(&["show", "2.15/zip/shared.pt", "grid", "--format", "raw"]);
    assert_eq!(raw.raw.len(), 36);
}
