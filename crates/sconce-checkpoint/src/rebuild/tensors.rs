//! The functions of `torch._utils` and `torch._tensor` that rebuild tensors.

use sconce_pickle::{Node as PickleNode, Value};
use sconce_tensor::{ChannelScheme, DType, Device, Dims, Layout, Quantizer, Storage, Tensor};

use super::args::Args;
use super::known::{Known, Rebuild};
use super::{Builder, Persistent, PersistentLoad, Resolved, TypedStorage, numpy};
use crate::{Error, ErrorKind};

/// A tensor, and what Python hangs on it.
#[derive(Debug, Clone)]
pub(super) struct Rebuilt {
    pub(super) tensor: Tensor,
    pub(super) class: RebuiltClass,
    pub(super) state: Option<Value>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RebuiltClass {
    Tensor,
    Parameter,
    Subclass(Value),
}

impl From<Tensor> for Rebuilt {
    fn from(tensor: Tensor) -> Self {
        Rebuilt { tensor, class: RebuiltClass::Tensor, state: None }
    }
}

impl Rebuild {
    fn name(self) -> &'static str {
        match self {
            Rebuild::V1 => "_rebuild_tensor",
            Rebuild::V2 => "_rebuild_tensor_v2",
            Rebuild::V3 => "_rebuild_tensor_v3",
            Rebuild::Parameter => "_rebuild_parameter",
            Rebuild::ParameterWithState => "_rebuild_parameter_with_state",
            Rebuild::Sparse => "_rebuild_sparse_tensor",
            Rebuild::SparseCsr => "_rebuild_sparse_csr_tensor",
            Rebuild::Nested => "_rebuild_nested_tensor",
            Rebuild::Quantized => "_rebuild_qtensor",
            Rebuild::Meta => "_rebuild_meta_tensor_no_storage",
            Rebuild::FromNumpy => "_rebuild_device_tensor_from_numpy",
            Rebuild::FromCpuTensor => "_rebuild_device_tensor_from_cpu_tensor",
            Rebuild::WrapperSubclass => "_rebuild_wrapper_subclass",
            Rebuild::FromTypeV2 => "_rebuild_from_type_v2",
            Rebuild::FromType => "_rebuild_from_type",
        }
    }
}

/// Says a tensor crate's complaint in this crate's error.
fn bad(error: sconce_tensor::Error) -> Error {
    use sconce_tensor::ErrorKind as Kind;
    let kind = match error.kind() {
        Kind::Limit => ErrorKind::Limit,
        Kind::Unsupported => ErrorKind::Unsupported,
        _ => ErrorKind::Malformed,
    };
    Error::new(kind, error.to_string())
}

impl<'b, 'p, L: PersistentLoad> Builder<'b, 'p, L> {
    /// The tensor that `value` is; an index into [`Builder::tensors`].
    pub(super) fn tensor(&mut self, value: Value) -> Result<u32, Error> {
        if let Resolved::Tensor(at) = self.resolved[value.index()] {
            return Ok(at);
        }
        let arena = self.arena;
        let rebuilt = match arena.node(value) {
            PickleNode::PersistentId(_) => match self.persistent(value)? {
                Persistent::Tensor { tensor, .. } => Rebuilt::from(tensor.clone()),
                _ => return Err(self.wrong(value, "a tensor")),
            },
            PickleNode::Call(call) => match self.known.get(&call.callable).copied() {
                Some(Known::Rebuild(rebuild)) => self.rebuild(rebuild, call.args)?,
                Some(Known::TensorClass(dtype)) => self.tensor_class(dtype, value)?,
                Some(Known::Parameter) => self.parameter_class(value)?,
                _ => return Err(self.wrong(value, "a tensor")),
            },
            _ => return Err(self.wrong(value, "a tensor")),
        };
        let at = self.tensors.len() as u32;
        self.tensors.push(rebuilt);
        if !matches!(arena.node(value), PickleNode::PersistentId(_)) {
            self.resolved[value.index()] = Resolved::Tensor(at);
        }
        Ok(at)
    }

