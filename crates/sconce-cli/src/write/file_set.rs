//! A set of files and the index that names them, put in the place of an earlier set as one.
//!
//! A reader goes by the index, so the index is what changes hands: new files come under names of their
//! own, then an index that names them takes the old one's place, then the old files go. Where names of
//! the new set are those of the old one, the new files get them at the end, by links that a second index
//! names. Whenever a run ends early, the index names either all old files or all new ones.

use std::collections::BTreeSet;
use std::collections::hash_map::RandomState;
use std::fs::{self, File};
use std::hash::{BuildHasher, Hasher};
use std::io;
use std::path::{Path, PathBuf};

use crate::error::Failure;
use crate::write::atomic::{AtomicFile, cannot_write};

/// Where a set is to be: one of several files `PREFIX-00001-of-00002.bin` with the index
/// `PREFIX.bin.index.json`, or `PREFIX.bin` alone.
pub struct FileSet {
    folder: PathBuf,
    prefix: String,
    /// What ends the names of files that cannot have theirs yet.
    suffix: String,
    /// The files in the folder that are of an earlier set.
    old: BTreeSet<String>,
    /// Locked until the new set is there.
    _lock: Option<File>,
}

/// One change to the folder.
enum Step {
    /// A file that is complete takes its name.
    Publish(AtomicFile),
    /// A file gets a second name. Where the file system has no such thing, the rest is left out.
    Link {
        from: PathBuf,
        to: PathBuf,
    },
    Remove(PathBuf),
}

/// What is written: files with the names that they are to have, and the two indexes, the first with the
/// names of the first step.
pub struct Written {
    pub files: Vec<(String, AtomicFile)>,
    pub indexes: Vec<AtomicFile>,
}

impl FileSet {
    /// Looks at what is there, and removes what a run left that was killed.
    pub fn replace(folder: &Path, prefix: &str) -> Result<FileSet, Failure> {
        let random = RandomState::new().build_hasher().finish();
        let mut set = FileSet {
            folder: folder.to_owned(),
            prefix: prefix.to_owned(),
            suffix: format!("{:08x}", random as u32),
            old: BTreeSet::new(),
            _lock: lock(folder)?,
        };
        let named = set.named_by_index();
        for (name, kind) in set.parts() {
            // A first name that no index names is of a run that was killed.
            if kind == Name::First && !named.contains(&name) {
                drop(fs::remove_file(folder.join(name)));
            } else {
                set.old.insert(name);
            }
        }
        Ok(set)
    }

    /// The path of the index.
    pub fn index(&self) -> PathBuf {
        self.folder.join(index_name(&self.prefix))
    }

    /// The name under which a file of the new set appears first: another one where its own is taken.
    pub fn first_name(&self, name: &str) -> String {
        if fs::symlink_metadata(self.folder.join(name)).is_err() {
            return name.to_owned();
        }
        let stem = name.strip_suffix(".bin").unwrap_or(name);
        format!("{stem}.{}.bin", self.suffix)
    }

    /// Puts the new set in the place of the old one.
    pub fn publish(self, written: Written) -> Result<(), Failure> {
        let mut links = Vec::new();
        for step in self.steps(written) {
            match step.run() {
                Ok(Some(link)) => links.push(link),
                Ok(None) => {}
                // The set is there, under its first names.
                Err(StepError::NoLinks) => {
                    for link in links {
                        drop(fs::remove_file(link));
                    }
                    return Ok(());
                }
                Err(StepError::Failed(failure)) => return Err(failure),
            }
        }
        Ok(())
    }

    fn steps(&self, written: Written) -> Vec<Step> {
        let Written { files, indexes } = written;
        let path = |name: &str| self.folder.join(name);
        let new: BTreeSet<String> = files.iter().map(|(_, file)| file_name(file)).collect();
        let single = indexes.is_empty();
        let moved: Vec<(PathBuf, PathBuf)> = files
            .iter()
            .filter(|(name, file)| !single && *name != file_name(file))
            .map(|(name, file)| (file.target().to_owned(), path(name)))
            .collect();
        let mut steps: Vec<Step> = files.into_iter().map(|(_, file)| Step::Publish(file)).collect();
        let mut indexes = indexes.into_iter();
        steps.extend(indexes.next().map(Step::Publish));
        // Readers that look for a single file first would still find the old one.
        let whole = format!("{}.bin", self.prefix);
        if single {
            steps.push(Step::Remove(self.index()));
        } else {
            steps.push(Step::Remove(path(&whole)));
        }
        let mut gone: BTreeSet<PathBuf> =
            self.old.iter().filter(|name| !new.contains(*name)).map(|name| path(name)).collect();
        gone.extend(moved.iter().map(|(_, to)| to.clone()));
        steps.extend(gone.into_iter().map(Step::Remove));
        steps.extend(
            moved.iter().map(|(from, to)| Step::Link { from: from.clone(), to: to.clone() }),
        );
        if !moved.is_empty() {
            steps.extend(indexes.next().map(Step::Publish));
        }
        steps.extend(moved.into_iter().map(|(from, _)| Step::Remove(from)));
        steps
    }

