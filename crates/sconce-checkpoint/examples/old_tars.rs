//! Writes the files of `tests/tar/` into a folder: `old_tars FOLDER`. `conformance/save.py` has
//! PyTorch read them.

#[path = "../tests/tar/archive.rs"]
mod archive;
#[path = "../tests/tar/cases.rs"]
mod cases;
#[path = "../tests/tar/write.rs"]
#[allow(dead_code)] // the tests ask for more
mod write;

use std::error::Error;
use std::path::PathBuf;

fn main() -> Result<(), Box<dyn Error>> {
    let folder: PathBuf = std::env::args_os().nth(1).ok_or("usage: old_tars FOLDER")?.into();
    for (name, tar) in cases::all() {
        std::fs::write(folder.join(format!("{name}.tar")), tar.file())?;
    }
    Ok(())
}