    /// Whether a tensor subclass is rebuilt by a function of its own library: then it stays an object
    /// with its parts, as any class that is not known.
    pub(super) fn is_foreign(&self, rebuild: Rebuild, args: Value) -> bool {
        let from_type = matches!(rebuild, Rebuild::FromType | Rebuild::FromTypeV2);
        let func = self.arena.tuple(args).and_then(|args| args.first());
        let is_known = func.is_some_and(|func| self.known.contains_key(func));
        from_type && !is_known && func.is_some_and(|&func| self.arena.global(func).is_some())
    }

    fn rebuild(&mut self, rebuild: Rebuild, args: Value) -> Result<Rebuilt, Error> {
        let args = self.args(args, rebuild.name())?;
        match rebuild {
            Rebuild::V1 => self.strided(&args, None).map(Rebuilt::from),
            Rebuild::V2 => self.strided_v2(&args, 4, 6, None).map(Rebuilt::from),
            Rebuild::V3 => {
                let dtype = self.dtype(&args, 6)?;
                self.strided_v2(&args, 4, 7, Some(dtype)).map(Rebuilt::from)
            }
            Rebuild::Parameter => self.parameter(&args, None),
            Rebuild::ParameterWithState => {
                let state = args.value(3, "a state")?;
                self.parameter(&args, Some(state))
            }
            Rebuild::Sparse => self.sparse(&args).map(Rebuilt::from),
            Rebuild::SparseCsr => {
                let parts = args.value(1, "a tuple")?;
                let parts = self.args(parts, rebuild.name())?;
                self.compressed(Layout::SparseCsr, &parts).map(Rebuilt::from)
            }
            Rebuild::Nested => {
                let [buffer, sizes, strides, offsets] =
                    [0, 1, 2, 3].map(|index| self.tensor_arg(&args, index));
                let sizes = sizes?;
                self.pay_for_table(&sizes)?;
                Tensor::nested(buffer?, sizes, strides?, offsets?).map(Rebuilt::from).map_err(bad)
            }
            Rebuild::Quantized => self.quantized(&args).map(Rebuilt::from),
            Rebuild::Meta => {
                let (dtype, sizes) = (self.dtype(&args, 0)?, self.dims_arg(&args, 1)?);
                let tensor = Tensor::meta(dtype, &sizes, &self.dims_arg(&args, 2)?).map_err(bad)?;
                Ok(tensor.with_requires_grad(args.bool(3)?).into())
            }
            Rebuild::FromNumpy | Rebuild::FromCpuTensor => self.on_device(&args, rebuild),
            Rebuild::WrapperSubclass => self.wrapper(&args),
            Rebuild::FromTypeV2 => self.subclass(&args, true),
            Rebuild::FromType => self.subclass(&args, false),
        }
    }

    /// `(storage, offset, size, stride, …)`
    fn strided(&mut self, args: &Args<'_, '_>, dtype: Option<DType>) -> Result<Tensor, Error> {
        let found = self.storage_arg(args, 0)?;
        let dtype = dtype.unwrap_or_else(|| found.dtype_or_bytes());
        let (sizes, strides) = (self.dims_arg(args, 2)?, self.dims_arg(args, 3)?);
        Tensor::strided(found.storage, dtype, args.int(1)?, &sizes, &strides)
            .map_err(|error| self.explain_bounds(bad(error), args))
    }

    /// Names the storage that a view does not fit into.
    fn explain_bounds(&self, error: Error, args: &Args<'_, '_>) -> Error {
        let key = args.values.first().and_then(|&value| match self.arena.node(value) {
            PickleNode::PersistentId(pid) => self.arena.str(*self.arena.tuple(*pid)?.get(2)?),
            _ => None,
        });
        match key {
            Some(key) => error.with_note(format!("the tensor is a view of storage '{key}'")),
            None => error,
        }
    }

    /// As [`Builder::strided`], with `requires_grad` and optional metadata at these places.
    fn strided_v2(
        &mut self,
        args: &Args<'_, '_>,
        requires_grad: usize,
        metadata: usize,
        dtype: Option<DType>,
    ) -> Result<Tensor, Error> {
        let tensor = self.strided(args, dtype)?.with_requires_grad(args.bool(requires_grad)?);
        let Some(&metadata) = args.values.get(metadata) else { return Ok(tensor) };
        let flag = |name| self.metadata_flag(metadata, name);
        let (conj, neg) = (flag("conj"), flag("neg"));
        Ok(tensor.with_conj(conj).with_neg(neg))
    }

