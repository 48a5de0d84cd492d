//! `.debug_pkl`: which place of the original program each stretch of generated code came from.
//!
//! A record says: from this offset of the code file on, text came from that range of that source.
//! Sources are lists of lines of a table of strings (since PyTorch 1.10), or texts (before).

use std::hash::{Hash, Hasher};
use std::sync::{Arc, OnceLock};

use rustc_hash::{FxHashMap, FxHashSet};
use sconce_pickle::{Arena, Limits, Node, Value};
use sconce_source::Bytes;
use sconce_syntax::{Origin, Range, Source, SourceRange};

use crate::opcodes::{Opcodes, op};

/// What sources that PyTorch writes itself are called.
const WRITTEN: &str = "<string>";

/// What a pickle with a table of strings begins with.
const WITH_TABLE: &str = "FORMAT_WITH_STRING_TABLE";

/// Gives the bytes of a `.debug_pkl`, and what reading them may cost.
type Loader = Box<dyn Fn() -> Option<(Bytes, Limits)> + Send + Sync>;

/// What the texts of any records may take together, in bytes.
const FREE_TEXT: usize = 16 << 20;
/// What else they may take for each byte of their pickle. Sources that have lines in common share them.
const TEXT_PER_BYTE: usize = 64;

/// The records of one `.debug_pkl`, read when the first place is asked for. Records that cannot be
/// read are as good as none: code means the same without them.
pub(crate) struct DebugRecords {
    load: Loader,
    records: OnceLock<Vec<Record>>,
}

struct Record {
    offset: u32,
    range: SourceRange,
}

impl DebugRecords {
    pub(crate) fn lazy(load: Loader) -> Self {
        DebugRecords { load, records: OnceLock::new() }
    }

    fn records(&self) -> &[Record] {
        self.records.get_or_init(|| {
            (self.load)().and_then(|(bytes, limits)| read(&bytes, &limits)).unwrap_or_default()
        })
    }
}

impl Origin for DebugRecords {
    fn original(&self, offset: u32) -> Option<SourceRange> {
        let records = self.records();
        let after = records.partition_point(|record| record.offset <= offset);
        Some(records.get(after.checked_sub(1)?)?.range.clone())
    }
}

fn read(bytes: &[u8], limits: &Limits) -> Option<Vec<Record>> {
    let loaded = sconce_pickle::load(bytes, limits).ok()?;
    let arena = &loaded.arena;
    let root = arena.tuple(loaded.root)?;
    let (table, records) = match root {
        [format, table, records] if arena.str(*format) == Some(WITH_TABLE) => {
            let table = arena.tuple(*table)?.iter().map(|&text| arena.str(text));
            (Some(table.collect::<Option<Vec<&str>>>()?), arena.tuple(*records)?)
        }
        _ => (None, root),
    };
    let mut sources = FxHashMap::default();
    // A source is a list of lines of a table, and a list could name one long line a million times.
    let mut left = bytes.len().saturating_mul(TEXT_PER_BYTE).saturating_add(FREE_TEXT);
    let mut out = Vec::with_capacity(records.len());
    for &record in records {
        let [offset, range, ..] = arena.tuple(record)? else { return None };
        let offset = u32::try_from(int(arena, *offset)?).ok()?;
        let [source, start, end] = arena.tuple(*range)? else { return None };
        let source = match sources.get(source) {
            Some(known) => Arc::clone(known),
            None => {
                let read = read_source(arena, *source, table.as_deref(), &mut left)?;
                sources.insert(*source, Arc::clone(&read));
                read
            }
        };
        let start = u32::try_from(int(arena, *start)?).ok()?;
        let end = u32::try_from(int(arena, *end)?).ok()?;
        out.push(Record { offset, range: SourceRange::new(source, Range::new(start, end)) });
    }
    out.is_sorted_by_key(|record| record.offset).then_some(out)
}

