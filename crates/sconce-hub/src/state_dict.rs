//! `torch.hub.load_state_dict_from_url`, but for the loading itself.

use std::path::Path;

use sconce_archive::Directory;
use sconce_source::{Limits, Source};

use crate::url::Url;
use crate::{Error, ErrorKind};

/// The name of the file that an address leads to: the last part of its path, escapes as they are.
pub(crate) fn file_name(url: &str) -> Result<String, Error> {
    let parsed = Url::parse(url)?;
    let name = parsed.file_name();
    if name.is_empty() {
        let message = "the address names no file: it ends in a slash";
        return Err(Error::new(ErrorKind::Usage, message)
            .url(&parsed)
            .with_help("give a file name"));
    }
    inside(name)?;
    Ok(name.to_owned())
}

/// Refuses a name that leads out of its folder.
pub(crate) fn inside(name: &str) -> Result<(), Error> {
    let plain = !name.is_empty()
        && name != "."
        && name != ".."
        && !name.contains(['/', '\\', '\0'])
        && !name.ends_with(crate::partial::ENDING)
        && !name.ends_with(crate::partial::NOTE_ENDING);
    if plain {
        return Ok(());
    }
    let message = format!("the file name '{}' does not stay in its folder", name.escape_debug());
    Err(Error::new(ErrorKind::Usage, message))
}

/// `HASH_REGEX`, `-([a-f0-9]*)\.`: what the hash of a file begins with by its name, where that says something. The
/// first match counts.
pub fn hash_prefix_of(file_name: &str) -> Option<&str> {
    let mut rest = file_name;
    while let Some(at) = rest.find('-') {
        rest = &rest[at + 1..];
        let digits =
            rest.bytes().take_while(|byte| matches!(byte, b'a'..=b'f' | b'0'..=b'9')).count();
        if rest[digits..].starts_with('.') {
            return Some(&rest[..digits]);
        }
    }
    None
}

/// The source of a downloaded state dict: of a zip file with one file in it, that one, as PyTorch before 1.6 had them.
pub(crate) fn source(path: &Path, limits: &Limits) -> Result<(Source, bool), Error> {
    let fail = |error: &dyn std::fmt::Display| Error::new(ErrorKind::Io, error.to_string());
    let source = Source::open(path).map_err(|error| fail(&error))?;
    let Ok(directory) = Directory::read(source.clone(), limits) else { return Ok((source, false)) };
    let [only] = directory.entries() else { return Ok((source, false)) };
    if directory.raw_name(only).ends_with(b"/") {
        return Ok((source, false));
    }
    let bytes = directory.bytes(only).map_err(|error| {
        Error::new(ErrorKind::BadAnswer, format!("{}: {error}", path.display()))
    })?;
    let name = format!("{}:{}", path.display(), directory.display_name(only));
    Ok((Source::from_vec(name, bytes.to_vec()), true))
}

/// What PyTorch warns of then.
pub(crate) const OLD_FORMAT: &str = "Falling back to the old format < 1.6. This support will be deprecated in \
     favor of default zipfile format introduced in 1.6. Please redo torch.save() to save it in the new zipfile format.";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_in_names() {
        for (name, expected) in [
            ("resnet18-bfd8deac.pth", Some("bfd8deac")),
            ("m-.pth", Some("")),
            ("m-1.0-5b4e5677.pth", Some("1")),
            ("x-face.pth", Some("face")),
            ("x-nothex-abc.pth", Some("abc")),
            ("m-BFD8.pth", None),
            ("m--ab.pth", Some("ab")),
            ("m.pth", None),
            ("m-abc", None),
            ("m-a-b.c.pth.tar", Some("b")),
        ] {
            assert_eq!(hash_prefix_of(name), expected, "{name}");
        }
    }

    #[test]
    fn names_of_files() {
        assert_eq!(file_name("https://h/a/m%20x.pth?y=1#z").unwrap(), "m%20x.pth");
        assert_eq!(file_name("https://h/a/m.pth;p").unwrap(), "m.pth");
        assert!(file_name("https://h/a/").is_err());
        for bad in ["..", "a/b", "/etc/x", "a\\b", ""] {
            assert!(inside(bad).is_err(), "{bad}");
        }
    }
}
