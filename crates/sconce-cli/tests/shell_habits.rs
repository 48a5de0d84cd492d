//! Habits at a shell: several files, slips of the hand, signals.

mod support;

use std::fs;

use support::{command, run, sconce};

const STATE: &str = "2.15/zip/state_dict.pt";
const SHARED: &str = "2.15/zip/shared.pt";

#[test]
fn several_files_at_once() {
    for verb in ["info", "ls", "globals", "verify", "stat"] {
        let both = sconce(&[verb, STATE, SHARED]);
        assert_eq!(both.code, 0, "{verb}: {}{}", both.out, both.err);
        let one = sconce(&[verb, SHARED]);
        let last = one.out.lines().last().unwrap();
        assert!(both.out.contains(last), "{verb}: {}", both.out);
        // A document for each.
        let json = sconce(&[verb, "--json", STATE, SHARED]);
        let files: Vec<serde_json::Value> =
            json.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(files.len(), 2, "{verb}");
        assert_eq!(files[0]["file"], STATE, "{verb}");
        // One that cannot be read does not keep the others from their turn.
        let missing = sconce(&[verb, "missing.pt", STATE]);
        assert_eq!(missing.code, 2, "{verb}");
        assert!(missing.err.contains("missing.pt"), "{verb}: {}", missing.err);
        assert!(!missing.out.is_empty(), "{verb}");
    }
}

#[test]
fn folders_and_patterns() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("inner")).unwrap();
    fs::write(folder.path().join("notes.txt"), "not a model").unwrap();
    fs::copy(support::fixtures().join(STATE), folder.path().join("inner/a.pt")).unwrap();
    fs::copy(support::fixtures().join(SHARED), folder.path().join("b.pt")).unwrap();
    let path = folder.path().to_str().unwrap();
    let all = sconce(&["ls", "-r", path]).ok();
    assert!(all.contains("inner/a.pt") && all.contains("b.pt"), "{all}");
    assert!(!all.contains("notes.txt"), "{all}");
    let matched = sconce(&["ls", &format!("{path}/*/*.pt")]).ok();
    assert!(!matched.contains("b.pt"), "{matched}");
    // A folder is not a file.
    assert_eq!(sconce(&["ls", path]).code, 2);
}

#[test]
fn a_slip_of_the_hand_suggests_what_was_meant() {
    for (args, said) in [
        (&["convrt", "a.pt", "b.pt"][..], "no verb 'convrt'; did you mean 'convert'?"),
        (&["show", STATE, "conv"], "nothing matches 'conv'; try '*conv*'"),
        (&["convert", STATE, "/dev/null", "--to", "npz", "--take", "bodx"], "no entry 'bodx'"),
    ] {
        let run = sconce(args);
        assert_eq!(run.code, 3, "{args:?}: {}", run.err);
        assert!(run.err.contains(said), "{args:?}: {}", run.err);
    }
    let text = sconce(&["ls", "../../Cargo.toml"]);
    assert!(text.err.contains("not a checkpoint"), "{}", text.err);
}

#[test]
fn what_was_written_is_said_with_format_and_size() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("x.pt");
    let run = sconce(&["resave", STATE, out.to_str().unwrap()]);
    assert_eq!(run.code, 0, "{}", run.err);
    assert!(run.err.contains("x.pt  (zip, torch.save layout, "), "{}", run.err);
    // Short names of dtypes; a folder that is not there yet.
    let sets = folder.path().join("new/folder");
    let run = sconce(&["shard", STATE, "-C", sets.to_str().unwrap()]);
    assert_eq!(run.code, 0, "{}", run.err);
    let run = sconce(&["edit", "-f", STATE, out.to_str().unwrap(), "--cast", "bf16"]);
    assert_eq!(run.code, 0, "{}", run.err);
    assert!(sconce(&["ls", out.to_str().unwrap()]).ok().contains("bfloat16"));
}

#[test]
fn where_the_first_of_a_kind_is() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("odd.npy");
    let mut numbers = [0f32; 12];
    numbers[7] = f32::NAN;
    numbers[9] = f32::NAN;
    numbers[10] = f32::INFINITY;
    let mut bytes = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
    let header = "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }";
    bytes.extend(format!("{header:<117}\n").bytes());
    bytes.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
    fs::write(&file, bytes).unwrap();
    let file = file.to_str().unwrap();
    let table = sconce(&["stat", file]).ok();
    assert!(table.contains("nan at [1, 3], inf at [2, 2]"), "{table}");
    let document = sconce(&["stat", "--json", file]).json();
    assert_eq!(document["tensors"][0]["first_nan"], serde_json::json!([1, 3]));
    assert_eq!(document["tensors"][0]["first_inf"], serde_json::json!([2, 2]));
}

