//! Every fixture against what real PyTorch sees in it (`fixtures/expected.json`, made by
//! `fixtures/expect.py`), without PyTorch.

#![allow(clippy::unwrap_used)] // helpers of tests are outside of what clippy sees as tests

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use sconce_checkpoint::{Checkpoint, ErrorKind, FileKind, LoadOptions, Policy, TensorClass};
use sconce_tensor::{Layout, Quantizer, Tensor};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures")
}

fn expected() -> serde_json::Map<String, Value> {
    let text = std::fs::read_to_string(folder().join("expected.json")).unwrap();
    let text = without_lone_surrogates(&text);
    let Value::Object(mut whole) = serde_json::from_str(&text).unwrap() else { panic!() };
    let Some(Value::Object(files)) = whole.remove("files") else { panic!() };
    files
}

/// Python writes lone surrogates as escapes, which Rust's strings cannot hold; names show them as
/// U+FFFD.
fn without_lone_surrogates(text: &str) -> String {
    let mut parts = text.split("\\ud");
    let mut out = parts.next().unwrap_or_default().to_owned();
    let mut parts = parts.peekable();
    while let Some(part) = parts.next() {
        let high = matches!(part.as_bytes()[0], b'8'..=b'b') && part.len() == 3;
        if high && let Some(low) = parts.next_if(|low| matches!(low.as_bytes()[0], b'c'..=b'f')) {
            out += &format!("\\ud{part}\\ud{low}");
        } else {
            out += &format!("\\ufffd{}", &part[3..]);
        }
    }
    out
}

/// The tensors whose bytes, one after the other, make up a tensor's digest.
fn parts(tensor: &Tensor) -> Vec<Tensor> {
    if let Some(coo) = tensor.sparse_coo_parts() {
        return vec![coo.indices.clone(), coo.values.clone()];
    }
    if let Some(found) = tensor.sparse_compressed_parts() {
        return vec![found.compressed.clone(), found.plain.clone(), found.values.clone()];
    }
    if let Some(nested) = tensor.nested_parts() {
        return (0..nested.len()).map(|at| nested.component(at).unwrap()).collect();
    }
    vec![tensor.clone()]
}

fn digest(tensor: &Tensor) -> (u64, String) {
    let mut hasher = Sha256::new();
    let mut len = 0;
    for part in parts(tensor) {
        let bytes = part.contiguous_bytes().unwrap();
        len += bytes.len() as u64;
        hasher.update(&bytes);
    }
    let hex = hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    (len, hex)
}

/// What `expected.json` says of a tensor, for the keys it has.
fn row(name: &str, tensor: &Tensor, groups: &mut HashMap<usize, usize>) -> HashMap<String, Value> {
    let strided = tensor.layout() == Layout::Strided;
    let nested = tensor.nested_parts().is_some();
    let layout = if nested { "strided" } else { tensor.layout().name() };
    let (nbytes, sha256) = match tensor.has_data() {
        true => {
            let (nbytes, hex) = digest(tensor);
            (nbytes, json!(hex))
        }
        false => (tensor.nbytes(), Value::Null),
    };
    let mut out: HashMap<String, Value> = HashMap::from([
        ("name".into(), json!(name)),
        ("dtype".into(), json!(tensor.dtype().name())),
        ("layout".into(), json!(layout)),
        ("shape".into(), if nested { Value::Null } else { json!(tensor.sizes()) }),
        ("stride".into(), if strided { json!(tensor.strides()) } else { Value::Null }),
        (
            "storage_offset".into(),
            if strided { json!(tensor.storage_offset()) } else { Value::Null },
        ),
        ("requires_grad".into(), json!(tensor.requires_grad())),
        ("device".into(), json!(tensor.device().to_string())),
        ("nbytes".into(), json!(nbytes)),
        ("sha256".into(), sha256),
        ("storage".into(), Value::Null),
        ("storage_bytes".into(), Value::Null),
    ]);
    if let Some(storage) = tensor.storage().filter(|storage| storage.has_data()) {
        let next = groups.len();
        out.insert("storage".into(), json!(*groups.entry(storage.id()).or_insert(next)));
        out.insert("storage_bytes".into(), json!(storage.nbytes()));
    }
    if tensor.is_conj() {
        out.insert("conj".into(), json!(true));
    }
    if tensor.is_neg() {
        out.insert("neg".into(), json!(true));
    }
    if let Some(Quantizer::PerTensorAffine { scale, zero_point }) = tensor.quantizer() {
        let quantizer =
            json!({"qscheme": "per_tensor_affine", "scale": scale, "zero_point": zero_point});
        out.insert("quantizer".into(), quantizer);
    }
    out
}

