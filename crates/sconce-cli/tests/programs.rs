//! The verbs that show programs of TorchScript archives, and what the others make of such archives.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[macro_use]
mod support;

use std::fs;
use std::path::{Path, PathBuf};

use sconce::archive::{Archive, ArchiveWriter, WriterOptions};
use sconce::{Limits, Source};
use support::{Run, fixtures};
use tempfile::TempDir;

/// By `examples/make_classifier.py`.
const CLASSIFIER: &str = "../../examples/classifier.pt";

fn run(args: &[&str]) -> Run {
    support::sconce(args)
}

looks! {
    code: "code", CLASSIFIER;
    code_of_a_method: "code", CLASSIFIER, "encoder.forward";
    code_of_a_function: "code", CLASSIFIER, "clip";
    code_original: "code", CLASSIFIER, "--original";
    code_of_nothing: "code", CLASSIFIER, "decoder.forward";
    code_without_bytecode: "code", CLASSIFIER, "--bytecode";
    code_of_a_checkpoint: "code", "2.15/zip/state_dict.pt";
    code_of_a_web_page: "code", "hand/lookalike/lfs_pointer.pt";
    graph: "graph", CLASSIFIER;
    graph_inlined: "graph", CLASSIFIER, "--inlined";
    graph_frozen: "graph", CLASSIFIER, "--freeze";
    graph_of_a_function: "graph", CLASSIFIER, "clip";
    graph_dot: "graph", CLASSIFIER, "--dot";
    graph_svg: "graph", CLASSIFIER, "encoder.forward", "--svg";
    graph_of_a_class: "graph", CLASSIFIER, "Encoder";
    ops: "ops", CLASSIFIER;
    info_of_a_program: "info", CLASSIFIER;
    info_of_torch_1_13: "info", "1.13/torchscript/scripted.pt";
    tree_of_a_program: "tree", CLASSIFIER;
    extract_of_a_program: "extract", "--list", CLASSIFIER;
    verify_of_a_program: "verify", CLASSIFIER;
    identify_of_a_program: "identify", CLASSIFIER;
    help_of_code: "code", "-h";
    help_of_graph: "graph", "-h";
    help_of_ops: "ops", "-h";
    help_of_ast: "ast", "-h";
    help_of_resave: "resave", "-h";
}

/// A folder for a test, and paths in it.
struct Folder(TempDir);

impl Folder {
    fn new() -> Folder {
        Folder(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> String {
        self.0.path().join(name).to_string_lossy().into_owned()
    }

    /// Writes an archive of these records.
    fn archive(&self, name: &str, records: &[(&str, &[u8])]) -> String {
        let path = self.path(name);
        let folder = name.split('.').next().unwrap();
        let mut writer = ArchiveWriter::new(Vec::new(), folder, WriterOptions::new()).unwrap();
        for (name, bytes) in records {
            writer.write_record(name, bytes).unwrap();
        }
        fs::write(&path, writer.finish().unwrap()).unwrap();
        path
    }

    /// Writes the classifier with other code.
    fn changed(&self, name: &str, change: impl Fn(&str) -> String) -> String {
        let source = Source::open(classifier()).unwrap();
        let archive = Archive::open(source, &Limits::default()).unwrap();
        let mut records = Vec::new();
        for entry in archive.records() {
            let name = archive.record_name(entry).into_owned();
            let mut bytes = archive.read(&name).unwrap().to_vec();
            if name == "code/__torch__.py" {
                bytes = change(std::str::from_utf8(&bytes).unwrap()).into_bytes();
            }
            // The writer adds those itself.
            if !matches!(name.as_str(), "version" | "byteorder" | ".data/serialization_id") {
                records.push((name, bytes));
            }
        }
        let records: Vec<(&str, &[u8])> =
            records.iter().map(|(name, bytes)| (name.as_str(), bytes.as_slice())).collect();
        self.archive(name, &records)
    }

    /// What a run printed, without the folder's own path.
    fn all(&self, run: &Run) -> String {
        run.all().replace(&*self.0.path().to_string_lossy(), "DIR")
    }
}

fn classifier() -> PathBuf {
    fixtures().join(CLASSIFIER)
}

/// An archive in the layout of PyTorch 1.0 to 1.3, as `torch.jit.save` of 1.1 writes a module with
/// one method and one parameter.
fn old_layout(folder: &Folder) -> String {
    let model = br#"{"protoVersion":"5","mainModule":{"torchscriptArena":{"key":"code/scale.py"},
"name":"scale","optimize":true,"parameters":[{"isBuffer":false,"tensorId":"0","name":"by"}]},
"producerName":"pytorch","producerVersion":"1.0","tensors":[{"dims":["2"],"offset":"0",
"strides":["1"],"requiresGrad":true,"dataType":"FLOAT","data":{"key":"tensors/0"},
"device":"cpu"}]}"#;
    let code = b"op_version_set = 1\ndef forward(self,\n    x: Tensor) -> Tensor:\n  \
                 return torch.mul(x, self.by)\n";
    folder.archive(
        "scale.pt",
        &[
            ("tensors/0", &[0, 0, 0x80, 0x3f, 0, 0, 0, 0x40]),
            ("code/scale.py", code),
            ("attributes.pkl", b"\x80\x02(t."),
            ("model.json", model),
        ],
    )
}

