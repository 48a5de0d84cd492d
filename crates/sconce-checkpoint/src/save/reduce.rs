//! What `Tensor.__reduce_ex__` gives for each kind of tensor.

use sconce_pickle::Value;
use sconce_tensor::{ChannelScheme, DType, Device, DeviceKind, Layout, Quantizer, Storage, Tensor};

use super::lower::{Lower, unpicklable};
use crate::object::{TensorClass, TensorObject};
use crate::{Error, ErrorKind};

const UTILS: &str = "torch._utils";

/// A function to call and its arguments, before they are a call.
struct Reduced {
    function: &'static str,
    args: Vec<Value>,
}

impl<'c> Lower<'c> {
    /// The value of a tensor object with its class and attributes.
    pub(super) fn tensor(&mut self, object: &'c TensorObject) -> Result<Value, Error> {
        let state = match object.state {
            Some(state) => Some(self.get(state)?),
            None => None,
        };
        match (&object.class, state) {
            (TensorClass::Parameter, state) => {
                let data = self.plain(&object.tensor.clone().with_requires_grad(false))?;
                let requires_grad = self.values.bool(object.tensor.requires_grad());
                let hooks = self.hooks()?;
                let mut args = vec![data, requires_grad, hooks];
                args.extend(state);
                let function = match state {
                    Some(_) => "_rebuild_parameter_with_state",
                    None => "_rebuild_parameter",
                };
                self.call(UTILS, function, &args)
            }
            (TensorClass::Tensor, None) => self.plain(&object.tensor),
            (class, state) => {
                let class = match class {
                    TensorClass::Subclass(class) => self.class(class),
                    _ => self.values.global("torch", "Tensor"),
                };
                let Reduced { function, args } = match self.is_wrapper(&object.tensor) {
                    true => return self.wrapper(class, &object.tensor),
                    false => self.reduce(&object.tensor)?,
                };
                let function = self.values.global(UTILS, function);
                let args = self.values.tuple(&args);
                let state = match state {
                    Some(state) => state,
                    None => self.values.dict(Vec::new()).map_err(unpicklable)?,
                };
                self.call("torch._tensor", "_rebuild_from_type_v2", &[function, class, args, state])
            }
        }
    }

    fn plain(&mut self, tensor: &Tensor) -> Result<Value, Error> {
        let Reduced { function, args } = self.reduce(tensor)?;
        self.call(UTILS, function, &args)
    }

    fn reduce(&mut self, tensor: &Tensor) -> Result<Reduced, Error> {
        if let Some(quantizer) = tensor.quantizer() {
            return self.quantized(tensor, quantizer);
        }
        if let Some(parts) = tensor.sparse_coo_parts() {
            let indices = self.plain(&parts.indices)?;
            let values = self.plain(&parts.values)?;
            let size = self.size(tensor.sizes())?;
            // Where a file does not say it, PyTorch takes those with one entry or none for coalesced.
            let few = parts.indices.sizes().get(1).is_none_or(|&entries| entries < 2);
            let coalesced = self.values.bool(parts.coalesced.unwrap_or(few));
            return self.sparse(tensor.layout(), &[indices, values, size, coalesced]);
        }
        if let Some(parts) = tensor.sparse_compressed_parts() {
            let compressed = self.plain(&parts.compressed)?;
            let plain = self.plain(&parts.plain)?;
            let values = self.plain(&parts.values)?;
            let size = self.size(tensor.sizes())?;
            return self.sparse(tensor.layout(), &[compressed, plain, values, size]);
        }
        if let Some(parts) = tensor.nested_parts() {
            let parts = [&parts.buffer, &parts.sizes, &parts.strides, &parts.offsets];
            let args: Result<Vec<Value>, Error> =
                parts.into_iter().map(|part| self.plain(part)).collect();
            return Ok(Reduced { function: "_rebuild_nested_tensor", args: args? });
        }
        if tensor.device().is_meta() {
            let dtype = self.dtype(tensor.dtype())?;
            let (size, stride) = (self.dims(tensor.sizes()), self.dims(tensor.strides()));
            let requires_grad = self.values.bool(tensor.requires_grad());
            let args = vec![dtype, size, stride, requires_grad];
            return Ok(Reduced { function: "_rebuild_meta_tensor_no_storage", args });
        }
        self.strided(tensor)
    }

    fn strided(&mut self, tensor: &Tensor) -> Result<Reduced, Error> {
        let storage = self.storage_of(tensor)?;
        let mut args = vec![
            storage,
            self.values.int(tensor.storage_offset()),
            self.dims(tensor.sizes()),
            self.dims(tensor.strides()),
            self.values.bool(tensor.requires_grad()),
            self.hooks()?,
        ];
        let function = match tensor.dtype().storage_class() {
            Some(_) => "_rebuild_tensor_v2",
            None => {
                args.push(self.dtype(tensor.dtype())?);
                "_rebuild_tensor_v3"
            }
        };
        let mut metadata = Vec::new();
        for (name, is_set) in [("neg", tensor.is_neg()), ("conj", tensor.is_conj())] {
            if is_set {
                metadata.push((self.fresh_text(name.to_owned()), self.values.bool(true)));
            }
        }
        if !metadata.is_empty() {
            args.push(self.values.dict(metadata).map_err(unpicklable)?);
        }
        Ok(Reduced { function, args })
    }

