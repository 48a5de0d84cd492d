//! Archives of programs as `torch.export.save` and PyTorch's `package_pt2` write them: one model, or several side by side,
//! each with its own weights or with others in their place.

use std::collections::HashMap;
use std::io::Write;

use indexmap::IndexMap;
use sconce_archive::{ArchiveWriter, Layout as ArchiveLayout, WriterOptions};
use sconce_checkpoint::pt2::{DEFAULT_MODEL, Payload, Store, number_of_dtype};
use sconce_tensor::{DType, Storage, Tensor};

use crate::json::Writer;
use crate::resave::like_loaded;
use crate::schema::{Device, Layout, PayloadConfig, PayloadMeta, ScalarType, SymInt, TensorMeta};
use crate::{Archive, Error, ErrorKind};

/// The version of the zip archive that `torch.export.save` writes.
pub(crate) const ZIP_VERSION: u64 = 6;

/// Tensors that one record holds.
type Group<'p> = Vec<(&'p Payload, Tensor)>;

/// How many records of each kind a store has so far: names are numbered through all models.
type Counts = HashMap<&'static str, usize>;

/// A model of an archive that is to be written to another: [`write_models`].
#[derive(Debug)]
pub struct ModelToWrite<'a> {
    archive: &'a Archive,
    model: &'a str,
    name: &'a str,
    replaced: HashMap<String, Tensor>,
}

impl<'a> ModelToWrite<'a> {
    /// A model by what [`Archive::model`] gives. It will be called `model`, as `torch.export.save` calls it.
    pub fn new(archive: &'a Archive, model: &'a str) -> Self {
        ModelToWrite { archive, model, name: DEFAULT_MODEL, replaced: HashMap::new() }
    }

    /// Under another name.
    #[must_use]
    pub fn named(mut self, name: &'a str) -> Self {
        self.name = name;
        self
    }

    /// With other numbers in the place of parameters, buffers and constants, by name. The program stays what it is, so
    /// each has the dtype and the sizes of the one that it replaces; it is laid out in memory as that one was. What
    /// shared its memory with one that is replaced is replaced with it.
    ///
    /// # Errors
    /// When the program has no tensor of a name, or one of another dtype or other sizes; when two that were one tensor
    /// are given different numbers in parts; when numbers cannot be read.
    pub fn with_weights(
        mut self,
        weights: impl IntoIterator<Item = (String, Tensor)>,
    ) -> Result<Self, Error> {
        let mut payloads = self.archive.weights(self.model)?;
        payloads.extend(self.archive.constants(self.model)?);
        let caller = |message: String| Error::new(ErrorKind::Caller, message);
        for (name, new) in weights {
            let Some(payload) = payloads.iter().find(|payload| payload.name == name) else {
                let message = format!(
                    "the program has no parameter, buffer or constant called '{}'",
                    name.escape_debug()
                );
                return Err(caller(message).with_help("sconce ls lists what the program has"));
            };
            let Some(old) = payload.tensor() else {
                let message =
                    format!("'{}' is a {}, not a tensor", name.escape_debug(), payload.what());
                return Err(caller(message));
            };
            if (old.dtype(), old.sizes()) != (new.dtype(), new.sizes()) {
                return Err(caller(format!(
                    "'{}' is {} {:?} in the program, and {} {:?} in what is to replace it",
                    name.escape_debug(),
                    old.dtype().name(),
                    old.sizes(),
                    new.dtype().name(),
                    new.sizes()
                ))
                .with_help(
                    "a program's operators are chosen for its dtypes and sizes: export it again",
                ));
            }
            let laid_out = laid_out_as(&new, old).map_err(|why| {
                Error::malformed(format!("'{}' cannot be replaced: {why}", name.escape_debug()))
            })?;
            self.replaced.insert(name, laid_out);
        }
        self.keep_ties(&payloads)?;
        Ok(self)
    }

    /// Names that were one tensor stay one, where they are given the same numbers or only one of them is given any.
    fn keep_ties(&mut self, payloads: &[Payload]) -> Result<(), Error> {
        let storage =
            |payload: &Payload| payload.tensor().and_then(Tensor::storage).map(Storage::id);
        let mut first: HashMap<usize, &Payload> = HashMap::new();
        for payload in payloads {
            let Some(id) = storage(payload) else { continue };
            if !self.replaced.contains_key(&payload.name) {
                continue;
            }
            let Some(leader) = first.get(&id).copied() else {
                first.insert(id, payload);
                continue;
            };
            let (a, b) = (&self.replaced[&leader.name], &self.replaced[&payload.name]);
            let same = is_same_view(leader, payload)
                && matches!((a.contiguous_bytes(), b.contiguous_bytes()), (Ok(a), Ok(b)) if a == b);
            if same {
                let shared = a.clone();
                self.replaced.insert(payload.name.clone(), shared);
            }
        }
        for payload in payloads {
            let leader = storage(payload).and_then(|id| first.get(&id).copied());
            let (Some(leader), false) = (leader, self.replaced.contains_key(&payload.name)) else {
                continue;
            };
            if !is_same_view(leader, payload) {
                let message = format!(
                    "'{}' shares memory with '{}', of which it is another part: give both",
                    payload.name.escape_debug(),
                    leader.name.escape_debug()
                );
                return Err(Error::new(ErrorKind::Caller, message));
            }
            let shared = self.replaced[&leader.name].clone();
            self.replaced.insert(payload.name.clone(), shared);
        }
        Ok(())
    }