fn compare(checkpoint: &Checkpoint, wanted: &[Value]) -> Vec<String> {
    let mut failures = Vec::new();
    let found = checkpoint.tensors();
    if found.len() != wanted.len() {
        let names: Vec<&str> = found.iter().map(|named| named.name.as_str()).collect();
        let wanted: Vec<&Value> = wanted.iter().map(|row| &row["name"]).collect();
        failures.push(format!(
            "{} tensors for {}: {names:?} {wanted:?}",
            names.len(),
            wanted.len()
        ));
        return failures;
    }
    let mut groups = HashMap::new();
    for (named, wanted) in found.iter().zip(wanted) {
        let got = row(&named.name, named.tensor, &mut groups);
        let Value::Object(wanted) = wanted else { panic!() };
        for (key, value) in wanted {
            let same = match key.as_str() {
                "class" => class_agrees(&named.object.class_name(), value),
                // Strided layouts of wrappers and metas print differently or hold other parts.
                "components" | "nested_sizes" | "is_coalesced" => true,
                "quantizer" if value.get("scales").is_some() => true,
                _ => got.get(key) == Some(value),
            };
            if !same {
                let got = got.get(key);
                failures.push(format!("'{}' {key}: {got:?} for {value}", named.name));
            }
        }
    }
    failures
}

fn class_agrees(found: &str, wanted: &Value) -> bool {
    let wanted = wanted.as_str().unwrap();
    found == wanted || wanted.rsplit('.').next() == found.rsplit('.').next()
}

#[test]
fn tensors_equal_what_pytorch_loads() {
    let mut failures = Vec::new();
    let mut count = 0;
    for (path, entry) in expected() {
        let Some(wanted) = entry.get("tensors").and_then(Value::as_array) else { continue };
        // A nested tensor of layout `jagged` shows as an object with its parts.
        if path == "2.15/zip/jagged.pt" {
            continue;
        }
        let options = LoadOptions::new().encoding(sconce_checkpoint::Encoding::Utf8);
        match options.open(folder().join("files").join(&path)) {
            Ok(checkpoint) => {
                let found = compare(&checkpoint, wanted);
                failures.extend(found.into_iter().map(|failure| format!("{path}: {failure}")));
            }
            Err(error) => failures.push(format!("{path}: {error}")),
        }
        count += 1;
    }
    assert!(count > 150, "only {count} fixtures have expectations");
    assert!(failures.is_empty(), "{} of {count}:\n{}", failures.len(), failures.join("\n"));
}

/// Whether PyTorch's weights_only loader takes each fixture, and its reason when the reason is the
/// unpickler's. Files that PyTorch refuses or crashes on for other reasons must not panic here.
#[test]
fn weights_only_verdicts_equal_pytorchs() {
    let mut failures = Vec::new();
    let mut compared = 0;
    for (path, entry) in expected() {
        let Some(wanted) = entry.get("weights_only").and_then(Value::as_str) else { continue };
        let opened =
            LoadOptions::new().policy(Policy::WeightsOnly).open(folder().join("files").join(&path));
        let refused_by_unpickler = wanted.contains("WeightsUnpickler error: ");
        match (&opened, wanted == "ok") {
            (Ok(_), true) => compared += 1,
            (Err(error), true) => {
                // What PyTorch lets through although it is broken is ours to refuse.
                if !path.starts_with("bad/") {
                    failures.push(format!("{path}: PyTorch loads it; {error}"));
                }
            }
            // Not files that torch.load opens at all.
            (Ok(opened), false)
                if matches!(opened.format(), FileKind::Npy | FileKind::ShardIndex) => {}
            (Ok(_), false) if refused_by_unpickler => {
                failures.push(format!("{path}: PyTorch refuses it: {wanted}"));
            }
            (Ok(_), false) => {}
            (Err(error), false) if refused_by_unpickler => {
                compared += 1;
                let reason = wanted.split("WeightsUnpickler error: ").nth(1).unwrap_or_default();
                let reason = reason.split("\n\nCheck the documentation").next().unwrap_or_default();
                // What PyTorch says of an index is about its first character.
                let index = path.ends_with(".index.json");
                let same = index || reason.trim() == error.message().trim();
                if error.kind() == ErrorKind::Refused && !same {
                    failures.push(format!("{path}:\n  {}\n  {}", reason.trim(), error.message()));
                }
            }
            (Err(_), false) => compared += 1,
        }
    }
    assert!(compared > 100, "only {compared} verdicts compared");
    assert!(failures.is_empty(), "{} of {compared}:\n{}", failures.len(), failures.join("\n"));
}

