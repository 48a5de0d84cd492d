use std::collections::BTreeMap;
use std::io::Cursor;

use proptest::prelude::*;
use sconce_source::{AtomicFile, Limits, Source};

use super::*;
use crate::verify::verify;
use crate::{Archive, Method};

fn writer(options: WriterOptions) -> ArchiveWriter<Vec<u8>> {
    ArchiveWriter::new(Vec::new(), "f", options).unwrap()
}

fn read(bytes: Vec<u8>) -> Archive {
    Archive::open(Source::from_vec("test", bytes), &Limits::default()).unwrap()
}

fn names(archive: &Archive) -> Vec<String> {
    archive.records().iter().map(|entry| archive.record_name(entry).into_owned()).collect()
}

#[test]
fn what_the_format_cannot_hold_is_refused() {
    let long = "n".repeat(65534);
    let cases: &[(&str, &[u8], u64, &str)] = &[
        ("twice", b"", 64, "Tried to serialize file twice: twice"),
        ("", b"x", 64, "a record with a folder's name cannot hold data"),
        ("x/", b"x", 64, "a record with a folder's name cannot hold data"),
        ("a\0b", b"x", 64, "cannot hold a NUL"),
        (&long, b"x", 64, "a name of 65536 bytes is too long"),
        ("far", b"x", 131_072, "padding to a multiple of 131072 bytes does not fit the header"),
        ("far", b"x", u64::MAX, "does not fit the header"),
    ];
    for &(name, data, alignment, want) in cases {
        let mut writer = writer(WriterOptions::new().alignment(1));
        writer.write_record("twice", b"1").unwrap();
        writer.options.alignment = alignment;
        let error = writer.write_record(name, data).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Caller, "{error}");
        assert!(error.to_string().contains(want), "{error}");
        // Nothing was written, so the archive can go on.
        writer.options.alignment = 1;
        assert_eq!(read(writer.finish().unwrap()).records().len(), 4);
    }
    for (folder, alignment) in [("f", 0), ("a/b", 64), ("a\0", 64)] {
        let options = WriterOptions::new().alignment(alignment);
        let error = ArchiveWriter::new(Vec::new(), folder, options).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Caller, "{error}");
    }
}

/// As PyTorch 2.15's `PyTorchFileWriter` answers the same calls.
#[test]
fn describing_records_are_added_where_missing() {
    const ID: &str = ".data/serialization_id";
    let cases: &[(Layout, u64, &[&str], &[&str])] = &[
        (Layout::Current, 0, &["a"], &["a", "version", "byteorder", ID]),
        (Layout::Torch2_1, 5, &["a"], &["a", "version", "byteorder", ID]),
        (Layout::Current, 6, &["a"], &["a", ".data/version", "byteorder", ID]),
        (Layout::Current, 0, &["byteorder"], &["byteorder", "version", ID]),
        (Layout::Current, 0, &["version"], &["version", "byteorder", ID]),
        (Layout::Current, 0, &[".data/version"], &[".data/version", "byteorder", ID]),
        (Layout::Current, 0, &[ID, "a"], &["a", "version", "byteorder", ID]),
        (Layout::Torch1_6, 0, &["a"], &["a", "version"]),
        (Layout::Torch1_6, 0, &[ID], &[ID, "version"]),
    ];
    for &(layout, version, given, want) in cases {
        let mut writer = writer(WriterOptions::new().layout(layout));
        writer.set_min_version(version);
        for name in given {
            writer.write_record(name, b"3\n").unwrap();
        }
        let archive = read(writer.finish().unwrap());
        assert_eq!(names(&archive), want);
        assert_eq!(archive.version().unwrap().number, version.max(3));
    }
}

#[test]
fn the_byte_order_is_the_caller_s() {
    for order in [ByteOrder::Little, ByteOrder::Big] {
        let archive = read(writer(WriterOptions::new().byte_order(order)).finish().unwrap());
        assert_eq!(&archive.read("byteorder").unwrap()[..], order.name().as_bytes());
    }
}

#[test]
fn a_length_that_does_not_agree_is_an_error() {
    for (len, data, want) in [(3u64, &b"ab"[..], "too short"), (1, b"ab", "too long")] {
        let mut streamed = writer(WriterOptions::new());
        let error = streamed.write_stream("a", len, None, data).unwrap_err();
        assert!(error.message().ends_with(want), "{error}");
        assert!(streamed.finish().unwrap_err().message().contains("begun and not finished"));

        let mut pushed = writer(WriterOptions::new());
        let mut record = pushed.record("a", len).unwrap();
        let error = record.put(data).and_then(|()| record.finish()).unwrap_err();
        assert!(error.message().ends_with(want), "{error}");
        assert!(pushed.write_record("b", b"").is_err());
    }
}

#[test]
fn holes_are_zeros_where_nothing_can_seek() {
    let write = |mut writer: ArchiveWriter<Cursor<Vec<u8>>>| {
        writer.write_record("a", b"1").unwrap();
        writer.write_hole("b", 100_000).unwrap();
        writer.write_hole("c", 0).unwrap();
        writer.finish().unwrap().into_inner()
    };
    let cursor = || Cursor::new(Vec::new());
    let seeking = write(ArchiveWriter::with_holes(cursor(), "f", WriterOptions::new()).unwrap());
    let writing = write(ArchiveWriter::new(cursor(), "f", WriterOptions::new()).unwrap());
    assert!(seeking == writing);
    assert!(read(seeking).read("b").unwrap().iter().all(|&byte| byte == 0));
}

/// A disk with room for so many bytes.
struct Full<W> {
    inner: W,
    room: usize,
}