#[test]
fn a_set_is_merged_by_its_index() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    sconce(&["shard", STATE, "-C", &at(""), "--max-size", "200B"]).ok();
    let merged = sconce(&["merge", &at("pytorch_model.bin.index.json"), "-o", &at("whole.pt")]);
    assert_eq!(merged.code, 0, "{}", merged.err);
    assert!(merged.err.contains("(zip, torch.save layout, "), "{}", merged.err);
    assert_eq!(sconce(&["diff", STATE, &at("whole.pt")]).code, 0);
    let alone = sconce(&["merge", &at("whole.pt"), "-o", &at("again.pt")]);
    assert_eq!(alone.code, 3);
    assert!(alone.err.contains("nothing to merge in one file"), "{}", alone.err);
}

#[test]
fn names_change_on_the_way_to_another_format() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["x.safetensors", "x.npz", "x.pt"] {
        let out = folder.path().join(name);
        let out = out.to_str().unwrap();
        let run = sconce(&["convert", STATE, out, "--rename", "s/^body/layers/"]);
        assert_eq!(run.code, 0, "{name}: {}", run.err);
        let names = sconce(&["ls", out]).ok();
        assert!(names.contains("layers.2.bn.weight") && !names.contains("body"), "{name}: {names}");
        let nothing = sconce(&["convert", "-f", STATE, out, "--rename", "nowhere=x"]);
        assert_eq!(nothing.code, 3, "{name}: {}", nothing.err);
    }
}

#[cfg(unix)]
#[test]
fn signals_end_with_their_number() {
    use nix::libc::{SIGHUP, SIGINT, SIGTERM};
    use std::io::Write;
    use std::process::{Command, Stdio};

    // What starts in the background of a script may be told to ignore it, and then waits for ever.
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|bits| u64::from_str_radix(bits.trim(), 16).ok()).unwrap_or(0);
    assert_eq!(
        ignored >> (SIGINT - 1) & 1,
        0,
        "SIGINT is ignored here: run the tests in the foreground"
    );
    for (signal, code) in [(SIGINT, 130), (SIGTERM, 143), (SIGHUP, 129)] {
        let mut waiting = command(&["identify", "-"]);
        let mut waiting = waiting
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // More than a pipe holds: once it is written, the command has begun to read, long after it set its handlers.
        let mut input = waiting.stdin.take().unwrap();
        input.write_all(&vec![0; 1 << 18]).unwrap();
        let process = waiting.id().to_string();
        let killed = Command::new("kill").args([format!("-{signal}"), process]).status().unwrap();
        assert!(killed.success());
        assert_eq!(waiting.wait().unwrap().code(), Some(code), "signal {signal}");
    }
}

#[test]
fn pipes_of_the_shell_are_named() {
    let mut shell = std::process::Command::new("bash");
    let line = format!("{} ls <(cat {STATE})", env!("CARGO_BIN_EXE_sconce"));
    shell.args(["-c", &line]).current_dir(support::fixtures());
    let run = run(shell.output().unwrap());
    assert_eq!(run.code, 2);
    assert!(
        run.err.contains("named pipe") && run.err.contains("- reads standard input"),
        "{}",
        run.err
    );
}

#[test]
fn a_page_steps_through_the_life_of_a_tensor() {
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("t.html");
    let page = page.to_str().unwrap();
    sconce(&["trace", STATE, "--tensor", "body.2.bn.weight", "--html", page]).ok();
    let text = fs::read_to_string(page).unwrap();
    let data = text.split("type=\"application/json\">").nth(1).unwrap();
    let data: serde_json::Value =
        serde_json::from_str(data.split("</script>").next().unwrap()).unwrap();
    let steps = data["steps"].as_array().unwrap();
    let opcodes: Vec<&str> = steps.iter().map(|step| step["opcode"].as_str().unwrap()).collect();
    assert_eq!((opcodes[0], *opcodes.last().unwrap()), ("PROTO", "STOP"));
    assert_eq!(opcodes.iter().filter(|opcode| **opcode == "BINPERSID").count(), 1);
    // What is there already stays; a name that is not a tensor's is told.
    let again = sconce(&["trace", STATE, "--html", page]);
    assert_eq!(again.code, 3, "{}", again.err);
    sconce(&["trace", STATE, "--html", page, "-f"]).ok();
    let typo = sconce(&["trace", STATE, "--tensor", "body.2.bn.wieght"]);
    assert_eq!(typo.code, 3);
    assert!(typo.err.contains("did you mean 'body.2.bn.weight'"), "{}", typo.err);
}

