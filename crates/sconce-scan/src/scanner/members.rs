//! What a file holds beside the pickles that the loader reads.

use std::borrow::Cow;

use rustc_hash::FxHashSet;
use sconce_archive::verify::{Severity, verify_part, verify_sparsely};
use sconce_archive::{Directory, Entry, Method, TarArchive};
use sconce_checkpoint::{FileKind, LoadOptions};
use sconce_pickle::Node;
use sconce_tensor::read_npy_header;

use crate::packed;
use crate::pickle::{Dialect, Ran, may_begin_pickle};
use crate::program;
use crate::report::{Finding, Rule, shortened};
use crate::scanner::exported;
use crate::scanner::{File, Job};

/// Longest member that is unpacked to be looked at. What the loader reads itself is not a matter of this.
const LONGEST_PACKED: u64 = 64 << 20;
/// Longest file within the file that is looked into.
const LONGEST_NESTED: usize = 256 << 20;

/// How much shows what a file begins as.
const HEAD: u64 = 64 << 10;
const ZIP: &[u8] = b"PK\x03\x04";
const NPY: &[u8] = b"\x93NUMPY";

/// The pickles of a tar file of PyTorch before 0.1.10, which its loader reads.
static TAR_PICKLES: [&str; 3] = ["pickle", "storages", "tensors"];

/// Whether files of a kind that no checkpoint is are archives whose members are all looked at.
pub(crate) fn are_read(kind: FileKind) -> bool {
    matches!(
        kind,
        FileKind::Pt2
            | FileKind::AotInductor
            | FileKind::TorchPackage
            | FileKind::PreviewArchive
            | FileKind::TorchServe
            | FileKind::OtherZip
            | FileKind::OtherTar
            | FileKind::Keras
            | FileKind::CoreMl
    )
}

/// Looks at everything in a file that its loader did not read.
pub(crate) fn examine(file: &mut File, job: &mut Job<'_>) {
    let source = file.source.clone();
    if let Some(opened) = file.archive.take() {
        archive(opened.directory(), file, job);
        return;
    }
    let begins = match source.slice(0..source.len().min(HEAD)) {
        Ok(head) => head.unwrap_or_else(|| Vec::new().into()),
        Err(error) => return job.unreadable(&error, file),
    };
    if begins.starts_with(ZIP) {
        // Where it cannot be read, the loader says what is wrong.
        if let Ok(directory) = Directory::read(source, job.limits) {
            archive(&directory, file, job);
        }
        return;
    }
    if let Ok(tar) = TarArchive::read(&source) {
        for member in tar.members() {
            let name = shortened(member.name.strip_prefix("./").unwrap_or(&member.name));
            let read = file.kind == FileKind::Tar && TAR_PICKLES.contains(&&*name);
            if !read {
                match member.bytes() {
                    Ok(bytes) => content(&bytes, &name, file, job, is_named(&name)),
                    Err(error) => job.unreadable(&error, file),
                }
            }
        }
        return;
    }
    if file.kind == FileKind::Legacy {
        // What the loader made of the scanned file itself its caller knows.
        if file.name.is_some()
            && let Ok(shard) =
                LoadOptions::new().limits(job.limits.clone()).open_source(source.clone())
        {
            job.after_storages(&shard, file);
        }
        return;
    }
    // torch.load unpickles whatever is neither a zip nor a tar file, be it called what it may.
    if file.end.is_none() && is_looked_at(&begins, "") {
        match source.bytes() {
            Ok(bytes) => content(bytes, "", file, job, false),
            Err(error) => job.unreadable(&error, file),
        }
    }
}

