//! From a file to a report: the pickles that the loader reads first, then everything beside them.

mod exported;
mod members;

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use rustc_hash::FxHashSet;
use sconce_archive::Archive;
use sconce_checkpoint::{
    Checkpoint, Error, ErrorKind, FileKind, LoadOptions, Observer, Seen, identify,
};
use sconce_source::{Bytes, Limits, Source};

use crate::joblib;
use crate::pickle::{self, Dialect, Held, Pickle, Ran};
use crate::report::{Finding, Report, Rule, Sink, Verdict, shortened};

/// Levels of files within files that are looked into.
const MOST_LEVELS: usize = 4;
/// Bytes of nested files that are looked into, and for each byte of the file itself.
const NESTED_BYTES: u64 = 256 << 20;
const NESTED_BYTES_PER_BYTE: u64 = 2;
/// Pickles behind the end of a pickle that are looked at.
const MOST_TRAILING: usize = 1000;

/// Scans a file that nobody else opens.
pub fn scan(source: &Source, limits: &Limits) -> Report {
    scan_nested(source, limits, 0, &mut Budget::new(source))
}

pub(crate) fn scan_nested(
    source: &Source,
    limits: &Limits,
    level: usize,
    budget: &mut Budget,
) -> Report {
    let scanner = Scanner::new();
    let options = LoadOptions::new().limits(limits.clone()).keep_going(true);
    let opened = options.observer(scanner.observer()).open_source(source.clone());
    scanner.conclude(source, opened.as_ref(), limits, level, budget)
}

/// How many bytes of files within files may still be looked into.
pub(crate) struct Budget(u64);

impl Budget {
    fn new(source: &Source) -> Budget {
        Budget(source.len().saturating_mul(NESTED_BYTES_PER_BYTE).saturating_add(NESTED_BYTES))
    }

    fn take(&mut self, bytes: u64) -> bool {
        let left = self.0.checked_sub(bytes);
        self.0 = left.unwrap_or(0);
        left.is_some()
    }
}

/// Observes what a loader reads of a file, and then says what is to be thought of it.
///
/// ```
/// use sconce_checkpoint::LoadOptions;
/// use sconce_scan::{Scanner, Verdict};
/// use sconce_source::{Limits, Source};
///
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/digits.ckpt");
/// let source = Source::open(path)?;
/// let scanner = Scanner::new();
/// let opened = LoadOptions::new().observer(scanner.observer()).open_source(source.clone());
/// let report = scanner.finish(&source, opened.as_ref(), &Limits::default());
/// assert_eq!(report.verdict, Verdict::Clean);
/// # Ok::<(), sconce_source::Error>(())
/// ```
#[derive(Debug, Default)]
pub struct Scanner {
    watch: Arc<Watch>,
    sparse: bool,
}

impl Scanner {
    /// A scanner that has seen nothing yet.
    pub fn new() -> Scanner {
        Scanner::default()
    }

    /// What is told of the pickles that a loader reads: for
    /// [`LoadOptions::observer`](sconce_checkpoint::LoadOptions::observer).
    pub fn observer(&self) -> Arc<dyn Observer> {
        Arc::clone(&self.watch) as Arc<dyn Observer>
    }

    /// Of a file in a store, does not ask for the header of each record of numbers that lies as PyTorch lays records
    /// out. [`Report::unread_headers`] says how many were left out.
    pub fn sparse(mut self) -> Scanner {
        self.sparse = true;
        self
    }

    /// Looks at what the loader did not read, and says what is to be thought of the file. `opened` is what
    /// the loader made of it.
    pub fn finish(
        self,
        source: &Source,
        opened: Result<&Checkpoint, &Error>,
        limits: &Limits,
    ) -> Report {
        self.conclude(source, opened, limits, 0, &mut Budget::new(source))
    }

