//! `sconce scan`: verdicts, exit codes, what it writes.

mod support;

use std::fs;

use serde_json::Value;
use support::{Run, command, fixtures, run, sconce};

fn verdict(file: &str) -> (i32, String) {
    let run = sconce(&["scan", "--json", file]);
    let word = run.json()["files"][0]["verdict"].as_str().expect("a verdict").to_owned();
    (run.code, word)
}

#[test]
fn the_four_verdicts_and_their_exit_codes() {
    for (file, code, word) in [
        ("2.15/zip/state_dict.pt", 0, "clean"),
        ("2.15/legacy/shared.pt", 0, "clean"),
        ("2.15/torchscript/scripted.pt", 0, "clean"),
        ("hand/lookalike/tensors.safetensors", 0, "clean"),
        ("2.15/zip/module_net.pt", 0, "unknown"),
        ("bad/hostile_system.pt", 1, "dangerous"),
        ("bad/hostile_then_broken.pt", 1, "dangerous"),
        ("bad/trap_legacy_keys.pt", 1, "dangerous"),
        ("bad/pickle_no_stop.pt", 2, "broken"),
        ("hand/lookalike/error_page.pt", 2, "broken"),
        ("missing.pt", 2, "broken"),
    ] {
        assert_eq!(verdict(file), (code, word.to_owned()), "{file}");
    }
    assert_eq!(sconce(&["scan", "--fail-on", "unknown", "2.15/zip/module_net.pt"]).code, 1);
    assert_eq!(sconce(&["scan", "--strict", "2.15/zip/module_net.pt"]).code, 1);
    assert_eq!(sconce(&["scan", "--strict", "2.15/zip/state_dict.pt"]).code, 0);
    assert_eq!(sconce(&["scan"]).code, 3);
}

#[test]
fn every_hostile_fixture_has_a_verdict_that_is_bad_enough() {
    let table = fs::read_to_string(fixtures().join("bad/verdicts.tsv")).unwrap();
    let order = ["clean", "unknown", "broken", "dangerous"];
    let rank = |word: &str| order.iter().position(|known| *known == word).expect("a verdict");
    let run = sconce(&["scan", "-r", "--json", "bad"]).json();
    let files = run["files"].as_array().unwrap();
    for line in table.lines().skip(1) {
        let (path, least) = line.split_once('\t').unwrap();
        let Some(file) = files.iter().find(|file| file["path"] == path) else { continue };
        let found = file["verdict"].as_str().unwrap();
        assert!(rank(found) >= rank(least), "{path}: {found}, not {least}");
    }
    assert!(files.len() > 100, "{}", files.len());
}

#[test]
fn the_worst_is_last() {
    let run = sconce(&["scan", "-r", "bad", "2.15/zip/state_dict.pt"]);
    assert_eq!(run.code, 1);
    let verdicts: Vec<&str> = run
        .out
        .lines()
        .filter(|line| line.starts_with(['✓', '?', '✗']))
        .filter_map(|line| line.split_whitespace().nth(1))
        .collect();
    let order = ["clean", "unknown", "broken", "dangerous"];
    let ranks: Vec<_> =
        verdicts.iter().map(|word| order.iter().position(|known| known == word)).collect();
    assert!(ranks.is_sorted() && ranks.iter().all(Option::is_some), "{verdicts:?}");
    let last = run.out.lines().last().unwrap();
    assert!(last.contains(" files: ") && last.contains(" dangerous"), "{last}");
}

#[test]
fn folders_may_hold_other_files() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("README.md"), "# a model\n").unwrap();
    fs::copy(fixtures().join("2.15/zip/state_dict.pt"), folder.path().join("model.bin")).unwrap();
    let path = folder.path().to_str().unwrap();
    let run = sconce(&["scan", "-r", path]);
    assert_eq!(run.code, 0, "{}", run.out);
    assert!(run.out.contains("2 files: 1 clean, 1 skipped"), "{}", run.out);
    // By its own name it is a file of which nothing is proven.
    assert_eq!(sconce(&["scan", &format!("{path}/README.md")]).code, 2);
    // What is packed may hold anything.
    fs::write(folder.path().join("model.7z"), b"7z\xbc\xaf\x27\x1c\0\x04rest").unwrap();
    assert_eq!(sconce(&["scan", "-r", path]).code, 2);
    // A pattern that no shell has expanded.
    let run = sconce(&["scan", &format!("{path}/*.bin")]);
    assert_eq!(run.code, 0, "{}{}", run.out, run.err);
    assert!(run.out.contains("model.bin"), "{}", run.out);
    // A folder without -r.
    assert_eq!(sconce(&["scan", path]).code, 2);
}