fn archive(directory: &Directory, file: &mut File, job: &mut Job<'_>) {
    let entries = directory.entries();
    let oldest = file.dialect == Dialect::TorchScript
        && entries.iter().any(|entry| inner(directory, entry) == "model.json");
    file.has_objects =
        entries.iter().any(|entry| inner(directory, entry).eq_ignore_ascii_case("data.pkl"));
    container(directory, file, job);
    let mut seen: FxHashSet<String> = FxHashSet::default();
    // Pickles first: they say which of the other members hold numbers.
    for entry in entries.iter().filter(|entry| is_pickle(directory, entry)) {
        member(directory, entry, oldest, &mut seen, file, job);
    }
    for entry in entries {
        let numbers = is_storage(&inner(directory, entry), &file.storages);
        if !numbers && !is_pickle(directory, entry) {
            member(directory, entry, oldest, &mut seen, file, job);
        }
    }
}

/// Looks at the archive's tables, and at the checksums of records that are no numbers.
fn container(directory: &Directory, file: &File, job: &mut Job<'_>) {
    let data = |entry: &Entry| {
        entry.size() <= LONGEST_PACKED && !is_storage(&inner(directory, entry), &file.storages)
    };
    let report = match job.sparse {
        true => verify_sparsely(directory, data),
        false => verify_part(directory, data, |_| {}),
    };
    job.sink.unread_headers += report.unread_headers;
    for found in report.findings.into_iter().filter(|found| found.severity == Severity::Error) {
        let entry = found.record.as_deref().map(shortened).unwrap_or_default();
        let mut finding =
            Finding::new(Rule::Container, &entry, shortened(&found.message)).at(found.offset);
        finding.file.clone_from(&file.name);
        job.sink.add(finding);
    }
}

/// Whether a member is called one.
fn is_pickle(directory: &Directory, entry: &Entry) -> bool {
    directory.raw_name(entry).ends_with(b"pkl")
}

fn member(
    directory: &Directory,
    entry: &Entry,
    oldest: bool,
    seen: &mut FxHashSet<String>,
    file: &mut File,
    job: &mut Job<'_>,
) {
    if entry.size() == 0 {
        return;
    }
    let name = shortened(&directory.display_name(entry));
    // Of two records of one name the loader read the first, if any.
    let first = seen.insert(name.clone());
    if file.read.contains(&name) && first {
        return;
    }
    let within = file.name.clone();
    let add = |rule, reason: String, job: &mut Job<'_>| {
        let mut finding = Finding::new(rule, &name, reason).at(entry.header_offset());
        finding.file.clone_from(&within);
        job.sink.add(finding);
    };
    if entry.method() != Method::Stored && entry.size() > LONGEST_PACKED {
        let reason = format!("it is packed and takes {} bytes", entry.size());
        return add(Rule::NotRead, reason, job);
    }
    // Members may lie over each other, so their sizes come to any number.
    if !job.look_at(entry.size()) {
        return add(
            Rule::NotRead,
            "the members come to more than a scan looks into".to_owned(),
            job,
        );
    }
    // zipfile, 7-Zip and others read members that PyTorch refuses, and by other tables.
    for reading in directory.other_readings(entry) {
        if !job.look_at(reading.len() as u64) {
            return add(
                Rule::NotRead,
                "its readings come to more than a scan looks into".to_owned(),
                job,
            );
        }
        content(&reading, &name, file, job, false);
    }
    let bytes = match directory.bytes(entry) {
        Ok(bytes) => bytes,
        Err(error) => return add(Rule::Unreadable, shortened(error.message()), job),
    };
    let inside = inner(directory, entry);
    if file.dialect == Dialect::TorchScript {
        let certain = inside.starts_with("code/") && inside.ends_with(".py");
        // The oldest archives name their sources in `model.json`, wherever they are.
        let may_be = oldest && !inside.starts_with("extra/");
        if (certain || may_be)
            && let Ok(text) = std::str::from_utf8(&bytes)
        {
            program::examine(text, &name, certain, job.sink);
        }
    }
    if matches!(file.kind, FileKind::Pt2 | FileKind::AotInductor | FileKind::ExecuTorch) {
        // The layout before 2.8 has no folder.
        let plain = shortened(&directory.display_name(entry));
        match exported::role(&inside, &plain) {
            exported::Role::Program => return exported::program(&bytes, &name, file, job),
            exported::Role::Native => return exported::native(&name, file, job),
            exported::Role::Other => {}
        }
    }
    if inside.eq_ignore_ascii_case("bytecode.pkl") {
        bytecode(&bytes, &name, job);
    }
    content(&bytes, &name, file, job, is_named(&name));
}

