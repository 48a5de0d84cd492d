//! What a container says of itself, and where its storages lie.

use sconce_tensor::{ByteOrder, DType, Device, Storage};

use crate::identify::FileKind;
use crate::records::Records;

/// What the container says of itself.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Info {
    /// The folder of a zip archive.
    pub archive_folder: Option<String>,
    /// The archive's format version.
    pub version: Option<u64>,
    /// Byte order, when the archive states one.
    pub byte_order: Option<ByteOrder>,
    /// The record `.format_version`.
    pub format_version: Option<String>,
    /// The record `.storage_alignment`.
    pub storage_alignment: Option<String>,
    /// The record `.data/serialization_id`.
    pub serialization_id: Option<String>,
    /// The object's pickle protocol; `None` where there is no pickle.
    pub pickle_protocol: Option<u8>,
    /// Records of an archive, members of a tar file, files of a sharded checkpoint.
    pub records: usize,
    /// The files of a sharded checkpoint.
    pub shards: Vec<String>,
    /// Bytes after the end of what is read.
    pub trailing_bytes: u64,
    /// The `__metadata__` of a safetensors file, sorted by key.
    pub metadata: Vec<(String, String)>,
}

impl Info {
    /// Which versions of PyTorch write files like this one, as far as the records tell.
    pub fn written_by(&self, format: FileKind) -> Option<&'static str> {
        Some(match format {
            FileKind::Tar => "torch < 0.1.10",
            FileKind::Legacy => "torch 0.1.10 to 1.5, or _use_new_zipfile_serialization=False",
            FileKind::Zip if self.storage_alignment.is_some() => "torch > 2.6",
            FileKind::Zip if self.byte_order.is_some() => "torch 2.1 or later",
            FileKind::Zip => "torch 1.6 or later",
            FileKind::TorchScript => "torch.jit.save",
            FileKind::MobileFlatbuffer => {
                "torch 1.13 or later, _save_for_lite_interpreter(_use_flatbuffer=True)"
            }
            FileKind::Pt2 => "torch.export.save",
            _ => return None,
        })
    }
}

/// One storage of the file.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct StorageRecord {
    /// Its key: `0`, `1`, … in zip archives.
    pub key: Box<str>,
    /// Its size in bytes.
    pub nbytes: u64,
    /// The element type its storage class names; `None` for untyped storages.
    pub dtype: Option<DType>,
    /// The bytes.
    pub storage: Storage,
    pub(crate) place: Place,
}

/// Where a storage's bytes lie.
#[derive(Debug, Clone)]
pub(crate) enum Place {
    Record { records: Records, index: usize },
    Offset(u64),
}

impl StorageRecord {
    /// The name of its archive record, with the folder.
    pub fn record_name(&self) -> Option<String> {
        match &self.place {
            Place::Record { records, index } => {
                Some(records.display_name(&records.entries()[*index]).into_owned())
            }
            Place::Offset(_) => None,
        }
    }

    /// Where in the file its bytes begin. Reads the record's local header.
    pub fn file_offset(&self) -> Option<u64> {
        match &self.place {
            Place::Record { records, index } => {
                let entry = &records.entries()[*index];
                records.directory().data_range(entry).ok().map(|range| range.start)
            }
            Place::Offset(offset) => Some(*offset),
        }
    }

    /// The location tag.
    pub fn device(&self) -> &Device {
        self.storage.device()
    }
}