    /// Whether a tensor's metadata dict sets `name`. TorchScript wraps the dict in a type tag.
    fn metadata_flag(&self, metadata: Value, name: &str) -> bool {
        let arena = self.arena;
        let dict = match arena.node(metadata) {
            PickleNode::Call(call) if self.known.get(&call.callable) == Some(&Known::JitTag) => {
                arena.tuple(call.args).and_then(|args| args.first().copied()).unwrap_or(metadata)
            }
            _ => metadata,
        };
        let PickleNode::Dict(entries) = arena.node(dict) else { return false };
        entries.iter().rev().any(|&(key, value)| {
            arena.str(key) == Some(name) && matches!(arena.node(value), PickleNode::Bool(true))
        })
    }

    fn parameter(&mut self, args: &Args<'_, '_>, state: Option<Value>) -> Result<Rebuilt, Error> {
        let data = self.rebuilt_arg(args, 0)?;
        let tensor = data.tensor.with_requires_grad(args.bool(1)?);
        let class = match data.class {
            RebuiltClass::Subclass(class) => RebuiltClass::Subclass(class),
            _ => RebuiltClass::Parameter,
        };
        Ok(Rebuilt { tensor, class, state: state.or(data.state) })
    }

    /// `(layout, parts)`; TorchScript's writer gives `(layout number, sizes, requires_grad,
    /// indices, values, hooks)` under the same name.
    fn sparse(&mut self, args: &Args<'_, '_>) -> Result<Tensor, Error> {
        if let Ok(number) = args.int(0) {
            return self.sparse_from_cpp(number, args);
        }
        let layout = self.layout_arg(args, 0)?;
        let parts = self.args(args.value(1, "a tuple")?, "_rebuild_sparse_tensor")?;
        if layout != Layout::SparseCoo {
            return self.compressed(layout, &parts);
        }
        let (indices, values) = (self.tensor_arg(&parts, 0)?, self.tensor_arg(&parts, 1)?);
        let sizes = self.dims_arg(&parts, 2)?;
        let coalesced = if parts.len() > 3 { Some(parts.bool(3)?) } else { None };
        self.validated(Tensor::sparse_coo(indices, values, &sizes, coalesced))
    }

    fn compressed(&mut self, layout: Layout, parts: &Args<'_, '_>) -> Result<Tensor, Error> {
        let [compressed, plain, values] = [0, 1, 2].map(|index| self.tensor_arg(parts, index));
        let sizes = self.dims_arg(parts, 3)?;
        self.validated(Tensor::sparse_compressed(layout, compressed?, plain?, values?, &sizes))
    }

    fn sparse_from_cpp(&mut self, layout: i64, args: &Args<'_, '_>) -> Result<Tensor, Error> {
        let layout = Layout::from_number(layout).ok_or_else(|| args.wrong(0, "a sparse layout"))?;
        let sizes = self.dims_arg(args, 1)?;
        let requires_grad = args.bool(2)?;
        let tensor = match layout {
            Layout::SparseCoo => {
                let (indices, values) = (self.tensor_arg(args, 3)?, self.tensor_arg(args, 4)?);
                Tensor::sparse_coo(indices, values, &sizes, None)
            }
            _ => {
                let [compressed, plain, values] =
                    [3, 4, 5].map(|index| self.tensor_arg(args, index));
                Tensor::sparse_compressed(layout, compressed?, plain?, values?, &sizes)
            }
        };
        self.validated(tensor).map(|tensor| tensor.with_requires_grad(requires_grad))
    }

    /// A table is read when its tensor is made. Once for each storage is fair; a pickle could have
    /// one large table read by thousands of tensors.
    fn pay_for_table(&mut self, table: &Tensor) -> Result<(), Error> {
        /// Reading takes time but keeps nothing, so it is cheaper than a copy.
        const BYTES_READ_PER_BYTE_PAID: u64 = 64;
        let Some(storage) = table.storage().filter(|storage| storage.has_data()) else {
            return Ok(());
        };
        let free = if self.tables.insert(storage.id()) { storage.nbytes() } else { 0 };
        let paid = table.nbytes().saturating_sub(free) / BYTES_READ_PER_BYTE_PAID;
        self.options.budget.take(usize::try_from(paid).unwrap_or(usize::MAX))
    }