    /// The files in the folder that have names of files of this set.
    fn parts(&self) -> Vec<(String, Name)> {
        let Ok(entries) = fs::read_dir(&self.folder) else { return Vec::new() };
        let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
        names.filter_map(|name| is_part(&self.prefix, &name).map(|kind| (name, kind))).collect()
    }

    /// The files that the index names.
    fn named_by_index(&self) -> BTreeSet<String> {
        let is_file = fs::metadata(self.index()).is_ok_and(|index| index.is_file());
        let Some(index) = is_file.then(|| fs::read(self.index()).ok()).flatten() else {
            return BTreeSet::new();
        };
        let index: serde_json::Value = serde_json::from_slice(&index).unwrap_or_default();
        let Some(map) = index["weight_map"].as_object() else { return BTreeSet::new() };
        let names = map.values().filter_map(|name| name.as_str());
        names.map(str::to_owned).collect()
    }
}

enum StepError {
    NoLinks,
    Failed(Failure),
}

impl Step {
    /// Gives a link that was made.
    fn run(self) -> Result<Option<PathBuf>, StepError> {
        match self {
            Step::Publish(file) => {
                file.commit().map_err(StepError::Failed)?;
                Ok(None)
            }
            Step::Link { from, to } => {
                fs::hard_link(from, &to).map_err(|_| StepError::NoLinks)?;
                Ok(Some(to))
            }
            Step::Remove(path) => match fs::remove_file(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    Err(StepError::Failed(cannot_write(&path, &error)))
                }
                _ => Ok(None),
            },
        }
    }
}

/// The name of a set's index.
pub fn index_name(prefix: &str) -> String {
    format!("{prefix}.bin.index.json")
}