#[test]
fn every_program_verb_has_json() {
    let folder = Folder::new();
    let out = folder.path("out.pt");
    let runs: [&[&str]; 5] = [
        &["code", "--json", CLASSIFIER],
        &["graph", "--json", CLASSIFIER],
        &["ops", "--json", CLASSIFIER],
        &["info", "--json", CLASSIFIER],
        &["resave", "--json", CLASSIFIER, &out],
    ];
    for args in runs {
        let run = run(args);
        assert_eq!((run.code, run.err.as_str()), (0, ""), "{args:?}");
        assert_eq!(run.json()["schema_version"], 1, "{args:?}");
    }
    let program = &run(&["info", "--json", CLASSIFIER]).json()["program"];
    assert_eq!(program["class"], "__torch__.Classifier");
    assert_eq!(program["made_by"], "scripted");
    assert_eq!(program["extra_files"][0], "about.txt");
    let method = &program["methods"][0];
    assert_eq!(method["name"], "forward");
    assert_eq!(method["signature"], "(Tensor x, int rounds=1) -> Tensor");
}

#[test]
fn a_broken_program_is_shown_where_it_is_broken() {
    let folder = Folder::new();
    let file = folder.changed("broken.pt", |code| code.replace("torch.softmax", "torch.softmix"));
    insta::assert_snapshot!("broken_program", folder.all(&run(&["graph", &file])));
    let called = folder.changed("called.pt", |code| code.replace("torch.clamp", "torch.klamp"));
    insta::assert_snapshot!("broken_callee", folder.all(&run(&["ops", &called])));
    // What needs no graph still works.
    assert!(run(&["code", &file]).ok().contains("torch.softmix"));
    assert_eq!(run(&["info", &file]).code, 0);
    assert_eq!(run(&["resave", &file, &folder.path("out.pt")]).code, 2);
    assert!(!Path::new(&folder.path("out.pt")).exists());
    let syntax = folder.changed("syntax.pt", |code| code.replace("if bool", "if if bool"));
    insta::assert_snapshot!("broken_syntax", folder.all(&run(&["code", &syntax, "forward"])));
}

#[test]
fn code_does_not_act_on_the_terminal() {
    let folder = Folder::new();
    let hostile = "\u{202e}\u{1b}]0;title\u{7}";
    let comment = folder.changed("comment.pt", |code| format!("# {hostile}\n{code}"));
    let token = folder.changed("token.pt", |code| code.replace("y0 = y\n", "y0 = \u{1b}[31my\n"));
    for file in [&comment, &token] {
        let runs: [&[&str]; 8] = [
            &["code", file],
            &["code", file, "forward"],
            &["code", file, "--original"],
            &["graph", file],
            &["graph", file, "--dot"],
            &["graph", file, "--svg"],
            &["ops", file],
            &["info", file],
        ];
        for args in runs {
            let run = run(args);
            let acts = |c: char| (c.is_control() && c != '\n') || c == '\u{202e}';
            assert!(!run.all().contains(acts), "{args:?}");
        }
    }
    assert!(run(&["code", &comment]).ok().contains("\\x1b]0;title"));
    assert!(run(&["graph", &token]).err.contains("\\x1b[31m"));
}