#[test]
fn what_would_run_is_shown_with_its_place() {
    let run = sconce(&["scan", "bad/hostile_system.pt"]);
    assert!(run.out.contains("SC001 os.system('true')"), "{}", run.out);
    assert!(run.out.contains("data.pkl @ 0x") && run.out.contains("REDUCE"), "{}", run.out);
}

#[test]
fn standard_input() {
    let mut scan = command(&["scan", "-"]);
    scan.stdin(fs::File::open(fixtures().join("bad/hostile_system.pt")).unwrap());
    assert_eq!(run(scan.output().unwrap()).code, 1);
}

#[test]
fn a_policy_allows_and_denies() {
    let folder = tempfile::tempdir().unwrap();
    let under = |text: &str, file: &str| -> Run {
        let path = folder.path().join("policy.txt");
        fs::write(&path, text).unwrap();
        sconce(&["scan", "--json", "--policy", path.to_str().unwrap(), file])
    };
    let word = |run: &Run| run.json()["files"][0]["verdict"].as_str().unwrap().to_owned();
    let module = "2.15/zip/module_net.pt";
    let names = sconce(&["globals", "--json", module]).json();
    let outside = names["globals"].as_array().unwrap().iter().filter(|row| row["allowed"] == false);
    let lines: String =
        outside.map(|row| format!("allow {}\n", row["name"].as_str().unwrap())).collect();
    assert_eq!(word(&under(&lines, module)), "clean");
    let denied = under("deny collections.*\n", "2.15/zip/state_dict.pt");
    assert_eq!((denied.code, word(&denied)), (1, "dangerous".to_owned()));
    // The hash is that of the file, which the policy asks for.
    let first = under(&format!("allow sha256:{}\n", "0".repeat(64)), "bad/hostile_system.pt");
    assert_eq!(first.code, 1);
    let hash = first.json()["files"][0]["sha256"].as_str().unwrap().to_owned();
    assert_eq!(under(&format!("allow sha256:{hash}\n"), "bad/hostile_system.pt").code, 0);
    let wrong = under("permit os.system\n", module);
    assert_eq!(wrong.code, 3);
    assert!(wrong.err.contains("line 1: 'permit' is neither `allow` nor `deny`"), "{}", wrong.err);
}

#[test]
fn sarif() {
    let log =
        sconce(&["scan", "--sarif", "bad/hostile_system.pt", "2.15/zip/module_net.pt"]).json();
    assert_eq!(log["version"], "2.1.0");
    let run = &log["runs"][0];
    let rules = run["tool"]["driver"]["rules"].as_array().unwrap();
    let results = run["results"].as_array().unwrap();
    assert!(results.iter().any(|result| result["ruleId"] == "SC001" && result["level"] == "error"));
    for result in results {
        let index = usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap();
        assert_eq!(rules[index]["id"], result["ruleId"]);
        let place = &result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"];
        assert!(place.as_str().unwrap().ends_with(".pt"), "{place}");
        assert!(matches!(&result["message"]["text"], Value::String(text) if !text.is_empty()));
    }
}

#[test]
fn lines_of_python_for_what_is_unknown() {
    let run = sconce(&["scan", "--python", "2.15/zip/module_net.pt"]);
    assert!(run.out.contains("torch.serialization.add_safe_globals(["), "{}", run.out);
    let run = sconce(&["scan", "--python", "bad/hostile_system.pt"]);
    assert!(!run.out.contains("add_safe_globals"), "{}", run.out);
}

