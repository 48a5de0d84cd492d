//! `.pt2` files: programs of torch.export.
#![allow(clippy::unwrap_used)]

mod support;

use std::fs;

use ::sconce as sconce_lib;
use ::sconce::archive::{ArchiveWriter, Layout, WriterOptions};
use ::sconce::checkpoint::{Draft, SaveOptions, Value};
use ::sconce::export_program::Archive;
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
    let out_spec = "\"out_spec\": \"[1, ";
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
        (guards, "\"guards_code\": \"__import__('os').system('id')\"", "dangerous", "SC024"),
        ("torch.ops.aten.linear.default", "torch.hub.load", "unknown", "SC026"),
        // Structures for which PyTorch imports something.
        (
            out_spec,
            &format!("{out_spec}{{\\\"__enum__\\\": true, \\\"fqn\\\": \\\"this:A\\\"}}, "),
            "unknown",
            "SC026",
        ),
        (
            out_spec,
            &format!(
                "{out_spec}{{\\\"default_factory_module\\\": \\\"os\\\", \\\"default_factory_name\\\": \\\"abort\\\"}}, "
            ),
            "unknown",
            "os.abort",
        ),
        (
            out_spec,
            &format!(
                "{out_spec}{{\\\"default_factory_module\\\": \\\"builtins\\\", \\\"default_factory_name\\\": \\\"list\\\"}}, "
            ),
            "clean",
            "",
        ),
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
fn what_pytorch_would_run_is_not_run() {
    let folder = tempfile::tempdir().unwrap();
    let value = "\"sym_bool_values\": {}";
    let evil = "{\"as_expr\": {\"expr_str\": \"__import__('os').abort()\", \"hint\": null}}";
    let guards = "\"guards_code\": []";
    // Arguments that fit, so that conditions are come to.
    let inputs = folder.path().join("inputs.pt");
    let zeros = sconce_lib::Tensor::from_vec(vec![0f32; 4], &[2, 2]).unwrap();
    let gain = sconce_lib::Tensor::from_vec(vec![2f32], &[]).unwrap();
    let given = Value::dict([
        ("args", Value::list([Value::from(zeros)])),
        ("kwargs", Value::dict([("gain", Value::from(gain))])),
    ]);
    SaveOptions::new().save(Draft::from(given).root(), &inputs).unwrap();
    for (from, to, why) in [
        (value, value.replace("{}", &format!("{{\"unused\": {evil}}}")), "a size of 'unused'"),
        ("{\"as_int\": 2}", evil.to_owned(), "__import__ is not a function of expressions"),
        (guards, guards.replace("[]", "[\"exec('1')\"]"), "a condition that cannot be checked"),
        (guards, guards.replace("[]", "[\"L['x'].size()[0] == f()\"]"), "cannot be checked"),
        (guards, guards.replace("[]", "\"exec('1')\""), "a list is expected"),
    ] {
        let file = hostile(folder.path(), from, &to);
        let run = sconce(&["run", &file, "--inputs", inputs.to_str().unwrap()]);
        assert!(run.code != 0 && run.err.contains(why), "{to}: {}", run.err);
        let card = sconce(&["info", &file]);
        assert!(card.out.contains("dangerous"), "{to}: {}", card.out);
    }
}

