//! Many small records in few large writes.

use std::io::{IoSlice, Write};

#[cfg(feature = "parallel")]
use rayon::prelude::*;

use super::checksum;
use super::record::sniffed;
use super::{ArchiveWriter, failed};
use crate::Error;

/// Bytes that go to the system in one write. File systems take large writes at twice the speed of
/// those of a few hundred kilobytes.
const WRITE: usize = 2 << 20;

/// A record's name, without the folder, and its bytes.
type Record<'d> = (String, &'d [u8]);

impl<W: Write> ArchiveWriter<W> {
    /// Writes records whose bytes are at hand, as [`ArchiveWriter::write_record`] would one after
    /// the other, and gives their checksums, `None` where none is computed. The next records are checksummed while
    /// the ones before them are written, and many go out in one write.
    ///
    /// # Errors
    /// As [`ArchiveWriter::write_record`].
    pub fn write_records(
        &mut self,
        records: &[(String, &[u8])],
    ) -> Result<Vec<Option<u32>>, Error> {
        self.check_closed()?;
        let mut checksums = Vec::with_capacity(records.len());
        let (mut now, mut rest) = next_write(records);
        let summed = self.options.crc;
        let mut hashed = hash(now, summed);
        while !now.is_empty() {
            let (next, after) = next_write(rest);
            let mut next_hashed = Vec::new();
            checksum::beside(
                || next_hashed = hash(next, summed),
                || self.write_at_once(now, &hashed),
            )?;
            checksums.append(&mut hashed);
            (now, rest, hashed) = (next, after, next_hashed);
        }
        Ok(checksums)
    }

    fn write_at_once(
        &mut self,
        records: &[Record<'_>],
        checksums: &[Option<u32>],
    ) -> Result<(), Error> {
        let start = self.position();
        let mut at = start;
        let mut around = Vec::with_capacity(records.len());
        for ((name, data), &crc32) in records.iter().zip(checksums) {
            let Some((mut written, local)) = self.prepare(name, data.len() as u64, None, at)?
            else {
                continue;
            };
            written.crc32 = crc32.unwrap_or(0);
            let descriptor = written.header().descriptor();
            at += (local.len() + data.len() + descriptor.len()) as u64;
            around.push((local, *data, descriptor));
            self.enter(written, sniffed(data));
        }
        let slices = around.iter().flat_map(|(local, data, descriptor)| {
            [&local[..], data, &descriptor[..]].map(IoSlice::new)
        });
        let mut slices: Vec<IoSlice<'_>> = slices.collect();
        let name = records.first().map_or("", |(name, _)| name);
        self.output.write_slices(&mut slices).map_err(|cause| failed(name, start, cause))
    }
}

/// The records of one write, and those after them.
fn next_write<'r, 'd>(records: &'r [Record<'d>]) -> (&'r [Record<'d>], &'r [Record<'d>]) {
    let mut bytes = 0;
    let full = records.iter().position(|(_, data)| {
        bytes += data.len();
        bytes >= WRITE
    });
    records.split_at(full.map_or(records.len(), |last| last + 1))
}

fn hash(records: &[Record<'_>], summed: bool) -> Vec<Option<u32>> {
    let hash = |data: &[u8]| (summed && !data.is_empty()).then(|| crc32fast::hash(data));
    #[cfg(feature = "parallel")]
    if let Some(pool) = crate::process_pool() {
        return pool.install(|| records.par_iter().map(|(_, data)| hash(data)).collect());
    }
    records.iter().map(|(_, data)| hash(data)).collect()
}