#[test]
fn rules_are_explained_and_documented() {
    let page =
        fs::read_to_string(fixtures().join("../../docs/src/reference/scan-rules.md")).unwrap();
    for rule in sconce::scan::Rule::ALL {
        let run = sconce(&["scan", "--explain", rule.id()]);
        assert_eq!(run.code, 0);
        let squeezed = run.out.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            squeezed.contains(rule.meaning()) && squeezed.contains(rule.advice()),
            "{squeezed}"
        );
        for part in [rule.id(), rule.name(), rule.meaning(), rule.advice()] {
            assert!(page.contains(part), "the page of rules lacks: {part}");
        }
    }
    assert_eq!(sconce(&["scan", "--explain", "SC999"]).code, 3);
}

#[test]
fn what_is_clean_is_written_and_the_rest_named() {
    let folder = tempfile::tempdir().unwrap();
    let clean = |file: &str| {
        let path = folder.path().join(file.replace('/', "_")).with_extension("pt");
        let run = sconce(&["clean", file, path.to_str().unwrap(), "--json"]);
        (run, path)
    };
    // Plain checkpoints stay as they are.
    let (run, path) = clean("2.15/zip/state_dict.pt");
    assert_eq!(run.code, 0, "{}", run.err);
    assert!(run.json()["dropped"].as_array().unwrap().is_empty());
    let same = sconce(&["diff", "2.15/zip/state_dict.pt", path.to_str().unwrap()]);
    assert_eq!(same.code, 0, "{}", same.out);
    // A module becomes its state dict.
    let (run, path) = clean("2.15/zip/module_net.pt");
    assert_eq!(run.code, 0, "{}", run.err);
    assert_eq!(verdict(path.to_str().unwrap()), (0, "clean".to_owned()));
    assert!(run.json()["tensors"].as_u64().unwrap() > 0);
    assert!(!run.json()["dropped"].as_array().unwrap().is_empty());
    // A payload is left out by its name.
    let (run, path) = clean("bad/hostile_system.pt");
    assert_eq!(run.code, 0, "{}", run.err);
    assert_eq!(run.json()["dropped"][0]["what"], "os.system");
    assert_eq!(verdict(path.to_str().unwrap()).1, "clean");
    // Where nothing is left, nothing is written.
    let payload = folder.path().join("payload.pkl");
    fs::write(&payload, b"\x80\x02cos\nsystem\nX\x02\0\0\0ls\x85R.").unwrap();
    let out = folder.path().join("nothing.pt");
    let run = sconce(&["clean", payload.to_str().unwrap(), out.to_str().unwrap()]);
    assert_eq!(run.code, 2, "{}", run.out);
    assert!(!out.exists());
}

#[test]
fn cleaning_keeps_places_sharing_and_cycles_out() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out.pt");
    for entry in fs::read_dir(fixtures().join("2.15/zip")).unwrap() {
        let file = entry.unwrap().path();
        let run = sconce(&["clean", "-f", file.to_str().unwrap(), path.to_str().unwrap()]);
        assert!(matches!(run.code, 0 | 2), "{}: {}{}", file.display(), run.out, run.err);
        if run.code == 0 {
            assert_eq!(verdict(path.to_str().unwrap()).1, "clean", "{}", file.display());
        }
    }
}

#[test]
fn a_pickle_as_python() {
    let run = sconce(&["pickle", "bad/hostile_system.pt"]);
    assert_eq!(run.code, 0, "{}", run.err);
    assert!(
        run.out.contains("import os\n") && run.out.contains("os.system('true')"),
        "{}",
        run.out
    );
    // What comes before a break would run all the same.
    let run = sconce(&["pickle", "bad/hostile_then_broken.pt"]);
    assert_eq!(run.code, 2);
    assert!(run.out.contains("os.system("), "{}", run.out);
    let plain = sconce(&["pickle", "--json", "2.15/zip/state_dict.pt"]).json();
    let python = plain["pickles"][0]["python"].as_str().unwrap();
    assert!(python.contains("torch._utils._rebuild_tensor_v2("), "{python}");
    assert!(python.lines().last().unwrap().len() < 10_000);
    // Every pickle of the fixtures ends.
    for folder in ["bad", "2.15/zip", "2.15/legacy", "hand/pickle"] {
        for entry in fs::read_dir(fixtures().join(folder)).unwrap() {
            let file = entry.unwrap().path();
            let run = sconce(&["pickle", file.to_str().unwrap()]);
            assert!((0..=2).contains(&run.code), "{}: {}", file.display(), run.err);
        }
    }
}