    fn validated(&mut self, tensor: Result<Tensor, sconce_tensor::Error>) -> Result<Tensor, Error> {
        let tensor = tensor.map_err(bad)?;
        if self.options.validate_sparse && tensor.has_data() {
            if let Some(parts) = tensor.sparse_coo_parts() {
                self.pay_for_table(&parts.indices)?;
            }
            if let Some(parts) = tensor.sparse_compressed_parts() {
                self.pay_for_table(&parts.compressed)?;
                self.pay_for_table(&parts.plain)?;
            }
            tensor.validate_sparse().map_err(bad)?;
        }
        Ok(tensor)
    }

    /// `(storage, offset, size, stride, quantizer_params, requires_grad, hooks)`
    fn quantized(&mut self, args: &Args<'_, '_>) -> Result<Tensor, Error> {
        let found = self.storage_arg(args, 0)?;
        let offset = args.int(1)?;
        let (sizes, strides) = (self.dims_arg(args, 2)?, self.dims_arg(args, 3)?);
        let params = self.args(args.value(4, "a tuple")?, "_rebuild_qtensor")?;
        let quantizer = self.quantizer(&params)?;
        let dtype = found.dtype_or_bytes();
        let tensor = Tensor::quantized(found.storage, dtype, offset, &sizes, &strides, quantizer)
            .map_err(|error| self.explain_bounds(bad(error), args))?;
        Ok(tensor.with_requires_grad(args.bool(5)?))
    }

    fn quantizer(&mut self, params: &Args<'_, '_>) -> Result<Quantizer, Error> {
        let scheme = params.value(0, "a quantization scheme")?;
        let Some(Known::QScheme(scheme)) = self.known.get(&scheme).copied() else {
            return Err(params.wrong(0, "a quantization scheme"));
        };
        let scheme = match scheme {
            "per_tensor_affine" => {
                let scale = match self.arena.node(params.value(1, "a float")?) {
                    PickleNode::Float(scale) => *scale,
                    PickleNode::Int(scale) => *scale as f64,
                    _ => return Err(params.wrong(1, "a float")),
                };
                return Ok(Quantizer::PerTensorAffine { scale, zero_point: params.int(2)? });
            }
            "per_channel_affine" => ChannelScheme::Affine,
            "per_channel_affine_float_qparams" => ChannelScheme::AffineFloatQParams,
            other => {
                let message =
                    format!("Can't deserialize quantized tensor with qscheme torch.{other}");
                return Err(Error::new(ErrorKind::Unsupported, message));
            }
        };
        let floats = scheme == ChannelScheme::AffineFloatQParams;
        Ok(Quantizer::PerChannel {
            scheme,
            scales: self.numbers_arg(params, 1, true)?,
            zero_points: self.numbers_arg(params, 2, floats)?,
            axis: params.int(3)?,
        })
    }

    /// A 1-d tensor, or the Python list that old files have in its place.
    fn numbers_arg(
        &mut self,
        args: &Args<'_, '_>,
        index: usize,
        floats: bool,
    ) -> Result<Tensor, Error> {
        let value = args.value(index, "a tensor")?;
        let items = match self.arena.node(value) {
            PickleNode::List(items) => items.as_slice(),
            PickleNode::Tuple(items) => self.arena.items(*items),
            _ => return self.tensor_arg(args, index),
        };
        let wrong = || args.wrong(index, "a tensor or a list of numbers");
        self.options.budget.take(size_of::<f64>() * items.len())?;
        let len = [items.len() as i64];
        let tensor = if floats {
            let number = |&item: &Value| match self.arena.node(item) {
                PickleNode::Float(number) => Some(*number),
                PickleNode::Int(number) => Some(*number as f64),
                _ => None,
            };
            let numbers: Option<Vec<f64>> = items.iter().map(number).collect();
            Tensor::from_vec(numbers.ok_or_else(wrong)?, &len)
        } else {
            let numbers: Option<Vec<i64>> =
                items.iter().map(|&item| self.arena.int(item)).collect();
            Tensor::from_vec(numbers.ok_or_else(wrong)?, &len)
        };
        tensor.map_err(bad)
    }

