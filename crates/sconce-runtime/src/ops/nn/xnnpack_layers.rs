//! The layers that `optimize_for_mobile` packs for XNNPACK: objects of C++ classes.
//!
//! Such an object holds what its `prepack` operator was given, in that order, which is also the state
//! that archives keep of it; the operators are in `ops/nn/xnnpack.rs`.

use crate::error::{Error, Raise};
use crate::op_context::OpContext;
use crate::value::shared::Shared;
use crate::value::{IValue, Object};

/// A class of such layers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Layer {
    /// Weight, bias, lower and upper bound.
    Linear,
    /// Weight, bias, stride, padding, dilation, groups, lower and upper bound.
    Conv2d,
    /// The same with the output's padding after padding.
    TransposeConv2d,
}

const LAYERS: [Layer; 3] = [Layer::Linear, Layer::Conv2d, Layer::TransposeConv2d];

impl Layer {
    /// The layer of a class.
    pub(crate) fn of_class(name: &str) -> Option<Layer> {
        LAYERS.into_iter().find(|layer| layer.class() == name)
    }

    fn class(self) -> &'static str {
        match self {
            Layer::Linear => "__torch__.torch.classes.xnnpack.LinearOpContext",
            Layer::Conv2d => "__torch__.torch.classes.xnnpack.Conv2dOpContext",
            Layer::TransposeConv2d => "__torch__.torch.classes.xnnpack.TransposeConv2dOpContext",
        }
    }

    /// How many values it holds; the last two are the bounds.
    pub(crate) fn parts(self) -> usize {
        match self {
            Layer::Linear => 4,
            Layer::Conv2d => 8,
            Layer::TransposeConv2d => 9,
        }
    }

    fn malformed(self) -> Error {
        Error::Malformed(format!("an object of the class {}", self.class()))
    }

    /// Gives an object its state as an archive holds it.
    ///
    /// # Errors
    /// For a state of another size.
    pub(crate) fn set_state(self, object: &Shared<Object>, state: &IValue) -> Result<(), Error> {
        match state {
            IValue::Tuple(state) if state.items.len() == self.parts() => {
                object.write().slots = state.items.iter().cloned().map(Some).collect();
                Ok(())
            }
            _ => Err(self.malformed()),
        }
    }

    /// A new object that holds these values.
    ///
    /// # Errors
    /// Where the name is not a class's.
    pub(crate) fn object(
        self,
        context: &mut dyn OpContext,
        parts: &[IValue],
    ) -> Result<IValue, Raise> {
        let class = context.custom_class(self.class()).ok_or_else(|| self.malformed())?;
        let slots = parts.iter().cloned().map(Some).collect();
        Ok(IValue::Object(Shared::new(Object::new(class, slots))))
    }

    /// The values that an operand holds.
    ///
    /// # Errors
    /// For what is no object of the class.
    pub(crate) fn parts_of(
        self,
        context: &mut dyn OpContext,
        value: &IValue,
    ) -> Result<Vec<IValue>, Raise> {
        let IValue::Object(object) = value else { return Err(self.malformed().into()) };
        let object = object.read();
        let parts: Option<Vec<IValue>> = object.slots.iter().cloned().collect();
        match parts {
            Some(parts) if *context.class(object.class).name == *self.class() => Ok(parts),
            _ => Err(self.malformed().into()),
        }
    }
}
