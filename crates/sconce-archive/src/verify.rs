//! Accounts for every byte of a zip file and lists what disagrees.

use std::fmt;
use std::ops::Range;

use crate::directory::{
    CENTRAL_SIGNATURE, DESCRIPTOR_SIGNATURE, END_LEN, END64_LEN, LOCAL_LEN, LOCATOR_LEN, u16_at,
    u32_at, u64_at,
};
use crate::{Directory, Entry};

use sconce_source::StreamReader;

/// Characters of a name that a message quotes.
const MAX_SHOWN: usize = 100;

/// How much a [`Finding`] matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Unusual, but every reader agrees on what the file holds.
    Note,
    /// Readers may disagree, or data is damaged.
    Error,
}

/// Something about a file that should not be so.
#[derive(Debug, Clone)]
pub struct Finding {
    /// How much it matters.
    pub severity: Severity,
    /// A stable name for the kind of finding, such as `crc-mismatch`.
    pub rule: &'static str,
    /// The record concerned, with its folder.
    pub record: Option<String>,
    /// Where in the file, in bytes.
    pub offset: u64,
    /// What is wrong.
    pub message: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}: {}", self.offset, self.message)
    }
}

/// What [`verify`] found.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Report {
    /// What disagrees, in file order.
    pub findings: Vec<Finding>,
    /// Records whose bytes were read and whose checksum agreed.
    pub checked: usize,
    /// Records that declare a checksum of 0 over non-empty data: written without checksums.
    pub unchecked: usize,
    /// Records whose header was not read: see [`verify_sparsely`].
    pub unread_headers: usize,
    /// Bytes of the file that belong to a record or to the zip format's own tables.
    pub accounted: u64,
    /// Bytes of the file.
    pub total: u64,
}

/// Reads every record and compares checksum, sizes, and local headers with the directory, then
/// accounts for every byte of the file. `progress` is told the bytes checked so far.
pub fn verify(directory: &Directory, progress: impl FnMut(u64)) -> Report {
    verify_part(directory, |_| true, progress)
}

/// As [`verify`], but of the records that `reads` refuses only the headers are looked at, not the data.
pub fn verify_part(
    directory: &Directory,
    reads: impl Fn(&Entry) -> bool,
    progress: impl FnMut(u64),
) -> Report {
    verify_entries(directory, reads, |_| true, progress)
}

/// As [`verify_part`], but of a file in a store, whose headers cost a request each: that of a record that `reads`
/// refuses is not read where the record fills its place as PyTorch lays records out.
pub fn verify_sparsely(directory: &Directory, reads: impl Fn(&Entry) -> bool) -> Report {
    let is_far = directory.source().store().is_some();
    let heads = |entry: &Entry| !is_far || reads(entry) || directory.whole_place(entry).is_none();
    verify_entries(directory, &reads, heads, |_| {})
}

fn verify_entries(
    directory: &Directory,
    reads: impl Fn(&Entry) -> bool,
    heads: impl Fn(&Entry) -> bool,
    mut progress: impl FnMut(u64),
) -> Report {
    read_headers_ahead(directory, &heads);
    let mut unread_headers = 0;
    let reader = StreamReader::new();
    let mut check = Check { directory, reader, findings: Vec::new(), spans: Vec::new() };
    let (mut checked, mut unchecked, mut done) = (0, 0, 0);
    let overlapping = overlapping(directory);
    for (entry, overlaps) in directory.entries().iter().zip(overlapping) {
        if !heads(entry) {
            unread_headers += 1;
            check.unread(entry);
            continue;
        }
        match check.entry(entry, overlaps || !reads(entry)) {
            Some(true) => checked += 1,
            Some(false) => unchecked += 1,
            None => {}
        }
        done += entry.compressed_size();
        progress(done);
    }
    check.duplicates();
    check.tables();
    let accounted = check.coverage();
    let mut findings = check.findings;
    findings.sort_by_key(|finding| finding.offset);
    let total = directory.source().len();
    Report { findings, checked, unchecked, unread_headers, accounted, total }
}

/// Of an archive that is far away, all headers are read at once, with the descriptors that may stand before them.
fn read_headers_ahead(directory: &Directory, heads: impl Fn(&Entry) -> bool) {
    const DESCRIPTOR: u64 = 24;
    let source = directory.source();
    if source.store().is_none() {
        return;
    }
    let headers = directory.entries().iter().filter(|entry| heads(entry)).map(|entry| {
        let at = entry.header_offset();
        let end = at.saturating_add(LOCAL_LEN + directory.raw_name(entry).len() as u64);
        at.saturating_sub(DESCRIPTOR)..end.min(source.len())
    });
    source.prefetch(&headers.collect::<Vec<_>>());
}

