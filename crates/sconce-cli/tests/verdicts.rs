//! The verdict on the card, in `globals` and in `verify`, and what verbs that write carry along.

mod support;

use std::fs;

use support::sconce;

/// The verdict of a card in JSON, and the calls of its findings.
fn card(file: &str) -> (String, Vec<String>) {
    let card = sconce(&["info", "--json", file]).json();
    let findings = card["findings"].as_array().expect("findings");
    let calls = findings.iter().filter_map(|finding| finding["call"].as_str());
    (card["verdict"].as_str().expect("a verdict").to_owned(), calls.map(str::to_owned).collect())
}

#[test]
fn the_four_words() {
    let cases = [
        ("2.15/zip/state_dict.pt", "clean"),
        ("2.15/torchscript/scripted.pt", "clean"),
        ("2.15/zip/module_net.pt", "unknown"),
        ("bad/hostile_system.pt", "dangerous"),
        ("bad/hostile_then_broken.pt", "dangerous"),
        ("bad/pickle_no_stop.pt", "broken"),
        ("hand/lookalike/error_page.pt", "broken"),
    ];
    for (file, word) in cases {
        assert_eq!(card(file).0, word, "{file}");
    }
    assert_eq!(card("bad/hostile_system.pt").1, ["os.system('true')"]);
}

#[test]
fn a_card_of_what_breaks_off_says_what_came_before() {
    let run = sconce(&["info", "bad/trap_before_broken.pt"]);
    assert_eq!(run.code, 2);
    assert!(run.out.contains("✗ dangerous"), "{}", run.out);
    assert!(run.out.contains("os.getcwd()") && run.out.contains("a/data.pkl @ 0xf"), "{}", run.out);
    assert!(run.err.starts_with("error: "), "{}", run.err);
    // What is not a checkpoint is an error and nothing else.
    let page = sconce(&["info", "hand/lookalike/error_page.pt"]);
    assert_eq!((page.code, page.out.as_str()), (2, ""));
}

#[test]
fn globals_of_every_pickle() {
    for part in ["magic", "protocol", "system", "keys"] {
        let file = format!("bad/trap_legacy_{part}.pt");
        let names = sconce(&["globals", "--json", &file]).json();
        assert_eq!(names["globals"][0]["name"], "os.getcwd", "{file}");
        assert!(!sconce(&["globals", &file]).out.contains("all allow-listed"), "{file}");
    }
    let numbered = sconce(&["globals", "--json", "bad/hostile_extension.pt"]).json();
    assert_eq!(numbered["extensions"].as_array().map(Vec::len), Some(1));
    let shown = sconce(&["globals", "bad/hostile_extension.pt"]).out;
    assert!(shown.contains("extension(1)") && !shown.contains("all allow-listed"), "{shown}");
    for file in
        ["trap_member.pt", "trap_script_constants.pt", "trap_script_debug.pt", "trap_nested.pt"]
    {
        let names = sconce(&["globals", "--json", &format!("bad/{file}")]).json();
        let names = names["globals"].as_array().expect("globals").clone();
        assert!(names.iter().any(|global| global["name"] == "os.getcwd"), "{file}");
    }
}

#[test]
fn no_list_is_proposed_that_runs_code() {
    let cases = [
        ("bad/hostile_eval.pt", "builtins.eval: "),
        ("bad/hostile_subprocess.pt", "subprocess.call: "),
        ("bad/trap_newobj_ex.pt", "subprocess.Popen: "),
        ("bad/trap_getattr_chain.pt", "builtins.getattr: "),
        ("bad/hostile_extension.pt", "extension(1): "),
    ];
    for (file, why) in cases {
        let run = sconce(&["globals", "--python", file]);
        assert_eq!((run.code, run.out.as_str()), (1, ""), "{file}");
        assert!(run.err.starts_with("no list of names is right"), "{file}: {}", run.err);
        assert!(run.err.contains(why), "{file}: {}", run.err);
    }
    let run = sconce(&["globals", "--python", "2.15/zip/module_net.pt"]);
    assert!(run.code == 0 && run.out.contains("add_safe_globals"), "{}", run.all());
}

