//! What a program takes and gives, for people.

use super::signature::user_name;
use super::symbols::Symbols;
use super::value;
use crate::schema::{
    Argument, ConstantValue, Graph, InputSpec, OutputSpec, SymInt, SymIntArgument,
};
use crate::{Error, ExportedProgram};

impl ExportedProgram {
    /// What a caller passes: names and what they stand for, such as `f32[s77, 2]`; constants with their values.
    ///
    /// # Errors
    /// When a symbolic expression is none.
    pub fn user_inputs(&self) -> Result<Vec<(String, String)>, Error> {
        let module = &self.graph_module;
        let mut symbols = Symbols::default();
        let mut inputs = Vec::new();
        for spec in &module.signature.input_specs {
            inputs.push(match spec {
                InputSpec::UserInput(spec) => {
                    let what = described(&spec.arg, &module.graph, &mut symbols)?;
                    (user_name(&spec.arg).to_owned(), what)
                }
                InputSpec::ConstantInput(spec) => {
                    let value = match &spec.value {
                        ConstantValue::None(_) => "None".to_owned(),
                        ConstantValue::Int(value) => value.to_string(),
                        ConstantValue::Float(value) => value::float(*value),
                        ConstantValue::String(value) => value::text(value),
                        ConstantValue::Bool(value) => value::boolean(*value).to_owned(),
                    };
                    (spec.name.clone(), value)
                }
                _ => continue,
            });
        }
        Ok(inputs)
    }

    /// What a caller is given, as [`ExportedProgram::user_inputs`]; constants have no name.
    ///
    /// # Errors
    /// When a symbolic expression is none.
    pub fn user_outputs(&self) -> Result<Vec<(String, String)>, Error> {
        let module = &self.graph_module;
        let mut symbols = Symbols::default();
        let mut outputs = Vec::new();
        for spec in &module.signature.output_specs {
            if let OutputSpec::UserOutput(spec) = spec {
                let what = described(&spec.arg, &module.graph, &mut symbols)?;
                outputs.push((user_name(&spec.arg).to_owned(), what));
            }
        }
        Ok(outputs)
    }
}

fn described<'p>(
    argument: &'p Argument,
    graph: &'p Graph,
    symbols: &mut Symbols<'p>,
) -> Result<String, Error> {
    if let Some(shown) = value::constant(argument) {
        return Ok(shown);
    }
    match argument {
        Argument::Tensor(tensor) => match graph.tensor_values.get(&tensor.name) {
            Some(meta) => symbols.tensor(meta),
            None => Ok("tensor".to_owned()),
        },
        Argument::SymInt(SymIntArgument::Name(name)) => match graph.sym_int_values.get(name) {
            Some(SymInt::Expr(expr)) => Ok(format!("int {}", symbols.expr(expr)?)),
            _ => Ok("int".to_owned()),
        },
        Argument::CustomObj(object) => Ok(object.class_fqn.clone()),
        other => Ok(other.tag().trim_start_matches("as_").to_owned()),
    }
}
