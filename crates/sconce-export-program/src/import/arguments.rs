//! What operators are given, by the types that their schemas say.

use sconce_ir::{Constant, Type, ValueId};

use super::builder::{Builder, Result, unsupported};
use crate::Error;
use crate::schema::{
    Argument, Layout, MemoryFormat, OptionalTensorArgument, SymBoolArgument, SymFloatArgument,
    SymIntArgument,
};

/// How long a list may be that is written as one number.
const MAX_REPEATED: u32 = 64;

/// The number that an argument is.
pub(super) fn number(argument: &Argument) -> Option<Constant> {
    Some(match argument {
        Argument::Int(value) => Constant::Int(*value),
        Argument::SymInt(SymIntArgument::Int(value)) => Constant::Int(*value),
        Argument::Float(value) | Argument::SymFloat(SymFloatArgument::Float(value)) => {
            Constant::Float(*value)
        }
        Argument::Bool(value) | Argument::SymBool(SymBoolArgument::Bool(value)) => {
            Constant::Bool(*value)
        }
        Argument::Complex(value) => Constant::Complex(value.real, value.imag),
        _ => return None,
    })
}

/// Whether an argument is a number and no tensor, whatever its value is called.
pub(super) fn is_number(argument: &Argument) -> bool {
    number(argument).is_some()
        || matches!(argument, Argument::SymInt(_) | Argument::SymFloat(_) | Argument::SymBool(_))
}

impl Builder {
    /// The value of an argument where a schema says so.
    pub(super) fn argument(
        &mut self,
        argument: &Argument,
        formal: &sconce_ir::Argument,
    ) -> Result<ValueId> {
        if let Argument::None(_) | Argument::OptionalTensor(OptionalTensorArgument::None(_)) =
            argument
        {
            return Ok(self.none());
        }
        let want = match &formal.ty {
            Type::Optional(of) => (**of).clone(),
            want => want.clone(),
        };
        if let Type::List(element) = &want {
            return self.list_argument(argument, element, formal.fixed_size);
        }
        if let Some(name) = argument.name() {
            let value = self.named(name)?;
            // Some operators take numbers for tensors, which then give way in type promotion.
            let number =
                matches!(self.ty(value), Type::Int | Type::Float | Type::Bool | Type::Complex);
            return match number && want == Type::Tensor {
                true => Ok(value),
                false => self.converted(value, &want),
            };
        }
        if let Some(constant) = number(argument) {
            let constant = match (constant, &want) {
                (Constant::Int(value), Type::Float) => Constant::Float(value as f64),
                (Constant::Bool(value), Type::Int) => Constant::Int(i64::from(value)),
                (constant, _) => constant,
            };
            let value = self.constant(&constant);
            return match want {
                Type::Tensor => Ok(value),
                want => self.converted(value, &want),
            };
        }
        let code = |code: Option<i64>, what: &str| match code {
            Some(code) => Ok(Constant::Int(code)),
            None => Err(Error::malformed(format!("the {what} is unknown"))),
        };
        let constant = match argument {
            Argument::String(text) => Constant::Str(text.as_str().into()),
            Argument::ScalarType(of) => {
                code(of.dtype().map(|dtype| i64::from(dtype.scalar_type_number())), "dtype")?
            }
            Argument::Layout(of) => code(layout(*of), "layout")?,
            Argument::MemoryFormat(of) => code(memory_format(*of), "memory format")?,
            // Programs run on the CPU, whatever device they were exported on.
            Argument::Device(_) => Constant::Device("cpu".into()),
            other => {
                let message =
                    format!("{} is not a value for {} '{}'", other.tag(), formal.ty, formal.name);
                return Err(unsupported(message));
            }
        };
        let value = self.constant(&constant);
        self.converted(value, &want)
    }

    fn list_argument(
        &mut self,
        argument: &Argument,
        element: &Type,
        fixed_size: Option<u32>,
    ) -> Result<ValueId> {
        let mut items = Vec::new();
        let mut push = |builder: &mut Self, constant: Constant| {
            let value = builder.constant(&constant);
            builder.converted(value, element).map(|value| items.push(value))
        };
        match argument {
            Argument::Ints(values) => {
                for &value in values {
                    let constant = match element {
                        Type::Float => Constant::Float(value as f64),
                        _ => Constant::Int(value),
                    };
                    push(self, constant)?;
                }
            }
            Argument::Floats(values) => {
                for &value in values {
                    push(self, Constant::Float(value))?;
                }
            }
            Argument::Bools(values) => {
                for &value in values {
                    push(self, Constant::Bool(value))?;
                }
            }
            Argument::Strings(values) => {
                for value in values {
                    push(self, Constant::Str(value.as_str().into()))?;
                }
            }
            other => match number(other) {
                Some(constant) => {
                    for _ in 0..fixed_size.unwrap_or(1).min(MAX_REPEATED) {
                        push(self, constant.clone())?;
                    }
                }
                None => {
                    for value in self.values(other)? {
                        let value = self.converted(value, element)?;
                        items.push(value);
                    }
                }
            },
        }
        Ok(self.list(element.clone(), &items))
    }

    /// The values of an argument that is a list of some.
    pub(super) fn values(&mut self, argument: &Argument) -> Result<Vec<ValueId>> {
        match argument {
            Argument::Tensors(tensors) => {
                tensors.iter().map(|tensor| self.named(&tensor.name)).collect()
            }
            Argument::OptionalTensors(tensors) => {
                let tensor = |tensor: &OptionalTensorArgument| match tensor {
                    OptionalTensorArgument::Tensor(tensor) => self.named(&tensor.name),
                    OptionalTensorArgument::None(_) => Ok(self.none()),
                };
                tensors.iter().map(tensor).collect()
            }
            Argument::SymInts(values) => {
                let value = |value: &SymIntArgument| match value {
                    SymIntArgument::Name(name) => self.named(name),
                    SymIntArgument::Int(value) => Ok(self.int(*value)),
                };
                values.iter().map(value).collect()
            }
            Argument::SymFloats(values) => {
                let value = |value: &SymFloatArgument| match value {
                    SymFloatArgument::Name(name) => self.named(name),
                    SymFloatArgument::Float(value) => Ok(self.constant(&Constant::Float(*value))),
                };
                values.iter().map(value).collect()
            }
            Argument::SymBools(values) => {
                let value = |value: &SymBoolArgument| match value {
                    SymBoolArgument::Name(name) => self.named(name),
                    SymBoolArgument::Bool(value) => Ok(self.constant(&Constant::Bool(*value))),
                };
                values.iter().map(value).collect()
            }
            Argument::Ints(values) => Ok(values.iter().map(|&value| self.int(value)).collect()),
            other => Err(unsupported(format!("{} is not a list of values", other.tag()))),
        }
    }
}

/// The number of a layout in programs, which is not that of files.
fn layout(layout: Layout) -> Option<i64> {
    Some(match layout {
        Layout::Unknown => return None,
        Layout::Strided => 0,
        Layout::SparseCoo => 1,
        Layout::SparseCsr => 2,
        Layout::Mkldnn => 3,
        Layout::SparseCsc => 4,
        Layout::SparseBsr => 5,
        Layout::SparseBsc => 6,
    })
}

/// The number of a memory format in programs, which is not that of files.
fn memory_format(format: MemoryFormat) -> Option<i64> {
    Some(match format {
        MemoryFormat::Unknown => return None,
        MemoryFormat::ContiguousFormat => 0,
        MemoryFormat::PreserveFormat => 1,
        MemoryFormat::ChannelsLast => 2,
        MemoryFormat::ChannelsLast3d => 3,
    })
}
