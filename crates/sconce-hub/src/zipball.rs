//! A repository's archive, unpacked where it can do no harm.
//!
//! All names are read before anything is written, and everything is written into a folder of its own.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use sconce_archive::{Directory, Entry};
use sconce_source::{Limits, Source, StreamReader};

use crate::{Error, ErrorKind};

const MOST_ENTRIES: usize = 200_000;
/// Most bytes of all files together, and what else they may take for each byte of the archive.
const MOST_BYTES: u64 = 256 << 20;
const MOST_RATIO: u64 = 50;
/// Most levels of folders, and bytes of a name: as file systems have them.
const MOST_LEVELS: usize = 64;
const LONGEST_NAME: usize = 255;

/// An archive whose names are sound.
#[derive(Debug)]
pub(crate) struct Zipball {
    directory: Directory,
    /// The folder that everything lies in.
    pub(crate) top: String,
    /// What is written, by the path below that folder.
    files: Vec<(PathBuf, usize)>,
    folders: Vec<PathBuf>,
}

impl Zipball {
    /// Reads all names, and refuses what could write anywhere but in one folder.
    pub(crate) fn read(path: &Path) -> Result<Zipball, Error> {
        let source =
            Source::open(path).map_err(|error| Error::new(ErrorKind::Io, error.to_string()))?;
        let mut limits = Limits::default();
        limits.max_entries = MOST_ENTRIES;
        limits.max_inflated_bytes = MOST_BYTES.max(source.len().saturating_mul(MOST_RATIO));
        let most = limits.max_inflated_bytes;
        let directory = Directory::read(source, &limits).map_err(|error| {
            let bad = Error::new(ErrorKind::BadAnswer, "File is not a zip file");
            bad.with_note(error.to_string())
        })?;
        directory.check_layout().map_err(|error| hostile(error.to_string()))?;
        let mut names = Names::default();
        let mut bytes = 0u64;
        for entry in directory.entries() {
            bytes = bytes.saturating_add(entry.size());
            if bytes > most {
                let message = format!("the archive unpacks to more than {most} bytes");
                return Err(hostile(message));
            }
            let name = std::str::from_utf8(directory.raw_name(entry))
                .map_err(|_| hostile("a name in the archive is not in UTF-8".to_owned()))?;
            names.add(name, entry)?;
        }
        let Names { top, files, folders, .. } = names;
        let Some(top) = top else {
            let message = "the archive of the repository is empty";
            return Err(Error::new(ErrorKind::BadAnswer, message));
        };
        Ok(Zipball { directory, top, files, folders: folders.into_iter().collect() })
    }

    /// Whether there is such a file.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.files.iter().any(|(path, _)| path == Path::new(name))
    }

    /// Writes everything below `folder`, which must be empty. What lies in the archive's one folder lies in it.
    pub(crate) fn unpack(&self, folder: &Path) -> Result<(), Error> {
        let mut folders = self.folders.clone();
        // Outer ones first.
        folders.sort();
        for inner in folders {
            let path = folder.join(inner);
            fs::create_dir_all(&path).map_err(|error| Error::io(&path, &error))?;
        }
        let mut reader = StreamReader::new();
        for (name, index) in &self.files {
            self.unpack_file(&folder.join(name), *index, &mut reader)?;
        }
        Ok(())
    }

    fn unpack_file(
        &self,
        path: &Path,
        index: usize,
        reader: &mut StreamReader,
    ) -> Result<(), Error> {
        let entry = &self.directory.entries()[index];
        let name = self.directory.display_name(entry);
        // Whatever is there already was not written by this.
        let file = File::create_new(path).map_err(|error| Error::io(path, &error))?;
        let mut file = BufWriter::new(file);
        let mut crc = crc32fast::Hasher::new();
        self.directory
            .parts(entry, reader, |part| {
                crc.update(part);
                file.write_all(part).map_err(|error| Part::Disk(Error::io(path, &error)))
            })
            .map_err(|error| match error {
                Part::Disk(error) => error,
                Part::Archive(error) => hostile(error.to_string()),
            })?;
        file.flush().map_err(|error| Error::io(path, &error))?;
        if crc.finalize() != entry.crc32() {
            let message =
                format!("the checksum of '{}' in the archive does not fit", name.escape_debug());
            return Err(Error::new(ErrorKind::BadAnswer, message));
        }
        Ok(())
    }
}

enum Part {
    Disk(Error),
    Archive(sconce_archive::Error),
}

impl From<sconce_archive::Error> for Part {
    fn from(error: sconce_archive::Error) -> Part {
        Part::Archive(error)
    }
}

/// The names seen so far.
#[derive(Default)]
struct Names {
    top: Option<String>,
    files: Vec<(PathBuf, usize)>,
    folders: HashSet<PathBuf>,
    /// What stands where, whatever the case of letters, and whether it is a file.
    taken: HashMap<String, (String, bool)>,
}

impl Names {
    fn add(&mut self, name: &str, entry: &Entry) -> Result<(), Error> {
        let shown: String = name.chars().take(200).collect();
        let shown = shown.escape_debug();
        let drive = name.as_bytes().get(1) == Some(&b':');
        if name.starts_with(['/', '\\']) || drive {
            return Err(hostile(format!("Archive entry has absolute path: {shown}")));
        }
        if name.split(['/', '\\']).any(|part| part == "..") {
            return Err(hostile(format!("Archive entry contains directory traversal: {shown}")));
        }
        let is_folder = name.ends_with('/');
        let parts: Vec<&str> = name.strip_suffix('/').unwrap_or(name).split('/').collect();
        let odd = |part: &&str| {
            part.is_empty()
                || *part == "."
                || part.len() > LONGEST_NAME
                || part.contains(|c: char| c.is_control() || c == '\\')
        };
        if parts.iter().any(odd) || parts.len() > MOST_LEVELS {
            return Err(hostile(format!("a name in the archive is none: {shown}")));
        }
        match &self.top {
            None => self.top = Some(parts[0].to_owned()),
            Some(top) if top == parts[0] => {}
            Some(top) => {
                let message = format!(
                    "the archive has more than one folder: '{}' and {shown}",
                    top.escape_debug()
                );
                return Err(hostile(message));
            }
        }
        if parts.len() == 1 && !is_folder {
            return Err(hostile(format!("the archive has a file beside its folder: {shown}")));
        }
        if is_folder && entry.size() > 0 {
            return Err(hostile(format!("a folder in the archive holds bytes: {shown}")));
        }
        let inner = &parts[1..];
        for depth in 1..=inner.len() {
            let path = inner[..depth].join("/");
            let file = depth == inner.len() && !is_folder;
            match self.taken.get(&path.to_lowercase()) {
                None => {
                    self.taken.insert(path.to_lowercase(), (path.clone(), file));
                }
                Some((other, other_file)) if *other != path || *other_file || file => {
                    return Err(hostile(format!(
                        "two names in the archive clash: '{}' and {shown}",
                        other.escape_debug()
                    )));
                }
                Some(_) => {}
            }
            if !file {
                self.folders.insert(PathBuf::from(path));
            }
        }
        if !is_folder {
            self.files.push((PathBuf::from(inner.join("/")), entry.index()));
        }
        Ok(())
    }
}

fn hostile(message: String) -> Error {
    Error::new(ErrorKind::Hostile, message)
}
