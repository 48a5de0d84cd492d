//! The zip reader: directory, PyTorch's rules, every record, and the byte-by-byte account.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sconce_archive::{Archive, Directory, NameSet, serialization_id, verify::verify};
use sconce_fuzz::{limits, source};

fuzz_target!(|bytes: &[u8]| {
    let len = bytes.len() as u64;
    let directory = match Directory::read(source(bytes), &limits()) {
        Ok(directory) => directory,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            assert!(error.offset().is_none_or(|at| at <= len));
            assert!(Archive::open(source(bytes), &limits()).is_err());
            return;
        }
    };
    for entry in directory.entries() {
        if let Ok(range) = directory.data_range(entry) {
            assert!(range.start <= range.end && range.end <= len);
        }
    }
    // A few records only: many may claim the same bytes.
    for entry in directory.entries().iter().take(64) {
        match directory.bytes(entry) {
            Ok(bytes) => assert_eq!(bytes.len() as u64, entry.size()),
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
    let report = verify(&directory, |_| {});
    assert!(report.accounted <= report.total && report.total == len);
    assert!(report.checked + report.unchecked <= directory.entries().len());
    for finding in &report.findings {
        assert!(!finding.to_string().is_empty());
    }
    let Ok(archive) = Archive::from_directory(directory) else { return };
    let mut hint = 0;
    for entry in archive.records() {
        let name = archive.record_name(entry).into_owned();
        let found = archive.find(&name).map(|found| found.index());
        // Names that are not text cannot be asked for.
        if !name.contains('\u{fffd}') {
            assert_eq!(found, Some(entry.index()), "{name:?}");
            assert_eq!(archive.find_next(&mut hint, &name).map(|e| e.index()), found);
        }
    }
    let _ = archive.version();
    let mut names = NameSet::default();
    for entry in archive.records() {
        names.insert(&archive.record_name(entry));
    }
    let checksums = archive.records().iter().map(|entry| entry.crc32());
    assert_eq!(serialization_id(&names, checksums).len(), 40);
});