    /// `(data, dtype, device, requires_grad)`
    fn on_device(&mut self, args: &Args<'_, '_>, rebuild: Rebuild) -> Result<Rebuilt, Error> {
        let tensor = if rebuild == Rebuild::FromNumpy {
            let value = args.value(0, "a numpy array")?;
            let array = numpy::array(self.arena, value, &self.options.budget)?
                .ok_or_else(|| args.wrong(0, "a numpy array"))?;
            array.tensor().ok_or_else(|| args.wrong(0, "a numpy array of numbers"))?
        } else {
            self.tensor_arg(args, 0)?
        };
        let dtype = self.dtype(args, 1)?;
        let tensor = tensor.to_dtype(dtype).map_err(bad)?;
        let device = self.device_arg(args, 2)?;
        let tensor = tensor.with_device(device).with_requires_grad(args.bool(3)?);
        Ok(tensor.into())
    }

    /// `(cls, dtype, size, stride, storage_offset, layout, device, requires_grad)`
    fn wrapper(&mut self, args: &Args<'_, '_>) -> Result<Rebuilt, Error> {
        let class = args.value(0, "a class")?;
        let (dtype, sizes) = (self.dtype(args, 1)?, self.dims_arg(args, 2)?);
        let (strides, offset) = (self.dims_arg(args, 3)?, args.int(4)?);
        let (layout, device) = (self.layout_arg(args, 5)?, self.device_arg(args, 6)?);
        let tensor =
            Tensor::wrapper(dtype, &sizes, &strides, offset, layout, device).map_err(bad)?;
        let tensor = tensor.with_requires_grad(args.bool(7)?);
        Ok(Rebuilt { tensor, class: RebuiltClass::Subclass(class), state: None })
    }

    /// `(func, type, args, state)`. The function is called with the arguments; v1's state was always
    /// a dict, v2's may be anything a class's `__setstate__` takes.
    fn subclass(&mut self, args: &Args<'_, '_>, v2: bool) -> Result<Rebuilt, Error> {
        let func = args.value(0, "a rebuild function")?;
        let Some(Known::Rebuild(rebuild)) = self.known.get(&func).copied() else {
            return Err(args.wrong(0, "a rebuild function"));
        };
        // Nesting is no deeper than what writers make: a subclass of a subclass.
        if matches!(rebuild, Rebuild::FromType | Rebuild::FromTypeV2) {
            return Err(args.wrong(0, "a function that rebuilds a plain tensor"));
        }
        let rebuilt = self.rebuild(rebuild, args.value(2, "a tuple")?)?;
        let class = args.value(1, "a class")?;
        let class = match self.known.get(&class) {
            Some(Known::TensorClass(_)) => RebuiltClass::Tensor,
            Some(Known::Parameter) => RebuiltClass::Parameter,
            _ => RebuiltClass::Subclass(class),
        };
        let state = args.value(3, if v2 { "a state" } else { "a dict" })?;
        Ok(Rebuilt { tensor: rebuilt.tensor, class, state: Some(state) })
    }

    /// An old tensor class: `torch.FloatTensor()` with the state `(storage, offset, size, stride)`.
    fn tensor_class(&mut self, dtype: Option<DType>, value: Value) -> Result<Rebuilt, Error> {
        let arena = self.arena;
        let dtype = dtype.unwrap_or(DType::Float32);
        let state = arena.updates(value).and_then(|updates| updates.states.last().copied());
        let Some(state) = state else {
            let storage = Storage::from_bytes(Vec::new().into(), Device::CPU);
            return Tensor::contiguous(storage, dtype, &[0]).map(Rebuilt::from).map_err(bad);
        };
        let args = self.args(state, "Tensor.set_")?;
        self.strided(&args, Some(dtype)).map(Rebuilt::from)
    }

    /// `Parameter(data, requires_grad)`, and before 0.4 `Parameter(data)` with the state
    /// `(requires_grad, volatile, hooks)` or `(data, _, hooks, requires_grad, volatile)`.
    fn parameter_class(&mut self, value: Value) -> Result<Rebuilt, Error> {
        const NAME: &str = "torch.nn.Parameter";
        let arena = self.arena;
        let PickleNode::Call(call) = arena.node(value) else {
            return Err(self.wrong(value, "a parameter"));
        };
        let args = self.args(call.args, NAME)?;
        let state = call.updates().states.last().copied();
        let mut requires_grad = if args.len() > 1 { args.bool(1)? } else { true };
        let mut data = if args.len() > 0 { Some(self.rebuilt_arg(&args, 0)?) } else { None };
        if let Some(state) = state.filter(|&state| arena.tuple(state).is_some()) {
            let state = self.args(state, NAME)?;
            match state.len() {
                5 => {
                    data = Some(self.rebuilt_arg(&state, 0)?);
                    requires_grad = state.bool(3)?;
                }
                _ => requires_grad = state.bool(0)?,
            }
        }
        let data = data.ok_or_else(|| args.wrong(0, "a tensor"))?;
        let tensor = data.tensor.with_requires_grad(requires_grad);
        Ok(Rebuilt { tensor, class: RebuiltClass::Parameter, state: data.state })
    }