/// A source. What was written where no source was known reads as an empty text in a file without
/// name, as in PyTorch.
fn read_source(
    arena: &Arena<'_>,
    value: Value,
    table: Option<&[&str]>,
    left: &mut usize,
) -> Option<Arc<Source>> {
    let [text, filename, line] = arena.tuple(value)? else { return None };
    let line = u32::try_from(int(arena, *line)?).ok()?;
    let Some(table) = table else {
        let text = arena.str(*text)?;
        *left = left.checked_sub(text.len())?;
        let mut source = Source::new(text).with_starting_line(line);
        if let Some(filename) = arena.str(*filename) {
            source = source.with_filename(filename);
        }
        return Some(Arc::new(source));
    };
    let Node::Call(call) = arena.node(*text) else { return None };
    let [lines] = arena.tuple(call.args)? else { return None };
    let Node::List(lines) = arena.node(*lines) else { return None };
    let entry = |value: Value| table.get(usize::try_from(int(arena, value)?).ok()?).copied();
    let mut text = String::new();
    for &line in lines {
        let line = entry(line)?;
        *left = left.checked_sub(line.len())?;
        text.push_str(line);
    }
    let source = Source::new(text).with_starting_line(line).with_filename(entry(*filename)?);
    Some(Arc::new(source))
}

fn int(arena: &Arena<'_>, value: Value) -> Option<i64> {
    match arena.node(value) {
        Node::Int(value) => Some(*value),
        _ => None,
    }
}

/// Writes the `.debug_pkl`s of one archive, whose records share a numbering.
#[derive(Default)]
pub(crate) struct DebugWriter {
    tags: FxHashMap<(usize, u32, u32), u32>,
    /// For a program that was compiled from Python, what stands for all sources of the same text and place: PyTorch
    /// makes one of them. What was read from an archive is a source of its own for each file.
    same: Option<FxHashSet<Content>>,
    /// What stands for a source met before, by where that is in memory, and the source, so that no other takes its
    /// place: its text, which may have a million lines, is hashed once and not for each range.
    standing: FxHashMap<usize, [Arc<Source>; 2]>,
    /// Sources met, by where they are in memory: kept so that no other takes their place.
    kept: FxHashMap<usize, Arc<Source>>,
}

/// A source by what it holds.
struct Content(Arc<Source>);

impl Content {
    fn parts(&self) -> (&str, Option<&str>, u32) {
        (self.0.text(), self.0.filename(), self.0.starting_line())
    }
}

impl PartialEq for Content {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.parts() == other.parts()
    }
}

impl Eq for Content {}

impl Hash for Content {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.parts().hash(state);
    }
}

impl DebugWriter {
    /// For a program that was compiled from Python.
    pub(crate) fn for_new_code() -> Self {
        DebugWriter { same: Some(FxHashSet::default()), ..Self::default() }
    }

    /// The source that stands for this one. Those that PyTorch writes itself it parses each time anew.
    fn representative(&mut self, source: &Arc<Source>) -> Arc<Source> {
        let Some(same) = &mut self.same else { return Arc::clone(source) };
        if source.filename() == Some(WRITTEN) {
            return Arc::clone(source);
        }
        let [_, standing] = self.standing.entry(key_of(source)).or_insert_with(|| {
            let content = Content(Arc::clone(source));
            let standing = match same.get(&content) {
                Some(known) => Arc::clone(&known.0),
                None => {
                    same.insert(content);
                    Arc::clone(source)
                }
            };
            [Arc::clone(source), standing]
        });
        Arc::clone(standing)
    }

