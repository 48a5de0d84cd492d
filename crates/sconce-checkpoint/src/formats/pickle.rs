//! A bare pickle: what `pickle.dump` writes, or the `data.pkl` of an archive on its own.

use std::collections::HashMap;

use sconce_pickle::{Arena, Node as PickleNode, Value};
use sconce_source::Source;
use sconce_tensor::{Device, Storage};

use super::{Parts, beginning, build, finish, map_device, restore, storage_id, unpickle};
use crate::identify::FileKind;
use crate::info::Info;
use crate::observe::PicklePlace;
use crate::options::LoadOptions;
use crate::rebuild::{Persistent, PersistentLoad, TypedStorage};
use crate::{Error, ErrorKind};

pub(super) fn open(source: &Source, options: &LoadOptions) -> Result<Parts, Error> {
    let mut warnings = Vec::new();
    let place = PicklePlace::alone("pickle", source.len());
    let bytes = beginning(source, 1, options)?;
    let loaded = unpickle(&bytes, place, options, &mut warnings)?;
    let trailing_bytes = source.len() - loaded.consumed as u64;
    let is_number =
        matches!(loaded.arena.node(loaded.root), PickleNode::Int(_) | PickleNode::BigInt(_));
    if is_number && trailing_bytes > 0 {
        let message = "Invalid magic number; corrupt file?";
        return Err(Error::new(ErrorKind::Malformed, message).at(0).with_note(
            "a pickled number and more data: the head of a torch.save stream, but not its number",
        ));
    }
    let mut storages = Storages { options, by_key: HashMap::new() };
    let built = build(&loaded, source.len(), &mut storages, options)?;
    if !storages.by_key.is_empty() {
        warnings.push(format!(
            "the pickle names {} storages whose data is in another file: tensors have shapes but no \
             values",
            storages.by_key.len()
        ));
    }
    let info = Info { trailing_bytes, records: 1, ..Info::default() };
    Ok(finish(FileKind::Pickle, built, info, &loaded, "pickle", warnings))
}

/// Storages that are named but not here.
struct Storages<'o> {
    options: &'o LoadOptions,
    by_key: HashMap<String, Storage>,
}

impl PersistentLoad for Storages<'_> {
    fn load(&mut self, arena: &Arena<'_>, pid: Value) -> Result<Persistent, Error> {
        let id = storage_id(arena, pid)?;
        let storage = match self.by_key.get(&*id.key) {
            Some(storage) if storage.nbytes() == id.nbytes => storage.clone(),
            _ => {
                let storage = restore(Storage::meta(id.nbytes), &id.location, self.options)?;
                self.by_key.insert(id.key.into_owned(), storage.clone());
                storage
            }
        };
        Ok(Persistent::Storage(TypedStorage { storage, dtype: id.dtype }))
    }

    fn map_device(&self, device: Device) -> Result<Device, Error> {
        map_device(device, self.options)
    }
}
