//! Weights and constants.

use std::collections::HashMap;

use sconce_tensor::{ByteOrder, Device, Storage, Tensor};
use serde_json::Value as Json;

use super::package::{Layout, Package};
use super::{dtype_of_number, malformed};
use crate::formats::record::Record;
use crate::formats::restore;
use crate::info::{Place, StorageRecord};
use crate::options::LoadOptions;
use crate::{Error, ErrorKind};

/// Deepest nesting of a config, which needs seven levels, is that of the JSON reader: 128.
const STRIDED: i64 = 7;

/// The two places where a model's tensors are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Store {
    /// Parameters, and buffers that are in the state dict.
    Weights,
    /// Tensors of the program, buffers that are not in the state dict, objects.
    Constants,
}

impl Store {
    pub(super) fn folder(self) -> &'static str {
        match self {
            Store::Weights => "weights",
            Store::Constants => "constants",
        }
    }

    /// The endings of the names of its config: today's, and the one of 2.8.
    fn configs(self) -> [&'static str; 2] {
        match self {
            Store::Weights => ["_weights_config.json", "_model_param_config.json"],
            Store::Constants => ["_constants_config.json", "_model_constants_config.json"],
        }
    }
}

/// One of a model's tensors or objects, by name.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Payload {
    /// Its name: that of a parameter or buffer, or one that the export made up.
    pub name: String,
    /// The record it is in, without the archive's folder.
    pub record: String,
    /// Whether it is an `nn.Parameter`.
    pub is_parameter: bool,
    pub(super) value: Value,
    pub(super) device: Option<String>,
    pub(super) own_record: bool,
    pub(super) storage: Option<Vec<StorageRecord>>,
}

#[derive(Debug, Clone)]
pub(super) enum Value {
    Tensor(Tensor),
    /// Something that only its own classes can read; what it is.
    Object(String),
}

impl Payload {
    /// The tensor; `None` for objects. One without data in the file is on the device `meta`.
    pub fn tensor(&self) -> Option<&Tensor> {
        match &self.value {
            Value::Tensor(tensor) => Some(tensor),
            Value::Object(_) => None,
        }
    }

    /// The device that the file says it was on, where it says so: `cpu`, `cuda:0`.
    pub fn device(&self) -> Option<&str> {
        self.device.as_deref()
    }

    /// Whether its record holds it alone, or with others that share its storage: not a pickle of all.
    pub fn has_record(&self) -> bool {
        self.own_record
    }

    /// What it is, in a few words.
    pub fn what(&self) -> &str {
        match &self.value {
            Value::Tensor(_) => "tensor",
            Value::Object(what) => what,
        }
    }
}

/// The storages behind some payloads, each of them once.
pub(super) fn storages(payloads: &[Payload]) -> Vec<StorageRecord> {
    payloads.iter().flat_map(|payload| payload.storage.iter().flatten()).cloned().collect()
}

impl Package {
    /// A model's weights or constants, in the file's order. No tensor data is read.
    ///
    /// # Errors
    /// When the config is missing or does not fit its records.
    pub fn store(&self, model: &str, store: Store) -> Result<Vec<Payload>, Error> {
        let mut problems = Vec::new();
        let options = self.options.clone().keep_going(false);
        self.read_store(model, store, &options, &mut problems)
            .map_err(|error| error.in_file(self.source().name()))
    }

    pub(super) fn read_store(
        &self,
        model: &str,
        store: Store,
        options: &LoadOptions,
        problems: &mut Vec<Error>,
    ) -> Result<Vec<Payload>, Error> {
        if self.layout() != Layout::Raw {
            return self.pickled_store(model, store, options, problems);
        }
        let folder = store.folder();
        let names = store.configs().map(|ending| format!("data/{folder}/{model}{ending}"));
        let name = names.iter().find(|name| self.records.find(name).is_some());
        let name = name.unwrap_or(&names[0]);
        let text = self.record(name)?;
        let mut read = || -> Result<Vec<Payload>, Error> {
            let json: Json = serde_json::from_slice(&text)
                .map_err(|error| malformed(format!("invalid JSON: {error}")))?;
            let config = json.get("config").and_then(Json::as_object);
            let config = config.ok_or_else(|| malformed("the config has no object \"config\""))?;
            let mut reader = Reader { package: self, store, options, storages: HashMap::new() };
            let mut payloads = Vec::with_capacity(config.len());
            for (name, meta) in config {
                match reader.payload(name, meta) {
                    Ok(payload) => payloads.push(payload),
                    Err(error) if options.keep_going => problems.push(error.shortened()),
                    Err(error) => return Err(error),
                }
            }
            Ok(payloads)
        };
        read().map_err(|error| error.in_record(name))
    }
}

/// Makes tensors of records; those that name one record share a storage.
struct Reader<'p> {
    package: &'p Package,
    store: Store,
    options: &'p LoadOptions,
    /// By record, size of swapped words, and device.
    storages: HashMap<(usize, usize, String), Storage>,
}

