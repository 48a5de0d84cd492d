//! 0 fine, 1 found or different, 2 unreadable, 3 wrong usage.

mod support;

use std::fs;

use support::{command, fixtures, sconce, sconce_with_stdin};

#[test]
fn every_verb_keeps_to_the_codes() {
    let cases: [(i32, &[&str]); 45] = [
        (0, &["2.15/zip/state_dict.pt"]),
        (0, &["info", "2.15/zip/module_net.pt"]),
        (1, &["info", "--policy", "weights-only", "2.15/zip/module_net.pt"]),
        (0, &["info", "--policy", "weights-only", "2.15/zip/state_dict.pt"]),
        (2, &["info", "nowhere.pt"]),
        (2, &["info", "hand"]),
        (2, &["ls", "hand/lookalike/truncated.pt"]),
        (2, &["ls", "bad/tensor_one_past_end.pt"]),
        (2, &["ls", "--sha256", "bad/sparse_index_outside.pt"]),
        (2, &["ls", "--policy", "weights-only", "2.15/zip/module_net.pt"]),
        (3, &["ls"]),
        (3, &["ls", "--no-such-flag", "x"]),
        (3, &["ls", "--json", "--csv", "2.15/zip/state_dict.pt"]),
        (3, &["ls", "--dtype", "float33", "2.15/zip/state_dict.pt"]),
        (3, &["ls", "--include", "[a", "2.15/zip/state_dict.pt"]),
        (3, &["lss"]),
        (3, &[]),
        (0, &["--help"]),
        (0, &["help", "ls"]),
        (0, &["--version"]),
        (0, &["show", "2.15/zip/shared.pt", "whole"]),
        (3, &["show", "2.15/zip/shared.pt", "nothing"]),
        (3, &["show", "2.15/zip/shared.pt", "whole[99]"]),
        (0, &["stat", "2.15/zip/state_dict.pt", "--fail-on", "nan,inf"]),
        (1, &["stat", "2.15/zip/module_net.pt", "--fail-on", "constant,zero"]),
        (0, &["diff", "2.15/zip/shared.pt", "1.13/legacy/shared.pt"]),
        (1, &["diff", "2.15/zip/shared.pt", "2.15/zip/state_dict.pt"]),
        (2, &["diff", "2.15/zip/shared.pt", "nowhere.pt"]),
        (3, &["diff", "2.15/zip/shared.pt"]),
        (0, &["verify", "2.15/legacy/shared.pt"]),
        (1, &["verify", "bad/zip_wrong_crc_data.pt"]),
        (1, &["verify", "bad/legacy_trailing.pt"]),
        (1, &["verify", "bad/sparse_index_outside.pt"]),
        (2, &["verify", "hand/lookalike/lfs_pointer.pt"]),
        (0, &["dis", "2.15/legacy/shared.pt"]),
        (2, &["dis", "bad/pickle_cut_argument.pt"]),
        (3, &["dis", "2.15/zip/shared.pt", "--record", "data.pk"]),
        (2, &["dis", "hand/lookalike/array.npy"]),
        (1, &["globals", "bad/hostile_then_broken.pt"]),
        (1, &["identify", "nowhere.pt"]),
        (0, &["code", "2.15/torchscript/scripted.pt", "forward"]),
        (3, &["code", "2.15/torchscript/scripted.pt", "backward"]),
        (2, &["code", "2.15/zip/shared.pt"]),
        (3, &["graph", "2.15/torchscript/scripted.pt", "--dot", "--svg"]),
        (2, &["ops", "nowhere.pt"]),
    ];
    for (code, args) in cases {
        let run = sconce(args);
        assert_eq!(run.code, code, "{args:?}\n{}", run.all());
        if code > 1 {
            let said = run.err.starts_with("error: ") || code == 3 && run.err.contains("Usage");
            assert!(said, "{args:?}\n{}", run.all());
        }
    }
}

#[test]
fn no_fixture_makes_any_verb_panic_or_hang() {
    let verbs: [&[&str]; 9] = [
        &["info", "--json"],
        &["ls", "-l", "--sha256"],
        &["tree", "--all"],
        &["show", "--stats", "--hist"],
        &["stat"],
        &["verify"],
        &["dis"],
        &["trace", "--limit", "50"],
        &["globals"],
    ];
    let mut folders = vec![fixtures().join("bad"), fixtures().join("hand")];
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { folders.push(path) } else { files.push(path) }
        }
    }
    assert!(files.len() > 150);
    for file in files {
        for verb in verbs {
            let mut args = verb.to_vec();
            let path = file.to_string_lossy();
            args.push(&path);
            let run = sconce(&args);
            assert!((0..=3).contains(&run.code), "{args:?} {}", run.code);
            assert!(!run.err.contains("internal error"), "{args:?} {}", run.err);
            assert!(run.err.len() < 16 << 10, "{args:?} says too much: {}", run.err.len());
        }
    }
}

#[test]
fn standard_input_is_read_and_refused_like_a_file() {
    let file = fixtures().join("2.15/zip/state_dict.pt");
    let bytes = fs::read(&file).unwrap();
    let path = file.to_string_lossy().into_owned();
    for verb in ["ls", "stat", "globals", "dis"] {
        assert_eq!(sconce_with_stdin(&[verb, "-"], &bytes).ok(), sconce(&[verb, &path]).ok());
    }
    let card = sconce_with_stdin(&["-"], &bytes).ok();
    assert!(card.starts_with("-  PyTorch checkpoint (zip"), "{card}");
    let junk = sconce_with_stdin(&["ls", "-"], b"neither");
    assert_eq!(junk.code, 2);
    assert_eq!(sconce_with_stdin(&["ls", "-"], b"").code, 2);
}

#[test]
#[cfg(unix)]
fn a_closed_pipe_is_quiet() {
    use std::io::Read;
    use std::process::Stdio;
    let many = "2.15/zip/many_storages.pt";
    let cases: [&[&str]; 2] = [
        &["dis", "2.15/zip/module_net.pt"],
        // More than a pipe holds.
        &["convert", many, "-", "--to", "zip", "--alignment", "65536"],
    ];
    for case in cases {
        let mut command = command(case);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut first = [0; 10];
        child.stdout.take().unwrap().read_exact(&mut first).unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{case:?}");
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{case:?}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_is_an_error() {
    use std::process::Stdio;
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let mut command = command(&["ls", "2.15/zip/state_dict.pt"]);
    let output = command.stdout(Stdio::from(full)).stderr(Stdio::piped()).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let run = sconce(&["convert", "2.15/zip/state_dict.pt", "--to", "npz", "/dev/full"]);
    assert_eq!(run.code, 2, "{}", run.err);
}

/// Also where two keys, such as 1 and '1', come to one name.
#[test]
fn a_file_does_not_differ_from_itself() {
    for file in ["2.15/zip/objects_names.pt", "2.15/zip/module_net.pt", "1.13/legacy/quantized.pt"]
    {
        assert_eq!(sconce(&["diff", file, file]).code, 0, "{file}");
    }
}
