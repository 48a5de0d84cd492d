//! `sconce extract`: the raw records of an archive as files.
//!
//! A record's name comes from the file and is not trusted: what does not name a file below the
//! folder in every operating system's eyes is refused before anything is written.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use crc32fast::Hasher;
use sconce::archive::{Directory, Entry, TarArchive, TarMember};
use sconce::source::{Batch, Limits, MapMode, Source, StreamReader};
use serde::Serialize;

use crate::arguments::reading::Bounds;
use crate::error::{Failure, Outcome, Verdict};
use crate::output::{Align, Line, Out, SCHEMA_VERSION, Style, Table, count};
use crate::read::open;
use crate::select::glob::Filter;
use crate::write::atomic::{self, AtomicFile};

/// `sconce extract`.
#[derive(Debug, Args)]
pub struct ExtractArgs {
    /// The archive (zip, or the old tar); - reads standard input
    #[arg(value_name = "FILE")]
    pub file: OsString,
    /// Where to put the records
    #[arg(short = 'C', long, value_name = "DIR", default_value = ".")]
    pub directory: PathBuf,
    /// Only records that match (repeatable)
    #[arg(long, value_name = "GLOB")]
    pub entry: Vec<String>,
    /// List the records, write nothing
    #[arg(long)]
    pub list: bool,
    /// Overwrite files
    #[arg(short, long)]
    pub force: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// Print no header
    #[arg(long)]
    pub no_header: bool,
    /// What the file may cost.
    #[command(flatten)]
    pub bounds: Bounds,
}

#[derive(Serialize)]
struct Document<'a> {
    schema_version: u32,
    file: &'a str,
    records: Vec<RecordRow<'a>>,
    directory: Option<&'a str>,
}

#[derive(Serialize)]
struct RecordRow<'a> {
    name: &'a str,
    bytes: u64,
    stored_bytes: u64,
    offset: Option<u64>,
}

struct Record {
    name: String,
    /// Whether the name in the file is valid text, so that `name` is all of it.
    exact: bool,
    bytes: u64,
    stored_bytes: u64,
    offset: Option<u64>,
    content: Content,
}

enum Content {
    Zip(usize),
    Tar(TarMember),
}

pub fn run(args: &ExtractArgs, out: &mut Out) -> Verdict {
    let limits = args.bounds.limits();
    let source = open::source(&args.file, MapMode::Private, &limits)?;
    let file = open::name(&args.file);
    let archive = Archive::open(source, &limits).map_err(|failure| failure.in_file(&file))?;
    let filter = Filter::new(&args.entry, &[])?;
    let mut records = archive.records();
    records.retain(|record| filter.accepts(&record.name));
    if records.is_empty() && !args.entry.is_empty() {
        return Err(Failure::usage("no record matches")
            .in_file(&file)
            .help(format!("sconce extract --list {file}")));
    }
    if args.list {
        list(&records, args, &file, out)?;
        return Ok(Outcome::Clean);
    }
    let paths = plan(&records, &args.directory).map_err(|failure| failure.in_file(&file))?;
    let (mut reader, mut batch, mut folders) = (StreamReader::new(), Batch::new(), BTreeSet::new());
    for (record, path) in records.iter().zip(&paths) {
        make_folders(&args.directory, path, &mut folders)?;
        let target = args.directory.join(path);
        let mut to = AtomicFile::create(&target, args.force)?;
        let write =
            |part: &[u8]| to.write_all(part).map_err(|error| atomic::cannot_write(&target, &error));
        archive.parts(record, &mut reader, write).map_err(|failure| failure.in_file(&file))?;
        to.commit_in(&mut batch)?;
    }
    batch.finish().map_err(|error| atomic::refused(&args.directory, &error))?;
    let directory = args.directory.to_string_lossy();
    if args.json {
        let records = records.iter().map(Record::row).collect();
        let directory = Some(directory.as_ref());
        out.json(&Document { schema_version: SCHEMA_VERSION, file: &file, records, directory })?;
    } else if !out.quiet() {
        let total = records.iter().map(|record| record.bytes).sum();
        let text = format!("{}, {}", count(records.len(), "record"), out.sizes().show(total));
        out.line(&Line::new().plain(text).dim(" → ").add(Style::Strong, directory))?;
    }
    Ok(Outcome::Clean)
}

enum Archive {
    Zip(Box<Directory>),
    Tar(TarArchive),
}

impl Archive {
    fn open(source: Source, limits: &Limits) -> Result<Archive, Failure> {
        match Directory::read(source.clone(), limits) {
            Ok(directory) => {
                // A small file could otherwise name one large record a thousand times.
                directory.check_layout()?;
                Ok(Archive::Zip(Box::new(directory)))
            }
            Err(error) if error.kind() == sconce::archive::ErrorKind::NotThisFormat => {
                let tar = TarArchive::read(&source);
                tar.map(Archive::Tar).map_err(|tar| {
                    let damaged = tar.kind() != sconce::archive::ErrorKind::NotThisFormat;
                    if damaged {
                        return Failure::from(tar);
                    }
                    let identity = sconce::checkpoint::identify(&source);
                    let what = identity.kind.description();
                    Failure::unreadable(format!("this is not an archive with records: {what}"))
                })
            }
            Err(error) => Err(error.into()),
        }
    }