#[test]
fn what_is_saved_again_is_the_same() {
    let folder = Folder::new();
    let (first, second) = (folder.path("classifier.pt"), folder.path("again/classifier.pt"));
    fs::create_dir(folder.path("again")).unwrap();
    let said = run(&["resave", CLASSIFIER, &first]);
    assert_eq!((said.code, said.out.as_str()), (0, ""));
    assert!(said.err.contains("torch.jit.save layout"), "{}", said.err);
    run(&["resave", &first, &second]).ok();
    assert_eq!(fs::read(&first).unwrap(), fs::read(&second).unwrap());
    assert_eq!(run(&["diff", CLASSIFIER, &first]).code, 0);
    for verb in ["code", "graph", "ops"] {
        assert_eq!(run(&[verb, CLASSIFIER]).ok(), run(&[verb, &first]).ok(), "{verb}");
    }
    // A file that is there stays, unless it may be replaced.
    assert_eq!(run(&["resave", CLASSIFIER, &first]).code, 3);
    run(&["resave", "-f", CLASSIFIER, &first]).ok();
    let piped = support::sconce_with_stdin(
        &["resave", "-", &folder.path("piped.pt")],
        &fs::read(classifier()).unwrap(),
    );
    assert_eq!(piped.code, 0, "{}", piped.err);
}

#[test]
fn extra_files_are_kept_added_and_left_out() {
    let folder = Folder::new();
    let (note, out) = (folder.path("note.txt"), folder.path("out.pt"));
    fs::write(&note, "a note").unwrap();
    let files =
        |file: &str| run(&["info", "--json", file]).json()["program"]["extra_files"].clone();
    let added = format!("note={note}");
    run(&["resave", CLASSIFIER, &out, "--extra", &added]).ok();
    assert_eq!(files(&out), serde_json::json!(["about.txt", "note"]));
    run(&["resave", "-f", CLASSIFIER, &out, "--no-extra"]).ok();
    assert_eq!(files(&out), serde_json::json!([]));
    assert_eq!(run(&["resave", "-f", CLASSIFIER, &out, "--extra", "note"]).code, 3);
    let checkpoint = ["resave", "-f", "2.15/zip/state_dict.pt", &out, "--no-extra"];
    assert_eq!(run(&checkpoint).code, 3);
}

#[test]
fn a_checkpoint_is_saved_again_as_convert_does() {
    let folder = Folder::new();
    fs::create_dir(folder.path("other")).unwrap();
    let (resaved, converted) = (folder.path("same.pt"), folder.path("other/same.pt"));
    let said = run(&["resave", "2.15/legacy/shared.pt", &resaved]);
    assert!(said.code == 0 && said.err.contains("zip, torch.save layout"), "{}", said.all());
    run(&["convert", "2.15/legacy/shared.pt", &converted]).ok();
    assert_eq!(fs::read(&resaved).unwrap(), fs::read(&converted).unwrap());
}

#[test]
fn convert_does_not_take_a_module_from_its_program() {
    let folder = Folder::new();
    let said = run(&["convert", CLASSIFIER, &folder.path("out.pt")]);
    assert!(said.code == 3 && said.err.contains("sconce resave"), "{}", said.all());
    run(&["convert", "--verify", CLASSIFIER, &folder.path("out.safetensors")]).ok();
}

#[test]
fn archives_in_the_old_layout() {
    let folder = Folder::new();
    let file = old_layout(&folder);
    for (name, args) in [
        ("old_layout_info", ["info", &file]),
        ("old_layout_code", ["code", &file]),
        ("old_layout_graph", ["graph", &file]),
        ("old_layout_ls", ["ls", &file]),
        ("old_layout_verify", ["verify", &file]),
    ] {
        insta::assert_snapshot!(name, folder.all(&run(&args)));
    }
    assert_eq!(run(&["info", "--json", &file]).json()["program"]["parameters"], 1);
    let new = folder.path("new.pt");
    run(&["resave", &file, &new]).ok();
    let row = &run(&["ls", "--json", &new]).json()["tensors"][0];
    assert_eq!((row["name"].as_str(), row["numel"].as_i64()), (Some("by"), Some(2)));
}

