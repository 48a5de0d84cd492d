//! The packed parameters of quantized layers: the one kind of C++ object that programs may hold.
//!
//! Such an object is a weight, a bias and, for convolutions, their geometry. It is held in the slots
//! of an [`Object`] of its class; what programs see of it are its methods and operators.

use sconce_ir::ClassId;
use sconce_kernels as kernels;
use sconce_kernels::{DType, Tensor};

use crate::error::{Error, Raise, kernel};
use crate::op_context::OpContext;
use crate::value::shared::Shared;
use crate::value::{IValue, Object};

/// The classes that are known here, by the end of their names.
const LINEAR: &str = "__torch__.torch.classes.quantized.LinearPackedParamsBase";
const CONV2D: &str = "__torch__.torch.classes.quantized.Conv2dPackedParamsBase";
const CONV3D: &str = "__torch__.torch.classes.quantized.Conv3dPackedParamsBase";

const EMBEDDING: &str = "__torch__.torch.classes.quantized.EmbeddingPackedParamsBase";
const CELL: &str = "__torch__.torch.classes.rnn.CellParamsBase";

/// What an object of packed parameters holds.
#[derive(Debug, Clone)]
pub(crate) struct PackedParams {
    /// Quantized, output channels first.
    pub(crate) weight: Tensor,
    /// Of floats.
    pub(crate) bias: Option<Tensor>,
    /// Of convolutions.
    pub(crate) geometry: Option<Geometry>,
}

/// Steps of a convolution, for each of its spatial dimensions.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Geometry {
    pub(crate) stride: Vec<i64>,
    pub(crate) padding: Vec<i64>,
    pub(crate) dilation: Vec<i64>,
    pub(crate) output_padding: Vec<i64>,
    pub(crate) groups: i64,
    pub(crate) transpose: bool,
}

impl Geometry {
    /// As archives write it: how many dimensions, four numbers for each, groups, flags.
    fn of_config(config: &[i64]) -> Option<Geometry> {
        let (&spatial, rest) = config.split_first()?;
        let spatial = usize::try_from(spatial).ok().filter(|&n| (1..=3).contains(&n))?;
        let part = |at: usize| rest.get(at * spatial..(at + 1) * spatial).map(<[i64]>::to_vec);
        let &[groups, flags] = rest.get(4 * spatial..)? else { return None };
        Some(Geometry {
            stride: part(0)?,
            padding: part(1)?,
            dilation: part(2)?,
            output_padding: part(3)?,
            groups,
            transpose: flags & 1 != 0,
        })
    }

    fn config(&self) -> Vec<i64> {
        let lists = [&self.stride, &self.padding, &self.dilation, &self.output_padding];
        let lists = lists.iter().flat_map(|list| list.iter().copied());
        let head = std::iter::once(self.stride.len() as i64);
        head.chain(lists).chain([self.groups, i64::from(self.transpose)]).collect()
    }
}

fn malformed() -> Error {
    Error::Malformed("the packed parameters of a quantized layer".to_owned())
}

/// The class of new packed parameters.
fn class_of(context: &dyn OpContext, name: &str) -> Result<ClassId, Raise> {
    context.custom_class(name).ok_or_else(|| malformed().into())
}

/// Gives an object of packed parameters, as an archive holds it, its state.
///
/// # Errors
/// For other classes that are written in C++, and states of other versions.
pub(crate) fn set_state(class: &str, object: &Shared<Object>, state: &IValue) -> Result<(), Error> {
    let IValue::Tuple(state) = state else { return Err(malformed()) };
    if class == CELL {
        object.write().slots = cell_slots(&state.items).ok_or_else(malformed)?;
        return Ok(());
    }
    if class == EMBEDDING {
        object.write().slots = embedding_slots(&state.items)?;
        return Ok(());
    }
    let params = match (class, &state.items[..]) {
        (LINEAR, [IValue::Tensor(weight), bias]) => {
            PackedParams { weight: weight.clone(), bias: optional(bias)?, geometry: None }
        }
        (CONV2D | CONV3D, [IValue::Str(version), IValue::List(tensors), IValue::List(biases)])
            if &**version == "2" =>
        {
            let (tensors, biases) = (tensors.read(), biases.read());
            let [IValue::Tensor(config), IValue::Tensor(weight)] = &tensors.items[..] else {
                return Err(malformed());
            };
            let config = config.to_dtype(DType::Int64).and_then(|config| config.to_vec::<i64>());
            let geometry = Geometry::of_config(&config.map_err(|_| malformed())?);
            PackedParams {
                weight: weight.clone(),
                bias: biases.items.first().map_or(Ok(None), optional)?,
                geometry: Some(geometry.ok_or_else(malformed)?),
            }
        }
        _ => {
            let what = format!("an object of the class {class}");
            return Err(Error::Unsupported { what, range: None });
        }
    };
    object.write().slots = params.slots();
    Ok(())
}

