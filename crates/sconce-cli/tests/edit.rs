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
fn damaged_data_gets_no_checksum_that_calls_it_whole() {
    const DAMAGED: &str = "bad/zip_wrong_crc_data.pt";
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out.pt").to_string_lossy().into_owned();
    for verb in ["convert", "edit"] {
        let run = sconce(&[verb, DAMAGED, &out]);
        assert_eq!(run.code, 2, "{verb}: {}", run.err);
        let says = format!("error: record data/0 of {DAMAGED} is damaged: its checksum is ");
        assert!(run.err.starts_with(&says), "{verb}: {}", run.err);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "{verb}");
    }
    for flag in ["--no-crc", "--legacy"] {
        sconce(&["convert", "-f", DAMAGED, &out, flag]).ok();
        assert_eq!(sconce(&["diff", DAMAGED, &out]).code, 0, "{flag}");
    }
}

#[test]
fn edits_that_do_nothing_or_lose_something_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out.pt").to_string_lossy().into_owned();
    let cases: [&[&str]; 14] = [
        &["--drop", "nothing"],
        &["--keep", "nothing"],
        &["--take", "nothing"],
        &["--transpose", "nothing"],
        &["--cast", "float16:nothing"],
        &["--cast", "int8"],
        &["--strip", "optimizer"],
        &["--rename", "s/.*/x/"],
        &["--rename", "s/nothing//"],
        &["--set", "body.0.scale.x=1"],
        &["--set", "epoch=three"],
        &["--split", "nothing=a,b@0"],
        &["--concat", "nothing,more=c@0"],
        &["--allow-overflow"],
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
fn values_are_set_and_tensors_split_and_joined() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out.pt").to_string_lossy().into_owned();
    let file = "2.15/zip/lightning.ckpt";
    let listed = sconce(&["ls", "--json", file]).json();
    let row = listed["tensors"].as_array().unwrap().iter().find(|row| {
        let (name, shape) = (row["name"].as_str().unwrap(), row["shape"].as_array().unwrap());
        name.starts_with("state_dict.") && shape.len() > 1
    });
    let row = row.unwrap();
    let name = row["name"].as_str().unwrap();
    let rows = row["shape"][0].as_i64().unwrap();
    let split = format!("{name}=state_dict.a,state_dict.b@0:1,{}", rows - 1);
    let concat = format!("state_dict.b,state_dict.a={name}@0");
    let args = ["edit", file, "--set", "epoch=99", "--set", "hyper_parameters.tags=['a', None]"];
    let pieces = ["--split", split.as_str(), "--concat", concat.as_str()];
    let dry = sconce(&[&args[..], &pieces, &["--dry-run"]].concat()).ok();
    let lines: Vec<&str> = dry.lines().collect();
    assert!(lines[0].starts_with("set        epoch  ") && lines[0].ends_with(" → 99"), "{dry}");
    assert_eq!(lines[1], "set        hyper_parameters.tags → ['a', None]");
    assert!(lines[2].starts_with(&format!("split      {name} → state_dict.a [1, ")), "{dry}");
    assert!(lines[3].starts_with(&format!("joined     {name}  state_dict.b, state_dict.a → [")));
    sconce(&[&args[..2], &[out.as_str()], &args[2..], &pieces].concat()).ok();
    assert_eq!(sconce(&["show", &out, "epoch"]).ok().lines().last(), Some("99"));
    let sums = sconce(&["diff", "--json", file, &out]).json();
    let kinds: Vec<(&str, &str)> = sums["differences"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| (row["kind"].as_str().unwrap(), row["name"].as_str().unwrap()))
        .collect();
    assert!(kinds.contains(&("changed", name)), "{kinds:?}");
    assert!(kinds.contains(&("value", "epoch")), "{kinds:?}");
    assert_eq!(kinds.len(), 4, "{kinds:?}");
}