/// The name without the folder that all records of PyTorch's archives lie in.
fn inner<'d>(directory: &'d Directory, entry: &Entry) -> Cow<'d, str> {
    let name = directory.raw_name(entry);
    let folder = name.iter().position(|&byte| byte == b'/').map_or(0, |slash| slash + 1);
    String::from_utf8_lossy(&name[folder..])
}

/// Whether a member is the record of a storage that a pickle names: it holds numbers, and no loader
/// unpickles it.
fn is_storage(inside: &str, storages: &FxHashSet<String>) -> bool {
    inside.split_once('/').is_some_and(|(folder, key)| {
        matches!(folder, "data" | "constants" | "tensors") && storages.contains(key)
    })
}

/// The operators that a mobile program names.
fn bytecode(bytes: &[u8], name: &str, job: &mut Job<'_>) {
    let ran = Ran::new(bytes);
    let arena = ran.machine.arena();
    for value in arena.values() {
        if let Node::Str(text) = arena.node(value) {
            program::operator_name(text, arena.offset(value), name, job.sink);
        }
    }
}

/// Looks at a member by its content. `certain` says that it should be a pickle.
fn content(bytes: &[u8], name: &str, file: &mut File, job: &mut Job<'_>, certain: bool) {
    if bytes.starts_with(ZIP) {
        if bytes.len() > LONGEST_NESTED {
            let reason = format!("a zip file of {} bytes within the file", bytes.len());
            let mut finding = Finding::new(Rule::NotRead, name, reason);
            finding.file.clone_from(&file.name);
            job.sink.add(finding);
            return;
        }
        job.nested(bytes.to_vec(), name, None, file.name.as_deref());
        return;
    }
    if bytes.starts_with(NPY) {
        npy(bytes, name, file, job);
        return;
    }
    if packed::begins(bytes) {
        match packed::unpacked(bytes) {
            Some(unpacked) if may_begin_pickle(&unpacked) => {
                file.unpacked = true;
                job.nested(unpacked, name, None, file.name.as_deref());
            }
            // Numbers, or text, that begin so by chance.
            _ => {}
        }
    }
    if certain || may_begin_pickle(bytes) {
        job.pickle(bytes, name, 0, file, certain);
    }
}

fn is_named(name: &str) -> bool {
    name.ends_with(".pkl") || name.ends_with(".debug_pkl")
}

/// Whether there is something in a member to look at, by how it begins.
fn is_looked_at(bytes: &[u8], name: &str) -> bool {
    bytes.starts_with(ZIP)
        || bytes.starts_with(NPY)
        || is_named(name)
        || packed::begins(bytes)
        || may_begin_pickle(bytes)
}

/// A numpy array: where its elements are Python objects, they are a pickle.
fn npy(bytes: &[u8], name: &str, file: &mut File, job: &mut Job<'_>) {
    let Ok((start, header)) = read_npy_header(bytes) else { return };
    // The type code of objects is the only capital O that a header has, but for names of fields.
    if !header.contains('O') {
        return;
    }
    let start = start + header.len();
    file.object_arrays = true;
    let reason = "its elements are Python objects, which numpy.load(allow_pickle=True) unpickles";
    let mut finding = Finding::new(Rule::ObjectArray, name, reason).at(start as u64);
    finding.file.clone_from(&file.name);
    job.sink.add(finding);
    job.pickle(&bytes[start..], name, start as u64, file, true);
}