    /// The pickle of one code file's records: offsets that grow, ranges that differ from the one
    /// before.
    pub(crate) fn pickle(&mut self, records: Vec<(u32, Option<SourceRange>)>) -> Vec<u8> {
        let mut merged: Vec<(u32, Option<SourceRange>)> = Vec::with_capacity(records.len());
        for (offset, range) in records {
            let range = range
                .map(|range| SourceRange::new(self.representative(&range.source), range.range));
            if merged.last().is_none_or(|(_, last)| *last != range) {
                merged.push((offset, range));
            }
        }
        let mut table = Table::default();
        table.index("");
        let mut sources: FxHashMap<usize, Vec<u32>> = FxHashMap::default();
        let mut filenames: FxHashMap<usize, u32> = FxHashMap::default();
        for (_, range) in &merged {
            let Some(range) = range else { continue };
            let source = &range.source;
            let key = key_of(source);
            self.kept.entry(key).or_insert_with(|| Arc::clone(source));
            if let std::collections::hash_map::Entry::Vacant(entry) = sources.entry(key) {
                let mut lines: Vec<u32> =
                    source.text().split_inclusive('\n').map(|line| table.index(line)).collect();
                if source.text().is_empty() || source.text().ends_with('\n') {
                    // What comes after the last line break is a line too, an empty one.
                    lines.push(0);
                }
                entry.insert(lines);
                filenames.insert(key, source.filename().map_or(0, |name| table.index(name)));
            }
        }
        let mut out = Opcodes::start();
        out.text(WITH_TABLE);
        let short = short_tuple(table.texts.len());
        if short.is_none() {
            out.byte(op::MARK);
        }
        for text in &table.texts {
            out.text(text);
        }
        out.byte(short.unwrap_or(op::TUPLE));
        out.put();
        let mut written: FxHashMap<usize, u32> = FxHashMap::default();
        let short = short_tuple(merged.len());
        if short.is_none() {
            out.byte(op::MARK);
        }
        for (offset, range) in &merged {
            out.int(i64::from(*offset));
            let (key, lines, filename, line, start, end) = match range {
                None => (0, &[][..], 0, 0, 0, 0),
                Some(SourceRange { source, range }) => {
                    let key = key_of(source);
                    let lines = sources.get(&key).map_or(&[][..], Vec::as_slice);
                    let filename = filenames.get(&key).copied().unwrap_or(0);
                    (key, lines, filename, source.starting_line(), range.start, range.end)
                }
            };
            match written.get(&key) {
                Some(&memo) => out.get(memo),
                None => {
                    out.int_list(lines.iter().copied().map(i64::from));
                    out.int(i64::from(filename));
                    out.int(i64::from(line));
                    out.byte(op::TUPLE3);
                    written.insert(key, out.put());
                }
            }
            out.int(i64::from(start));
            out.int(i64::from(end));
            out.byte(op::TUPLE3);
            let next = self.tags.len() as u32;
            let tag = *self.tags.entry((key, start, end)).or_insert(next);
            out.int(i64::from(tag));
            out.byte(op::TUPLE3);
        }
        out.byte(short.unwrap_or(op::TUPLE));
        out.put();
        out.ops(&[op::TUPLE3, op::STOP]);
        out.bytes
    }
}

/// What tells a source from others: where it is in memory. Nothing is at zero, which stands for no source.
fn key_of(source: &Arc<Source>) -> usize {
    Arc::as_ptr(source) as usize
}

/// The opcode of a tuple that needs no mark, if it is short enough to have one.
fn short_tuple(length: usize) -> Option<u8> {
    [op::EMPTY_TUPLE, op::TUPLE1, op::TUPLE2, op::TUPLE3].get(length).copied()
}

/// Strings, each once, by order of first use.
#[derive(Default)]
struct Table<'s> {
    texts: Vec<&'s str>,
    indexes: FxHashMap<&'s str, u32>,
}

impl<'s> Table<'s> {
    fn index(&mut self, text: &'s str) -> u32 {
        if let Some(&index) = self.indexes.get(text) {
            return index;
        }
        let index = self.texts.len() as u32;
        self.texts.push(text);
        self.indexes.insert(text, index);
        index
    }
}
