//! Writing one piece of data to a file on several cores.

use std::fs::File;
use std::io::{self, Seek, SeekFrom};
use std::thread;

/// Below this, starting a thread costs more than it gains.
const LEAST: usize = 4 << 20;
/// More threads than this only wait for each other's pages.
const MOST: usize = 4;

/// On how many threads data of a length is written.
pub(crate) fn threads_for(len: usize) -> usize {
    if cfg!(not(unix)) || len < LEAST {
        return 1;
    }
    thread::available_parallelism().map_or(1, |cores| cores.get().min(MOST))
}

/// [`std::io::Write::write_all`] at the file's position, a part on each thread. After an error the
/// file holds any of the parts, as after a write that was cut short it holds any of the bytes.
pub(crate) fn write_all(file: &mut File, data: &[u8], threads: usize) -> io::Result<()> {
    let start = file.stream_position()?;
    let part = data.len().div_ceil(threads.max(1));
    let shared = &*file;
    thread::scope(|scope| {
        let writers: Vec<_> = data
            .chunks(part.max(1))
            .enumerate()
            .map(|(index, chunk)| {
                let at = start + (index * part) as u64;
                scope.spawn(move || write_all_at(shared, chunk, at))
            })
            .collect();
        writers.into_iter().try_for_each(|writer| match writer.join() {
            Ok(written) => written,
            Err(_) => Err(io::Error::other("a thread that was writing ended")),
        })
    })?;
    file.seek(SeekFrom::Start(start + data.len() as u64)).map(drop)
}

#[cfg(unix)]
fn write_all_at(file: &File, data: &[u8], at: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::write_all_at(file, data, at)
}

/// Only [`threads_for`] several threads asks for this, and it asks for one here.
#[cfg(not(unix))]
fn write_all_at(_: &File, _: &[u8], _: u64) -> io::Result<()> {
    Err(io::Error::from(io::ErrorKind::Unsupported))
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};

    use super::*;

    #[test]
    fn parts_land_where_they_belong() -> io::Result<()> {
        let mut file = tempfile::tempfile()?;
        let data: Vec<u8> = (0..100_003u32).map(|index| (index % 251) as u8).collect();
        file.write_all(b"before")?;
        for threads in 1..=5 {
            write_all(&mut file, &data, threads)?;
        }
        file.write_all(b"after")?;
        let mut read = Vec::new();
        file.seek(SeekFrom::Start(0))?;
        file.read_to_end(&mut read)?;
        assert_eq!(read, [&b"before"[..], &data.repeat(5), b"after"].concat());
        Ok(())
    }
}
