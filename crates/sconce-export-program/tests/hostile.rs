//! Files that lie, or ask for more than there is: each ends in an error or in what it holds, and soon.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::time::{Duration, Instant};

use proptest::prelude::*;
use sconce_archive::{ArchiveWriter, Layout, WriterOptions};
use sconce_checkpoint::{Checkpoint, ErrorKind, LoadOptions};
use sconce_export_program::{Archive, Error, ExportedProgram};
use sconce_source::Source;

type Records = Vec<(String, Vec<u8>)>;

const PROGRAM: &str = "models/model.json";
const WEIGHTS: &str = "data/weights/model_weights_config.json";

/// The records of a fixture.
fn records(name: &str) -> Records {
    let path = format!("{}/../../fixtures/pt2/{name}.pt2", env!("CARGO_MANIFEST_DIR"));
    let archive = Archive::open(path).unwrap();
    let package = archive.package();
    let own = [".data/version", "byteorder", ".data/serialization_id"];
    let entries = package.directory().entries().iter();
    entries
        .map(|entry| {
            let bytes = package.directory().bytes(entry).unwrap().to_vec();
            (package.record_name(entry).into_owned(), bytes)
        })
        .filter(|(name, _)| !own.contains(&name.as_str()))
        .collect()
}

fn archive(records: &Records) -> Source {
    let options = WriterOptions::new().min_version(6).layout(Layout::Torch2_1);
    let mut writer = ArchiveWriter::new(Vec::new(), "x", options).unwrap();
    for (name, data) in records {
        writer.write_record(name, data).unwrap();
    }
    Source::from_vec("x.pt2", writer.finish().unwrap())
}

/// A fixture in whose record `name` a text is another.
fn changed(fixture: &str, name: &str, from: &str, to: &str) -> Source {
    let mut all = records(fixture);
    let record = all.iter_mut().find(|(record, _)| record == name).unwrap();
    let text = String::from_utf8(record.1.clone()).unwrap();
    assert!(text.contains(from), "{from}");
    record.1 = text.replacen(from, to, 1).into_bytes();
    archive(&all)
}

fn with_program(text: String) -> Source {
    let mut all = records("tied");
    all.iter_mut().find(|(record, _)| record == PROGRAM).unwrap().1 = text.into_bytes();
    archive(&all)
}

fn program(source: Source) -> Result<ExportedProgram, Error> {
    let archive = Archive::from_source(source, &LoadOptions::new())?;
    let model = archive.model(None)?.to_owned();
    archive.program(&model)
}

/// What is wrong with a file's weights.
fn weights(source: Source) -> String {
    Checkpoint::from_source(source).unwrap_err().to_string()
}

#[test]
fn deep_json_needs_no_stack() {
    for (open, close) in [("[", "]"), ("{\"a\": ", "}")] {
        for levels in [513, 1_000_000] {
            let text = format!("{}1{}", open.repeat(levels), close.repeat(levels));
            let error = program(with_program(text)).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Limit, "{error}");
        }
    }
}

#[test]
fn graphs_in_graphs_are_limited() {
    let around = |levels: usize| {
        let mut graph = String::from(
            "{\"inputs\": [], \"outputs\": [], \"nodes\": [], \"tensor_values\": {}, \
             \"sym_int_values\": {}, \"sym_bool_values\": {}}",
        );
        for level in 0..levels {
            graph = format!(
                "{{\"inputs\": [], \"outputs\": [], \"nodes\": [{{\"target\": \
                 \"torch.ops.higher_order.cond\", \"inputs\": [{{\"name\": \"\", \"arg\": {{\"as_graph\": \
                 {{\"name\": \"g{level}\", \"graph\": {graph}}}}}}}], \"outputs\": [], \"metadata\": {{}}}}], \
                 \"tensor_values\": {{}}, \"sym_int_values\": {{}}, \"sym_bool_values\": {{}}}}"
            );
        }
        format!(
            "{{\"graph_module\": {{\"graph\": {graph}, \"signature\": {{\"input_specs\": [], \
             \"output_specs\": []}}, \"module_call_graph\": []}}, \"opset_version\": {{}}, \
             \"range_constraints\": {{}}, \"schema_version\": {{\"major\": 8, \"minor\": 1}}}}"
        )
    };
    let program_50 = program(with_program(around(50))).unwrap();
    assert_eq!(program_50.text().unwrap().matches("class g").count(), 50);
    assert_eq!(program_50.targets(), [("torch.ops.higher_order.cond", 50)]);
    let error = program(with_program(around(1000))).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Limit);
}