/// What PyTorch's `torch.jit.load` makes of a mobile module in a flatbuffer (fixtures/mobile/generate.py).
#[test]
fn flatbuffers_are_read_as_archives() {
    let folder = Folder::new();
    let (file, archive) = ("../mobile/net.ptl", "../mobile/net.pt");
    assert_eq!(run(&["code", file]).ok(), run(&["code", archive]).ok());
    // But for the bytecode, which PyTorch leaves out when it saves.
    let diff = run(&["diff", file, archive]);
    assert!(diff.code == 1 && diff.out.contains("18 equal · bytecode differs"), "{}", diff.out);
    let call = ["--input", "torch.ones(2, 3)", "--input", "3"];
    let [ours, theirs] =
        [file, archive].map(|file| run(&[&["run", file], &call[..]].concat()).ok());
    assert_eq!(ours, theirs);
    let out = folder.path("out.pt");
    run(&["resave", file, &out]).ok();
    assert_eq!(run(&["code", &out]).ok(), run(&["code", archive]).ok());
    let card = run(&["info", file]).ok();
    assert!(card.contains("unknown") && !card.contains("clean"), "{card}");
    let scan = run(&["scan", "--fail-on", "unknown", file]);
    assert!(scan.code == 1 && scan.out.contains("flatbuffer"), "{}{}", scan.out, scan.err);
    assert_eq!(run(&["identify", "--json", file]).json()["files"][0]["kind"], "mobile-flatbuffer");
    let listing = run(&["code", "--bytecode", file]).ok();
    assert!(
        listing.contains("bytecode version 9") && listing.contains("aten::linear"),
        "{listing}"
    );
    // A module without anything.
    let empty = folder.path("empty.ptl");
    fs::write(&empty, b"\x0c\0\0\0PTMF\x04\0\x04\0\x04\0\0\0").unwrap();
    for verb in ["code", "ls", "run"] {
        let run = run(&[verb, &empty]);
        assert_eq!(run.code, 2, "{verb}: {}", run.err);
        assert!(run.err.contains("a list of 0"), "{}", run.err);
    }
}

/// Bytecode alone, as PyTorch before 1.13 wrote it, is a program like any other.
#[test]
fn flatbuffers_of_bytecode_alone_are_programs() {
    let folder = Folder::new();
    let bytecode = "../../crates/sconce-runtime/tests/programs/bytecode";
    let file = &format!("{bytecode}/modules.ptl");
    let call = ["--input", "torch.tensor([1., 2.])"];
    let ours = run(&[&["run", file], &call[..]].concat()).ok();
    assert!(ours.contains("\"two\"") || ours.contains("'two'") || ours.contains("two"), "{ours}");
    let out = folder.path("out.pt");
    run(&["resave", file, &out]).ok();
    assert_eq!(run(&[&["run", &out], &call[..]].concat()).ok(), ours);
    assert!(run(&["graph", file]).ok().contains("prim::CallMethod") || !ours.is_empty());
    assert!(run(&["ops", file]).ok().contains("aten::linear"));
    assert!(run(&["ls", file]).ok().contains("counter.total"));
    let code = run(&["code", file]).ok();
    assert!(code.contains("def forward") && code.contains("def twice"), "{code}");
    let raises = &format!("{bytecode}/raises.ptl");
    let raised = run(&["run", raises, "--input=-2"]);
    assert!(raised.err.contains("negative: -2"), "{}", raised.err);
    assert!(raised.err.contains("RAISE_EXCEPTION"), "{}", raised.err);
}

#[test]
fn syntax_trees() {
    let folder = Folder::new();
    let file = folder.path("twice.py");
    fs::write(
        &file,
        "def twice(x: Tensor) -> Tensor:\n  return x * 2\n\ndef once(x):\n  return x\n",
    )
    .unwrap();
    let all = run(&["ast", &file]).ok();
    let one = run(&["ast", &format!("{file}:once")]).ok();
    assert!(all.ends_with(&one) && all.len() > one.len());
    insta::assert_snapshot!("ast", all);
    let missing = run(&["ast", &format!("{file}:thrice")]);
    assert_eq!(missing.code, 3, "{}", missing.err);
    assert_eq!(support::sconce_with_stdin(&["ast", "-"], b"def f():\n  pass\n").code, 0);
    fs::write(&file, "def twice(x):\n  return x *\n").unwrap();
    insta::assert_snapshot!("ast_broken", folder.all(&run(&["ast", &file])));
    let binary = run(&["ast", CLASSIFIER]);
    assert_eq!(binary.code, 2, "{}", binary.err);
}

#[test]
fn a_policy_that_takes_no_programs() {
    assert_eq!(run(&["code", "--policy", "weights-only", CLASSIFIER]).code, 2);
}