    fn conclude(
        self,
        source: &Source,
        opened: Result<&Checkpoint, &Error>,
        limits: &Limits,
        level: usize,
        budget: &mut Budget,
    ) -> Report {
        let state = std::mem::take(&mut *self.watch.lock());
        let State { mut sink, mut files, nested, trailing } = state;
        if files.is_empty() {
            files.push(File::new(source, identify(source).kind, true));
        }
        let kind = files[0].kind;
        let mut job = Job { sink: &mut sink, limits, level, budget, sparse: self.sparse };
        for Nested { file, entry, offset, bytes } in nested {
            job.nested(bytes, &entry, Some(offset), file.as_deref());
        }
        for Trailing { file, entry, start, bytes } in trailing {
            job.after_stop(&bytes, &entry, start, &files[file]);
        }
        for file in &mut files {
            members::examine(file, &mut job);
        }
        job.opened(kind, opened, &files);
        sink.finish(kind)
    }
}

/// What is scanned, and where what is found goes.
pub(crate) struct Job<'j> {
    pub(crate) sink: &'j mut Sink,
    pub(crate) limits: &'j Limits,
    level: usize,
    budget: &'j mut Budget,
    /// Whether headers of numbers are left out.
    pub(crate) sparse: bool,
}

impl Job<'_> {
    /// Whether so many bytes more may be looked at.
    pub(crate) fn look_at(&mut self, bytes: u64) -> bool {
        self.budget.take(bytes)
    }

    /// Scans a file that stands within another one.
    pub(crate) fn nested(
        &mut self,
        bytes: Vec<u8>,
        entry: &str,
        offset: Option<u64>,
        file: Option<&str>,
    ) {
        let place = match offset {
            Some(offset) => format!("{entry} @ {offset:#x}"),
            None => entry.to_owned(),
        };
        if self.level >= MOST_LEVELS || !self.budget.take(bytes.len() as u64) {
            let reason = "files are nested deeper, or hold more, than a scan looks into";
            let mut finding = Finding::new(Rule::NotRead, &place, reason);
            finding.file = file.map(str::to_owned);
            self.sink.add(finding);
            return;
        }
        let source = Source::from_vec(place.clone(), bytes);
        let mut report = scan_nested(&source, self.limits, self.level + 1, self.budget);
        for finding in &mut report.findings {
            finding.file = file.map(str::to_owned);
        }
        self.sink.nest(report, &place);
    }

    /// Looks at what may be a pickle that the loader does not read. `certain` says that it should be one.
    pub(crate) fn pickle(
        &mut self,
        bytes: &[u8],
        entry: &str,
        start: u64,
        file: &mut File,
        certain: bool,
    ) {
        let ran = Ran::new(bytes);
        if !certain && !ran.is_plausible(bytes) {
            return;
        }
        let pickle = Pickle {
            arena: ran.machine.arena(),
            bytes,
            entry,
            start,
            file: file.name.as_deref(),
            dialect: file.dialect,
        };
        let read = examine(pickle, ran.error.as_ref(), self.sink);
        file.storages.extend(read.held.storages);
        self.unpickled(read.held.nested, entry, file);
        let plain = ran.error.is_none().then(|| ran.machine.position());
        if let Some(end) = read.end.or(plain) {
            self.after_stop(&bytes[end..], entry, start + end as u64, file);
        }
    }

    /// Looks at the pickles that unpickling a pickle unpickles.
    fn unpickled(&mut self, nested: Vec<(u64, Vec<u8>)>, entry: &str, file: &File) {
        for (offset, bytes) in nested {
            self.nested(bytes, entry, Some(offset), file.name.as_deref());
        }
    }

    /// Looks at what follows the STOP of a pickle: more pickles, as far as they go.
    pub(crate) fn after_stop(&mut self, rest: &[u8], entry: &str, start: u64, file: &File) {
        if rest.trim_ascii().is_empty() {
            return;
        }
        let (mut at, mut pickles) = (0, 0);
        while pickles < MOST_TRAILING && at < rest.len() {
            let bytes = &rest[at..];
            if !pickle::may_begin_pickle(bytes) {
                break;
            }
            let ran = Ran::new(bytes);
            if !ran.is_plausible(bytes) {
                break;
            }
            pickles += 1;
            let pickle = Pickle {
                arena: ran.machine.arena(),
                bytes,
                entry,
                start: start + at as u64,
                file: file.name.as_deref(),
                dialect: file.dialect,
            };
            let held = pickle::examine(pickle, self.sink);
            self.unpickled(held.nested, entry, file);
            if ran.error.is_some() {
                break;
            }
            at += ran.machine.position();
        }
        let what = match pickles {
            0 => "no pickle".to_owned(),
            1 => "another pickle, which is read only by who asks for it".to_owned(),
            n => format!("{n} more pickles, which are read only by who asks for them"),
        };
        let reason = format!("{} bytes behind the pickle's end: {what}", rest.len());
        let mut finding = Finding::new(Rule::AfterStop, entry, reason).at(start);
        finding.file.clone_from(&file.name);
        self.sink.add(finding);
    }

    /// Looks at what follows the storages of a legacy stream.
    pub(crate) fn after_storages(&mut self, checkpoint: &Checkpoint, file: &File) {
        let len = file.source.len();
        let start = len.saturating_sub(checkpoint.info().trailing_bytes);
        match file.source.slice(start..len) {
            Ok(bytes) => {
                let bytes = bytes.unwrap_or_else(|| Vec::new().into());
                self.after_stop(&bytes, "trailing bytes", start, file);
            }
            Err(error) => self.unreadable(&error, file),
        }
    }

    /// Says that a file could not be read, which is far away.
    pub(crate) fn unreadable(&mut self, error: &sconce_source::Error, file: &File) {
        let mut finding = Finding::new(Rule::Unreadable, "", shortened(&error.to_string()));
        finding.file.clone_from(&file.name);
        self.sink.add(finding);
    }

    /// What the loader made of the file.
    fn opened(&mut self, kind: FileKind, opened: Result<&Checkpoint, &Error>, files: &[File]) {
        let error = match opened {
            Ok(checkpoint) => {
                for problem in checkpoint.problems() {
                    self.sink.add(from_error(Rule::DamagedValue, problem));
                }
                if kind == FileKind::Legacy {
                    self.after_storages(checkpoint, &files[0]);
                }
                if checkpoint.format() == FileKind::MobileFlatbuffer {
                    let reason = "a flatbuffer for mobile devices, of which only what its tables lead to is looked at";
                    self.sink.add(Finding::new(Rule::OtherFormat, "", reason));
                }
                return;
            }
            Err(error) => error,
        };
        // Objects of the oldest TorchScript archives are made by their program, which was looked at.
        let by_program = kind == FileKind::TorchScript
            && error.kind() == ErrorKind::Unsupported
            && !files[0].has_objects;
        // Arrays of objects are no tensors; what they hold was looked at.
        let objects = matches!(kind, FileKind::Npy | FileKind::Npz)
            && files.iter().any(|file| file.object_arrays);
        // The pickle that broke off has said so itself.
        let said = self.sink.has(|finding| {
            matches!(finding.rule, Rule::BrokenPickle | Rule::ComputedName)
                && finding.offset == error.offset()
        });
        // Which of several models is meant is for the caller to say; the programs of all were looked at.
        let several = kind == FileKind::Pt2 && error.kind() == ErrorKind::Caller;
        // Its arrays are for joblib to read; what it names was looked at.
        let joblib = kind == FileKind::Pickle && files[0].arrays_within;
        if by_program || objects || said || several || joblib {
            return;
        }
        let rule = match error.kind() {
            ErrorKind::NotACheckpoint if members::are_read(kind) || files[0].unpacked => {
                Rule::OtherFormat
            }
            ErrorKind::NotACheckpoint => Rule::NotACheckpoint,
            _ => Rule::Unreadable,
        };
        self.sink.add(from_error(rule, error));
    }
}