/// What the parameters of an embedding hold: the quantized weight, and the rows of bytes that lookups
/// read.
fn embedding_slots(state: &[IValue]) -> Result<Vec<Option<IValue>>, Error> {
    let [IValue::Int(1), IValue::List(tensors), ..] = state else { return Err(malformed()) };
    let weight = match &tensors.read().items[..] {
        [IValue::Tensor(weight)] => weight.clone(),
        _ => return Err(malformed()),
    };
    let (rows, _) = kernels::pack_quantized_rows(&weight).map_err(|why| {
        let what = format!("a quantized embedding ({})", why.message());
        Error::Unsupported { what, range: None }
    })?;
    Ok(vec![Some(IValue::Tensor(weight)), Some(IValue::Tensor(rows))])
}

/// The parameters of a quantized embedding.
#[derive(Debug, Clone)]
pub(crate) struct EmbeddingParams {
    /// Quantized row by row, with zero points that are no integers.
    pub(crate) weight: Tensor,
    /// The same as rows of bytes.
    pub(crate) rows: Tensor,
}

impl EmbeddingParams {
    /// What an operand of an operator holds.
    ///
    /// # Errors
    /// For values that are no parameters of an embedding.
    pub(crate) fn of(value: &IValue) -> Result<EmbeddingParams, Raise> {
        let IValue::Object(object) = value else { return Err(malformed().into()) };
        match &object.read().slots[..] {
            [Some(IValue::Tensor(weight)), Some(IValue::Tensor(rows))] => {
                Ok(EmbeddingParams { weight: weight.clone(), rows: rows.clone() })
            }
            _ => Err(Raise::unsupported("parameters of an embedding of this kind")),
        }
    }

    /// A new object, as `embedding_bag_prepack` makes one.
    ///
    /// # Errors
    /// For weights of other schemes.
    pub(crate) fn object(context: &mut dyn OpContext, weight: &Tensor) -> Result<IValue, Raise> {
        let (rows, _) = kernels::pack_quantized_rows(weight).map_err(kernel)?;
        let class = class_of(context, EMBEDDING)?;
        let slots = vec![Some(IValue::Tensor(weight.clone())), Some(IValue::Tensor(rows))];
        Ok(IValue::Object(Shared::new(Object::new(class, slots))))
    }
}

/// What the parameters of a recurrent cell hold: those of the input, those of the hidden state, and
/// whether they are quantized to a range of seven bits (nothing for weights of halves).
fn cell_slots(state: &[IValue]) -> Option<Vec<Option<IValue>>> {
    let [IValue::Str(kind), _, _, IValue::List(numbers), IValue::List(packed)] = state else {
        return None;
    };
    let reduce_range = match (&**kind, &numbers.read().items[..]) {
        ("quantized_dynamic", [IValue::Int(flag)]) => IValue::Bool(*flag != 0),
        ("quantized_dynamic", []) => IValue::Bool(false),
        ("quantized_fp16", []) => IValue::None,
        _ => return None,
    };
    match &packed.read().items[..] {
        [input, hidden] => {
            Some(vec![Some(input.clone()), Some(hidden.clone()), Some(reduce_range)])
        }
        _ => None,
    }
}

/// The parameters of a quantized recurrent cell.
#[derive(Debug, Clone)]
pub(crate) struct CellParams {
    /// Of the input: gates x inputs.
    pub(crate) input: PackedParams,
    /// Of the hidden state: gates x hidden.
    pub(crate) hidden: PackedParams,
    /// How many bits inputs are quantized to; `None` where weights are halves.
    pub(crate) reduce_range: Option<bool>,
}