#[test]
fn every_tensor_of_every_layout_has_a_life() {
    for file in [
        STATE,
        SHARED,
        "2.15/legacy/shared.pt",
        "2.15/zip/module_net.pt",
        "2.15/zip/lightning.ckpt",
    ] {
        let rows = sconce(&["ls", "--json", file]).json();
        for row in rows["tensors"].as_array().unwrap() {
            let name = row["name"].as_str().unwrap();
            let run = sconce(&["trace", file, "--tensor", name]);
            assert_eq!(run.code, 0, "{file} {name}: {}", run.err);
            let shape = row["shape"].to_string().replace(',', ", ");
            let said = format!("{} {shape}", row["dtype"].as_str().unwrap());
            assert!(run.out.lines().next().unwrap().ends_with(&said), "{file} {name}: {}", run.out);
        }
    }
}

#[test]
fn rounding_and_prefixes_are_no_difference() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (wide, narrow, inner) = (at("a.pt"), at("b.pt"), at("c.pt"));
    sconce(&["convert", "--tensors-only", STATE, &wide]).ok();
    sconce(&["edit", &wide, &narrow, "--cast", "bf16:*.weight"]).ok();
    let cast = sconce(&["diff", &wide, &narrow]);
    assert_eq!(cast.code, 1);
    assert!(cast.out.contains("equal after cast to bfloat16"), "{}", cast.out);
    assert_eq!(sconce(&["diff", "--rtol", "0.01", &wide, &narrow]).code, 0);
    sconce(&["edit", &wide, &inner, "--rename", "s/^/module./"]).ok();
    for prefix in ["module", "module."] {
        let run = sconce(&["diff", "--ignore-prefix", prefix, &wide, &inner]);
        assert_eq!(run.code, 0, "{}", run.out);
    }
}

#[test]
fn devices_are_labels_that_can_be_changed() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (cuda, cpu, plain) = (at("cuda/m.pt"), at("cpu/m.pt"), at("plain/m.pt"));
    for name in ["cuda", "cpu", "plain"] {
        fs::create_dir(folder.path().join(name)).unwrap();
    }
    sconce(&["resave", STATE, &plain]).ok();
    sconce(&["edit", STATE, &cuda, "--device", "cuda:1"]).ok();
    let card = sconce(&["info", &cuda]).ok();
    assert!(card.contains("saved on cuda:1: torch.load without it needs map_location"), "{card}");
    sconce(&["convert", &cuda, &cpu, "--map-location", "cuda:1=cpu", "--verify"]).ok();
    assert_eq!(fs::read(&cpu).unwrap(), fs::read(&plain).unwrap());
    for wrong in
        [&["--map-location", "cup"][..], &["--map-location", "cpu", "--map-location", "cuda:1=cpu"]]
    {
        assert_eq!(sconce(&[&["convert", &cuda, &cpu, "-f"], wrong].concat()).code, 3);
    }
    let refused = sconce(&["convert", &cuda, &at("m.safetensors"), "--map-location", "cpu"]);
    assert_eq!(refused.code, 3, "{}", refused.err);
}

#[test]
fn parameters_are_those_that_pytorch_counts() {
    let card = sconce(&["info", "--json", STATE]).json();
    let tree = sconce(&["tree", "--json", STATE]).json();
    assert_eq!(card["parameters"], tree["nodes"][0]["parameters"]);
    let all = card["numel"].as_i64().unwrap();
    let (parameters, buffers) =
        (card["parameters"].as_i64().unwrap(), card["buffers"].as_i64().unwrap());
    assert!(buffers > 0 && parameters + buffers == all, "{card}");
    let training = sconce(&["info", "--json", "2.15/zip/lightning.ckpt"]).json();
    assert!(training["optimizer_tensors"].as_u64().unwrap() > 0);
    assert_eq!(training["training"]["epoch"], "1");
}