/// Files that Python cannot unpickle and that open here all the same: as inert data they mean only
/// one thing.
const INERT: [&str; 4] = [
    // A device that PyTorch does not know; here it is only a label.
    "bad/tensor_location_junk.pt",
    // The value under the result is never used.
    "bad/pickle_two_left.pt",
    // A buffer that only the writer's process had.
    "bad/pickle_next_buffer.pt",
    // A key that Python could not hash.
    "bad/pickle_self_key.pt",
];

/// Broken and hostile files: each opens or is refused as `bad/manifest.tsv` says.
#[test]
fn bad_files_are_refused_with_a_reason() {
    let manifest = std::fs::read_to_string(folder().join("files/bad/manifest.tsv")).unwrap();
    let mut failures = Vec::new();
    for line in manifest.lines().skip(1) {
        let mut fields = line.split('\t');
        let (path, expect) = (fields.next().unwrap(), fields.next().unwrap());
        let opened = Checkpoint::open(folder().join("files").join(path));
        // Data is lazy: what only its bytes show is found when they are read.
        let read = opened.as_ref().map(|checkpoint| {
            checkpoint.tensors().iter().find_map(|named| {
                let whole = named.tensor.nbytes() < 1 << 20 && named.tensor.has_data();
                whole.then(|| named.tensor.contiguous_bytes().err()).flatten()
            })
        });
        let rejected = match &read {
            Ok(error) => error.is_some(),
            Err(error) => {
                if error.message().is_empty() {
                    failures.push(format!("{path}: no reason is given"));
                }
                true
            }
        };
        let as_wanted = match expect {
            "load" => !rejected,
            "reject" => rejected || INERT.contains(&path),
            _ => true,
        };
        if !as_wanted {
            let got = match &opened {
                Ok(_) => "opens".to_owned(),
                Err(error) => error.to_string(),
            };
            failures.push(format!("{path}: should {expect}, {got}\t({line})"));
        }
    }
    assert!(failures.is_empty(), "{}:\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn parameters_are_told_from_tensors() {
    let path = folder().join("files/2.15/zip/parameters.pt");
    let Ok(checkpoint) = Checkpoint::open(path) else { return };
    let parameters = checkpoint.tensors().into_iter().filter(|named| {
        matches!(named.object.data(), sconce_checkpoint::Node::Tensor(found)
            if found.class == TensorClass::Parameter)
    });
    assert!(parameters.count() > 0);
}

/// What `repr` gives in Python, for objects whose pickled form is packed.
#[test]
fn dates_and_paths_show_as_python_shows_them() {
    for protocol in ["2.15/zip/objects_library.pt", "1.13/zip/objects_library.pt"] {
        let checkpoint = Checkpoint::open(folder().join("files").join(protocol)).unwrap();
        for (name, wanted) in [
            ("datetime", "datetime.datetime(2020, 1, 2, 3, 4, 5, 6)"),
            ("aware", "datetime.datetime(2020, 1, 2, 0, 0, tzinfo=datetime.timezone.utc)"),
            ("date", "datetime.date(1999, 12, 31)"),
            ("time", "datetime.time(1, 2, 3)"),
            ("delta", "datetime.timedelta(days=1, seconds=2, microseconds=3)"),
            ("path", "PurePosixPath('data/train.csv')"),
        ] {
            let object = checkpoint.root().get(name).unwrap();
            assert_eq!(object.python_text().as_deref(), Some(wanted), "{protocol} {name}");
            assert_eq!(object.repr(100), wanted);
        }
    }
}