    fn quantized(&mut self, tensor: &Tensor, quantizer: &Quantizer) -> Result<Reduced, Error> {
        let storage = self.storage_of(tensor)?;
        let offset = self.values.int(tensor.storage_offset());
        let (size, stride) = (self.dims(tensor.sizes()), self.dims(tensor.strides()));
        let params = match quantizer {
            Quantizer::PerTensorAffine { scale, zero_point } => vec![
                self.values.global("torch", "per_tensor_affine"),
                self.values.float(*scale),
                self.values.int(*zero_point),
            ],
            Quantizer::PerChannel {
                scheme: ChannelScheme::Affine | ChannelScheme::AffineFloatQParams,
                scales,
                zero_points,
                axis,
            } => vec![
                // PyTorch's writer has one name for both schemes.
                self.values.global("torch", "per_channel_affine"),
                self.plain(scales)?,
                self.plain(zero_points)?,
                self.values.int(*axis),
            ],
            other => {
                let message = format!(
                    "Serialization is not supported for tensors of type torch.{}",
                    other.scheme_name()
                );
                return Err(Error::new(ErrorKind::Unsupported, message));
            }
        };
        let params = self.values.tuple(&params);
        let requires_grad = self.values.bool(tensor.requires_grad());
        let hooks = self.hooks()?;
        let args = vec![storage, offset, size, stride, params, requires_grad, hooks];
        Ok(Reduced { function: "_rebuild_qtensor", args })
    }

    fn sparse(&mut self, layout: Layout, parts: &[Value]) -> Result<Reduced, Error> {
        let layout = self.layout(layout)?;
        let args = vec![layout, self.values.tuple(parts)];
        Ok(Reduced { function: "_rebuild_sparse_tensor", args })
    }

    fn is_wrapper(&self, tensor: &Tensor) -> bool {
        tensor.storage().is_none()
            && tensor.strides().len() == tensor.sizes().len()
            && !tensor.device().is_meta()
            && tensor.nested_parts().is_none()
            && tensor.layout() == Layout::Strided
    }

    /// `_rebuild_wrapper_subclass`
    fn wrapper(&mut self, class: Value, tensor: &Tensor) -> Result<Value, Error> {
        let args = [
            class,
            self.dtype(tensor.dtype())?,
            self.dims(tensor.sizes()),
            self.dims(tensor.strides()),
            self.values.int(tensor.storage_offset()),
            self.layout(tensor.layout())?,
            self.device(tensor.device())?,
            self.values.bool(tensor.requires_grad()),
        ];
        self.call(UTILS, "_rebuild_wrapper_subclass", &args)
    }

    /// `OrderedDict()`, made anew for each tensor.
    fn hooks(&mut self) -> Result<Value, Error> {
        self.call("collections", "OrderedDict", &[])
    }

    /// A tuple of ints.
    pub(super) fn dims(&mut self, dims: &[i64]) -> Value {
        let dims: Vec<Value> = dims.iter().map(|&dim| self.values.int(dim)).collect();
        self.values.tuple(&dims)
    }

    /// `torch.Size(dims)`
    pub(super) fn size(&mut self, dims: &[i64]) -> Result<Value, Error> {
        let dims = self.dims(dims);
        self.call("torch", "Size", &[dims])
    }

    /// `torch.device(type)` or `torch.device(type, index)`
    pub(super) fn device(&mut self, device: &Device) -> Result<Value, Error> {
        let mut args = vec![self.fresh_text(device.name().to_owned())];
        args.extend(device.index.map(|index| self.values.int(i64::from(index))));
        self.call("torch", "device", &args)
    }

    /// Gives a tensor's storage its key before anything else does.
    pub(super) fn reduce_storage(&mut self, tensor: &Tensor) -> Result<(), Error> {
        match tensor.storage() {
            Some(_) => self.storage_of(tensor).map(drop),
            None => Ok(()),
        }
    }

    fn storage_of(&mut self, tensor: &Tensor) -> Result<Value, Error> {
        let Some(storage) = tensor.storage() else {
            let message = "a tensor without data of its own cannot be written";
            return Err(Error::new(ErrorKind::Unsupported, message));
        };
        if !storage.has_data() && !self.form.skip_data {
            return Err(Error::new(ErrorKind::Caller, "a tensor's data was not loaded")
                .with_note("it was opened with skip_data or on the device meta, or is elsewhere"));
        }
        let dtype = tensor.dtype();
        let typed = dtype.storage_class().map(|_| dtype);
        if self.form.swapped && typed.is_none() && dtype.swap_size() > 1 {
            let message = format!(
                "a tensor of {dtype} cannot be written in a big-endian file: PyTorch would not swap it"
            );
            return Err(Error::new(ErrorKind::Unsupported, message)
                .with_note("only dtypes with a storage class of their own are swapped"));
        }
        self.storage(storage, typed)
    }

    /// The persistent id of a storage under a type; `None` for untyped storages.
    pub(super) fn storage(
        &mut self,
        storage: &Storage,
        dtype: Option<DType>,
    ) -> Result<Value, Error> {
        let item = dtype.unwrap_or(DType::UInt8);
        let kind = self.constant("storage");
        let class = dtype.and_then(DType::storage_class);
        let class = match class {
            Some(class) => self.values.global("torch", class),
            None => self.values.global("torch.storage", "UntypedStorage"),
        };
        let key = self.storage_key(storage, item)?;
        let device = storage.device();
        // PyTorch's tags: of these devices one text for all storages, which pickle writes once.
        let location = match device.kind {
            DeviceKind::Cpu => self.constant("cpu"),
            DeviceKind::Mps => self.constant("mps"),
            _ => self.fresh_text(device.location().into_owned()),
        };
        let numel = self.values.int((storage.nbytes() / item.item_size() as u64) as i64);
        let mut pid = vec![kind, class, key, location, numel];
        if self.form.legacy {
            // What part of another storage it is: none, for a long time now.
            pid.push(self.values.none());
        }
        let pid = self.values.tuple(&pid);
        Ok(self.values.persistent_id(pid))
    }
}