#[test]
fn whole_modules_are_changed_by_the_names_of_their_members() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out.pt").to_string_lossy().into_owned();
    let file = "2.15/zip/module_net.pt";
    let before = names(file);
    // Another part of the module is there twice.
    let is_own = |name: &str, end: &str| name.starts_with("heads.0") && name.ends_with(end);
    let weight = before.iter().find(|name| is_own(name, ".weight")).unwrap();
    let rename = format!("{weight}={weight}_orig");
    let dropped = before.iter().find(|name| is_own(name, ".bias")).unwrap();
    let args = ["edit", file, &out, "--rename", &rename, "--drop", dropped, "--cast", "float64"];
    sconce(&args).ok();
    let after = names(&out);
    assert_eq!(after.len(), before.len() - 1);
    assert!(after.contains(&format!("{weight}_orig")) && !after.contains(weight), "{after:?}");
    assert_eq!(sconce(&["ls", "-0", "--dtype", "float32", &out]).ok(), "");
    let clash = format!("{weight}={dropped}");
    let run = sconce(&["edit", file, &out, "-f", "--rename", &clash]);
    assert_eq!(run.code, 3, "{}", run.err);
    assert!(run.err.contains(weight) && run.err.contains("would both be called"), "{}", run.err);
}

#[test]
fn quantized_tensors_are_left_and_said() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out.pt").to_string_lossy().into_owned();
    let run = sconce(&["edit", "2.15/zip/dtype_quint8.pt", &out, "--cast", "float16"]);
    assert_eq!(run.code, 0, "{}", run.err);
    assert!(run.err.contains("left as it is: it is quantized"), "{}", run.err);
    let run = sconce(&["edit", "2.15/zip/dtype_int16.pt", &out, "-f", "--cast", "float16"]);
    assert_eq!((run.code, run.err.contains("left")), (0, false), "{}", run.err);
}

#[test]
fn versions_of_modules_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    let versions = |file: &str| -> Vec<String> {
        let listed = sconce(&["tree", "--all", "--no-header", file]).ok();
        listed.lines().filter(|line| line.contains("version")).map(str::to_owned).collect()
    };
    assert!(!versions(FILE).is_empty());
    let directory = at("");
    sconce(&["shard", FILE, "-C", &directory, "--max-size", "64B"]).ok();
    let index = at("pytorch_model.bin.index.json");
    assert_eq!(versions(&index), versions(FILE));
    let whole = at("whole.pt");
    sconce(&["convert", &index, &whole]).ok();
    assert_eq!(sconce(&["diff", FILE, &whole]).code, 0);
    let merged = at("merged.pt");
    sconce(&["merge", FILE, &whole, "-o", &merged]).ok();
    assert_eq!(versions(&merged), versions(FILE));
    sconce(&["shard", FILE, "-C", &directory, "--max-size", "64B", "-f", "--plain"]).ok();
    assert!(versions(&index).is_empty());
}

#[test]
fn renamed_tensors_are_paired_by_their_content() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out.pt").to_string_lossy().into_owned();
    sconce(&["edit", FILE, &out, "--rename", "s/^/net./"]).ok();
    let plain = sconce(&["diff", "--json", "--tensors-only", FILE, &out]);
    let counts = &plain.json()["counts"];
    assert_eq!((plain.code, counts["renamed"].as_u64()), (1, Some(0)));
    let paired = sconce(&["diff", "--json", "--tensors-only", "--rename", FILE, &out]);
    let document = paired.json();
    assert_eq!(paired.code, 1);
    assert_eq!(document["counts"]["renamed"].as_u64(), Some(names(FILE).len() as u64));
    assert_eq!(
        (document["counts"]["added"].as_u64(), document["counts"]["removed"].as_u64()),
        (Some(0), Some(0))
    );
    for row in document["differences"].as_array().unwrap() {
        if row["kind"] == "renamed" {
            let (from, to) = (row["name"].as_str().unwrap(), row["to"].as_str().unwrap());
            assert_eq!(to, format!("net.{from}"));
        }
    }
    assert_eq!(sconce(&["diff", "--rename=s/^/net./", "--tensors-only", FILE, &out]).code, 0);
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