impl<W: Write> Write for Full<W> {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        if self.room == 0 {
            return Err(io::ErrorKind::StorageFull.into());
        }
        let count = self.inner.write(&data[..data.len().min(self.room)])?;
        self.room -= count;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

#[test]
fn a_full_disk_leaves_the_old_file_whole() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.pt");
    std::fs::write(&path, b"old").unwrap();
    let data = vec![7; 3 << 20];
    let write = |room| -> Result<(), Error> {
        let inner = AtomicFile::replace(&path).unwrap();
        let mut writer = ArchiveWriter::new(Full { inner, room }, "x", WriterOptions::new())?;
        writer.write_record("data.pkl", b"N.")?;
        // Whoever goes on after an error still gets no file.
        let _ = writer.write_record("data/0", &data);
        if let Ok(mut record) = writer.record("data/1", data.len() as u64) {
            let _ = record.put(&data);
            let _ = record.finish();
        }
        writer.finish()?.inner.commit().unwrap();
        Ok(())
    };
    write(usize::MAX).unwrap();
    let len = std::fs::metadata(&path).unwrap().len() as usize;
    std::fs::write(&path, b"old").unwrap();
    for room in [0, 1, 100, 1 << 20, (3 << 20) + 500, (6 << 20) + 700, len - 1] {
        let error = write(room).unwrap_err();
        assert_eq!(std::fs::read(&path).unwrap(), b"old", "{room} bytes, {error}");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "{room} bytes");
    }
    write(len).unwrap();
    let archive = Archive::open(Source::open(&path).unwrap(), &Limits::default()).unwrap();
    assert_eq!(archive.read("data/1").unwrap().len(), 3 << 20);
}

#[test]
fn the_system_s_reason_is_kept() {
    let mut writer =
        ArchiveWriter::new(Full { inner: Vec::new(), room: 0 }, "x", WriterOptions::new()).unwrap();
    let error = writer.write_record("a", &[0; 1 << 18]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Io);
    assert_eq!(error.io_error().unwrap().kind(), io::ErrorKind::StorageFull);
    assert!(error.message().ends_with("failed writing file a"), "{error}");
}

proptest! {
    #[test]
    fn whatever_is_written_reads_back(
        records in proptest::collection::btree_map(
            "[a-zA-Z0-9./é:\\\\-]{0,20}[a-z0-9]",
            proptest::collection::vec(any::<u8>(), 0..300),
            0..40,
        ),
        alignment in 1u64..5000,
        crc in any::<bool>(),
        way in 0..3,
        layout in prop_oneof![
            Just(Layout::Torch1_6), Just(Layout::Torch2_1), Just(Layout::Current)
        ],
    ) {
        let options = WriterOptions::new().alignment(alignment).crc(crc).layout(layout);
        let mut writer = writer(options);
        for (name, data) in &records {
            match way {
                0 => writer.write_stream(name, data.len() as u64, None, &data[..]).unwrap(),
                1 => writer.write_record(name, data).unwrap(),
                _ => writer.write_compressed(name, data).unwrap(),
            }
            prop_assert!(writer.contains(name));
        }
        let archive = read(writer.finish().unwrap());
        let own = |name: &str| ["version", "byteorder", ".data/serialization_id"].contains(&name);
        let mut seen = BTreeMap::new();
        for entry in archive.records() {
            let name = archive.record_name(entry).into_owned();
            let data = archive.directory().bytes(entry).unwrap();
            if entry.method() == Method::Stored {
                prop_assert_eq!(data.offset() % alignment, 0);
            }
            if !own(&name) || records.contains_key(&name) {
                seen.insert(name, data.to_vec());
            }
        }
        prop_assert_eq!(seen, records);
        let report = verify(archive.directory(), |_| {});
        prop_assert!(report.findings.is_empty(), "{:?}", report.findings);
        prop_assert_eq!(report.accounted, report.total);
    }
}

#[test]
fn records_written_together_are_the_bytes_of_records_written_apart() {
    let long: Vec<u8> = (0..3 << 20).map(|at: u32| (at >> 3) as u8).collect();
    let descriptor = [&b"PK\x07\x08"[..], &[9; 12]].concat();
    let sizes = [0, 1, 700_000, 1_400_000, 5, 0, 3 << 20, 64, 100_000];
    let mut records: Vec<(String, &[u8])> =
        sizes.iter().enumerate().map(|(at, &size)| (format!("data/{at}"), &long[..size])).collect();
    records.push((".data/serialization_id".to_owned(), b"dropped"));
    records.push(("data/sniffed".to_owned(), &descriptor));
    for crc in [true, false] {
        let new = || {
            let options = WriterOptions::new().crc(crc);
            ArchiveWriter::new(Vec::new(), "archive", options).unwrap()
        };
        let mut together = new();
        together.write_record("data.pkl", b"N.").unwrap();
        let checksums = together.write_records(&records).unwrap();
        assert_eq!(checksums[1], crc.then(|| crc32fast::hash(&[0])));
        let mut apart = new();
        apart.write_record("data.pkl", b"N.").unwrap();
        for (name, data) in &records {
            apart.write_record(name, data).unwrap();
        }
        assert!(together.finish().unwrap() == apart.finish().unwrap(), "checksums: {crc}");
    }
    let mut twice = ArchiveWriter::new(Vec::new(), "archive", WriterOptions::new()).unwrap();
    let error = twice.write_records(&[("a".to_owned(), b"1"), ("a".to_owned(), b"2")]);
    assert_eq!(error.unwrap_err().to_string(), "Tried to serialize file twice: a");
}