#[test]
fn expressions_are_parsed_and_never_run() {
    let symbol = "Symbol('s77', positive=True, integer=True)";
    let with = |expr: &str| {
        program(changed("scale", PROGRAM, symbol, expr)).unwrap().text().map_err(|e| e.to_string())
    };
    let error = with("__import__('os').system('id')").unwrap_err();
    assert!(error.contains("__import__ is not a function of expressions"), "{error}");
    for levels in [1000, 100_000] {
        let deep = format!("{}{symbol}{}", "Add(Integer(1), ".repeat(levels), ")".repeat(levels));
        let started = Instant::now();
        assert!(with(&deep).is_err());
        assert!(started.elapsed() < Duration::from_secs(10));
    }
    let long = format!("Add({})", vec![symbol; 100_000].join(", "));
    assert!(with(&long).unwrap_err().contains("more than"), "length");
}

#[test]
fn names_may_be_anything() {
    // Twice the same, before it is defined, its own argument, Python's words, an empty one.
    for name in ["sym_size_int_1", "linear", "class", "", "x\\n# \\u001b[2J", "mul"] {
        let to = format!("\"outputs\": [{{\"as_tensor\": {{\"name\": \"{name}\"}}}}]");
        let from = "\"outputs\": [{\"as_tensor\": {\"name\": \"linear\"}}]";
        let text = program(changed("scale", PROGRAM, from, &to)).unwrap().text().unwrap();
        assert!(text.starts_with("ExportedProgram:\n"));
    }
}

#[test]
fn weights_that_lie_are_refused() {
    for (from, to, want) in [
        (
            "\"sizes\": [{\"as_int\": 10}]",
            "\"sizes\": [{\"as_int\": 1000}]",
            "but its storage holds 400",
        ),
        ("\"sizes\": [{\"as_int\": 10}]", "\"sizes\": [{\"as_int\": -10}]", "'view'"),
        (
            "\"sizes\": [{\"as_int\": 10}]",
            "\"sizes\": [{\"as_int\": 9223372036854775807}]",
            "'view'",
        ),
        (
            "\"sizes\": [{\"as_int\": 10}]",
            "\"sizes\": [{\"as_int\": 92233720368547758070}]",
            "what it must be",
        ),
        (
            "\"sizes\": [{\"as_int\": 10}]",
            "\"sizes\": [{\"as_expr\": {\"expr_str\": \"1\"}}]",
            "what it must be",
        ),
        (
            "\"sizes\": [{\"as_int\": 10}]",
            "\"sizes\": [{\"as_int\": 10}, {\"as_int\": 10}]",
            "'view'",
        ),
        (
            "\"strides\": [{\"as_int\": 1}]",
            "\"strides\": [{\"as_int\": 4611686018427387904}]",
            "'view'",
        ),
        ("\"strides\": [{\"as_int\": 1}]", "\"strides\": [{\"as_int\": -1}]", "'view'"),
        (
            "\"storage_offset\": {\"as_int\": 10}",
            "\"storage_offset\": {\"as_int\": 91}",
            "but its storage holds 400",
        ),
        ("\"storage_offset\": {\"as_int\": 10}", "\"storage_offset\": {\"as_int\": -1}", "'view'"),
        ("\"dtype\": 7", "\"dtype\": 99", "99 is not a ScalarType"),
        ("\"dtype\": 7", "\"dtype\": 0", "0 is not a ScalarType"),
        ("\"layout\": 7", "\"layout\": 1", "is not strided"),
        ("weight_0", "weight_9", "data/weights/weight_9 not found in PT2 archive"),
        ("weight_0", "../../models/model.json", "not found in PT2 archive"),
        ("\"is_param\": true", "\"is_param\": 1", "the config's is_param is not what it must be"),
        ("{\"config\": ", "{\"confg\": ", "has no object \"config\""),
        ("{\"config\": ", "{\"config\": [", "invalid JSON"),
    ] {
        let error = weights(changed("tied", WEIGHTS, from, to));
        assert!(error.contains(want), "{to}: {error}");
        assert!(error.contains("_weights_config.json") || error.contains(want), "{error}");
    }
    // The record is no longer a multiple of eight.
    let error = weights(changed("scale", WEIGHTS, "\"dtype\": 7", "\"dtype\": 11"));
    assert!(error.contains("is not a multiple of element size 16"), "{error}");
}