    fn storage_arg(&mut self, args: &Args<'_, '_>, index: usize) -> Result<TypedStorage, Error> {
        let value = args.value(index, "a storage")?;
        match self.arena.node(value) {
            PickleNode::PersistentId(_) | PickleNode::Call(_) => {}
            _ => return Err(args.wrong(index, "a storage")),
        }
        match self.persistent(value)? {
            Persistent::Storage(found) => Ok(found.clone()),
            _ => Err(args.wrong(index, "a storage")),
        }
    }

    fn rebuilt_arg(&mut self, args: &Args<'_, '_>, index: usize) -> Result<Rebuilt, Error> {
        let value = args.value(index, "a tensor")?;
        // Only what was made before can be an argument; anything else would nest without end.
        let resolved = self.resolved[value.index()];
        let at = match resolved {
            Resolved::Tensor(at) => at,
            Resolved::Persistent(_) => self.tensor(value)?,
            _ => return Err(args.wrong(index, "a tensor")),
        };
        Ok(self.tensors[at as usize].clone())
    }

    fn tensor_arg(&mut self, args: &Args<'_, '_>, index: usize) -> Result<Tensor, Error> {
        self.rebuilt_arg(args, index).map(|rebuilt| rebuilt.tensor)
    }

    fn dims_arg(&self, args: &Args<'_, '_>, index: usize) -> Result<Dims, Error> {
        let value = args.value(index, "a tuple of ints")?;
        self.paid_dims(value)?.ok_or_else(|| args.wrong(index, "a tuple of ints"))
    }

    fn dtype(&self, args: &Args<'_, '_>, index: usize) -> Result<DType, Error> {
        let value = args.value(index, "a torch.dtype")?;
        match self.known.get(&value) {
            Some(Known::DType(dtype)) => Ok(*dtype),
            _ => Err(args.wrong(index, "a torch.dtype")),
        }
    }

    pub(super) fn layout(&self, value: Value) -> Option<Layout> {
        let PickleNode::Call(call) = self.arena.node(value) else { return None };
        if self.known.get(&call.callable) != Some(&Known::GetLayout) {
            return None;
        }
        let [name] = self.arena.tuple(call.args)? else { return None };
        let name = self.arena.str(*name)?;
        Layout::from_name(name.strip_prefix("torch.").unwrap_or(name))
    }

    fn layout_arg(&self, args: &Args<'_, '_>, index: usize) -> Result<Layout, Error> {
        let value = args.value(index, "a torch.layout")?;
        self.layout(value).ok_or_else(|| args.wrong(index, "a torch.layout"))
    }

    /// The device of a `torch.device` call: `(type,)`, `(type, index)` or one string.
    pub(super) fn device(&self, value: Value) -> Option<Device> {
        let arena = self.arena;
        let PickleNode::Call(call) = arena.node(value) else { return None };
        if self.known.get(&call.callable) != Some(&Known::Device) {
            return None;
        }
        match arena.tuple(call.args)? {
            [name] => arena.str(*name)?.parse().ok(),
            [name, index] => format!("{}:{}", arena.str(*name)?, arena.int(*index)?).parse().ok(),
            _ => None,
        }
    }

    /// A device given as a string or object, after `map_location`.
    fn device_arg(&self, args: &Args<'_, '_>, index: usize) -> Result<Device, Error> {
        let value = args.value(index, "a device")?;
        let device = match self.device(value) {
            Some(device) => device,
            None => {
                let text = args.text(index)?;
                text.parse().map_err(|_| args.wrong(index, "a device"))?
            }
        };
        self.persistent.map_device(device)
    }
}