#[test]
fn objects_of_registered_classes_are_shown_kept_and_refused_by_name() {
    const CLASS: &str = "__torch__.torch.classes.sconce_test.Scaler";
    let folder = tempfile::tempdir().unwrap();
    let file = "../pt2/custom_object.pt2";
    let card = sconce(&["info", file]);
    assert!(card.out.contains(CLASS) && card.out.contains("unknown"), "{}", card.out);
    assert!(sconce(&["code", file]).out.contains("scaler: CUSTOM_OBJ target='scaler'"));
    let again = folder.path().join("again.pt2").to_string_lossy().into_owned();
    assert_eq!(sconce(&["resave", file, &again]).code, 0);
    assert_eq!(fs::read(&again).unwrap(), fs::read(fixtures().join(file)).unwrap());
    let run = sconce(&["run", file, "--input", "zeros(2, 4)"]);
    assert!(run.code != 0 && run.err.contains(CLASS), "{}", run.err);
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

/// A state dict of what a program holds, each number changed by `change`.
fn changed_weights(program: &str, to: &str, change: impl Fn(f32) -> f32, keep: &[&str]) {
    let weights = sconce_lib::load(fixtures().join(program)).unwrap();
    let mut state = sconce_lib::StateDict::new();
    for named in weights.tensors() {
        let (name, tensor) = (named.name.to_string(), named.tensor);
        let numbers = tensor.to_vec::<f32>();
        if let (true, Ok(numbers)) = (keep.is_empty() || keep.contains(&&*name), numbers) {
            let numbers: Vec<f32> = numbers.into_iter().map(&change).collect();
            state.insert(&*name, sconce_lib::Tensor::from_slice(&numbers, tensor.sizes()).unwrap());
        }
    }
    let _ = fs::remove_file(to);
    sconce_lib::save(sconce_lib::Value::from(state), to).unwrap();
}

#[test]
fn weights_are_replaced_and_the_program_kept() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (program, state, out) = ("../pt2/run_mlp.pt2", path("state.pt"), path("tuned.pt2"));
    changed_weights(program, &state, |x| x + 1.0, &[]);
    let run = sconce(&["edit", program, &out, "--weights", &state]);
    assert_eq!(run.code, 0, "{}", run.err);
    assert!(
        run.err.contains("replaced") && run.err.contains("torch.export.save layout"),
        "{}",
        run.err
    );
    assert_eq!(sconce(&["code", &out]).out, sconce(&["code", program]).out);
    assert_eq!(sconce(&["diff", &out, &state]).code, 0, "{}", sconce(&["diff", &out, &state]).out);
    assert_eq!(sconce(&["verify", &out]).code, 0);
    // With the numbers that it had, what torch.export.save(torch.export.load(…)) writes, byte for byte.
    changed_weights(program, &state, |x| x, &[]);
    let (again, like) = (path("again.pt2"), path("x/again.pt2"));
    fs::create_dir(folder.path().join("x")).unwrap();
    sconce(&["edit", program, &again, "--weights", &state]).ok();
    sconce(&["resave", "--like-torch", program, &like]).ok();
    assert!(fs::read(&again).unwrap() == fs::read(&like).unwrap());

    // What fits no tensor of the program is refused, and nothing is written.
    let refused = path("refused.pt2");
    for (args, why) in [
        (vec!["--weights", "../../examples/digits.ckpt"], "is not a tensor"),
        (vec!["--weights", &state, "--take", "absent"], "absent"),
        (vec!["--weights", &state, "--rename", "a=b"], "cannot be used with"),
        (vec!["--weights", &state, "--protocol", "4"], "--protocol is for checkpoints"),
    ] {
        let run = sconce(&[&["edit", program, &refused], &args[..]].concat());
        assert!(matches!(run.code, 2 | 3) && run.err.contains(why), "{args:?}: {}", run.err);
    }
    let run = sconce(&["edit", program, &path("program.pt"), "--weights", &state]);
    assert!(run.code == 3 && run.err.contains("end it in .pt2"), "{}", run.err);
    let run = sconce(&["edit", "../pt2/scale.pt2", &refused, "--weights", &state]);
    assert!(
        run.code == 3 && run.err.contains("has no parameter, buffer or constant"),
        "{}",
        run.err
    );
    assert!(!folder.path().join("refused.pt2").exists());
}

#[test]
fn tied_weights_stay_tied() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (program, state, out) = ("../pt2/tied.pt2", path("state.pt"), path("out.pt2"));
    let weights = sconce_lib::load(fixtures().join(program)).unwrap();
    let tied: Vec<String> = {
        let mut by_storage = std::collections::HashMap::<usize, Vec<String>>::new();
        for named in weights.tensors() {
            let (name, tensor) = (named.name.to_string(), named.tensor);
            let id = tensor.storage().unwrap().id();
            by_storage.entry(id).or_default().push(name.to_string());
        }
        by_storage.into_values().find(|names| names.len() > 1).unwrap()
    };
    changed_weights(program, &state, |x| x * 2.0, &[&tied[0]]);
    sconce(&["edit", program, &out, "--weights", &state]).ok();
    let written = sconce_lib::load(&out).unwrap();
    let (a, b) = (written.tensor(&tied[0]).unwrap(), written.tensor(&tied[1]).unwrap());
    assert_eq!(a.storage().unwrap().id(), b.storage().unwrap().id());
    let old = weights.tensor(&tied[1]).unwrap().to_vec::<f32>().unwrap();
    let new: Vec<f32> = old.iter().map(|x| x * 2.0).collect();
    assert_eq!(b.to_vec::<f32>().unwrap(), new);
}

#[test]
fn programs_are_put_into_one_archive_and_taken_out_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (a, b, both) = ("../pt2/run_mlp.pt2", "../pt2/scale.pt2", path("both.pt2"));
    let run = sconce(&["merge", a, b, "-o", &both]);
    assert!(run.code == 0 && run.err.contains("run_mlp, scale"), "{}", run.err);
    for (name, file) in [("run_mlp", a), ("scale", b)] {
        assert_eq!(sconce(&["code", &both, "--model", name]).out, sconce(&["code", file]).out);
        let out = path(&format!("{name}.pt2"));
        sconce(&["resave", "--like-torch", &both, &out, "--model", name]).ok();
        let (like, folder) = (path(&format!("x_{name}")), folder.path().join(format!("x_{name}")));
        fs::create_dir(folder).unwrap();
        let like = format!("{like}/{name}.pt2");
        sconce(&["resave", "--like-torch", file, &like]).ok();
        assert!(fs::read(&out).unwrap() == fs::read(&like).unwrap(), "{name}");
    }
    let again = path("again.pt2");
    for (files, why) in [
        (vec![a, a], "two models are called 'run_mlp'"),
        (vec![a], "nothing to merge"),
        (vec![a, "2.15/zip/dtype_int16.pt"], "not a program of torch.export"),
    ] {
        let run = sconce(&[&["merge", "-o", &again], &files[..]].concat());
        assert!(run.code == 3 && run.err.contains(why), "{files:?}: {}", run.err);
    }
}