    /// What it will be called.
    pub fn name(&self) -> &str {
        self.name
    }

    /// How many tensors have other numbers than in the archive that they come from.
    pub fn replaced(&self) -> usize {
        self.replaced.len()
    }

    /// A payload's tensor as it will be written.
    fn tensor(&self, payload: &Payload) -> Option<Tensor> {
        let own = payload.tensor()?;
        let new = self.replaced.get(&payload.name).cloned();
        Some(new.map_or_else(|| own.clone(), |new| new.with_requires_grad(own.requires_grad())))
    }
}

fn is_same_view(a: &Payload, b: &Payload) -> bool {
    let look = |payload: &Payload| {
        let tensor = payload.tensor()?;
        let (sizes, strides) = (tensor.sizes().to_vec(), tensor.strides().to_vec());
        Some((tensor.dtype(), sizes, strides, tensor.storage_offset()))
    };
    look(a) == look(b)
}

/// A tensor's numbers in a storage of their own, with the strides of another of the same sizes.
fn laid_out_as(new: &Tensor, old: &Tensor) -> Result<Tensor, String> {
    let text = |error: sconce_tensor::Error| error.to_string();
    let mut order: Vec<i64> = (0..old.ndim() as i64).collect();
    order.sort_by_key(|&dim| std::cmp::Reverse(old.strides()[dim as usize]));
    let bytes = new.permute(&order).map_err(text)?.contiguous_bytes_once().map_err(text)?;
    let storage = Storage::from_bytes(bytes, sconce_tensor::Device::CPU);
    let placed =
        Tensor::strided(storage, old.dtype(), 0, old.sizes(), old.strides()).map_err(text)?;
    let rows: Vec<i64> = order.iter().map(|&dim| old.sizes()[dim as usize]).collect();
    let is_dense = placed.permute(&order).map_err(text)?.is_contiguous() || rows.contains(&0);
    if is_dense {
        Ok(placed)
    } else {
        Err("it has gaps in memory, or numbers more than once".to_owned())
    }
}

