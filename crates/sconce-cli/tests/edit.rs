//! Checkpoints changed, split and put together.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::fs;

use support::sconce;

const FILE: &str = "2.15/zip/state_dict.pt";

fn names(file: &str) -> Vec<String> {
    let listed = sconce(&["ls", "-0", file]).ok();
    listed.split_terminator('\0').map(str::to_owned).collect()
}

#[test]
fn an_edit_in_one_pass() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out.pt").to_string_lossy().into_owned();
    let before = names(FILE);
    let rename = ["--rename", "s/^/net./"];
    let dry = sconce(&["edit", FILE, "--dry-run", "--drop", &before[0], rename[0], rename[1]]).ok();
    assert!(dry.starts_with(&format!("dropped    {}\n", before[0])), "{}", dry);
    let args = ["edit", FILE, &out, "--drop", &before[0], "--cast", "bfloat16"];
    let run = sconce(&[&args[..], &rename].concat()).ok();
    assert_eq!(run, "", "the summary is no data");
    let after: Vec<String> = before[1..].iter().map(|name| format!("net.{name}")).collect();
    assert_eq!(names(&out), after);
    let floats = sconce(&["ls", "-0", "--dtype", "float32", &out]).ok();
    assert_eq!(floats, "");
    assert_eq!(sconce(&["verify", &out]).code, 0);

    let same = folder.path().join("same.pt").to_string_lossy().into_owned();
    sconce(&["edit", FILE, &same]).ok();
    assert_eq!(sconce(&["diff", FILE, &same]).code, 0);
}

#[test]
fn edits_that_do_nothing_or_lose_something_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out.pt").to_string_lossy().into_owned();
    let cases: [&[&str]; 9] = [
        &["--drop", "nothing"],
        &["--keep", "nothing"],
        &["--take", "nothing"],
        &["--transpose", "nothing"],
        &["--cast", "float16:nothing"],
        &["--cast", "int8"],
        &["--strip", "optimizer"],
        &["--rename", "s/.*/x/"],
        &["--rename", "s/nothing//"],
    ];
    for case in cases {
        let run = sconce(&[&["edit", FILE, &out], case].concat());
        assert_eq!(run.code, 3, "{case:?} {}", run.all());
        assert!(run.err.starts_with("error: "), "{case:?} {}", run.err);
    }
    assert_eq!(sconce(&["edit", FILE, "x.safetensors"]).code, 3);
    fs::write(&out, b"precious").unwrap();
    assert_eq!(sconce(&["edit", FILE, &out]).code, 3);
    assert_eq!(fs::read(&out).unwrap(), b"precious");
    sconce(&["edit", FILE, &out, "-f"]).ok();
    assert_eq!(names(&out), names(FILE));
}

#[test]
fn what_is_split_comes_together_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    let directory = path("");
    let limit = ["--max-size", "64B"];
    sconce(&["shard", FILE, "-C", &directory, limit[0], limit[1], "--dry-run"]).ok();
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    let run = sconce(&["shard", FILE, "-C", &directory, limit[0], limit[1], "--json"]).ok();
    let document: serde_json::Value = serde_json::from_str(&run).unwrap();
    let files = document["files"].as_array().unwrap();
    assert!(files.len() > 1, "{document}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), files.len() + 1);
    let index = path("pytorch_model.bin.index.json");
    assert_eq!(sconce(&["diff", "--tensors-only", FILE, &index]).code, 0);
    let whole = path("whole.pt");
    sconce(&["convert", &index, &whole]).ok();
    assert_eq!(sconce(&["diff", "--tensors-only", FILE, &whole]).code, 0);

    let shards: Vec<String> = files.iter().map(|file| path(file.as_str().unwrap())).collect();
    let merged = path("merged.pt");
    let mut args = vec!["merge", "-o", &merged, FILE];
    args.extend(shards.iter().map(String::as_str));
    sconce(&args).ok();
    assert_eq!(names(&merged), names(FILE), "equal tensors are no clash");
    let changed = path("changed.pt");
    sconce(&["edit", FILE, &changed, "--cast", "float16"]).ok();
    let clash = sconce(&["merge", FILE, &changed, "-o", &path("clash.pt")]);
    assert_eq!(clash.code, 3, "{}", clash.all());
    assert_eq!(sconce(&["shard", "2.15/zip/lightning.ckpt", "-C", &directory]).code, 3);
}