fn file_name(file: &AtomicFile) -> String {
    let name = file.target().file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

#[derive(Debug, PartialEq, Eq)]
enum Name {
    First,
    Last,
}

/// Whether a file has a name that files of a set have: `PREFIX-00001-of-00002.bin`, or before it has that,
/// `PREFIX-00001-of-00002.1a2b3c4d.bin`.
fn is_part(prefix: &str, name: &str) -> Option<Name> {
    let rest = name.strip_prefix(prefix)?.strip_prefix('-')?.strip_suffix(".bin")?;
    let (rest, kind) = match rest.split_once('.') {
        Some((rest, suffix)) => {
            let hexadecimal = suffix.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
            (rest, (suffix.len() == 8 && hexadecimal).then_some(Name::First)?)
        }
        None => (rest, Name::Last),
    };
    let (at, all) = rest.split_once("-of-")?;
    let is_number = |text: &str| text.len() == 5 && text.bytes().all(|byte| byte.is_ascii_digit());
    (is_number(at) && is_number(all)).then_some(kind)
}

/// Locks a folder, so that no other run replaces a set in it meanwhile.
#[cfg(unix)]
fn lock(folder: &Path) -> Result<Option<File>, Failure> {
    // What is wrong with the folder is told by writing to it.
    let Ok(file) = File::open(folder) else { return Ok(None) };
    match file.try_lock() {
        Err(fs::TryLockError::WouldBlock) => {
            Err(Failure::unreadable("another sconce replaces files in this folder")
                .in_file(folder.to_string_lossy())
                .help("wait until it has ended"))
        }
        _ => Ok(Some(file)),
    }
}

#[cfg(not(unix))]
fn lock(_: &Path) -> Result<Option<File>, Failure> {
    Ok(None)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn names(all: usize) -> Vec<String> {
        (1..=all).map(|at| format!("m-{at:05}-of-{all:05}.bin")).collect()
    }

    fn file(path: &Path, content: &str) -> AtomicFile {
        let mut file = AtomicFile::create(path, true).unwrap();
        file.write_all(content.as_bytes()).unwrap();
        file
    }

    fn index(names: &[String]) -> String {
        let map: serde_json::Map<String, serde_json::Value> = names
            .iter()
            .enumerate()
            .map(|(at, name)| (at.to_string(), name.as_str().into()))
            .collect();
        serde_json::json!({ "weight_map": map }).to_string()
    }

    /// A set of `all` files that hold `content`.
    fn written(set: &FileSet, all: usize, content: &str) -> Written {
        if all == 1 {
            let path = set.folder.join("m.bin");
            let files = vec![("m.bin".to_owned(), file(&path, content))];
            return Written { files, indexes: Vec::new() };
        }
        let first: Vec<String> = names(all).iter().map(|name| set.first_name(name)).collect();
        let files = names(all).into_iter().zip(&first);
        let files = files.map(|(name, first)| (name, file(&set.folder.join(first), content)));
        let files = files.collect();
        let indexes = [&first, &names(all)].map(|names| file(&set.index(), &index(names)));
        Written { files, indexes: indexes.into() }
    }

    /// What a reader of the folder finds: the single file where there is one, then the index.
    fn read(folder: &Path) -> String {
        if let Ok(text) = fs::read_to_string(folder.join("m.bin")) {
            return text;
        }
        let index = fs::read(folder.join("m.bin.index.json")).expect("an index");
        let index: serde_json::Value = serde_json::from_slice(&index).unwrap();
        let map = index["weight_map"].as_object().unwrap();
        let read = |name: &serde_json::Value| {
            fs::read_to_string(folder.join(name.as_str().unwrap())).expect("a file of the index")
        };
        let texts: BTreeSet<String> = map.values().map(read).collect();
        assert_eq!(texts.len(), 1, "files of one set: {texts:?}");
        texts.into_iter().next().unwrap()
    }

    fn there(folder: &Path) -> BTreeSet<String> {
        let entries = fs::read_dir(folder).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    #[test]
    fn a_run_that_ends_anywhere_leaves_a_whole_set() {
        for (old, new) in [(3, 3), (3, 2), (2, 3), (1, 2), (2, 1), (1, 1)] {
            let mut steps = 0;
            for end in 0.. {
                let folder = tempfile::tempdir().unwrap();
                let folder = folder.path();
                let set = FileSet::replace(folder, "m").unwrap();
                let all = written(&set, old, "old");
                set.publish(all).unwrap_or_else(|failure| panic!("{}", failure.message()));
                let set = FileSet::replace(folder, "m").unwrap();
                let all = written(&set, new, "new");
                let all = set.steps(all);
                steps = steps.max(all.len());
                let mut seen = BTreeSet::new();
                for step in all.into_iter().take(end) {
                    assert!(step.run().is_ok());
                    seen.insert(read(folder));
                }
                drop(set);
                let found = read(folder);
                assert!(found == "old" || found == "new", "{old} {new} {end}: {found}");
                // The next run ends well, and leaves its own files only.
                let set = FileSet::replace(folder, "m").unwrap();
                let all = written(&set, new, "last");
                set.publish(all).unwrap_or_else(|failure| panic!("{}", failure.message()));
                assert_eq!(read(folder), "last");
                let want: BTreeSet<String> = match new {
                    1 => ["m.bin".to_owned()].into(),
                    _ => names(new).into_iter().chain([index_name("m")]).collect(),
                };
                assert_eq!(there(folder), want, "{old} {new} {end}");
                if end >= steps {
                    break;
                }
            }
        }
    }

    #[test]
    fn one_run_at_a_time() {
        let folder = tempfile::tempdir().unwrap();
        let first = FileSet::replace(folder.path(), "m").unwrap();
        if cfg!(unix) {
            assert!(FileSet::replace(folder.path(), "m").is_err());
        }
        drop(first);
        assert!(FileSet::replace(folder.path(), "m").is_ok());
    }

    #[test]
    fn only_names_of_sets_are_taken_for_such() {
        let cases = [
            ("m-00001-of-00002.bin", Some(Name::Last)),
            ("m-00001-of-00002.0123abcd.bin", Some(Name::First)),
            ("m-00001-of-00002.0123ABCD.bin", None),
            ("m-1-of-2.bin", None),
            ("../m-00001-of-00002.bin", None),
            ("m-00001-of-00002.pt", None),
            ("n-00001-of-00002.bin", None),
            ("m.bin", None),
        ];
        for (name, want) in cases {
            assert_eq!(is_part("m", name), want, "{name}");
        }
    }
}
