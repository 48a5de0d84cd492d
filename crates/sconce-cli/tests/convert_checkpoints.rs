//! Every format to `.pt` and back, and the options of `torch.save`.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::fs;
use std::path::Path;

use support::{fixtures, sconce, sconce_with_stdin};

const FILE: &str = "2.15/zip/state_dict.pt";

fn path(folder: &Path, name: &str) -> String {
    folder.join(name).to_string_lossy().into_owned()
}

#[test]
fn every_format_becomes_every_other() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| path(folder.path(), name);
    let (npz, safetensors) = (at("in.npz"), at("in.safetensors"));
    sconce(&["convert", FILE, &npz]).ok();
    sconce(&["convert", FILE, &safetensors]).ok();
    let npy = at("in.npy");
    sconce(&["convert", "2.15/zip/single_tensor.pt", &npy]).ok();
    let inputs = [
        FILE,
        "2.15/legacy/state_dict.pt",
        "hand/tar/checkpoint.tar",
        "hand/sharded/pytorch_model.bin.index.json",
        "2.15/torchscript/scripted.pt",
        &npz,
        &safetensors,
        &npy,
    ];
    let outputs: [(&str, &[&str], &str); 6] = [
        ("out.pt", &["--state-dict"], "zip"),
        ("out.pth", &["--state-dict", "--legacy"], "legacy"),
        ("out.any", &["--state-dict", "--to", "legacy"], "legacy"),
        ("out.bin", &["--state-dict", "--protocol", "4", "--layout", "1.6"], "zip"),
        ("out.safetensors", &[], "safetensors"),
        ("out.npz", &[], "npz"),
    ];
    for input in inputs {
        for (name, flags, format) in outputs {
            let out = at(name);
            let run = sconce(&[&["convert", input, &out, "-f", "--keep-going"], flags].concat());
            assert_eq!(run.code, 0, "{input} {name}: {}", run.err);
            assert_eq!(sconce(&["info", "--json", &out]).json()["format"], format, "{input}");
            let sums = |file: &str| -> Vec<String> {
                let listed = sconce(&["ls", "--json", "--sha256", file]).json();
                let rows = listed["tensors"].as_array().unwrap();
                let mut sums: Vec<String> =
                    rows.iter().map(|row| row["sha256"].to_string()).collect();
                sums.sort();
                sums
            };
            let (mut want, got) = (sums(input), sums(&out));
            if format == "npz" && input.contains("sharded") {
                // One of its tensors is of a dtype that numpy lacks.
                want.retain(|sum| got.contains(sum));
                assert_eq!(want.len(), 3);
            }
            assert_eq!(got, want, "{input} {name}");
        }
    }
}

#[test]
fn objects_survive_what_holds_them() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| path(folder.path(), name);
    for input in ["2.15/zip/lightning.ckpt", "hand/tar/checkpoint.tar", "2.15/zip/module_net.pt"] {
        let (zip, stream, again) = (at("zip.pt"), at("stream.pt"), at("again.pt"));
        sconce(&["convert", input, &zip, "-f"]).ok();
        sconce(&["convert", &zip, &stream, "-f", "--legacy"]).ok();
        assert_eq!(sconce(&["diff", input, &stream]).code, 0, "{input}");
        // The archive is named after its file.
        let named = folder.path().join("named");
        fs::create_dir_all(&named).unwrap();
        let named = path(&named, "zip.pt");
        sconce(&["convert", &stream, &named, "-f"]).ok();
        assert_eq!(fs::read(&named).unwrap(), fs::read(&zip).unwrap(), "{input}");
        sconce(&["convert", &zip, &again, "-f", "--byteorder", "big"]).ok();
        assert_eq!(sconce(&["diff", input, &again]).code, 0, "{input}");
        assert_eq!(sconce(&["info", "--json", &again]).json()["byte_order"], "big");
    }
}

