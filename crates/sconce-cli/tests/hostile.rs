//! Text from a file never acts on the terminal, and a record never leaves its folder.

mod support;

use std::fs;

use support::sconce;

/// Everything that a terminal would obey or hide.
fn acts(text: &str) -> Option<char> {
    text.chars().find(|&c| {
        (c.is_control() && c != '\n')
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{feff}')
    })
}

#[test]
fn names_are_escaped_everywhere() {
    let file = "2.15/zip/objects_names.pt";
    let verbs: [&[&str]; 18] = [
        &["info"],
        &["info", "--json"],
        &["ls", "-l"],
        &["ls", "--json"],
        &["ls", "--jsonl"],
        &["ls", "--csv"],
        &["tree"],
        &["tree", "--all"],
        &["tree", "--json"],
        &["show", "--json"],
        &["stat"],
        &["stat", "--json"],
        &["globals"],
        &["scan", "--all"],
        &["scan", "--json"],
        &["pickle"],
        &["dis"],
        &["trace"],
    ];
    for verb in verbs {
        let mut args = verb.to_vec();
        args.push(file);
        if verb[0] == "show" {
            args.push("*");
        }
        let run = sconce(&args);
        assert!(run.code <= 1, "{args:?} {}", run.err);
        for text in [&run.out, &run.err] {
            let found =
                acts(&text.replace(
                    if verb[0] == "ls" && verb[1] == "--tsv" { "\t" } else { "\u{0}" },
                    "",
                ));
            assert_eq!(found, None, "{args:?}");
        }
    }
    let names = sconce(&["ls", "--json", file]).json();
    let kept = names["tensors"]
        .as_array()
        .unwrap()
        .iter()
        .any(|row| row["name"].as_str().is_some_and(|name| acts(name).is_some()));
    assert!(kept, "JSON gives the names back as they are");
}

#[test]
fn a_hostile_path_is_escaped_too() {
    let run = sconce(&["ls", "no\x1b[31mwhere\u{202e}.pt"]);
    assert_eq!(run.code, 2);
    assert!(run.err.contains("no\\x1b[31mwhere\\u{202e}.pt"), "{}", run.err);
}

#[test]
fn extract_stays_in_its_folder() {
    let folder = tempfile::tempdir().unwrap();
    let inside = folder.path().join("inside");
    let to = inside.to_string_lossy().into_owned();
    for file in [
        "zip_climbing_name.pt",
        "zip_nul_name.pt",
        "zip_case_twin.pt",
        "zip_duplicate_data.pt",
        "tar_climbing.tar",
    ] {
        let run = sconce(&["extract", &format!("bad/{file}"), "-C", &to]);
        assert_eq!(run.code, 2, "{file}: {}", run.all());
        assert!(!inside.exists() || fs::read_dir(&inside).unwrap().next().is_none(), "{file}");
    }
    let names: Vec<_> =
        fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(names.iter().all(|name| name == "inside"), "{names:?}");
}

#[test]
fn extract_writes_records_and_overwrites_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().to_string_lossy().into_owned();
    let args = ["extract", "2.15/zip/single_tensor.pt", "-C", &to, "--entry", "*.pkl"];
    sconce(&args).ok();
    let path = folder.path().join("archive/data.pkl");
    let record = fs::read(&path).unwrap();
    assert!(record.starts_with(b"\x80\x02"));
    assert!(!folder.path().join("archive/version").exists());
    assert_eq!(sconce(&args).code, 3);
    fs::write(&path, b"changed").unwrap();
    let mut forced = args.to_vec();
    forced.push("-f");
    sconce(&forced).ok();
    assert_eq!(fs::read(&path).unwrap(), record);
}

#[test]
#[cfg(unix)]
fn extract_does_not_follow_links() {
    let folder = tempfile::tempdir().unwrap();
    let outside = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(outside.path(), folder.path().join("archive")).unwrap();
    let to = folder.path().to_string_lossy().into_owned();
    let run = sconce(&["extract", "-f", "2.15/zip/single_tensor.pt", "-C", &to]);
    assert_eq!(run.code, 2, "{}", run.all());
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 0);
}

#[test]
fn colour_is_only_where_it_is_wanted() {
    let colour = |args: &[&str], env: &[(&str, &str)]| {
        let mut command = support::command(args);
        command.envs(env.iter().copied());
        let output = command.output().unwrap();
        output.stdout.contains(&0x1b) || output.stderr.contains(&0x1b)
    };
    let file = "2.15/zip/state_dict.pt";
    assert!(!colour(&["ls", file], &[]));
    assert!(colour(&["ls", "--color", "always", file], &[]));
    assert!(colour(&["--color=always", file], &[("NO_COLOR", "1")]));
    assert!(colour(&["ls", file], &[("CLICOLOR_FORCE", "1")]));
    assert!(!colour(&["ls", file], &[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")]));
    assert!(!colour(&["ls", "--color", "never", file], &[("CLICOLOR_FORCE", "1")]));
    assert!(colour(&["ls", "nowhere.pt"], &[("SCONCE_COLOR", "always")]));
    assert!(!colour(&["ls", "--color", "never", "--bad-flag"], &[("CLICOLOR_FORCE", "1")]));
}

#[test]
fn a_card_stays_a_card() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("names.pkl");
    // A global of six million letters, called.
    let (module, name) = ("a".repeat(3_000_000), "b".repeat(3_000_000));
    fs::write(&path, format!("c{module}\n{name}\n)R.")).unwrap();
    let path = path.to_string_lossy();
    for verb in ["info", "globals", "verify", "scan"] {
        let run = sconce(&[verb, &path]);
        assert!(run.all().contains("aaa") || verb == "verify", "{verb}: {}", run.err);
        assert!(run.all().len() < 1 << 15, "{verb}: {} bytes", run.all().len());
    }
}
