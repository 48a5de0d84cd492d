//! Random checkpoints, written by a small writer of their own: the pickle of made-up values in an
//! archive, with the calls by which PyTorch describes tensors.

use std::collections::HashMap;

use num_bigint::BigInt;
use sconce_archive::{ArchiveWriter, WriterOptions};
use sconce_pickle::{ArenaBuilder, EncodeOptions, Value, encode};
use sconce_tensor::DType;

use crate::steps::{DictClass, Step, View};

/// What storages there are: a type each, and room for this many elements. Keys are places.
const ROOM: [usize; 6] = [0, 1, 24, 24, 40, 3];

/// Storages of the same in every file: offsets and indices, and what they are of. Their keys come
/// after the others.
const INDICES: [i64; 14] = [0, 1, 2, 2, 0, 6, 2, 3, 1, 2, 3, 1, 2, 1];
const VALUES: usize = 12;

const CLASSES: [(&str, &str); 6] = [
    ("builtins", "int"),
    ("models", "Net"),
    ("models", "Other"),
    ("collections", "deque"),
    ("torch.nn.modules.linear", "Linear"),
    ("modèle", "Réseau"),
];
/// Classes whose names any protocol can write.
const PLAIN_CLASSES: usize = 5;
/// What is only named: calls of these are something else.
const NAMES: [(&str, &str); 6] = [
    ("functools", "reduce"),
    ("numpy", "dtype"),
    ("numpy", "ndarray"),
    ("torch", "FloatTensor"),
    ("torch._utils", "_rebuild_tensor_v2"),
    ("torch.nn.parameter", "Parameter"),
];

/// A file that holds all that the steps make, in a list; its pickle has this protocol.
pub(crate) fn file(steps: &[Step], dtypes: [DType; 6], protocol: u8) -> Vec<u8> {
    let mut maker = Maker::new(dtypes);
    for step in steps {
        maker.step(step, protocol);
    }
    let root = maker.values.list(maker.all.clone());
    let options = EncodeOptions::default().with_protocol(protocol);
    let pickle = encode(maker.values.arena(), root, &options).expect("a pickle");
    let mut archive =
        ArchiveWriter::new(Vec::new(), "made", WriterOptions::new()).expect("a folder's name");
    archive.write_record("data.pkl", &pickle).expect("room");
    for (key, dtype) in dtypes.into_iter().enumerate() {
        let data: Vec<u8> = (0..ROOM[key] * dtype.item_size()).map(|at| at as u8).collect();
        archive.write_record(&format!("data/{key}"), &data).expect("room");
    }
    let indices: Vec<u8> = INDICES.iter().flat_map(|index| index.to_le_bytes()).collect();
    archive.write_record(&format!("data/{}", ROOM.len()), &indices).expect("room");
    archive.write_record(&format!("data/{}", ROOM.len() + 1), &[7; 4 * VALUES]).expect("room");
    archive.finish().expect("a file")
}

fn strides(sizes: &[i64]) -> Vec<i64> {
    let mut strides = vec![1i64; sizes.len()];
    for dim in (1..sizes.len()).rev() {
        strides[dim - 1] = strides[dim] * sizes[dim].max(1);
    }
    strides
}

pub(crate) struct Maker {
    pub(super) values: ArenaBuilder<'static>,
    dtypes: [DType; 6],
    all: Vec<Value>,
    /// What can be a key: equal for ever, whatever it is held by.
    plain: Vec<Value>,
    lists: Vec<Value>,
    dicts: Vec<Value>,
    instances: Vec<Value>,
    /// Dtypes of numpy's, by their place in [`numpy::DTYPES`].
    pub(super) numpy_dtypes: HashMap<usize, Value>,
}

impl Maker {
    fn new(dtypes: [DType; 6]) -> Maker {
        let mut values = ArenaBuilder::new();
        let none = values.none();
        Maker {
            values,
            dtypes,
            all: vec![none],
            plain: vec![none],
            lists: Vec::new(),
            dicts: Vec::new(),
            instances: Vec::new(),
            numpy_dtypes: HashMap::new(),
        }
    }

