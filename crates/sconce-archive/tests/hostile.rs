//! Archives whose directories name the same bytes, or the same names, thousands of times.

use sconce_archive::{Archive, Directory, verify::verify};
use sconce_source::{Limits, Source};

/// One stored record, with a local header of its own.
fn local(name: &str, data: &[u8]) -> Vec<u8> {
    let len = (data.len() as u32).to_le_bytes();
    let mut out = [b"PK\x03\x04", &[0; 14][..], &len, &len].concat();
    out.extend((name.len() as u16).to_le_bytes());
    out.extend([&[0; 2][..], name.as_bytes(), data].concat());
    out
}

/// A zip file of these local records, and a directory of `(name, offset, size)`.
fn zip(records: &[u8], entries: &[(String, u32, u32)]) -> Source {
    let mut directory = Vec::new();
    for (name, at, len) in entries {
        directory.extend([b"PK\x01\x02", &[0; 16][..]].concat());
        directory.extend([len.to_le_bytes(), len.to_le_bytes()].concat());
        directory.extend((name.len() as u16).to_le_bytes());
        directory.extend([&[0; 12][..], &at.to_le_bytes(), name.as_bytes()].concat());
    }
    let count = (entries.len() as u16).to_le_bytes();
    let (size, at) = (directory.len() as u32, records.len() as u32);
    let end = [b"PK\x05\x06\0\0\0\0", &count[..], &count, &size.to_le_bytes(), &at.to_le_bytes()];
    Source::from_vec("zip", [records, &directory, &end.concat(), &[0; 2]].concat())
}

#[test]
fn bytes_of_many_records_are_read_once() {
    let records = local("a/one", &[7; 1000]);
    let entries: Vec<_> = (0..500).map(|at| (format!("a/{at}"), 0, 1000)).collect();
    let directory = Directory::read(zip(&records, &entries), &Limits::default()).expect("readable");
    let report = verify(&directory, |_| {});
    // The first has no checksum to compare; the others were not looked at, and it is said why.
    assert_eq!((report.checked, report.unchecked), (0, 1));
    let overlaps = report.findings.iter().filter(|finding| finding.rule == "overlap").count();
    assert_eq!(overlaps, 499);
    assert_eq!(report.accounted, report.total);
}

#[test]
fn messages_quote_long_names_in_part() {
    let records = local(&"x".repeat(60_000), &[7; 10]);
    let mut entries: Vec<_> = (0..500).map(|at| (format!("a/{at}"), 0, 10)).collect();
    entries.push(("y".repeat(60_000), 0, 10));
    let directory = Directory::read(zip(&records, &entries), &Limits::default()).expect("readable");
    for finding in verify(&directory, |_| {}).findings {
        assert!(finding.message.chars().count() < 300, "{}", finding.rule);
    }
}

#[test]
fn names_that_differ_in_case_alone() {
    let name = |at: u32| -> String {
        (0..16).map(|bit| if at >> bit & 1 == 1 { 'X' } else { 'x' }).collect()
    };
    let (mut records, mut entries) = (Vec::new(), Vec::new());
    for name in (1..30_000).map(|at| format!("a/{}", name(at))) {
        entries.push((name.clone(), records.len() as u32, 0));
        records.extend(local(&name, b""));
    }
    let archive = Archive::open(zip(&records, &entries), &Limits::default()).expect("one folder");
    let place = |name: &str| archive.find(name).map(|entry| entry.index());
    for at in [1, 7, 29_999] {
        assert_eq!(place(&name(at)), Some(at as usize - 1));
    }
    assert_eq!(place(&name(0)), Some(0), "the first of those that differ in case");
    assert_eq!(place("xx"), None);
}
