//! Files that torch.save wrote, within an archive.

use sconce_archive::Entry;
use sconce_source::Source;

use super::Package;
use super::payload::{Payload, Store, Value};
use crate::object::{Node, TensorClass};
use crate::options::LoadOptions;
use crate::{Checkpoint, Error, ErrorKind};

impl Package {
    /// The checkpoint that a record is. Its bytes are copied: what is read is a file of its own.
    pub(super) fn inner(&self, entry: &Entry, options: &LoadOptions) -> Result<Checkpoint, Error> {
        let name = self.records.display_name(entry).into_owned();
        let bytes = self.records.directory().bytes(entry)?;
        let source = Source::from_vec(name.clone(), bytes.to_vec());
        // A file could hold itself, as it seems, any number of times.
        let kind = crate::identify(&source).kind;
        if !matches!(kind, crate::FileKind::Zip | crate::FileKind::Legacy) {
            let message =
                format!("a torch.save file is expected, but this is {}", kind.description());
            return Err(Error::new(ErrorKind::Malformed, message).in_record(&name));
        }
        options.open_source(source)
    }

    /// The tensors of a dict that torch.save wrote.
    pub(super) fn pickled_store(
        &self,
        model: &str,
        store: Store,
        options: &LoadOptions,
        problems: &mut Vec<Error>,
    ) -> Result<Vec<Payload>, Error> {
        let names: [String; 2] = match (self.layout(), store) {
            (super::Layout::Flat, Store::Weights) => {
                ["serialized_state_dict.pt".into(), "serialized_state_dict.json".into()]
            }
            (super::Layout::Flat, Store::Constants) => {
                ["serialized_constants.pt".into(), "serialized_constants.json".into()]
            }
            (_, store) => {
                let name = format!("data/{}/{model}.pt", store.folder());
                [name.clone(), name]
            }
        };
        let found = names.iter().find_map(|name| self.records.find(name));
        // 2.1 wrote no constants.
        let Some(entry) = found.filter(|entry| entry.size() > 0) else { return Ok(Vec::new()) };
        let inner = self.inner(entry, options)?;
        problems.extend(inner.problems().iter().cloned());
        let record = self.records.name(entry).into_owned();
        let Some(dict) = inner.root().as_dict() else {
            let message =
                format!("a dict is expected, but {} was found", inner.root().class_name());
            return Err(Error::new(ErrorKind::Malformed, message).in_record(&record));
        };
        let mut payloads = Vec::with_capacity(dict.entries().len());
        for &(key, value) in dict.entries() {
            let Some(name) = inner.root().other(key).as_str() else {
                let message = "a name of the dict is not text";
                return Err(Error::new(ErrorKind::Malformed, message).in_record(&record));
            };
            let object = inner.root().other(value);
            let (is_parameter, value) = match object.data() {
                Node::Tensor(found) => (
                    matches!(found.class, TensorClass::Parameter),
                    Value::Tensor(found.tensor.clone()),
                ),
                _ => (false, Value::Object(object.class_name())),
            };
            payloads.push(Payload {
                name: name.to_owned(),
                record: record.clone(),
                is_parameter,
                value,
                device: None,
                own_record: false,
                storage: None,
            });
        }
        if let (Some(first), records) = (payloads.first_mut(), inner.storages())
            && !records.is_empty()
        {
            first.storage = Some(records.to_vec());
        }
        Ok(payloads)
    }
}
