//! `.pt2` files: programs of torch.export.
#![allow(clippy::unwrap_used)]

mod support;

use std::fs;

use sconce::archive::{ArchiveWriter, Layout, WriterOptions};
use sconce::export_program::Archive;
use support::{fixtures, sconce};

fn expected(name: &str) -> String {
    fs::read_to_string(fixtures().join(format!("../pt2/{name}.txt"))).unwrap()
}

#[test]
fn code_prints_what_pytorch_prints() {
    for name in ["scale", "pick", "count", "count_core", "trees", "derived", "unbacked", "names"] {
        let run = sconce(&["code", &format!("../pt2/{name}.pt2")]);
        assert_eq!((run.code, run.out), (0, expected(name)), "{name}: {}", run.err);
    }
    for name in ["tied_2.7", "tied_2.8"] {
        let run = sconce(&["code", &format!("../pt2/{name}.pt2")]);
        assert_eq!((run.code, run.out), (0, expected("tied")), "{name}: {}", run.err);
    }
    let json = sconce(&["code", "--json", "../pt2/pick.pt2"]).json();
    assert_eq!(json["code"][0]["text"], expected("pick"));
    let run = sconce(&["code", "../pt2/pick.pt2", "forward"]);
    assert_eq!(run.code, 3, "{}", run.err);
}

#[test]
fn kinds_are_told_apart() {
    for (name, kind) in [
        ("scale", "pt2"),
        ("tied_2.7", "pt2"),
        ("tied_2.8", "pt2"),
        ("several", "pt2"),
        ("many_kinds", "pt2"),
        ("compiled", "aotinductor"),
        ("edge", "executorch"),
        ("only_called", "zip"),
    ] {
        let file = format!("../pt2/{name}.pt2");
        let json = sconce(&["identify", "--json", &file]).json();
        assert!(json.to_string().contains(&format!("\"{kind}\"")), "{name}: {json}");
    }
    assert_eq!(sconce(&["ls", "../pt2/only_called.pt2"]).code, 0);
}

#[test]
fn cards_show_programs() {
    let run = sconce(&["info", "../pt2/scale.pt2"]);
    assert_eq!(run.code, 0, "{}", run.err);
    for part in ["as exported", "x: f32[s77, 2]", "mul: f32[s77, 3]", "s77: VR[0, 8]", "clean"] {
        assert!(run.out.contains(part), "{part}: {}", run.out);
    }
    let run = sconce(&["info", "../pt2/compiled.pt2"]);
    assert_eq!(run.code, 0, "{}", run.err);
    assert!(
        run.out.contains("model/cabc.wrapper.so") && run.out.contains("unknown"),
        "{}",
        run.out
    );
    let json = sconce(&["info", "--json", "../pt2/many_kinds.pt2"]).json();
    assert_eq!(json["exported"]["executorch_files"][0]["name"], "scale.pte");
    assert_eq!(json["exported"]["compiled"][0], "model");
    assert_eq!(json["exported"]["program"]["schema_version"], "8.20");
    assert_eq!(json["exported"]["sample_inputs"], true);
    // Classes that nobody knows are not unpickled.
    let json = sconce(&["info", "--json", "../pt2/trees.pt2"]).json();
    assert_eq!(json["exported"]["sample_inputs"], false);
}

#[test]
fn models_are_chosen() {
    let run = sconce(&["info", "../pt2/several.pt2"]);
    assert_eq!(run.code, 0, "{}", run.err);
    assert!(run.out.contains("one · dir/two"), "{}", run.out);
    let run = sconce(&["ls", "../pt2/several.pt2"]);
    assert_eq!(run.code, 3, "{}", run.err);
    assert!(run.err.contains("it has one, dir/two") && run.err.contains("--model"), "{}", run.err);
    let run = sconce(&["ls", "../pt2/several.pt2", "--model", "dir/two"]);
    assert!(run.code == 0 && run.out.contains("0.weight"), "{}", run.err);
    let run = sconce(&["code", "../pt2/several.pt2", "--model", "one"]);
    assert!(run.code == 0 && run.out.starts_with("ExportedProgram:"), "{}", run.err);
    let run = sconce(&["ls", "../pt2/several.pt2", "--model", "three"]);
    assert!(run.err.contains("no model called three"), "{}", run.err);
}

