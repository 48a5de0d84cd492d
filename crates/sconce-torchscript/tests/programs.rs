//! Programs of archives made by hand have the graphs that PyTorch gives them, places included:
//! `programs/programs.txt`, which `programs/generate.py` writes.

#![allow(clippy::unwrap_used, clippy::expect_used)] // helpers of tests are outside of what clippy sees as tests

use sconce_archive::{ArchiveWriter, WriterOptions};
use sconce_source::Source;
use sconce_torchscript::LoadOptions;

/// An object of `__torch__.M` without attributes.
const OBJECT: &[u8] = b"\x80\x02c__torch__\nM\n)\x81}b.";

/// The text of the graph of `forward` in an archive of a version with this code.
fn graph(version: &str, code: &str) -> String {
    let mut writer = ArchiveWriter::new(Vec::new(), "model", WriterOptions::new()).unwrap();
    let records = [
        ("data.pkl", OBJECT),
        ("code/__torch__.py", code.as_bytes()),
        ("constants.pkl", b"\x80\x02)."),
    ];
    for (name, bytes) in records {
        writer.write_record(name, bytes).unwrap();
    }
    writer.set_min_version(version.parse().unwrap());
    let bytes = writer.finish().unwrap();
    let module = LoadOptions::new().read(Source::from_vec("model.pt", bytes)).unwrap();
    assert_eq!(module.version().to_string(), version);
    module.graph("forward").unwrap().to_string()
}

#[test]
fn graphs_are_pytorch_s() {
    let text = include_str!("programs/programs.txt");
    let programs: Vec<&str> = text.split("== ").skip(1).collect();
    assert!(programs.len() >= 9);
    for program in programs {
        let (version, rest) = program.split_once('\n').unwrap();
        let (expected, code): (Vec<&str>, Vec<&str>) =
            rest.lines().partition(|line| line.starts_with("#|"));
        let expected: Vec<&str> = expected.iter().map(|line| &line["#| ".len()..]).collect();
        let code = code.join("\n") + "\n";
        assert_eq!(graph(version, &code).trim_end(), expected.join("\n"), "{code}");
    }
}