#[test]
fn expanded_weights_take_no_memory() {
    let mut to =
        String::from("\"sizes\": [{\"as_int\": 1099511627776}], \"requires_grad\": true, ");
    to.push_str("\"device\": {\"type\": \"cpu\", \"index\": null}, \"strides\": [{\"as_int\": 0}]");
    let from = "\"sizes\": [{\"as_int\": 10}], \"requires_grad\": true, \
                \"device\": {\"type\": \"cpu\", \"index\": null}, \"strides\": [{\"as_int\": 1}]";
    let checkpoint = Checkpoint::from_source(changed("tied", WEIGHTS, from, &to)).unwrap();
    let view = checkpoint.tensor("view").unwrap();
    assert_eq!(view.numel(), 1 << 40);
    assert!(view.contiguous_bytes_with_limit(1 << 30).is_err());
}

#[test]
fn weights_without_data_are_meta() {
    let mut all = records("tied");
    all.iter_mut().find(|(name, _)| name == "data/weights/weight_0").unwrap().1.clear();
    let checkpoint = Checkpoint::from_source(archive(&all)).unwrap();
    assert!(!checkpoint.tensor("view").unwrap().has_data());
    assert!(checkpoint.tensor("e.weight").unwrap().has_data());
}

#[test]
fn pickled_weights_are_named_and_not_loaded() {
    let source = changed("tied", WEIGHTS, "\"use_pickle\": false", "\"use_pickle\": true");
    let checkpoint = Checkpoint::from_source(source).unwrap();
    assert_eq!(checkpoint.tensors().len(), 2);
    let warning = &checkpoint.warnings()[0];
    assert_eq!(warning, "not tensors, so left out: 'view' (pickled tensor of a subclass)");
}

#[test]
fn missing_records_are_named() {
    for (missing, want) in [
        (PROGRAM, "no program in models/"),
        (WEIGHTS, "data/weights/model_weights_config.json not found in PT2 archive"),
        ("data/constants/model_constants_config.json", "_constants_config.json not found"),
        ("archive_format", "no record archive_format"),
        ("archive_version", "Saved archive version  does not match"),
    ] {
        let mut all = records("tied");
        all.retain(|(name, _)| name != missing);
        let opened = Archive::from_source(archive(&all), &LoadOptions::new());
        let error = match opened.map_err(|error| error.to_string()) {
            Err(error) => error,
            Ok(opened) => match opened.model(None).map(str::to_owned) {
                Err(error) => error.to_string(),
                Ok(model) => {
                    let weights = opened.weights(&model).map(drop);
                    weights.and(opened.constants(&model).map(drop)).unwrap_err().to_string()
                }
            },
        };
        assert!(error.contains(want), "{missing}: {error}");
    }
}

#[test]
fn other_versions_and_kinds_are_named() {
    for (name, from, to, want) in [
        ("archive_format", "pt2", "pt3", "Invalid archive format"),
        (
            "archive_version",
            "0",
            "1",
            "Saved archive version 1 does not match our current archive version 0.",
        ),
        (
            PROGRAM,
            "{\"major\": 8",
            "{\"major\": 9",
            "Serialized schema version 9.20 does not match",
        ),
        (PROGRAM, "\"as_tensor\"", "\"as_tensr\"", "\"as_tensr\" is not a kind of Argument"),
        (PROGRAM, "{\"graph\": {", "{\"graph\": {\"graph\": 1, \"graph\": 2, ", "occurs twice"),
    ] {
        let error = program(changed("tied", name, from, to)).unwrap_err().to_string();
        assert!(error.contains(want), "{to}: {error}");
        assert!(error.contains("x.pt2"), "{error}");
    }
}

#[test]
fn extra_keys_are_kept() {
    let source = changed(
        "tied",
        PROGRAM,
        "{\"graph_module\": {",
        "{\"later\": [1e5], \"graph_module\": {\"x\": {}, ",
    );
    let program = program(source).unwrap();
    let text = program.to_json();
    assert!(text.ends_with("\"guards_code\": [], \"later\": [1e5]}"), "kept");
    assert!(text.contains("\"x\": {}"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Any byte of a program may be any other.
    #[test]
    fn changed_bytes_never_panic(at in any::<prop::sample::Index>(), byte in any::<u8>(), cut in any::<bool>()) {
        for name in ["scale", "pick", "count_core"] {
            let all = records(name);
            let mut text = all.iter().find(|(record, _)| record == PROGRAM).unwrap().1.clone();
            let at = at.index(text.len());
            text[at] = byte;
            if cut {
                text.truncate(at);
            }
            if let Ok(program) = ExportedProgram::from_json(&text) {
                let _ = program.text();
                let _ = program.user_inputs();
                prop_assert!(ExportedProgram::from_json(program.to_json().as_bytes()).is_ok());
            }
        }
    }
}
