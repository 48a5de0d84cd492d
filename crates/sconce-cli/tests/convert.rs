//! Tensors out and in again.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::fs;
use std::path::Path;

use support::{fixtures, sconce, sconce_with_stdin};

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn every_format_reads_back_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let files = [
        "2.15/zip/state_dict.pt",
        "2.15/legacy/shared.pt",
        "2.15/zip/lightning.ckpt",
        "2.15/zip/parameters.pt",
    ];
    for (at, file) in files.iter().enumerate() {
        for extension in ["safetensors", "npz"] {
            let out = folder.path().join(format!("{at}.{extension}"));
            let path = out.to_string_lossy();
            let run = sconce(&["convert", file, &path, "--verify"]);
            assert_eq!(run.code, 0, "{file} {}", run.err);
            assert_eq!(run.out, "", "the summary is no data");
            let same = sconce(&["diff", "--tensors-only", file, &path]);
            assert_eq!(same.code, 0, "{file} {extension}: {}", same.all());
        }
    }
}

#[test]
fn one_tensor_goes_to_npy() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("w.npy").to_string_lossy().into_owned();
    let many = sconce(&["convert", "2.15/zip/shared.pt", &out]);
    assert_eq!(many.code, 3, "{}", many.err);
    sconce(&["convert", "2.15/zip/shared.pt", "-o", &out, "--include", "grid", "--verify"]).ok();
    let from_show = folder.path().join("v.npy").to_string_lossy().into_owned();
    sconce(&["show", "2.15/zip/shared.pt", "grid", "-o", &from_show]).ok();
    assert_eq!(fs::read(&out).unwrap(), fs::read(&from_show).unwrap());
    let piped = sconce(&["show", "2.15/zip/shared.pt", "grid", "--format", "npy"]);
    assert_eq!(piped.raw, fs::read(&out).unwrap());
}

#[test]
fn nothing_is_overwritten_and_nothing_is_left_behind() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("x.safetensors");
    let path = out.to_string_lossy().into_owned();
    fs::write(&out, b"precious").unwrap();
    assert_eq!(sconce(&["convert", "2.15/zip/state_dict.pt", &path]).code, 3);
    assert_eq!(fs::read(&out).unwrap(), b"precious");
    // Float numbers that numpy lacks: found out before anything is written.
    let npz = folder.path().join("x.npz").to_string_lossy().into_owned();
    let run = sconce(&["convert", "2.15/zip/dtype_bfloat16.pt", &npz]);
    assert_eq!(run.code, 2);
    assert!(run.err.contains("help: --dtype float32"), "{}", run.err);
    assert_eq!(names(folder.path()), ["x.safetensors"]);
    sconce(&["convert", "2.15/zip/dtype_bfloat16.pt", &npz, "--dtype", "float32"]).ok();
    sconce(&["convert", "2.15/zip/state_dict.pt", &path, "--force"]).ok();
    assert_eq!(names(folder.path()), ["x.npz", "x.safetensors"]);
    let dry = folder.path().join("dry.npz").to_string_lossy().into_owned();
    sconce(&["convert", "--dry-run", "2.15/zip/state_dict.pt", &dry]).ok();
    assert_eq!(names(folder.path()), ["x.npz", "x.safetensors"]);
}

#[test]
fn sharing_follows_the_policy() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("x.safetensors").to_string_lossy().into_owned();
    let file = "2.15/zip/shared.pt";
    let refused = sconce(&["convert", file, &out, "--shared", "error"]);
    assert_eq!(refused.code, 3);
    assert!(refused.err.contains("share memory"), "{}", refused.err);
    let kept = sconce(&["convert", file, &out, "--shared", "keep", "--json"]).json();
    assert_eq!(kept["aliases"]["alias"], "whole");
    assert_eq!(kept["tensors"], 7);
    let metadata = sconce(&["info", "--json", &out]).json();
    assert_eq!(metadata["metadata"]["alias"], "whole");
    let cloned = sconce(&["convert", "-f", file, &out, "--json"]).json();
    assert_eq!(cloned["cloned"]["alias"], "whole");
    assert_eq!(cloned["tensors"], 9);
}

#[test]
fn parts_are_taken_and_the_rest_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("x.safetensors").to_string_lossy().into_owned();
    let run = sconce(&["convert", "2.15/zip/lightning.ckpt", &out, "--take", "state_dict"]);
    assert_eq!(run.code, 0, "{}", run.err);
    assert!(run.err.contains("left out 5 tensors"), "{}", run.err);
    assert!(run.err.contains("epoch"), "{}", run.err);
    let listed = sconce(&["ls", "-0", &out]).ok();
    let names: Vec<&str> = listed.split_terminator('\0').collect();
    assert_eq!(names.len(), 7);
    assert!(names.iter().all(|name| name.starts_with("model.")), "{names:?}");
    let typo = sconce(&["convert", "-f", "2.15/zip/lightning.ckpt", &out, "--take", "state_dit"]);
    assert_eq!(typo.code, 3);
    assert!(typo.err.contains("no entry 'state_dit'; did you mean 'state_dict'?"), "{}", typo.err);
}

#[test]
fn sparse_and_quantized_tensors_need_a_word() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("x.safetensors").to_string_lossy().into_owned();
    let run = sconce(&["convert", "2.15/zip/sparse.pt", &out]);
    assert_eq!(run.code, 2);
    assert!(run.err.contains("--dense"), "{}", run.err);
    let args = ["convert", "2.15/zip/sparse.pt", &out, "--dense", "--keep-going", "--verify"];
    let run = sconce(&args);
    assert_eq!(run.code, 0, "{}", run.err);
    assert!(run.err.contains("sparse_coo → dense"), "{}", run.err);
}

#[test]
fn pipes_at_both_ends() {
    let bytes = fs::read(fixtures().join("2.15/zip/state_dict.pt")).unwrap();
    let run = sconce_with_stdin(&["convert", "-", "-", "--to", "safetensors"], &bytes);
    assert_eq!(run.code, 0, "{}", run.err);
    let listed = sconce_with_stdin(&["ls", "--json", "-"], &run.raw).json();
    assert_eq!(listed["format"], "safetensors");
    assert_eq!(sconce_with_stdin(&["convert", "-", "-"], &bytes).code, 3);
}
