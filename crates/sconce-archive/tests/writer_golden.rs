//! Archives written by real PyTorch (`golden/generate.py`), taken apart and written again: the
//! files must be the same, byte for byte.

#![allow(clippy::unwrap_used)] // helpers of tests are outside of what clippy sees as tests

use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use sconce_archive::{Archive, ArchiveWriter, Layout, WriterOptions, archive_name};
use sconce_source::{Limits, Source};

fn golden() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden")
}

fn archives(folder: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<_> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

/// How the records' bytes are handed over.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Way {
    Whole,
    Stream,
    StreamWithChecksum,
    Bytewise,
}

fn options(archive: &Archive, layout: Layout, name: &str) -> WriterOptions {
    let alignment = archive.read(".storage_alignment").ok();
    let alignment =
        alignment.map_or(64, |digits| String::from_utf8_lossy(&digits).parse().unwrap());
    WriterOptions::new().layout(layout).alignment(alignment).crc(!name.contains("nocrc"))
}

fn rewrite(
    archive: &Archive,
    folder: &str,
    options: WriterOptions,
    name: &str,
    way: Way,
) -> Vec<u8> {
    let mut writer =
        ArchiveWriter::with_holes(io::Cursor::new(Vec::new()), folder, options).unwrap();
    // What follows the caller's records is the writer's own.
    let last = archive.find("version").unwrap().index();
    for entry in &archive.records()[..last] {
        let record = &*archive.record_name(entry);
        let data = archive.directory().bytes(entry).unwrap();
        if name.contains("skip") && record.starts_with("data/") {
            writer.write_hole(record, entry.size()).unwrap();
            continue;
        }
        let len = entry.size();
        // As `torch.jit.save` chooses; short ones are stored all the same.
        if record.ends_with(".py") || record.ends_with(".debug_pkl") {
            writer.write_compressed(record, &data).unwrap();
            continue;
        }
        match way {
            Way::Whole => writer.write_record(record, &data).unwrap(),
            Way::Stream => writer.write_stream(record, len, None, &data[..]).unwrap(),
            Way::StreamWithChecksum => {
                writer.write_stream(record, len, Some(entry.crc32()), &data[..]).unwrap();
            }
            Way::Bytewise => {
                let mut record = writer.record(record, len).unwrap();
                data.iter().for_each(|byte| record.write_all(&[*byte]).unwrap());
                record.finish().unwrap();
            }
        }
    }
    writer.finish().unwrap().into_inner()
}

#[test]
fn rewritten_archives_are_pytorch_s_own() {
    let mut count = 0;
    for (version, layout) in [("1.13", Layout::Torch1_6), ("2.15", Layout::Current)] {
        for path in archives(&golden().join("files").join(version)) {
            let name = path.file_name().unwrap().to_str().unwrap();
            let bytes = std::fs::read(&path).unwrap();
            let source = Source::from_vec(name, bytes.clone());
            let archive = Archive::open(source, &Limits::default()).unwrap();
            let folder = match name.starts_with("buffer_") {
                true => "archive".to_owned(),
                false => archive_name(&path).unwrap(),
            };
            let options = options(&archive, layout, name);
            for way in [Way::Whole, Way::Stream, Way::StreamWithChecksum, Way::Bytewise] {
                let written = rewrite(&archive, &folder, options.clone(), name, way);
                assert!(written == bytes, "{version}/{name} differs, {way:?}");
            }
            count += 1;
        }
    }
    assert_eq!(count, 40, "every golden file was looked at");
}

/// A file of which only what was written is kept.
#[derive(Default)]
struct Sparse {
    at: u64,
    len: u64,
    parts: Vec<(u64, Vec<u8>)>,
}

impl Write for Sparse {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        self.parts.push((self.at, data.to_vec()));
        self.at += data.len() as u64;
        self.len = self.len.max(self.at);
        Ok(data.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Seek for Sparse {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.at = match to {
            SeekFrom::Start(at) => at,
            SeekFrom::Current(by) => self.at.checked_add_signed(by).unwrap(),
            SeekFrom::End(by) => self.len.checked_add_signed(by).unwrap(),
        };
        Ok(self.at)
    }
}

fn nonzero(parts: impl IntoIterator<Item = (u64, Vec<u8>)>) -> Vec<(u64, u8)> {
    let bytes = parts.into_iter().flat_map(|(start, data)| (start..).zip(data));
    bytes.filter(|&(_, byte)| byte != 0).collect()
}

fn write_big<W: Write + Seek>(file: W) -> W {
    let mut writer = ArchiveWriter::with_holes(file, "big", WriterOptions::new()).unwrap();
    writer.write_record("data.pkl", b"abc").unwrap();
    writer.write_hole("data/0", 5 << 30).unwrap();
    writer.write_record("data/1", b"after").unwrap();
    writer.write_record("data/2", b"").unwrap();
    writer.write_hole("data/3", 0xFFFF_FFFF).unwrap();
    writer.write_hole("data/4", 0xFFFF_FFFE).unwrap();
    writer.finish().unwrap()
}

#[test]
fn zip64_archives_are_pytorch_s_own() {
    let text = std::fs::read_to_string(golden().join("zip64.txt")).unwrap();
    let mut lines = text.lines();
    let len: u64 = lines.next().unwrap().strip_prefix("length ").unwrap().parse().unwrap();
    let want = lines.map(|line| {
        let (offset, hex) = line.split_once(' ').unwrap();
        let digits = hex.as_bytes().chunks(2).map(|pair| std::str::from_utf8(pair).unwrap());
        let data = digits.map(|pair| u8::from_str_radix(pair, 16).unwrap()).collect();
        (offset.parse().unwrap(), data)
    });
    let file = write_big(Sparse::default());
    assert_eq!(file.len, len);
    assert_eq!(nonzero(file.parts), nonzero(want));
}

#[cfg(target_pointer_width = "64")] // maps 13 GiB
#[test]
fn a_sparse_file_of_13_gib_reads_back() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("big.pt");
    write_big(std::fs::File::create_new(&path).unwrap());
    #[cfg(unix)]
    {
        let blocks = std::os::unix::fs::MetadataExt::blocks(&path.metadata().unwrap());
        assert!(blocks * 512 < 1 << 20, "{blocks} blocks are on the disk");
    }
    let archive = Archive::open(Source::open(&path).unwrap(), &Limits::default()).unwrap();
    assert_eq!(&archive.read("data/1").unwrap()[..], b"after");
    assert_eq!(archive.version().unwrap().number, 3);
    for (name, size) in [("data/0", 5 << 30), ("data/3", 0xFFFF_FFFF), ("data/4", 0xFFFF_FFFE)] {
        let entry = archive.find(name).unwrap();
        assert_eq!((entry.size(), entry.crc32()), (size, 0), "{name}");
        let data = archive.read(name).unwrap();
        assert_eq!((data.len() as u64, data[data.len() - 1]), (size, 0), "{name}");
        assert_eq!(data.offset() % 64, 0, "{name}");
    }
}