impl CellParams {
    /// What an operand of an operator holds.
    ///
    /// # Errors
    /// For values that are no parameters of a cell.
    pub(crate) fn of(value: &IValue) -> Result<CellParams, Raise> {
        let IValue::Object(object) = value else { return Err(malformed().into()) };
        let object = object.read();
        let [Some(input), Some(hidden), Some(reduce_range)] = &object.slots[..] else {
            return Err(Raise::unsupported("parameters of a recurrent cell of this kind"));
        };
        let reduce_range = match reduce_range {
            IValue::Bool(flag) => Some(*flag),
            _ => None,
        };
        let (input, hidden) = (PackedParams::of(input)?, PackedParams::of(hidden)?);
        Ok(CellParams { input, hidden, reduce_range })
    }

    /// A new object of two objects of packed parameters, as `make_quantized_cell_params_dynamic` and
    /// `make_quantized_cell_params_fp16` make one.
    ///
    /// # Errors
    /// Where the name is not a class's.
    pub(crate) fn object(
        context: &mut dyn OpContext,
        input: IValue,
        hidden: IValue,
        reduce_range: IValue,
    ) -> Result<IValue, Raise> {
        let class = class_of(context, CELL)?;
        let slots = vec![Some(input), Some(hidden), Some(reduce_range)];
        Ok(IValue::Object(Shared::new(Object::new(class, slots))))
    }
}

fn optional(value: &IValue) -> Result<Option<Tensor>, Error> {
    match value {
        IValue::None => Ok(None),
        IValue::Tensor(tensor) => Ok(Some(tensor.clone())),
        _ => Err(malformed()),
    }
}

impl PackedParams {
    fn slots(&self) -> Vec<Option<IValue>> {
        let bias = self.bias.clone().map_or(IValue::None, IValue::Tensor);
        let config = self.geometry.as_ref().map(Geometry::config).unwrap_or_default();
        let config = config.into_iter().map(IValue::Int).collect();
        let config = IValue::list(sconce_ir::Type::Int, config);
        vec![Some(IValue::Tensor(self.weight.clone())), Some(bias), Some(config)]
    }

    /// What an operand of an operator holds.
    ///
    /// # Errors
    /// For values that are no packed parameters.
    pub(crate) fn of(value: &IValue) -> Result<PackedParams, Raise> {
        let IValue::Object(object) = value else { return Err(malformed().into()) };
        let object = object.read();
        let [Some(IValue::Tensor(weight)), Some(bias), Some(IValue::List(config))] =
            &object.slots[..]
        else {
            return Err(Raise::unsupported("packed parameters of this kind"));
        };
        let ints = config
            .read()
            .items
            .iter()
            .map(|item| match item {
                IValue::Int(int) => Some(*int),
                _ => None,
            })
            .collect::<Option<Vec<i64>>>();
        let geometry = Geometry::of_config(&ints.unwrap_or_default());
        Ok(PackedParams { weight: weight.clone(), bias: optional(bias)?, geometry })
    }

    /// A new object that holds it, as the `prepack` operators make one.
    ///
    /// # Errors
    /// Where the name is not a class's.
    pub(crate) fn object(&self, context: &mut dyn OpContext) -> Result<IValue, Raise> {
        let class = match &self.geometry {
            None => LINEAR,
            Some(geometry) if geometry.stride.len() == 3 => CONV3D,
            Some(_) => CONV2D,
        };
        let class = class_of(context, class)?;
        let object = Object::new(class, self.slots());
        Ok(IValue::Object(Shared::new(object)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn geometry_is_read_as_it_is_written() {
        let config = [2, 2, 1, 1, 0, 1, 2, 0, 0, 2, 0];
        let geometry = Geometry::of_config(&config).unwrap();
        assert_eq!((&geometry.dilation[..], geometry.groups), (&[1, 2][..], 2));
        assert_eq!(geometry.config(), config);
        assert_eq!(Geometry::of_config(&config[..9]), None);
        assert_eq!(Geometry::of_config(&[i64::MAX, 1]), None);
    }
}
