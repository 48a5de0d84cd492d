//! temporary
#![allow(missing_docs)]
use sconce_source::Source;
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    Zip,
    Legacy,
    Tar,
    Pickle,
    ShardIndex,
    TorchScript,
    Safetensors,
    Npy,
    Npz,
    TruncatedZip,
    Unknown,
}
impl FileKind {
    pub fn name(self) -> &'static str {
        "x"
    }
    pub fn description(self) -> &'static str {
        "x"
    }
    pub fn opens(self) -> bool {
        true
    }
    pub fn advice(self) -> Option<&'static str> {
        None
    }
}
pub struct Identity {
    pub kind: FileKind,
    pub detail: String,
}
pub fn identify(s: &Source) -> Identity {
    let b = s.bytes();
    let kind = if b.starts_with(b"PK\x03\x04") {
        match sconce_archive::Archive::open(s.clone(), &Default::default()) {
            Ok(a) if a.contains("constants.pkl") => FileKind::TorchScript,
            Ok(_) => FileKind::Zip,
            Err(e) => {
                if e.kind() == sconce_archive::ErrorKind::Truncated {
                    FileKind::TruncatedZip
                } else {
                    FileKind::Zip
                }
            }
        }
    } else if b.starts_with(b"\x80\x02\x8a\x0a") {
        FileKind::Legacy
    } else if sconce_archive::TarArchive::read(s).is_ok() {
        FileKind::Tar
    } else if b.starts_with(b"\x93NUMPY") {
        FileKind::Npy
    } else if b.starts_with(b"\x80") {
        FileKind::Pickle
    } else if b.starts_with(b"{") {
        FileKind::ShardIndex
    } else {
        FileKind::Unknown
    };
    Identity { kind, detail: String::new() }
}