#[test]
fn verify_says_what_is_behind_the_end() {
    let cases = [
        ("bad/trap_after_stop.pt", "a/data.pkl: 17 bytes behind the pickle's end", "after-stop"),
        ("bad/pickle_trailing.pt", "10 bytes behind the pickle's end: no pickle", "after-stop"),
        (
            "bad/trap_legacy_trailing.pt",
            "they begin as a pickle that calls os.getcwd()",
            "trailing-bytes",
        ),
        (
            "bad/trap_script_save.pt",
            "aten::save: it would read or write files",
            "forbidden-operator",
        ),
    ];
    for (file, what, rule) in cases {
        let run = sconce(&["verify", file]);
        assert_eq!(run.code, 1, "{file}: {}", run.all());
        assert!(run.out.contains(what) && run.out.contains(rule), "{file}: {}", run.out);
        assert!(!run.out.contains(": sound"), "{file}: {}", run.out);
    }
    assert_eq!(sconce(&["verify", "2.15/zip/module_net.pt"]).code, 0);
}

#[test]
fn programs_that_differ_are_not_equal() {
    let base = "bad/trap_script_none.pt";
    let run = sconce(&["diff", base, "bad/trap_script_save.pt"]);
    assert_eq!(run.code, 1, "{}", run.all());
    assert!(run.out.contains("code differs: 1 method"), "{}", run.out);
    assert!(run.out.contains("~ __torch__.Net.forward  method changed"), "{}", run.out);
    let extra = sconce(&["diff", "--json", base, "bad/trap_script_extra.pt"]).json();
    assert_eq!(extra["same"], false);
    assert_eq!(extra["programs"]["extra"][0], "extra/notes.txt");
    let same = sconce(&["diff", base, base]);
    assert!(same.code == 0 && same.out.contains("code, constants and extra files are equal"));
    let tensors = sconce(&["diff", "--tensors-only", base, "bad/trap_script_save.pt"]);
    assert_eq!(tensors.code, 0);
    assert!(tensors.out.contains("code, constants and extra files were not compared"));
}

#[test]
fn what_is_carried_along_is_warned_of() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    let hostile = "bad/hostile_system.pt";
    let runs: [(&str, Vec<&str>); 3] = [
        ("resave.pt", vec!["resave"]),
        ("convert.pt", vec!["convert"]),
        ("edit.pt", vec!["edit", "--set", "e=1"]),
    ];
    for (name, verb) in runs {
        let out = path(name);
        let mut args = verb.clone();
        args.extend([hostile, &out]);
        let run = sconce(&args);
        assert_eq!(run.code, 0, "{}", run.all());
        assert!(run.err.contains("warning: ") && run.err.contains("os.system at w"), "{}", run.err);
        assert_eq!(card(&out).0, "dangerous");
        let plain = path(&format!("plain_{name}"));
        let mut args = verb;
        args.extend(["--tensors-only", hostile, &plain]);
        let run = sconce(&args);
        assert_eq!(run.code, 0, "{}", run.all());
        assert!(!run.err.contains("warning: "), "{}", run.err);
        assert_eq!(card(&plain), ("clean".to_owned(), Vec::new()), "{name}");
    }
    // A tensor's class and attributes go along with merge and shard, which take state dicts alone.
    let state = "2.15/zip/subclass.pt";
    for verb in ["merge", "shard"] {
        let (with, without) = (path(&format!("{verb}_with")), path(&format!("{verb}_without")));
        for (out, flag) in [(&with, None), (&without, Some("--tensors-only"))] {
            let mut args = vec![verb];
            let file = format!("{out}.pt");
            match verb {
                "merge" => args.extend([state, "bad/zip_good.pt", "-o", &file]),
                _ => {
                    fs::create_dir(out).unwrap();
                    args.extend([state, "-C", out]);
                }
            }
            args.extend(flag);
            let run = sconce(&args);
            assert_eq!(run.code, 0, "{args:?}: {}", run.all());
            assert_eq!(run.err.contains("warning: "), flag.is_none(), "{args:?}: {}", run.err);
        }
    }
    // What is no tensor is refused, or left out.
    for verb in ["merge", "shard"] {
        let (file, set) = (path("left_out.pt"), path("left_out"));
        let mut args = match verb {
            "merge" => vec![verb, hostile, "bad/zip_good.pt", "-o", &file],
            _ => vec![verb, hostile, "-C", &set],
        };
        let run = sconce(&args);
        assert_eq!(run.code, 3, "{args:?}: {}", run.all());
        assert!(run.err.contains("--tensors-only leaves out"), "{args:?}: {}", run.err);
        args.push("--tensors-only");
        let run = sconce(&args);
        assert_eq!(run.code, 0, "{args:?}: {}", run.all());
        assert!(!run.err.contains("warning: "), "{args:?}: {}", run.err);
    }
    assert_eq!(card(&path("left_out.pt")), ("clean".to_owned(), Vec::new()));
}