    fn pick(&self, at: usize) -> Value {
        self.all[at % self.all.len()]
    }

    pub(super) fn picked(&self, at: &[usize]) -> Vec<Value> {
        at.iter().map(|&at| self.pick(at)).collect()
    }

    fn keys(&self, at: &[usize]) -> Vec<Value> {
        at.iter().map(|&at| self.plain[at % self.plain.len()]).collect()
    }

    /// Entries of different keys.
    fn pairs(&mut self, at: &[usize]) -> Vec<(Value, Value)> {
        let mut pairs = Vec::new();
        for &at in at {
            // New strs: which of the other keys are equal only Python knows.
            let key = self.values.str(format!("key {}", at % 1000));
            pairs.push((key, self.pick(at / 7)));
        }
        pairs
    }

    pub(super) fn call(
        &mut self,
        module: &'static str,
        name: &'static str,
        args: &[Value],
    ) -> Value {
        let function = self.values.global(module, name);
        let args = self.values.tuple(args);
        self.values.reduce(function, args).expect("a call")
    }

    pub(super) fn dims(&mut self, dims: &[i64]) -> Value {
        let dims: Vec<Value> = dims.iter().map(|&dim| self.values.int(dim)).collect();
        self.values.tuple(&dims)
    }

    fn class(&mut self, at: usize, protocol: u8) -> Value {
        let count = if protocol < 3 { PLAIN_CLASSES } else { CLASSES.len() };
        let (module, name) = CLASSES[at % count];
        self.values.global(module, name)
    }

    fn storage(&mut self, at: usize) -> Value {
        let key = at % ROOM.len();
        let dtype = self.dtypes[key];
        let class = match dtype.storage_class() {
            Some(class) => self.values.global("torch", class),
            None => self.values.global("torch.storage", "UntypedStorage"),
        };
        let count = match dtype.storage_class() {
            Some(_) => ROOM[key],
            None => ROOM[key] * dtype.item_size(),
        };
        self.storage_of(class, key, count)
    }

    fn storage_of(&mut self, class: Value, key: usize, count: usize) -> Value {
        let parts = [
            self.values.str("storage"),
            class,
            self.values.str(key.to_string()),
            self.values.str("cpu"),
            self.values.int(count as i64),
        ];
        let pid = self.values.tuple(&parts);
        self.values.persistent_id(pid)
    }

    /// A tensor of [`INDICES`] from `offset` on.
    fn indices(&mut self, offset: i64, sizes: &[i64]) -> Value {
        let class = self.values.global("torch", "LongStorage");
        let storage = self.storage_of(class, ROOM.len(), INDICES.len());
        self.contiguous(storage, offset, sizes)
    }

    /// A tensor of the values that indices are of.
    fn indexed(&mut self, sizes: &[i64]) -> Value {
        let class = self.values.global("torch", "FloatStorage");
        let storage = self.storage_of(class, ROOM.len() + 1, VALUES);
        self.contiguous(storage, 0, sizes)
    }

    fn contiguous(&mut self, storage: Value, offset: i64, sizes: &[i64]) -> Value {
        let args = [
            storage,
            self.values.int(offset),
            self.dims(sizes),
            self.dims(&strides(sizes)),
            self.values.bool(false),
            self.call("collections", "OrderedDict", &[]),
        ];
        self.call("torch._utils", "_rebuild_tensor_v2", &args)
    }

    /// Offset, sizes and strides of a view of so many elements that fits.
    fn geometry(&self, view: &View, room: usize) -> (i64, Vec<i64>, Vec<i64>) {
        let mut sizes: Vec<i64> = view.sizes.iter().map(|&size| i64::from(size)).collect();
        while sizes.iter().product::<i64>() as usize > room {
            if sizes.pop().is_none() {
                sizes.push(0);
            }
        }
        let mut strides = strides(&sizes);
        let free = room as i64 - sizes.iter().product::<i64>();
        let offset = i64::from(view.offset).min(free);
        if view.transposed {
            sizes.reverse();
            strides.reverse();
        }
        (offset, sizes, strides)
    }

