//! Files of real PyTorch: what it prints of them, and the same bytes again.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::path::PathBuf;

use sconce_checkpoint::pt2::Layout;
use sconce_export_program::Archive;

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/pt2")
}

/// Programs with what PyTorch prints of them.
fn shown() -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = std::fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "txt"))
        .map(|path| {
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            (name, std::fs::read_to_string(&path).unwrap())
        })
        .collect();
    found.sort();
    assert!(found.len() > 10);
    found
}

fn open(name: &str) -> Archive {
    Archive::open(folder().join(format!("{name}.pt2"))).unwrap()
}

#[test]
fn programs_are_shown_as_pytorch_shows_them() {
    for (name, want) in shown() {
        let program = open(&name).program("model").unwrap();
        assert_eq!(program.text().unwrap(), want, "{name}");
        let signature = program.signature_text().replace('\n', "\n    ");
        assert!(want.contains(&format!("Graph signature:{signature}\n")), "{name}");
    }
}

#[test]
fn what_pytorch_wrote_is_written_again() {
    for (name, _) in shown() {
        let archive = open(&name);
        let package = archive.package();
        let text = package.program("model").unwrap();
        let program = archive.program("model").unwrap();
        assert_eq!(program.to_json().as_bytes(), &text[..], "{name}");
        let bytes = archive.write_again(Vec::new()).unwrap();
        assert!(bytes == package.source().bytes().unwrap(), "{name}");
    }
}

#[test]
fn older_layouts_hold_the_same() {
    let today = open("tied");
    let want = today.write_like_torch("model", "tied", Vec::new()).unwrap();
    for (name, layout) in [("tied_2.7", Layout::Flat), ("tied_2.8", Layout::Pickled)] {
        let archive = open(name);
        assert_eq!(archive.package().layout(), layout);
        assert_eq!(archive.models(), ["model"]);
        let ours = archive.write_like_torch("model", "tied", Vec::new()).unwrap();
        assert!(ours == want, "{name}");
        assert!(archive.package().sample_inputs("model").is_some());
    }
    let error = open("tied_2.7").write_again(Vec::new()).unwrap_err();
    assert!(error.to_string().contains("before 2.8"), "{error}");
    assert_eq!(open("tied_2.7").package().extra_files(), [("why.txt".to_owned(), 15)]);
}

#[test]
fn several_models_are_chosen_by_name() {
    let archive = open("several");
    assert_eq!(archive.models(), ["one", "dir/two"]);
    let error = archive.model(None).unwrap_err();
    assert_eq!(error.note(), Some("it has one, dir/two"));
    let error = archive.model(Some("three")).unwrap_err();
    assert!(error.message().contains("no model called three"));
    assert_eq!(archive.model(Some("dir/two")).unwrap(), "dir/two");
    let names: Vec<String> =
        archive.weights("dir/two").unwrap().into_iter().map(|payload| payload.name).collect();
    assert_eq!(names, ["0.weight", "0.bias"]);
    assert_eq!(archive.package().extra_files(), [("notes/why.txt".to_owned(), 10)]);
    // One of them becomes an archive of its own, whose records begin at 0 again.
    let alone = archive.write_like_torch("dir/two", "two", Vec::new()).unwrap();
    let source = sconce_source::Source::from_vec("two.pt2", alone);
    let alone = Archive::from_source(source, &Default::default()).unwrap();
    assert_eq!(alone.models(), ["model"]);
    assert_eq!(alone.weights("model").unwrap()[0].record, "data/weights/weight_0");
}

#[test]
fn inputs_and_outputs_are_described() {
    let program = open("scale").program("model").unwrap();
    let pair = |name: &str, what: &str| (name.to_owned(), what.to_owned());
    assert_eq!(program.user_inputs().unwrap(), [pair("x", "f32[s77, 2]"), pair("gain", "f32[]")]);
    let outputs = [pair("mul", "f32[s77, 3]"), pair("sym_size_int_1", "int s77")];
    assert_eq!(program.user_outputs().unwrap(), outputs);
    assert_eq!(program.ranges_text().unwrap(), "s77: VR[0, 8]");
    let constants = open("constants").program("model").unwrap().user_inputs().unwrap();
    let values: Vec<&str> = constants.iter().map(|(_, value)| value.as_str()).collect();
    assert_eq!(values, ["f32[2]", "3", "True", "'up'", "None"]);
}

#[test]
fn guards_of_real_programs_are_read() {
    let program = open("guards").program("model").unwrap();
    assert!(program.guards_code.len() >= 3, "{:?}", program.guards_code);
    for guard in &program.guards_code {
        sconce_export_program::guard::parse(guard).unwrap();
    }
}

#[test]
fn tied_weights_share_their_storage() {
    let weights = open("tied").weights("model").unwrap();
    let storage = |name: &str| {
        let payload = weights.iter().find(|payload| payload.name == name).unwrap();
        payload.tensor().unwrap().storage().unwrap().id()
    };
    assert_eq!(storage("e.weight"), storage("head.weight"));
    assert_ne!(storage("e.weight"), storage("view"));
    let view = weights.iter().find(|payload| payload.name == "view").unwrap();
    assert_eq!(view.tensor().unwrap().to_vec::<f32>().unwrap()[..2], [10.0, 11.0]);
}
