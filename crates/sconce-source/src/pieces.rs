//! A store and what was read of it.

use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use crate::ReadAt;

/// Longer ranges are not remembered.
const LONGEST_KEPT: u64 = 1 << 20;
/// As many ranges are read at a time that are read ahead.
const AT_A_TIME: usize = 8;
/// As many bytes are remembered.
const MOST_KEPT: u64 = 64 << 20;

/// A store, the small pieces of it that were read, and all of it where somebody wanted that.
pub(crate) struct Stored {
    store: Box<dyn ReadAt>,
    len: u64,
    pieces: Mutex<Pieces>,
    whole: OnceLock<Vec<u8>>,
    /// Held by who reads the whole.
    reading: Mutex<()>,
}

/// Pieces that do not overlap, by where they begin.
#[derive(Default)]
struct Pieces {
    by_start: BTreeMap<u64, Vec<u8>>,
    kept: u64,
}

impl Stored {
    pub(crate) fn new(store: Box<dyn ReadAt>) -> Stored {
        let len = store.len();
        let (pieces, whole, reading) = Default::default();
        Stored { store, len, pieces, whole, reading }
    }

    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    pub(crate) fn store(&self) -> &dyn ReadAt {
        &*self.store
    }

    /// All bytes, if they were read.
    pub(crate) fn known_whole(&self) -> Option<&[u8]> {
        self.whole.get().map(Vec::as_slice)
    }

    /// All bytes.
    pub(crate) fn whole(&self) -> io::Result<&[u8]> {
        let _reading = self.reading.lock().unwrap_or_else(PoisonError::into_inner);
        if self.whole.get().is_none() {
            let mut data = zeros(self.len)?;
            self.store.read_at(0, &mut data)?;
            // Nobody else sets it: the lock is held.
            let _ = self.whole.set(data);
        }
        Ok(self.whole.get().map_or(&[], Vec::as_slice))
    }

    /// Reads ranges that are going to be asked for, some at a time, and those together that lie close to each
    /// other. What cannot be read is an error when it is asked for.
    pub(crate) fn prefetch(&self, ranges: &[Range<u64>]) {
        if self.known_whole().is_some() {
            return;
        }
        let wanted = self.unknown(ranges);
        let (next, read) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
        std::thread::scope(|scope| {
            for _ in 0..AT_A_TIME.min(wanted.len()) {
                scope.spawn(|| {
                    while let Some(range) = wanted.get(next.fetch_add(1, Ordering::Relaxed)) {
                        let Ok(mut piece) = zeros(range.end - range.start) else { return };
                        if self.store.read_at(range.start, &mut piece).is_err() {
                            return;
                        }
                        let mut read = read.lock().unwrap_or_else(PoisonError::into_inner);
                        read.push((range.start, piece));
                    }
                });
            }
        });
        let mut pieces = self.pieces.lock().unwrap_or_else(PoisonError::into_inner);
        for (start, mut piece) in read.into_inner().unwrap_or_else(PoisonError::into_inner) {
            // Another thread may have read some of it.
            let next = pieces.by_start.range(start..).next().map_or(self.len, |(next, _)| *next);
            if pieces.at(start).is_none() && next > start {
                piece.truncate((next - start) as usize);
                pieces.keep(start, piece);
            }
        }
    }

    /// What is not known of some ranges, together where little lies between.
    fn unknown(&self, ranges: &[Range<u64>]) -> Vec<Range<u64>> {
        let pieces = self.pieces.lock().unwrap_or_else(PoisonError::into_inner);
        let mut sorted: Vec<Range<u64>> = ranges
            .iter()
            .filter(|range| range.start < range.end && range.end <= self.len)
            .filter(|range| range.end - range.start <= LONGEST_KEPT)
            .filter(|range| pieces.at(range.start).is_none())
            .cloned()
            .collect();
        sorted.sort_unstable_by_key(|range| (range.start, range.end));
        let near = self.store.read_ahead();
        let mut out: Vec<Range<u64>> = Vec::new();
        for range in sorted {
            match out.last_mut() {
                Some(last)
                    if range.start <= last.end.saturating_add(near)
                        && range.end.max(last.end) - last.start <= LONGEST_KEPT =>
                {
                    last.end = last.end.max(range.end);
                }
                _ => out.push(range),
            }
        }
        out
    }

    /// The bytes of a range that lies inside.
    pub(crate) fn read(&self, range: Range<u64>) -> io::Result<Vec<u8>> {
        let wanted = range.end - range.start;
        if let Some(whole) = self.known_whole() {
            return Ok(whole[range.start as usize..range.end as usize].to_vec());
        }
        if wanted > LONGEST_KEPT {
            let mut data = zeros(wanted)?;
            self.store.read_at(range.start, &mut data)?;
            return Ok(data);
        }
        let mut pieces = self.pieces.lock().unwrap_or_else(PoisonError::into_inner);
        let mut data = Vec::with_capacity(wanted as usize);
        while range.start + (data.len() as u64) < range.end {
            let at = range.start + data.len() as u64;
            let left = range.end - at;
            if let Some(known) = pieces.at(at) {
                data.extend_from_slice(&known[..known.len().min(left as usize)]);
                continue;
            }
            let next = pieces.by_start.range(at..).next().map_or(self.len, |(start, _)| *start);
            let end = at.saturating_add(left.max(self.store.read_ahead().min(LONGEST_KEPT)));
            let mut piece = zeros(end.min(next) - at)?;
            self.store.read_at(at, &mut piece)?;
            data.extend_from_slice(&piece[..piece.len().min(left as usize)]);
            pieces.keep(at, piece);
        }
        Ok(data)
    }
}