    /// The function and arguments of a strided tensor.
    fn strided(&mut self, view: &View) -> (&'static str, Vec<Value>) {
        let key = view.storage % ROOM.len();
        let dtype = self.dtypes[key];
        let room = ROOM[key] * dtype.elements_per_byte();
        let (offset, sizes, strides) = self.geometry(view, room);
        let mut args = vec![
            self.storage(key),
            self.values.int(offset),
            self.dims(&sizes),
            self.dims(&strides),
            self.values.bool(dtype.is_floating_point() && view.neg),
            self.call("collections", "OrderedDict", &[]),
        ];
        let function = match dtype.storage_class() {
            Some(_) => "_rebuild_tensor_v2",
            None => {
                args.push(self.values.global("torch", dtype.name()));
                "_rebuild_tensor_v3"
            }
        };
        let mut flags = Vec::new();
        for (name, is_set) in [("neg", view.neg), ("conj", view.conj)] {
            if is_set && dtype.is_complex() {
                flags.push((self.values.str(name), self.values.bool(true)));
            }
        }
        if !flags.is_empty() {
            args.push(self.values.dict(flags).expect("strs as keys"));
        }
        (function, args)
    }

    /// A tensor of int64 or float32 with a storage of its own, as the old calls have it: in bytes.
    fn meta(&mut self, dtype: DType, sizes: &[i64]) -> Value {
        let strides = strides(sizes);
        let args = [
            self.values.global("torch", dtype.name()),
            self.dims(sizes),
            self.dims(&strides),
            self.values.bool(false),
        ];
        self.call("torch._utils", "_rebuild_meta_tensor_no_storage", &args)
    }

    fn quantized(&mut self, view: &View, channels: bool) -> Option<Value> {
        let found = (0..ROOM.len()).map(|at| (view.storage + at) % ROOM.len());
        let key = found.into_iter().find(|&key| self.dtypes[key].is_quantized())?;
        let room = ROOM[key] * self.dtypes[key].elements_per_byte();
        let (offset, sizes, strides) = self.geometry(view, room);
        let params = match (channels, sizes.first()) {
            (true, Some(&count)) => {
                let scales = (0..count).map(|_| self.values.float(0.5)).collect::<Vec<_>>();
                let points = (0..count).map(|at| self.values.int(at)).collect::<Vec<_>>();
                vec![
                    self.values.global("torch", "per_channel_affine"),
                    self.values.list(scales),
                    self.values.list(points),
                    self.values.int(0),
                ]
            }
            _ => vec![
                self.values.global("torch", "per_tensor_affine"),
                self.values.float(0.25),
                self.values.int(3),
            ],
        };
        let args = [
            self.storage(key),
            self.values.int(offset),
            self.dims(&sizes),
            self.dims(&strides),
            self.values.tuple(&params),
            self.values.bool(false),
            self.call("collections", "OrderedDict", &[]),
        ];
        Some(self.call("torch._utils", "_rebuild_qtensor", &args))
    }

    fn layout(&mut self, name: &'static str) -> Value {
        let name = self.values.str(name);
        self.call("torch.serialization", "_get_layout", &[name])
    }