    fn records(&self) -> Vec<Record> {
        match self {
            Archive::Zip(directory) => {
                let files = directory.entries().iter().filter(|entry| !is_folder(directory, entry));
                files
                    .map(|entry| Record {
                        name: directory.display_name(entry).into_owned(),
                        exact: std::str::from_utf8(directory.raw_name(entry)).is_ok(),
                        bytes: entry.size(),
                        stored_bytes: entry.compressed_size(),
                        offset: directory.data_range(entry).ok().map(|range| range.start),
                        content: Content::Zip(entry.index()),
                    })
                    .collect()
            }
            Archive::Tar(tar) => tar
                .members()
                .iter()
                .map(|member| Record {
                    name: member.name.clone(),
                    exact: !member.name.contains('\u{fffd}'),
                    bytes: member.len(),
                    stored_bytes: member.len(),
                    offset: Some(member.start()),
                    content: Content::Tar(member.clone()),
                })
                .collect(),
        }
    }

    /// Hands a record's bytes on in parts, and then says whether they are the right ones.
    fn parts(
        &self,
        record: &Record,
        reader: &mut StreamReader,
        mut take: impl FnMut(&[u8]) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        match (self, &record.content) {
            (_, Content::Tar(member)) => {
                let bytes = member.bytes()?;
                reader.parts(bytes.source(), &bytes, take)
            }
            (Archive::Zip(directory), Content::Zip(index)) => {
                let entry = &directory.entries()[*index];
                let mut crc = Hasher::new();
                directory.parts(entry, reader, |part| {
                    crc.update(part);
                    take(part)
                })?;
                let crc = crc.finalize();
                if crc != entry.crc32() {
                    return Err(Failure::unreadable(
                        "the record's checksum does not fit its bytes",
                    )
                    .in_record(Some(&record.name))
                    .at(record.offset)
                    .note(format!(
                        "the directory says {:#010x}, the bytes are {crc:#010x}",
                        entry.crc32()
                    )));
                }
                Ok(())
            }
            (Archive::Tar(_), Content::Zip(_)) => {
                Err(Failure::unreadable("the record is of another archive"))
            }
        }
    }
}

fn is_folder(directory: &Directory, entry: &Entry) -> bool {
    entry.size() == 0 && directory.raw_name(entry).ends_with(b"/")
}

impl Record {
    fn row(&self) -> RecordRow<'_> {
        RecordRow {
            name: &self.name,
            bytes: self.bytes,
            stored_bytes: self.stored_bytes,
            offset: self.offset,
        }
    }
}

fn list(records: &[Record], args: &ExtractArgs, file: &str, out: &mut Out) -> Result<(), Failure> {
    if args.json {
        let records = records.iter().map(Record::row).collect();
        let directory = None;
        return out.json(&Document { schema_version: SCHEMA_VERSION, file, records, directory });
    }
    out.use_pager();
    let sizes = out.sizes();
    let mut table = Table::new(!args.no_header)
        .column("record", Align::Left, Style::Name)
        .column("size", Align::Right, Style::Number)
        .column("stored", Align::Right, Style::Number)
        .column("offset", Align::Right, Style::Plain);
    for record in records {
        table.row([
            record.name.clone(),
            sizes.show(record.bytes),
            sizes.show(record.stored_bytes),
            record.offset.map_or_else(|| "-".to_owned(), |offset| format!("{offset:#x}")),
        ]);
    }
    out.table(&table)
}

/// The paths below the folder, or why one of them must not be written.
fn plan(records: &[Record], folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let mut paths = Vec::with_capacity(records.len());
    let mut names: BTreeMap<String, &str> = BTreeMap::new();
    let mut folders: BTreeSet<String> = BTreeSet::new();
    for record in records {
        let refuse = |why: &str| {
            Failure::unreadable("refused to extract a record")
                .in_record(Some(&record.name))
                .at(record.offset)
                .note(format!("its name {why}"))
                .help("--entry GLOB takes only the records that match")
        };
        if !record.exact {
            return Err(refuse("is not UTF-8"));
        }
        if let Some(why) = unsafe_name(&record.name) {
            return Err(refuse(why));
        }
        // Systems that fold case would write two such records to one file.
        let folded = record.name.trim_start_matches("./").to_lowercase();
        if let Some(other) = names.insert(folded.clone(), &record.name) {
            let same = other == record.name;
            let why = if same { "occurs twice" } else { "differs from another only by case" };
            return Err(refuse(why));
        }
        for (at, _) in folded.match_indices('/') {
            folders.insert(folded[..at].to_owned());
        }
        paths.push(record.name.split('/').filter(|part| *part != ".").collect());
    }
    if let Some(both) = names.keys().find(|name| folders.contains(*name)) {
        return Err(Failure::unreadable("refused to extract a record")
            .in_record(Some(names[both]))
            .note("its name is that of a folder of other records"));
    }
    if folder.exists() && !folder.is_dir() {
        return Err(Failure::usage(format!("'{}' is not a folder", folder.to_string_lossy())));
    }
    Ok(paths)
}