#[test]
fn what_a_format_cannot_say_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let out = path(folder.path(), "out.pt");
    let safetensors = path(folder.path(), "out.safetensors");
    let cases: [(&[&str], i32, &str); 11] = [
        (&["2.15/torchscript/scripted.pt", &out], 3, "help: --state-dict"),
        (&["2.15/zip/dtype_complex128.pt", &safetensors], 2, "complex128"),
        (&[FILE, &out, "--dense"], 3, "--dense cannot be used"),
        (&[FILE, &safetensors, "--protocol", "3"], 3, "--protocol is for .pt files"),
        (&[FILE, &safetensors, "--state-dict"], 3, "--state-dict is for .pt files"),
        (&[FILE, &out, "--protocol", "7"], 3, "7 is not in 2..=5"),
        (&[FILE, &out, "--legacy", "--no-crc"], 3, "cannot be used with"),
        (&[FILE, &out, "--byteorder", "big", "--layout", "1.6"], 3, "cannot be big-endian"),
        (&["2.15/zip/dtype_uint16.pt", &out, "--byteorder", "big"], 2, "would not swap"),
        (&[FILE, &out, "--alignment", "0"], 3, "cannot be aligned to 0"),
        (&[FILE, "out.unknown"], 3, "does not say a format"),
    ];
    for (args, code, want) in cases {
        let run = sconce(&[&["convert"], args].concat());
        assert_eq!(run.code, code, "{args:?} {}", run.err);
        assert!(run.err.contains(want), "{args:?} {}", run.err);
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "nothing is left behind");
    fs::write(&out, b"precious").unwrap();
    assert_eq!(sconce(&["convert", FILE, &out]).code, 3);
    assert_eq!(fs::read(&out).unwrap(), b"precious");
}

#[test]
fn checkpoints_go_through_pipes() {
    let bytes = fs::read(fixtures().join(FILE)).unwrap();
    for to in ["zip", "legacy"] {
        let run = sconce_with_stdin(&["convert", "-", "-", "--to", to], &bytes);
        assert_eq!(run.code, 0, "{}", run.err);
        let listed = sconce_with_stdin(&["ls", "--json", "-"], &run.raw).json();
        assert_eq!(listed["format"], to);
    }
}

#[test]
fn parts_and_dtypes_of_checkpoints() {
    let folder = tempfile::tempdir().unwrap();
    let out = path(folder.path(), "out.pt");
    let args = ["convert", "2.15/zip/lightning.ckpt", &out, "--take", "state_dict"];
    let more = ["--include", "*.weight", "--dtype", "float16"];
    sconce(&[&args[..], &more].concat()).ok();
    let listed = sconce(&["ls", "--json", &out]).json();
    let rows = listed["tensors"].as_array().unwrap();
    assert!(!rows.is_empty());
    for row in rows {
        assert!(row["name"].as_str().unwrap().ends_with(".weight"), "{row}");
        assert_eq!(row["dtype"], "float16");
    }
}

#[test]
fn numbers_that_are_too_large_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| path(folder.path(), name);
    let npy = at("in.npy");
    let mut file =
        b"\x93NUMPY\x01\0\x76\0{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }".to_vec();
    file.resize(127, b' ');
    file.push(b'\n');
    file.extend([1e6f32, 1.0].iter().flat_map(|x| x.to_le_bytes()));
    fs::write(&npy, file).unwrap();
    for name in ["out.pt", "out.safetensors"] {
        let out = at(name);
        let run = sconce(&["convert", &npy, &out, "--dtype", "float16"]);
        assert_eq!(run.code, 3, "{}", run.err);
        assert!(run.err.contains("1 number too large for float16"), "{}", run.err);
        assert!(!Path::new(&out).exists());
        let dry = sconce(&["convert", &npy, &out, "--dtype", "float16", "--dry-run"]);
        assert_eq!(dry.code, 3, "{}", dry.err);
        sconce(&["convert", &npy, &out, "--dtype", "float16", "--allow-overflow"]).ok();
        sconce(&["convert", &npy, &out, "--dtype", "bfloat16", "-f"]).ok();
    }
    let (source, out) = (at("out.pt"), at("edited.pt"));
    sconce(&["convert", &npy, &source, "-f"]).ok();
    let run = sconce(&["edit", &source, &out, "--cast", "float16"]);
    assert_eq!(run.code, 3, "{}", run.err);
    assert!(!Path::new(&out).exists());
    assert_eq!(sconce(&["edit", &source, "--dry-run", "--cast", "float16"]).code, 3);
    let run = sconce(&["edit", &source, &out, "--cast", "float16", "--allow-overflow"]);
    assert_eq!(run.code, 0, "{}", run.err);
    assert!(run.err.contains("1 number too large for float16"), "{}", run.err);
}
