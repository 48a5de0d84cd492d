//! The pickles of a file: where they start and what they are called.

use sconce::archive::{Archive, TarArchive};
use sconce::checkpoint::{FileKind, pickle_limits, try_identify};
use sconce::pickle::instructions;
use sconce::source::{Bytes, Limits, MapMode};

use crate::arguments::pickles::Pickles;
use crate::error::Failure;
use crate::read::open;
use crate::select::suggest;

/// The pickles of a legacy stream, in order.
const LEGACY: [&str; 5] = ["magic", "protocol", "system", "object", "keys"];

/// One pickle.
pub struct Stream {
    /// The record, or its role in a legacy file; "" for a bare pickle.
    pub name: String,
    /// The bytes that hold it.
    pub bytes: Bytes,
    /// Where it starts in them. Offsets are counted from their beginning.
    pub start: usize,
    /// What reading it may cost.
    pub limits: sconce::pickle::Limits,
}

impl Stream {
    /// A pickle that takes `stored` bytes in its file.
    fn new(
        name: impl Into<String>,
        bytes: Bytes,
        start: usize,
        stored: u64,
        limits: &Limits,
    ) -> Stream {
        let limits = pickle_limits(limits, stored);
        Stream { name: name.into(), bytes, start, limits }
    }
}

/// The main pickle of a file, all five of a legacy one, or the one that `--record` names.
pub fn streams(pickles: &Pickles) -> Result<Vec<Stream>, Failure> {
    let (file, record) = (pickles.file.as_os_str(), pickles.record.as_deref());
    let limits = &pickles.bounds.limits();
    let source = open::source(file, MapMode::Private, limits)?;
    let name = open::name(file);
    if source.is_empty() {
        return Err(Failure::unreadable("the file is empty").in_file(name));
    }
    let kind = try_identify(&source)?.kind;
    if source.starts_with(b"PK\x03\x04")? {
        let archive = Archive::open(source, limits);
        let archive = archive.map_err(|error| Failure::from(error).in_file(&name))?;
        return zip_record(&archive, record).map_err(|failure| failure.in_file(&name));
    }
    if let Ok(tar) = TarArchive::read(&source) {
        let wanted = record.unwrap_or("pickle");
        let Some(member) = tar.find(wanted) else {
            let names = tar.members().iter().map(|member| member.name.as_str());
            return Err(no_record(record, wanted, names).in_file(name));
        };
        let bytes = member.bytes().map_err(|error| Failure::from(error).in_file(&name))?;
        let stored = bytes.len() as u64;
        return Ok(vec![Stream::new(&member.name, bytes, 0, stored, limits)]);
    }
    let whole = source.slice(0..source.len())?.unwrap_or_else(|| Vec::new().into());
    if kind == FileKind::Legacy {
        return legacy(&whole, record, limits).map_err(|failure| failure.in_file(&name));
    }
    if matches!(kind, FileKind::Safetensors | FileKind::Npy) {
        let message = format!("there is no pickle in this file: {}", kind.description());
        return Err(Failure::unreadable(message).in_file(name));
    }
    match record {
        None => {
            let stored = whole.len() as u64;
            Ok(vec![Stream::new("", whole, 0, stored, limits)])
        }
        Some(wanted) => Err(no_record(record, wanted, std::iter::empty()).in_file(name)),
    }
}

fn zip_record(archive: &Archive, record: Option<&str>) -> Result<Vec<Stream>, Failure> {
    let wanted = record.unwrap_or("data.pkl");
    // A name as `sconce extract --list` prints it has the folder before it.
    let folder = format!("{}/", archive.folder());
    let inner = wanted.strip_prefix(&folder).unwrap_or(wanted);
    let entry = archive.find(inner).or_else(|| archive.find(wanted)).ok_or_else(|| {
        let names: Vec<String> =
            archive.records().iter().map(|entry| archive.record_name(entry).into_owned()).collect();
        no_record(record, wanted, names.iter().map(String::as_str))
    })?;
    let name = archive.display_name(entry).into_owned();
    let bytes = archive.directory().bytes_to_parse(entry)?;
    let limits = archive.directory().limits();
    Ok(vec![Stream::new(name, bytes, 0, entry.compressed_size(), limits)])
}

fn legacy(whole: &Bytes, record: Option<&str>, limits: &Limits) -> Result<Vec<Stream>, Failure> {
    let mut out = Vec::new();
    let mut start = 0;
    for name in LEGACY {
        let rest = whole.slice(start..whole.len()).unwrap_or_else(|| Vec::new().into());
        if record == Some(name) {
            let stored = rest.len() as u64;
            return Ok(vec![Stream::new(name, rest, 0, stored, limits)]);
        }
        out.push(Stream::new(name, whole.clone(), start, rest.len() as u64, limits));
        // Where this one cannot be read to its end, listing it says why; there is nothing behind.
        let last = instructions(&rest).last();
        let Some(Ok(stop)) = last else { break };
        start += stop.at as usize + stop.raw.len();
    }
    match record {
        Some(wanted) if !LEGACY.contains(&wanted) => Err(no_record(record, wanted, LEGACY)),
        Some(wanted) => {
            Err(Failure::unreadable(format!("the file ends before the pickle '{wanted}'")))
        }
        None => Ok(out),
    }
}

/// The user's fault when they asked for the record, the file's when every such file has it.
fn no_record<'a>(
    asked: Option<&str>,
    wanted: &str,
    names: impl IntoIterator<Item = &'a str>,
) -> Failure {
    let names: Vec<&str> = names.into_iter().collect();
    let message = format!("there is no record called '{wanted}'");
    let failure = match asked {
        Some(_) => Failure::usage(message),
        None => Failure::unreadable(message),
    };
    let close = suggest::closest(wanted, names.iter().copied(), 3);
    let pickles = names.iter().copied().filter(|name| name.ends_with(".pkl"));
    let shown = if close.is_empty() { pickles.take(5).collect() } else { close };
    if shown.is_empty() { failure } else { failure.help(format!("there is: {}", shown.join(", "))) }
}