/// Why a name must not become a path.
fn unsafe_name(name: &str) -> Option<&'static str> {
    const RESERVED: [&str; 6] = ["con", "prn", "aux", "nul", "com", "lpt"];
    if name.is_empty() || name.ends_with('/') {
        return Some("is not that of a file");
    }
    if name.contains('\0') {
        return Some("has a NUL character");
    }
    if name.starts_with('/') {
        return Some("is absolute");
    }
    if name.contains('\\') {
        return Some("has a backslash");
    }
    if name.contains(':') {
        return Some("has a colon, which is a drive or a stream on Windows");
    }
    if name.chars().any(char::is_control) {
        return Some("has control characters");
    }
    for (at, part) in name.split('/').enumerate() {
        if part == ".." {
            return Some("leads out of the folder with '..'");
        }
        if part.is_empty() || (part == "." && at > 0) {
            return Some("has an empty part");
        }
        if part.len() > 255 {
            return Some("has a part longer than 255 bytes");
        }
        if part != "." && part.ends_with(['.', ' ']) {
            return Some("has a part that ends in a dot or a blank, which Windows drops");
        }
        let stem = part.split('.').next().unwrap_or_default().to_ascii_lowercase();
        let device = stem.trim_end_matches(|c: char| c.is_ascii_digit());
        let numbered = matches!(device, "com" | "lpt");
        if RESERVED.contains(&device)
            && (numbered && stem.len() == 4 || !numbered && stem == device)
        {
            return Some("is that of a device on Windows");
        }
    }
    None
}

/// Makes the folders above a path; a link among them could lead elsewhere and is refused. `made` are those
/// that were looked at before.
fn make_folders(root: &Path, path: &Path, made: &mut BTreeSet<PathBuf>) -> Result<(), Failure> {
    let fail = |path: &Path, error: std::io::Error| {
        Failure::unreadable(format!("cannot make the folder: {error}"))
            .in_file(path.to_string_lossy())
    };
    if made.insert(root.to_owned()) {
        fs::create_dir_all(root).map_err(|error| fail(root, error))?;
    }
    let mut folder = root.to_owned();
    for part in path.parent().into_iter().flat_map(Path::components) {
        folder.push(part);
        if !made.insert(folder.clone()) {
            continue;
        }
        match fs::symlink_metadata(&folder) {
            Ok(there) if there.is_dir() => {}
            Ok(_) => {
                return Err(Failure::unreadable(
                    "refused to write through what is not a plain folder",
                )
                .in_file(folder.to_string_lossy()));
            }
            Err(_) => fs::create_dir(&folder).map_err(|error| fail(&folder, error))?,
        }
    }
    let target = root.join(path);
    match fs::symlink_metadata(&target) {
        Ok(there) if !there.is_file() => {
            Err(Failure::unreadable("refused to write over what is not a plain file")
                .in_file(target.to_string_lossy()))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(name: &str) -> Record {
        Record {
            name: name.to_owned(),
            exact: true,
            bytes: 0,
            stored_bytes: 0,
            offset: None,
            content: Content::Zip(0),
        }
    }

    #[test]
    fn hostile_names_are_refused() {
        let bad = [
            "",
            "a/",
            "/etc/passwd",
            "../x",
            "a/../../x",
            "a\\b",
            "C:x",
            "a\0b",
            "a//b",
            "a/./b",
            "nul",
            "sub/COM1.txt",
            "x. ",
            "a\nb",
            "..",
        ];
        for name in bad {
            assert!(unsafe_name(name).is_some(), "{name:?}");
        }
        for name in ["archive/data.pkl", "./pickle", "archive/data/0", "größe", "console", "com/x"]
        {
            assert_eq!(unsafe_name(name), None, "{name:?}");
        }
    }

    #[test]
    fn names_that_collide_are_refused() {
        let folder = Path::new("nowhere-to-be-found");
        for names in [["a/b", "a/B"], ["a", "a"], ["a", "a/b"], ["./a", "a"]] {
            assert!(plan(&names.map(record), folder).is_err(), "{names:?}");
        }
        let fine = plan(&["./a/b", "a/c"].map(record), folder).unwrap();
        assert_eq!(fine, [Path::new("a/b"), Path::new("a/c")]);
    }
}