fn from_error(rule: Rule, error: &Error) -> Finding {
    let entry = error.record().unwrap_or_default();
    let mut finding = Finding::new(rule, entry, shortened(error.message()));
    finding.offset = error.offset();
    finding
}

/// A file that the loader opened.
#[derive(Debug)]
pub(crate) struct File {
    pub(crate) source: Source,
    pub(crate) kind: FileKind,
    /// The directory, where the loader has read one.
    pub(crate) archive: Option<Arc<Archive>>,
    pub(crate) dialect: Dialect,
    /// Its name, where it is a shard.
    pub(crate) name: Option<String>,
    /// Records that the loader read as pickles.
    pub(crate) read: FxHashSet<String>,
    /// Keys of storages that its pickles name.
    pub(crate) storages: FxHashSet<String>,
    /// Whether it has a record `data.pkl`.
    pub(crate) has_objects: bool,
    /// Whether numpy arrays of objects were found in it.
    pub(crate) object_arrays: bool,
    /// Whether it is a pickle that is packed as a whole, which was looked into.
    pub(crate) unpacked: bool,
    /// Whether it is a pickle of joblib, with the numbers of arrays between its opcodes.
    pub(crate) arrays_within: bool,
    /// Where the last pickle of a stream ended.
    pub(crate) end: Option<u64>,
}

