//! The name of the folder that an archive's records lie in.

use std::path::Path;

use crate::{Error, ErrorKind};

/// The folder that `torch.save` to `path` puts all records in: the file's name without its last
/// extension. A path with a character outside ASCII gives `archive`, since `torch.save` then
/// writes through a Python file object, and everything that is not a path is called `archive`.
/// (`torch.jit.save` keeps such names.)
///
/// ```
/// use sconce_archive::archive_name;
///
/// assert_eq!(archive_name("runs/my.model.tar.gz")?, "my.model.tar");
/// assert_eq!(archive_name("runs/modèle.pt")?, "archive");
/// # Ok::<(), sconce_archive::Error>(())
/// ```
///
/// # Errors
/// `invalid file name: <path>` when nothing is left, as in `.pt` or `runs/`.
pub fn archive_name(path: impl AsRef<Path>) -> Result<String, Error> {
    let path = path.as_ref();
    let Some(text) = path.to_str().filter(|text| text.is_ascii()) else {
        return Ok("archive".to_owned());
    };
    let file = text.rsplit(['/', '\\']).next().unwrap_or(text);
    let stem = file.rsplit_once('.').map_or(file, |(stem, _)| stem);
    if stem.is_empty() {
        return Err(Error::new(ErrorKind::Caller, format!("invalid file name: {text}")));
    }
    Ok(stem.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_named_as_pytorch_names_them() {
        for (path, want) in [
            ("x.pt", Some("x")),
            ("noext", Some("noext")),
            ("a.b.c", Some("a.b")),
            ("a\\b.pt", Some("b")),
            ("C:\\x\\y.z", Some("y")),
            ("a b.pt", Some("a b")),
            ("a..", Some("a.")),
            ("x.", Some("x")),
            ("..", Some(".")),
            (" ", Some(" ")),
            ("d.e/f", Some("f")),
            ("é.pt", Some("archive")),
            ("é/x.pt", Some("archive")),
            (".pt", None),
            ("d/.b", None),
            ("d\\.b", None),
            ("d/", None),
            ("", None),
            (".", None),
            ("/", None),
        ] {
            let got = archive_name(path);
            match want {
                Some(want) => assert_eq!(got.unwrap(), want, "{path:?}"),
                None => assert_eq!(
                    got.unwrap_err().to_string(),
                    format!("invalid file name: {path}"),
                    "{path:?}"
                ),
            }
        }
    }
}