impl Pieces {
    /// What is known from `at` on.
    fn at(&self, at: u64) -> Option<&[u8]> {
        let (start, piece) = self.by_start.range(..=at).next_back()?;
        piece.get((at - start) as usize..).filter(|rest| !rest.is_empty())
    }

    fn keep(&mut self, start: u64, piece: Vec<u8>) {
        self.kept += piece.len() as u64;
        if self.kept > MOST_KEPT {
            self.by_start.clear();
            self.kept = piece.len() as u64;
        }
        self.by_start.insert(start, piece);
    }
}

/// A buffer, or an error where there is no memory for it.
fn zeros(len: u64) -> io::Result<Vec<u8>> {
    let len = usize::try_from(len).map_err(|_| io::ErrorKind::OutOfMemory)?;
    let mut data = Vec::new();
    data.try_reserve_exact(len).map_err(|_| {
        let message = format!("there is no memory for {len} bytes");
        io::Error::new(io::ErrorKind::OutOfMemory, message)
    })?;
    data.resize(len, 0);
    Ok(data)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::Source;

    /// Bytes in memory, and what was asked of them.
    struct Asked {
        data: Vec<u8>,
        ranges: Arc<Mutex<Vec<Range<u64>>>>,
        broken: bool,
    }

    impl ReadAt for Asked {
        fn len(&self) -> u64 {
            self.data.len() as u64
        }

        fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
            if self.broken {
                return Err(io::Error::other("the line is dead"));
            }
            let end = offset + buffer.len() as u64;
            self.ranges.lock().unwrap().push(offset..end);
            buffer.copy_from_slice(&self.data[offset as usize..end as usize]);
            Ok(())
        }

        fn read_ahead(&self) -> u64 {
            100
        }
    }

    fn asked(len: usize, broken: bool) -> (Source, Arc<Mutex<Vec<Range<u64>>>>) {
        let ranges = Arc::default();
        let data = (0..len).map(|at| (at * 7 + at / 251) as u8).collect();
        let store = Asked { data, ranges: Arc::clone(&ranges), broken };
        (Source::from_store("far", store), ranges)
    }

    #[test]
    fn small_ranges_are_read_once() {
        let (source, ranges) = asked(1000, false);
        let whole: Vec<u8> = (0..1000usize).map(|at| (at * 7 + at / 251) as u8).collect();
        for range in [10..20, 15..110, 0..12, 990..1000, 980..995, 300..700, 650..750, 0..1000] {
            let found = source.slice(range.clone()).unwrap().unwrap();
            assert_eq!(found.offset(), range.start);
            assert!(found[..] == whole[range.start as usize..range.end as usize], "{range:?}");
        }
        let expected =
            vec![10..110, 0..10, 990..1000, 980..990, 300..700, 700..800, 110..300, 800..980];
        assert_eq!(*ranges.lock().unwrap(), expected);
    }

    #[test]
    fn what_will_be_asked_for_is_read_ahead() {
        let (source, ranges) = asked(10_000, false);
        source.slice(2000..2010).unwrap();
        let wanted =
            [0..30, 120..150, 500..530, 2005..2015, 2090..2110, 9990..10_000, 9995..10_001];
        source.prefetch(&wanted);
        let mut read = std::mem::take(&mut *ranges.lock().unwrap());
        read.sort_by_key(|range| range.start);
        assert_eq!(read, [0..150, 500..530, 2000..2100, 9990..10_000]);
        for range in &wanted[..4] {
            source.slice(range.clone()).unwrap().unwrap();
        }
        assert!(ranges.lock().unwrap().is_empty());
        let whole: Vec<u8> = (0..10_000usize).map(|at| (at * 7 + at / 251) as u8).collect();
        assert!(source.slice(0..10_000).unwrap().unwrap()[..] == whole);
        // What cannot be read is said later.
        let (broken, _) = asked(1000, true);
        broken.prefetch(&[0..10, 20..30]);
        assert!(broken.slice(0..10).is_err());
    }

    #[test]
    fn long_ranges_go_through() {
        let (source, ranges) = asked(3 << 20, false);
        for _ in 0..2 {
            assert_eq!(source.slice(5..(2 << 20)).unwrap().unwrap().len(), (2 << 20) - 5);
        }
        assert_eq!(ranges.lock().unwrap().len(), 2);
        assert!(source.in_memory().is_none());
        assert_eq!(source.bytes().unwrap().len(), 3 << 20);
        assert!(source.in_memory().is_some(), "it was read as a whole");
        assert_eq!(source.slice(0..5).unwrap().unwrap().len(), 5);
        assert_eq!(ranges.lock().unwrap().len(), 3);
    }

    #[test]
    fn what_is_remembered_has_a_limit() {
        let (source, _) = asked((MOST_KEPT + 3 * LONGEST_KEPT) as usize, false);
        for at in (0..source.len()).step_by(LONGEST_KEPT as usize) {
            let end = (at + LONGEST_KEPT).min(source.len());
            assert_eq!(source.slice(at..end).unwrap().unwrap().len() as u64, end - at);
        }
    }

    #[test]
    fn outside_is_none_and_failure_an_error() {
        let (source, _) = asked(10, false);
        assert!(source.slice(5..11).unwrap().is_none());
        assert!(source.slice(10..10).unwrap().unwrap().is_empty());
        let (source, _) = asked(10, true);
        let error = source.slice(0..1).unwrap_err();
        assert_eq!(error.to_string(), "far: the line is dead");
        assert!(source.bytes().is_err() && source.slice(0..11).unwrap().is_none());
    }
}