impl Reader<'_> {
    fn payload(&mut self, name: &str, meta: &Json) -> Result<Payload, Error> {
        let shown = || name.chars().take(100).collect::<String>().escape_debug().to_string();
        let wrong = |what: &str| {
            malformed(format!("'{}': the config's {what} is not what it must be", shown()))
        };
        let path =
            meta.get("path_name").and_then(Json::as_str).ok_or_else(|| wrong("path_name"))?;
        let flag = |key: &str| meta.get(key).and_then(Json::as_bool).ok_or_else(|| wrong(key));
        let (is_parameter, use_pickle) = (flag("is_param")?, flag("use_pickle")?);
        let record = format!("data/{}/{path}", self.store.folder());
        let entry = self.package.find(&record)?;
        let mut payload = Payload {
            name: name.to_owned(),
            record,
            is_parameter,
            value: Value::Object(String::new()),
            device: None,
            own_record: true,
            storage: None,
        };
        let Some(meta) = meta.get("tensor_meta").filter(|meta| !meta.is_null() && !use_pickle)
        else {
            payload.value = Value::Object(what_object(path, use_pickle).to_owned());
            return Ok(payload);
        };
        let number = |value: &Json| value.as_i64().ok_or_else(|| wrong("tensor_meta"));
        let sym = |value: &Json| number(value.get("as_int").unwrap_or(&Json::Null));
        let list = |key: &str| -> Result<Vec<i64>, Error> {
            let items = meta.get(key).and_then(Json::as_array);
            items.ok_or_else(|| wrong(key))?.iter().map(sym).collect()
        };
        let of = |key: &str| meta.get(key).unwrap_or(&Json::Null);
        let dtype = number(of("dtype"))?;
        let Some(dtype) = dtype_of_number(dtype) else {
            return Err(malformed(format!("'{}': {dtype} is not a ScalarType", shown())));
        };
        if number(of("layout"))? != STRIDED {
            let message = format!("'{}' is not strided, which a raw record must be", shown());
            return Err(Error::new(ErrorKind::Unsupported, message));
        }
        let (sizes, strides) = (list("sizes")?, list("strides")?);
        let offset = sym(of("storage_offset"))?;
        let requires_grad = of("requires_grad").as_bool().unwrap_or(false);
        let device = device_text(of("device")).ok_or_else(|| wrong("device"))?;

        let size = entry.size();
        let bad = |error: sconce_tensor::Error| malformed(format!("'{}': {error}", shown()));
        // As sizes tell, there is something, but its bytes are not there: a fake tensor.
        let fake = size == 0 && sizes.iter().all(|&size| size != 0);
        let tensor = if fake || self.options.skip_data || self.options.is_meta() {
            Tensor::meta(dtype, &sizes, &strides).map_err(bad)?
        } else {
            let item = dtype.item_size() as u64;
            if size % item != 0 {
                return Err(malformed(format!(
                    "Record {}: size {size} is not a multiple of element size {item} for dtype \
                     torch.{}",
                    self.package.records.display_name(entry),
                    dtype.name()
                )));
            }
            let word = dtype.swap_size();
            let key = (entry.index(), word, device.clone());
            let storage = match self.storages.get(&key) {
                Some(storage) => storage.clone(),
                None => {
                    self.package.records.directory().check_readable(entry)?;
                    let records = self.package.records.clone();
                    let record = Record { records: records.clone(), index: entry.index() };
                    let order = self.package.byte_order().unwrap_or(ByteOrder::Little);
                    let storage = Storage::lazy_with_byte_order(
                        size,
                        order,
                        word,
                        Device::CPU,
                        Box::new(record),
                    );
                    let storage = restore(storage, &device, self.options)?;
                    payload.storage = Some(vec![StorageRecord {
                        key: path.into(),
                        nbytes: size,
                        dtype: Some(dtype),
                        storage: storage.clone(),
                        place: Place::Record { records, index: entry.index() },
                    }]);
                    self.storages.insert(key, storage.clone());
                    storage
                }
            };
            Tensor::strided(storage, dtype, offset, &sizes, &strides).map_err(bad)?
        };
        payload.value = Value::Tensor(tensor.with_requires_grad(requires_grad));
        payload.device = Some(device);
        Ok(payload)
    }
}

/// What stands in a record that is no bare tensor.
fn what_object(path: &str, use_pickle: bool) -> &'static str {
    if path.starts_with("custom_obj") {
        "object of a TorchScript class"
    } else if path.starts_with("opaque_obj") || !use_pickle {
        "pickled object"
    } else {
        "pickled tensor of a subclass"
    }
}

/// A device as its location tag: `cpu`, `cuda:0`.
fn device_text(device: &Json) -> Option<String> {
    let kind = device.get("type")?.as_str()?;
    match device.get("index") {
        None | Some(Json::Null) => Some(kind.to_owned()),
        Some(index) => Some(format!("{kind}:{}", index.as_i64()?)),
    }
}