impl File {
    fn new(source: &Source, kind: FileKind, root: bool) -> File {
        let dialect = match kind {
            FileKind::TorchScript => Dialect::TorchScript,
            _ => Dialect::Python,
        };
        let path = source.path().and_then(|path| path.file_name());
        let name = path.map_or(source.name().into(), |name| name.to_string_lossy());
        File {
            source: source.clone(),
            kind,
            archive: None,
            dialect,
            name: (!root).then(|| name.into_owned()),
            read: FxHashSet::default(),
            storages: FxHashSet::default(),
            has_objects: false,
            object_arrays: false,
            unpacked: false,
            arrays_within: false,
            end: None,
        }
    }
}

/// A pickle within a pickle.
struct Nested {
    file: Option<String>,
    entry: String,
    offset: u64,
    bytes: Vec<u8>,
}

/// What follows a pickle that nothing should follow, in which of the files.
struct Trailing {
    file: usize,
    entry: String,
    start: u64,
    bytes: Bytes,
}

/// What was seen so far. What is nested and what follows is looked at when the loader is done: how deep
/// that goes is counted there.
#[derive(Default)]
struct State {
    sink: Sink,
    files: Vec<File>,
    nested: Vec<Nested>,
    trailing: Vec<Trailing>,
}

/// The observer of the loader.
#[derive(Default)]
struct Watch {
    state: Mutex<State>,
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Watch")
    }
}

impl Watch {
    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What was seen in a pickle.
struct Read {
    held: Held,
    /// Where one ends that an unpickler of other programs reads further than Python's.
    end: Option<usize>,
}

/// Looks at a pickle that the machine ran as far as it goes.
fn examine(pickle: Pickle<'_>, error: Option<&sconce_pickle::Error>, sink: &mut Sink) -> Read {
    let arrays = joblib::has_arrays(pickle.arena);
    let followed = if arrays { joblib::follow(pickle.bytes) } else { None };
    let Some(joblib::Followed { ran, nested }) = followed else {
        let held = pickle::examine(pickle, sink);
        if let Some(error) = error {
            sink.add(pickle::broken(error, pickle));
        }
        return Read { held, end: None };
    };
    // Python's own unpickler goes on with the numbers of the first array as opcodes: what that would run counts, too.
    let mut plain = Sink::default();
    let mut held = pickle::examine(pickle, &mut plain);
    let findings = plain.finish(FileKind::Pickle).findings.into_iter();
    for finding in findings.filter(|finding| finding.severity() == Verdict::Dangerous) {
        sink.add(finding);
    }
    let followed = pickle::examine(Pickle { arena: ran.machine.arena(), ..pickle }, sink);
    held.storages.extend(followed.storages);
    held.nested.extend(followed.nested);
    held.nested.extend(nested.into_iter().map(|(at, bytes)| (pickle.start + at, bytes)));
    held.nested.sort();
    held.nested.dedup();
    Read { held, end: Some(ran.machine.position()) }
}

impl Observer for Watch {
    fn file(&self, source: &Source, kind: FileKind) {
        let mut state = self.lock();
        let root = state.files.is_empty();
        state.files.push(File::new(source, kind, root));
    }