/// Writes an archive of models, in today's layout and without extra files: one called `model` as `torch.export.save`
/// writes it, several as PyTorch's `package_pt2` does. `folder` is what [`sconce_archive::archive_name`] gives for the
/// new file.
///
/// ```
/// use sconce_export_program::{Archive, ModelToWrite, write_models};
///
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/shapes.pt2");
/// let archive = Archive::open(path)?;
/// let model = archive.model(None)?;
/// let both = [
///     ModelToWrite::new(&archive, model).named("first"),
///     ModelToWrite::new(&archive, model).named("second"),
/// ];
/// let written = write_models(&both, "both", Vec::new())?;
/// let source = sconce_source::Source::from_vec("both.pt2", written);
/// let both = Archive::from_source(source, &sconce_checkpoint::LoadOptions::new())?;
/// assert_eq!(both.models(), ["first", "second"]);
/// # Ok::<(), sconce_export_program::Error>(())
/// ```
///
/// # Errors
/// When two models have one name or a name is none for a record, a program or a tensor cannot be read, or writing fails.
pub fn write_models<W: Write>(
    models: &[ModelToWrite<'_>],
    folder: &str,
    out: W,
) -> Result<W, Error> {
    for (at, model) in models.iter().enumerate() {
        let name = model.name;
        if name.is_empty() || name.contains(['/', '\\']) || name.chars().any(char::is_control) {
            let message = format!("'{}' cannot be the name of a model", name.escape_debug());
            return Err(Error::new(ErrorKind::Caller, message));
        }
        if models[..at].iter().any(|other| other.name == name) {
            let message = format!("two models are called '{name}'");
            return Err(Error::new(ErrorKind::Caller, message));
        }
    }
    let options = WriterOptions::new().min_version(ZIP_VERSION).layout(ArchiveLayout::Torch2_1);
    let mut writer = ArchiveWriter::new(out, folder, options)?;
    let (mut weights, mut constants) = (Counts::new(), Counts::new());
    for model in models {
        let (archive, name) = (model.archive, model.name);
        let mut program = archive.program(model.model)?;
        like_loaded(&mut program)?;
        model.write_store(&mut writer, Store::Weights, &mut weights)?;
        model.write_store(&mut writer, Store::Constants, &mut constants)?;
        let mut json = Writer::known_only();
        program.write_to(&mut json);
        writer.write_record(&format!("models/{name}.json"), json.finish().as_bytes())?;
        let inputs = archive.package().sample_input_bytes(model.model)?;
        let record = format!("data/sample_inputs/{name}.pt");
        writer.write_record(&record, inputs.as_deref().unwrap_or_default())?;
    }
    writer.write_record("archive_format", b"pt2")?;
    writer.write_record("archive_version", b"0")?;
    Ok(writer.finish()?)
}

impl ModelToWrite<'_> {
    fn write_store<W: Write>(
        &self,
        writer: &mut ArchiveWriter<W>,
        store: Store,
        counts: &mut Counts,
    ) -> Result<(), Error> {
        let (folder, prefix, config_name, payloads) = match store {
            Store::Weights => {
                ("weights", "weight", "weights_config", self.archive.weights(self.model)?)
            }
            Store::Constants => {
                ("constants", "tensor", "constants_config", self.archive.constants(self.model)?)
            }
        };
        // One record for each storage as one dtype sees it, in order of first appearance.
        let mut groups: IndexMap<(Option<usize>, DType), Group<'_>> = IndexMap::new();
        let mut objects = Vec::new();
        for payload in &payloads {
            let Some(tensor) = self.tensor(payload) else {
                objects.push(payload);
                continue;
            };
            let storage = tensor.storage().filter(|storage| storage.nbytes() > 0);
            // What has no data is alone: fake tensors share nothing, empty ones share all.
            let key = match storage {
                Some(storage) => Some(storage.id()),
                None if tensor.has_data() || tensor.numel() == 0 => None,
                None => Some(std::ptr::from_ref(payload).addr()),
            };
            groups.entry((key, tensor.dtype())).or_default().push((payload, tensor));
        }
        let mut config = PayloadConfig { config: IndexMap::new(), extra: Vec::new() };
        for members in groups.values() {
            let path_name = numbered(counts, prefix);
            let bytes = members[0].1.storage().filter(|storage| storage.has_data());
            let bytes = bytes.map(Storage::bytes_once).transpose().map_err(|error| {
                Error::malformed(error.to_string()).in_record(&members[0].0.record)
            })?;
            let name = format!("data/{folder}/{path_name}");
            writer.write_record(&name, bytes.as_deref().unwrap_or_default())?;
            for (payload, tensor) in members {
                let meta = PayloadMeta {
                    path_name: path_name.clone(),
                    is_param: payload.is_parameter,
                    use_pickle: false,
                    tensor_meta: Some(tensor_meta(payload, tensor)?),
                    extra: Vec::new(),
                };
                config.config.insert(payload.name.clone(), meta);
            }
        }
        for payload in objects {
            let last = payload.record.rsplit('/').next().unwrap_or_default();
            let prefix = match () {
                () if last.starts_with("custom_obj") => "custom_obj",
                () if last.starts_with("opaque_obj") => "opaque_obj",
                () => prefix,
            };
            let path_name = numbered(counts, prefix);
            if !payload.has_record() {
                let message = format!(
                    "'{}' is a {}, which only PyTorch can write in today's layout",
                    payload.name.escape_debug(),
                    payload.what()
                );
                return Err(Error::new(ErrorKind::Unsupported, message));
            }
            let bytes = self.archive.package().record(&payload.record)?;
            writer.write_record(&format!("data/{folder}/{path_name}"), &bytes)?;
            let meta = PayloadMeta {
                path_name,
                is_param: payload.is_parameter,
                use_pickle: true,
                tensor_meta: None,
                extra: Vec::new(),
            };
            config.config.insert(payload.name.clone(), meta);
        }
        let name = format!("data/{folder}/{}_{config_name}.json", self.name);
        writer.write_record(&name, config.to_json().as_bytes())?;
        Ok(())
    }
}

/// The next name of a kind: `weight_3`.
fn numbered(counts: &mut Counts, prefix: &'static str) -> String {
    let count = counts.entry(prefix).or_default();
    let name = format!("{prefix}_{count}");
    *count += 1;
    name
}

fn tensor_meta(payload: &Payload, tensor: &Tensor) -> Result<TensorMeta, Error> {
    let dtype = number_of_dtype(tensor.dtype()).and_then(ScalarType::from_number);
    let dtype = dtype.ok_or_else(|| {
        let message = format!(
            "'{}' is of dtype {}, which torch.export.save cannot write",
            payload.name.escape_debug(),
            tensor.dtype().name()
        );
        Error::new(ErrorKind::Unsupported, message)
    })?;
    let ints = |values: &[i64]| values.iter().map(|&value| SymInt::Int(value)).collect();
    let location = match payload.device() {
        Some(device) => device.to_owned(),
        None => tensor.device().location().into_owned(),
    };
    let (kind, index) = match location.split_once(':') {
        Some((kind, index)) => (kind, index.parse().ok()),
        None => (&*location, None),
    };
    Ok(TensorMeta {
        dtype,
        sizes: ints(tensor.sizes()),
        requires_grad: tensor.requires_grad(),
        device: Device { kind: kind.to_owned(), index, extra: Vec::new() },
        strides: ints(tensor.strides()),
        storage_offset: SymInt::Int(tensor.storage_offset()),
        layout: Layout::Strided,
        extra: Vec::new(),
    })
}