    fn step(&mut self, step: &Step, protocol: u8) {
        let new = match step {
            Step::None => self.values.none(),
            Step::Bool(truth) => self.values.bool(*truth),
            Step::Int(number) => self.values.int(*number),
            Step::BigInt(bytes) => self.values.big_int(BigInt::from_signed_bytes_le(bytes)),
            Step::Float(number) => self.values.float(*number),
            Step::Complex(re, im) => {
                let parts = [self.values.float(*re), self.values.float(*im)];
                self.call("builtins", "complex", &parts)
            }
            Step::Str(text) => self.values.str(text.clone()),
            Step::Surrogate(lone, text) => {
                let lone = [0xed, 0x80 | (lone >> 6 & 0x3f) as u8, 0x80 | (lone & 0x3f) as u8];
                let bytes = [text.as_bytes(), &lone].concat();
                let bytes = Box::leak(bytes.into_boxed_slice());
                self.values.surrogate_str(bytes).expect("a surrogate")
            }
            Step::Bytes(bytes) => self.values.bytes(bytes.clone()),
            Step::ByteArray(bytes) => self.values.bytearray(bytes.clone()),
            Step::Class(at) => self.class(*at, protocol),
            Step::Name(at) => {
                let (module, name) = NAMES[at % NAMES.len()];
                self.values.global(module, name)
            }
            Step::DType(at) => {
                let dtype = DType::all().nth(at % DType::all().len()).expect("a dtype");
                self.values.global("torch", dtype.name())
            }
            Step::Size(dims) => {
                let dims: Vec<i64> = dims.iter().map(|&dim| i64::from(dim)).collect();
                let dims = self.dims(&dims);
                self.call("torch", "Size", &[dims])
            }
            Step::Device(at) => {
                let name = self.values.str(["cpu", "cuda", "meta"][at % 3]);
                let index = self.values.int((at % 5) as i64);
                let args = [name, index];
                self.call("torch", "device", if at % 3 == 1 { &args } else { &args[..1] })
            }
            Step::Layout(at) => self.layout(["torch.strided", "torch.sparse_coo"][at % 2]),
            Step::Tuple(items) => self.values.tuple(&self.picked(items)),
            Step::List(items) => self.values.list(self.picked(items)),
            Step::Dict(class, entries) => self.dict(*class, entries),
            Step::Set(items, frozen) => {
                let items = self.keys(items);
                match frozen {
                    true => self.values.frozenset(&items).expect("plain items"),
                    false => self.values.set(items).expect("plain items"),
                }
            }
            Step::Instance(new, class, args) => {
                let (class, args) = (self.class(*class, protocol), self.picked(args));
                let args = self.values.tuple(&args);
                match new {
                    true => self.values.new_obj(class, args),
                    false => self.values.reduce(class, args),
                }
                .expect("a call")
            }
            Step::Keywords(class, args, keywords) => {
                if protocol < 4 {
                    return;
                }
                let class = self.class(*class, 2);
                let args = self.values.tuple(&self.picked(args));
                let keywords = self.pairs(keywords);
                let keywords = self.values.dict(keywords).expect("strs as keys");
                self.values.new_obj_ex(class, args, keywords).expect("a call")
            }
            Step::Storage(at) => self.storage(*at),
            Step::Tensor(view) => {
                let (function, args) = self.strided(view);
                self.call("torch._utils", function, &args)
            }
            Step::Parameter(view, grad) => {
                let (function, args) = self.strided(view);
                let args = [
                    self.call("torch._utils", function, &args),
                    self.values.bool(*grad),
                    self.call("collections", "OrderedDict", &[]),
                ];
                self.call("torch._utils", "_rebuild_parameter", &args)
            }
            Step::Subclass(view, state) => {
                let (function, args) = self.strided(view);
                let key = self.values.str("attribute");
                let state = vec![(key, self.pick(*state))];
                let parts = [
                    self.values.global("torch._utils", function),
                    self.values.global("models", "Marked"),
                    self.values.tuple(&args),
                    self.values.dict(state).expect("a str as key"),
                ];
                self.call("torch._tensor", "_rebuild_from_type_v2", &parts)
            }
            Step::Quantized(view, channels) => match self.quantized(view, *channels) {
                Some(tensor) => tensor,
                None => return,
            },
            Step::Coo(nnz, coalesced, has_data) => {
                let nnz = i64::from(*nnz);
                let mut parts = match has_data {
                    true => vec![self.indices(0, &[2, nnz]), self.indexed(&[nnz, 3])],
                    false => {
                        let indices = self.meta(DType::Int64, &[2, nnz]);
                        vec![indices, self.meta(DType::Float32, &[nnz, 3])]
                    }
                };
                parts.push(self.dims(&[4, 8, 3]));
                parts.extend(coalesced.map(|coalesced| self.values.bool(coalesced)));
                let (layout, parts) = (self.layout("torch.sparse_coo"), self.values.tuple(&parts));
                self.call("torch._utils", "_rebuild_sparse_tensor", &[layout, parts])
            }
            Step::Compressed(at, has_data) => {
                let mut parts = match has_data {
                    // Two entries in the first two of three rows, or columns.
                    true => vec![self.indices(0, &[4]), self.indices(1, &[2]), self.indexed(&[2])],
                    false => vec![
                        self.meta(DType::Int64, &[4]),
                        self.meta(DType::Int64, &[2]),
                        self.meta(DType::Float64, &[2]),
                    ],
                };
                parts.push(self.dims(&[3, 3]));
                let layout = self.layout(["torch.sparse_csr", "torch.sparse_csc"][at % 2]);
                let parts = self.values.tuple(&parts);
                self.call("torch._utils", "_rebuild_sparse_tensor", &[layout, parts])
            }
            Step::Nested(count) => {
                let count = i64::from(*count);
                // Matrices of 2 by 3 and 1 by 2, that is; and their strides.
                let parts = [
                    self.indexed(&[8]),
                    self.indices(6, &[count, 2]),
                    self.indices(10, &[count, 2]),
                    self.indices(4, &[count]),
                ];
                self.call("torch._utils", "_rebuild_nested_tensor", &parts)
            }
            Step::NumpyDType(at) => self.numpy_dtype(*at),
            Step::Array(array) => self.array(array, protocol),
            Step::ObjectArray(items, column) => self.object_array(items, *column),
            Step::Scalar(dtype, data) => self.scalar(*dtype, data),
            Step::Meta(dtype, sizes) => {
                let dtypes = [DType::Float32, DType::Int8, DType::Bool, DType::Float8E4M3FN];
                let sizes: Vec<i64> = sizes.iter().map(|&size| i64::from(size)).collect();
                self.meta(dtypes[dtype % dtypes.len()], &sizes)
            }
            Step::Append(at, items) => {
                let targets = [&self.lists[..], &self.instances[..]].concat();
                if let Some(target) = targets.get(at % 8) {
                    self.values.append(*target, &self.picked(items)).expect("a list or call");
                }
                return;
            }
            Step::SetItems(at, entries) => {
                let targets = [&self.dicts[..], &self.instances[..]].concat();
                if let Some(&target) = targets.get(at % 8) {
                    let pairs = self.pairs(entries);
                    self.values.set_items(target, &pairs).expect("a dict or call");
                }
                return;
            }
            Step::Build(at, state) => {
                if let Some(&target) = self.instances.get(at % 8) {
                    self.values.build(target, self.pick(*state)).expect("a call");
                }
                return;
            }
        };
        match step {
            Step::List(_) => self.lists.push(new),
            Step::Dict(DictClass::Dict | DictClass::Ordered, _) => self.dicts.push(new),
            Step::Instance(..) | Step::Keywords(..) => self.instances.push(new),
            Step::Int(_) | Step::Str(_) | Step::Bytes(_) | Step::Bool(_) => self.plain.push(new),
            _ => {}
        }
        self.all.push(new);
    }

    fn dict(&mut self, class: DictClass, entries: &[usize]) -> Value {
        let pairs = self.pairs(entries);
        let made = match class {
            DictClass::Dict => return self.values.dict(pairs).expect("strs as keys"),
            DictClass::Ordered => self.call("collections", "OrderedDict", &[]),
            DictClass::Counter => {
                let inner = self.values.dict(pairs).expect("strs as keys");
                return self.call("collections", "Counter", &[inner]);
            }
            DictClass::Default => {
                let factory = self.values.global("builtins", "list");
                self.call("collections", "defaultdict", &[factory])
            }
        };
        self.values.set_items(made, &pairs).expect("a call");
        made
    }
}