/// Which entries begin inside another one. Their bytes are not read again: a few kilobytes of
/// directory could have megabytes read a thousand times.
fn overlapping(directory: &Directory) -> Vec<bool> {
    let entries = directory.entries();
    let ranges = entries.iter().map(|entry| {
        directory.data_range(entry).map_or(0..0, |range| entry.header_offset()..range.end)
    });
    let mut order: Vec<(Range<u64>, usize)> = ranges.zip(0..).collect();
    order.sort_by_key(|(range, _)| (range.start, range.end));
    let mut out = vec![false; entries.len()];
    let mut end = 0;
    for (range, index) in order {
        out[index] = range.start < end;
        end = end.max(range.end);
    }
    out
}

/// As much of a name as fits a message; a file can have one of 64 KiB and thousands of findings.
fn shown(name: &str) -> String {
    let mut chars = name.chars();
    let mut out: String = chars.by_ref().take(MAX_SHOWN).collect();
    if chars.next().is_some() {
        out.push('…');
    }
    out
}

struct Check<'a> {
    directory: &'a Directory,
    reader: StreamReader,
    findings: Vec<Finding>,
    /// Bytes owned, and by what.
    spans: Vec<(Range<u64>, String)>,
}

impl Check<'_> {
    fn find(
        &mut self,
        severity: Severity,
        rule: &'static str,
        record: Option<String>,
        offset: u64,
        message: impl Into<String>,
    ) {
        self.findings.push(Finding { severity, rule, record, offset, message: message.into() });
    }

    /// Takes an entry for what the directory says.
    fn unread(&mut self, entry: &Entry) {
        if let Some(place) = self.directory.whole_place(entry) {
            self.spans.push((place, self.directory.display_name(entry).into_owned()));
        }
        if let Err(error) = self.directory.check_readable(entry) {
            let message = error.note().unwrap_or(error.message()).to_owned();
            let name = self.directory.display_name(entry).into_owned();
            self.find(Severity::Error, "unreadable", Some(name), entry.header_offset(), message);
        }
    }

    /// `Some(true)` when the checksum agreed, `Some(false)` when there is none to compare.
    fn entry(&mut self, entry: &Entry, unread: bool) -> Option<bool> {
        let directory = self.directory;
        let name = directory.display_name(entry).into_owned();
        let local = match directory.local_header(entry) {
            Ok(local) => local,
            Err(error) => {
                let at = error.offset().unwrap_or(entry.header_offset());
                let message = error.note().unwrap_or(error.message()).to_owned();
                self.find(Severity::Error, "no-local-header", Some(name), at, message);
                return None;
            }
        };
        let at = entry.header_offset();
        if local.name[..] != *directory.raw_name(entry) {
            let shown = shown(&String::from_utf8_lossy(&local.name));
            let message = format!("the local header names the record '{shown}'");
            self.find(Severity::Error, "name-differs", Some(name.clone()), at, message);
        }
        let central = directory.raw_record(entry);
        if local.method != u16_at(central, 10) {
            let message = format!(
                "the local header says method {}, the directory {}",
                local.method,
                u16_at(central, 10)
            );
            self.find(Severity::Error, "method-differs", Some(name.clone()), at, message);
        }
        if local.flags != entry.flags() {
            let message = format!(
                "the local header has flags {:#06x}, the directory {:#06x}",
                local.flags,
                entry.flags()
            );
            self.find(Severity::Error, "flags-differ", Some(name.clone()), at, message);
        }
        self.local_sizes(entry, &local, &name);
        let range = match directory.data_range(entry) {
            Ok(range) => range,
            Err(error) => {
                let message = error.note().unwrap_or(error.message()).to_owned();
                self.find(Severity::Error, "data-cut-short", Some(name), at, message);
                return None;
            }
        };
        let end = range.end + self.descriptor_len(entry, range.end);
        self.spans.push((at..end, name.clone()));
        if let Err(error) = directory.check_readable(entry) {
            let message = error.note().unwrap_or(error.message()).to_owned();
            self.find(Severity::Error, "unreadable", Some(name), at, message);
            return None;
        }
        if unread {
            return None;
        }
        let computed = match directory.computed_crc32_in(entry, &mut self.reader) {
            Ok(crc) => crc,
            Err(error) => {
                let message = match error.note() {
                    Some(detail) => format!("{}: {detail}", error.message()),
                    None => error.message().to_owned(),
                };
                self.find(Severity::Error, "damaged-data", Some(name), range.start, message);
                return None;
            }
        };
        if computed == entry.crc32() {
            return Some(true);
        }
        if entry.crc32() == 0 {
            return Some(false);
        }
        let message = format!(
            "checksum mismatch: the data's CRC-32 is {computed:08x}, declared {:08x}",
            entry.crc32()
        );
        self.find(Severity::Error, "crc-mismatch", Some(name), range.start, message);
        None
    }

    /// Without a data descriptor, the local header states sizes and checksum too.
    fn local_sizes(&mut self, entry: &Entry, local: &crate::directory::LocalHeader, name: &str) {
        let descriptor = local.flags & 0x0008 != 0;
        let zip64 = local.size == u32::MAX || local.compressed_size == u32::MAX;
        if descriptor || zip64 {
            return;
        }
        let differs = u64::from(local.size) != entry.size()
            || u64::from(local.compressed_size) != entry.compressed_size()
            || local.crc32 != entry.crc32();
        if differs {
            let message = format!(
                "the local header says {} bytes from {}, CRC {:08x}; the directory {} from {}, CRC \
                 {:08x}",
                local.size,
                local.compressed_size,
                local.crc32,
                entry.size(),
                entry.compressed_size(),
                entry.crc32()
            );
            let at = entry.header_offset();
            self.find(Severity::Error, "sizes-differ", Some(name.to_owned()), at, message);
        }
    }

    /// Length of the data descriptor at `at`, 0 when there is none that fits the entry.
    fn descriptor_len(&self, entry: &Entry, at: u64) -> u64 {
        if entry.flags() & 0x0008 == 0 {
            return 0;
        }
        let read = |len: u64| self.directory.source().slice(at..at.saturating_add(len));
        for (len, signed, wide) in
            [(24, true, true), (16, true, false), (20, false, true), (12, false, false)]
        {
            let Ok(Some(bytes)) = read(len) else { continue };
            let skip = if signed { 4 } else { 0 };
            if signed && bytes[..4] != DESCRIPTOR_SIGNATURE {
                continue;
            }
            let sizes = if wide {
                (u64_at(&bytes, skip + 4), u64_at(&bytes, skip + 12))
            } else {
                (u64::from(u32_at(&bytes, skip + 4)), u64::from(u32_at(&bytes, skip + 8)))
            };
            let same_crc = u32_at(&bytes, skip) == entry.crc32();
            if same_crc && sizes == (entry.compressed_size(), entry.size()) {
                return len;
            }
        }
        0
    }

    fn duplicates(&mut self) {
        let directory = self.directory;
        let mut order: Vec<&Entry> = directory.entries().iter().collect();
        order.sort_by_key(|entry| (directory.raw_name(entry), entry.index()));
        for pair in order.windows(2) {
            if directory.raw_name(pair[0]) == directory.raw_name(pair[1]) {
                let name = directory.display_name(pair[1]).into_owned();
                let message = format!(
                    "a second record of this name; the first is at {:#x} (PyTorch reads the first, \
                     other tools the last)",
                    pair[0].header_offset()
                );
                let at = pair[1].header_offset();
                self.find(Severity::Error, "duplicate-name", Some(name), at, message);
            }
        }
    }

    fn tables(&mut self) {
        let ends = self.directory.ends.clone();
        self.spans.push((ends.directory, "central directory".to_owned()));
        if let Some(at) = ends.end64 {
            self.spans.push((at..at + END64_LEN, "zip64 end record".to_owned()));
            let locator = ends.end - LOCATOR_LEN..ends.end;
            self.spans.push((locator, "zip64 locator".to_owned()));
        }
        self.spans.push((ends.end..ends.end + END_LEN, "end record".to_owned()));
        if !ends.comment.is_empty() {
            let len = ends.comment.end - ends.comment.start;
            let message = format!("a comment of {len} bytes");
            self.find(Severity::Note, "comment", None, ends.comment.start, message);
            self.spans.push((ends.comment, "comment".to_owned()));
        }
    }

    /// Bytes owned by exactly one span; reports gaps and overlaps.
    fn coverage(&mut self) -> u64 {
        let mut spans = std::mem::take(&mut self.spans);
        spans.sort_by_key(|(range, _)| (range.start, range.end));
        let total = self.directory.source().len();
        let (mut at, mut owner, mut accounted) = (0u64, "", 0u64);
        for (range, name) in &spans {
            if range.start > at {
                self.gap(at..range.start);
            }
            if range.start < at && !range.is_empty() {
                let message = format!("'{}' overlaps '{}'", shown(name), shown(owner));
                self.find(Severity::Error, "overlap", Some(name.clone()), range.start, message);
            }
            if range.end > at {
                accounted += range.end - range.start.max(at);
                at = range.end;
                owner = name;
            }
        }
        if at < total {
            self.gap(at..total);
        }
        accounted
    }

    fn gap(&mut self, range: Range<u64>) {
        let len = range.end - range.start;
        let bytes = self.directory.source().slice(range.clone()).ok().flatten();
        let mut empty = bytes.is_some();
        if let Some(bytes) = &bytes {
            let look = |part: &[u8]| {
                empty &= part.iter().all(|&byte| byte == 0);
                Ok::<(), sconce_source::Error>(())
            };
            empty &= self.reader.parts(self.directory.source(), bytes, look).is_ok();
        }
        let hidden = bytes.is_some_and(|bytes| {
            bytes.starts_with(&CENTRAL_SIGNATURE) || bytes.starts_with(b"PK\x03\x04")
        });
        let what = match (empty, hidden) {
            (true, _) => "zero bytes",
            (_, true) => "bytes that begin like a zip record",
            _ => "bytes",
        };
        let severity = if empty { Severity::Note } else { Severity::Error };
        let message = format!("{len} {what} that belong to no record");
        self.find(severity, "unowned-bytes", None, range.start, message);
    }
}