    fn archive(&self, archive: &Arc<Archive>) {
        if let Some(file) = self.lock().files.last_mut() {
            file.archive = Some(Arc::clone(archive));
        }
    }

    fn pickle(&self, seen: &Seen<'_>) {
        let mut state = self.lock();
        let State { sink, files, nested, trailing } = &mut *state;
        let at = files.len().saturating_sub(1);
        let Some(file) = files.last_mut() else { return };
        let entry = shortened(seen.record);
        let pickle = Pickle {
            arena: seen.arena,
            bytes: seen.bytes,
            entry: &entry,
            start: seen.offset,
            file: file.name.as_deref(),
            dialect: file.dialect,
        };
        let read = examine(pickle, seen.error, sink);
        file.storages.extend(read.held.storages);
        for (offset, bytes) in read.held.nested {
            let file = file.name.clone();
            nested.push(Nested { file, entry: entry.clone(), offset, bytes });
        }
        file.arrays_within |= read.end.is_some();
        let error = seen.error.filter(|_| read.end.is_none());
        let consumed = read.end.unwrap_or(seen.consumed);
        let end = seen.offset + consumed as u64;
        file.end = Some(end);
        if !seen.alone {
            return;
        }
        file.read.insert(seen.record.to_owned());
        let rest = &seen.bytes[consumed..];
        // Of one that is far away, the loader has read no more than the pickle.
        let far = file.kind == FileKind::Pickle && file.source.in_memory().is_none();
        if error.is_some() || (rest.trim_ascii().is_empty() && !far) {
            return;
        }
        // A bare pickle is the file itself, of which nothing needs to be copied.
        let whole = file.source.len() == seen.bytes.len() as u64;
        let slice = if whole || far { file.source.slice(end..file.source.len()) } else { Ok(None) };
        let bytes = slice.unwrap_or_else(|error| {
            let mut finding = Finding::new(Rule::Unreadable, &entry, shortened(&error.to_string()));
            finding.file.clone_from(&file.name);
            sink.add(finding);
            None
        });
        let bytes = bytes.unwrap_or_else(|| rest.to_vec().into());
        trailing.push(Trailing { file: at, entry, start: end, bytes });
    }
}

/// See [`crate::what_begins`].
pub(crate) fn what_begins(bytes: &[u8]) -> Option<(String, Verdict)> {
    let is_tar = bytes.get(257..262) == Some(b"ustar");
    for (is, what) in [(bytes.starts_with(b"PK\x03\x04"), "a zip file"), (is_tar, "a tar file")] {
        if is {
            return Some((what.to_owned(), Verdict::Unknown));
        }
    }
    if !pickle::may_begin_pickle(bytes) {
        return None;
    }
    let ran = Ran::new(bytes);
    if !ran.is_plausible(bytes) {
        return None;
    }
    let (arena, dialect) = (ran.machine.arena(), Dialect::Python);
    let pickle = Pickle { arena, bytes, entry: "", start: 0, file: None, dialect };
    let mut sink = Sink::default();
    pickle::examine(pickle, &mut sink);
    let report = sink.finish(FileKind::Pickle);
    let finding = report.findings.first();
    let what = match finding.map(|finding| (finding.severity(), &finding.call, &finding.global)) {
        Some((Verdict::Dangerous, Some(call), _)) => format!("a pickle that calls {call}"),
        Some((_, _, Some(global))) => format!("a pickle that names {global}"),
        _ => "a pickle".to_owned(),
    };
    Some((what, report.verdict))
}