#[test]
fn reading_verbs_take_weights() {
    let folder = tempfile::tempdir().unwrap();
    let out = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    let file = "../pt2/tied.pt2";
    for name in ["w.safetensors", "w.npz", "w.pt"] {
        let run = sconce(&["convert", file, &out(name)]);
        assert_eq!(run.code, 0, "{}", run.err);
        let run = sconce(&["diff", file, &out(name)]);
        assert_eq!(run.code, 0, "{name}: {}{}", run.out, run.err);
    }
    // The same program in another layout, with an extra file that has another text.
    let layouts = sconce(&["diff", file, "../pt2/tied_2.7.pt2"]);
    assert_eq!(layouts.code, 1, "{}", layouts.err);
    assert!(layouts.out.contains("3 equal · extra files differ: 1 record"), "{}", layouts.out);
    assert_eq!(sconce(&["verify", file]).code, 0);
    assert!(sconce(&["show", file, "view"]).out.contains("10"));
    assert!(sconce(&["stat", file]).out.contains("14.5"));
    let json = sconce(&["ls", "--json", "../pt2/count.pt2"]).json();
    let names: Vec<&str> =
        json["tensors"].as_array().unwrap().iter().map(|t| t["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["seen", "hidden"]);
}

#[test]
fn operators_are_listed() {
    let json = sconce(&["ops", "--json", "../pt2/pick.pt2"]).json();
    let names: Vec<&str> =
        json["operators"].as_array().unwrap().iter().map(|o| o["name"].as_str().unwrap()).collect();
    for name in ["aten.sum.default", "higher_order.cond", "aten.mul.Tensor"] {
        assert!(names.contains(&name), "{names:?}");
    }
}

#[test]
fn files_are_written_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let out = |name: &str| path(name).to_string_lossy().into_owned();
    for name in ["scale", "several", "tied_2.8", "many_kinds", "compiled"] {
        let file = format!("../pt2/{name}.pt2");
        let run = sconce(&["resave", &file, &out(&format!("{name}.pt2"))]);
        assert_eq!(run.code, 0, "{}", run.err);
        let same = fs::read(fixtures().join(&file)).unwrap()
            == fs::read(path(&format!("{name}.pt2"))).unwrap();
        assert!(same, "{name}");
    }
    let run = sconce(&["resave", "../pt2/tied_2.7.pt2", &out("old.pt2")]);
    assert!(run.code == 2 && run.err.contains("--like-torch"), "{}", run.err);
    let run = sconce(&["resave", "--like-torch", "../pt2/tied_2.7.pt2", &out("new.pt2")]);
    assert_eq!(run.code, 0, "{}", run.err);
    assert_eq!(sconce(&["diff", "../pt2/tied.pt2", &out("new.pt2")]).code, 0);
    let run = sconce(&["resave", "--like-torch", "../pt2/several.pt2", &out("x.pt2")]);
    assert!(run.code == 3 && run.err.contains("--model"), "{}", run.err);
    let run = sconce(&["resave", "--like-torch", "2.15/zip/objects_names.pt", &out("x.pt")]);
    assert_eq!(run.code, 3, "{}", run.err);
}

/// A fixture with another text in its program.
fn hostile(folder: &std::path::Path, from: &str, to: &str) -> String {
    let archive = Archive::open(fixtures().join("../pt2/scale.pt2")).unwrap();
    let package = archive.package();
    let options = WriterOptions::new().min_version(6).layout(Layout::Torch2_1);
    let mut writer = ArchiveWriter::new(Vec::new(), "x", options).unwrap();
    for entry in package.directory().entries() {
        let name = package.record_name(entry).into_owned();
        let mut bytes = package.directory().bytes(entry).unwrap().to_vec();
        if name == "models/model.json" {
            let text = String::from_utf8(bytes).unwrap();
            assert!(text.contains(from), "{from}");
            bytes = text.replacen(from, to, 1).into_bytes();
        }
        if !name.starts_with(".data") && name != "byteorder" {
            writer.write_record(&name, &bytes).unwrap();
        }
    }
    let path = folder.join("x.pt2");
    fs::write(&path, writer.finish().unwrap()).unwrap();
    path.to_string_lossy().into_owned()
}

#[test]
fn what_pytorch_would_run_is_dangerous() {
    let folder = tempfile::tempdir().unwrap();
    let symbol = "Symbol('s77', positive=True, integer=True)";
    let guards = "\"guards_code\": []";
    for (from, to, verdict, rule) in [
        (symbol, "__import__('os').system('id')", "dangerous", "SC024"),
        (guards, "\"guards_code\": [\"__import__('os').system('id') == 0\"]", "dangerous", "SC024"),
        (guards, "\"guards_code\": [\"L['x'].size()[0] >= 2\"]", "clean", ""),
        // Where no structure has it, PyTorch may read it some day.
        (
            guards,
            "\"guards_code\": [], \"later\": {\"expr_str\": \"exec('1')\"}",
            "dangerous",
            "SC024",
        ),
        ("torch.ops.aten.linear.default", "torch.hub.load", "unknown", "SC026"),
        ("torch.ops.aten.linear.default", "torch.ops.aten.from_file.default", "dangerous", "SC005"),
        ("torch.ops.aten.linear.default", "torch.ops.aten.add.default", "clean", ""),
        ("{\"graph_module\"", "{{\"graph_module\"", "broken", "SC027"),
    ] {
        let file = hostile(folder.path(), from, to);
        let run = sconce(&["scan", "--json", &file]);
        let json = run.json().to_string();
        assert!(json.contains(&format!("\"verdict\":\"{verdict}\"")), "{to}: {json}");
        assert!(json.contains(rule), "{to}: {json}");
        let code = match verdict {
            "dangerous" => 1,
            "broken" => 2,
            _ => 0,
        };
        assert_eq!(run.code, code, "{to}");
    }
    let deep = format!("{}{symbol}{}", "Add(Integer(1), ".repeat(100_000), ")".repeat(100_000));
    let file = hostile(folder.path(), symbol, &deep);
    let run = sconce(&["scan", &file]);
    assert!(run.code != 0 && !run.out.contains("panicked"), "{}", run.out);
    let run = sconce(&["code", &file]);
    assert!(run.code == 2 && run.err.contains("more than"), "{}", run.err);
    let run = sconce(&["scan", "../pt2/compiled.pt2"]);
    assert!(run.out.contains("unknown") && run.out.contains("SC025"), "{}", run.out);
}

#[test]
fn names_in_programs_do_not_act_on_the_terminal() {
    let folder = tempfile::tempdir().unwrap();
    let file = hostile(folder.path(), "\"name\": \"gain\"", "\"name\": \"g\\u001b[2Jx\"");
    for verb in ["code", "info", "ops", "ls", "scan"] {
        let run = sconce(&[verb, &file]);
        assert!(!run.out.contains('\u{1b}') && !run.err.contains('\u{1b}'), "{verb}");
    }
}
