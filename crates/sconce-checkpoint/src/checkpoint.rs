use std::path::Path;
use std::sync::Arc;

use sconce_archive::Archive;
use sconce_source::Source;
use sconce_tensor::{ByteOrder, DType, Device, Storage, Tensor};

use crate::container::Parts;
use crate::globals::GlobalUse;
use crate::identify::FileKind;
use crate::object::{NamedArray, NamedTensor, Node, Object, Walk};
use crate::{Error, LoadOptions};

/// An open checkpoint: its objects and its tensors, whose data stays in the file until it is used.
///
/// ```
/// use sconce_checkpoint::Checkpoint;
///
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/digits.ckpt");
/// let checkpoint = Checkpoint::open(path)?;
/// for named in checkpoint.tensors() {
///     println!("{} {} {:?}", named.name, named.tensor.dtype().name(), named.tensor.sizes());
/// }
/// let weight = checkpoint.tensor("state_dict.conv1.weight").expect("a convolution");
/// let values: &[f32] = weight.as_slice().expect("contiguous float32");
/// # assert_eq!(values.len(), 72);
/// # Ok::<(), sconce_checkpoint::Error>(())
/// ```
#[derive(Debug)]
pub struct Checkpoint {
    source: Source,
    parts: Parts,
}

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
    Record { archive: Arc<Archive>, index: usize },
    Offset(u64),
}

impl StorageRecord {
    /// The name of its archive record, with the folder.
    pub fn record_name(&self) -> Option<String> {
        match &self.place {
            Place::Record { archive, index } => {
                Some(archive.display_name(&archive.records()[*index]).into_owned())
            }
            Place::Offset(_) => None,
        }
    }

    /// Where in the file its bytes begin. Reads the record's local header.
    pub fn file_offset(&self) -> Option<u64> {
        match &self.place {
            Place::Record { archive, index } => {
                let entry = &archive.records()[*index];
                archive.directory().data_range(entry).ok().map(|range| range.start)
            }
            Place::Offset(offset) => Some(*offset),
        }
    }

    /// The location tag.
    pub fn device(&self) -> &Device {
        self.storage.device()
    }
}

impl Checkpoint {
    pub(crate) fn new(source: Source, parts: Parts) -> Self {
        Checkpoint { source, parts }
    }

    /// Opens a file with the default options: anything opens and nothing runs.
    ///
    /// # Errors
    /// As [`LoadOptions::open`].
    pub fn open(path: impl AsRef<Path>) -> Result<Checkpoint, Error> {
        LoadOptions::new().open(path)
    }

    /// Opens bytes from anywhere with the default options.
    ///
    /// # Errors
    /// As [`LoadOptions::open`].
    pub fn from_source(source: Source) -> Result<Checkpoint, Error> {
        LoadOptions::new().open_source(source)
    }

    /// The object that was saved.
    pub fn root(&self) -> Object<'_> {
        Object::new(&self.parts.graph, self.parts.root)
    }

    /// Which container it came in.
    pub fn format(&self) -> FileKind {
        self.parts.format
    }

    /// What the container says of itself.
    pub fn info(&self) -> &Info {
        &self.parts.info
    }

    /// The storages that the object names, by first appearance.
    pub fn storages(&self) -> &[StorageRecord] {
        &self.parts.storages
    }

    /// What is odd about the file but no obstacle.
    pub fn warnings(&self) -> &[String] {
        &self.parts.warnings
    }

    /// What could not be rebuilt, with [`LoadOptions::keep_going`].
    pub fn problems(&self) -> &[Error] {
        &self.parts.problems
    }

    /// The classes and functions that the file names.
    pub fn globals(&self) -> &[GlobalUse] {
        &self.parts.globals
    }

    /// The file.
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// Calls `visit` with the dotted name of every path to an object that holds no others, tensors
    /// and arrays included, depth first.
    ///
    /// Dict keys that are str or int stand for themselves, other keys as Python's `repr`; elements of
    /// lists, tuples and sets by index; members of an `nn.Module` (parameters, buffers, submodules)
    /// and attributes of other objects by name. The root itself is "".
    ///
    /// Gives `false` when objects are nested or shared so deeply (beyond anything a real checkpoint
    /// does) that some paths were left out.
    pub fn visit<'c>(&'c self, visit: impl FnMut(&str, Object<'c>)) -> bool {
        let mut walk = Walk::new(&self.parts.graph);
        walk.run(self.parts.root, visit);
        !walk.cut
    }

    /// Every tensor under every one of its names, depth first; see [`Checkpoint::visit`].
    pub fn tensors(&self) -> Vec<NamedTensor<'_>> {
        let mut out = Vec::new();
        self.visit(|name, object| {
            if let Node::Tensor(found) = object.data() {
                out.push(NamedTensor { name: name.to_owned(), tensor: &found.tensor, object });
            }
        });
        out
    }

    /// Every numpy array and scalar under every one of its names; see [`Checkpoint::visit`].
    pub fn arrays(&self) -> Vec<NamedArray<'_>> {
        let mut out = Vec::new();
        self.visit(|name, object| {
            if let Node::Array(array) | Node::Scalar(array) = object.data() {
                out.push(NamedArray { name: name.to_owned(), array, object });
            }
        });
        out
    }

    /// The tensor of a dotted name.
    pub fn tensor(&self, name: &str) -> Option<&Tensor> {
        if let Some(direct) = self.root().get(name).and_then(Object::as_tensor) {
            return Some(direct);
        }
        let mut found = None;
        self.visit(|path, object| {
            if found.is_none() && path == name {
                found = object.as_tensor();
            }
        });
        found
    }
}
