//! Calls of torch's operators: each is made a TorchScript program, compiled and run.
//!
//! So there is one table of operators, one matching of arguments and one set of kernels: those that
//! compiled modules run with.

use rustc_hash::FxHashMap;
use sconce_runtime::{IValue, Limits, Options, Session};

use crate::interpreter::Interpreter;
use crate::interpreter::control_flow::{Outcome, refuse};
use crate::interpreter::value::Value;

/// How many different calls may be compiled.
const MAX_PROGRAMS: usize = 4096;
/// How many instructions a call may take, and how many elements a list of it may have.
const LIMITS: (u64, usize) = (1 << 16, 1 << 32);

/// The programs that have been compiled, by their text.
#[derive(Default)]
pub(in crate::interpreter) struct Programs {
    sessions: FxHashMap<String, Session>,
}

/// A program in the making: its text, and what it is called with.
#[derive(Default)]
pub(in crate::interpreter) struct Program {
    types: Vec<String>,
    arguments: Vec<IValue>,
    /// The tensors among the arguments.
    pub(in crate::interpreter) tensors: Vec<Value>,
}

impl Program {
    /// The name of a new parameter.
    pub(in crate::interpreter) fn parameter(
        &mut self,
        ty: impl Into<String>,
        value: IValue,
    ) -> String {
        self.types.push(ty.into());
        self.arguments.push(value);
        format!("a{}", self.types.len() - 1)
    }

    fn text(&self, body: &str) -> String {
        let parameters: Vec<String> =
            self.types.iter().enumerate().map(|(at, ty)| format!("a{at}: {ty}")).collect();
        format!(
            "import math\nimport torch\nfrom torch import Tensor\nfrom typing import List\n\n\
             def call({}):\n    {body}\n",
            parameters.join(", ")
        )
    }
}

impl Interpreter<'_> {
    /// Runs the statements of a program.
    pub(in crate::interpreter) fn run_program(
        &mut self,
        program: &Program,
        body: &str,
    ) -> Outcome<IValue> {
        let text = program.text(body);
        if !self.programs.sessions.contains_key(&text) {
            if self.programs.sessions.len() >= MAX_PROGRAMS {
                return refuse("the constructors make too many different calls of torch");
            }
            let Some(compile) = self.loader.compiler() else {
                return refuse("operators of torch are not called here");
            };
            let module = match compile(&text) {
                Ok(module) => module,
                Err(error) => return refuse(format!("{} (in '{body}')", error.message())),
            };
            let limits = Limits { steps: LIMITS.0, elements: LIMITS.1, ..Limits::default() };
            let memory = self.limits.memory;
            let options = Options { limits, memory, optimize: false, ..Options::default() };
            match Session::new(&module, options) {
                Ok(session) => self.programs.sessions.insert(text.clone(), session),
                Err(error) => return refuse(error.to_string()),
            };
        }
        let Some(session) = self.programs.sessions.get_mut(&text) else {
            return refuse("no program");
        };
        match session.call("forward", &program.arguments) {
            Ok(value) => Ok(value),
            Err(sconce_runtime::Error::Raised(exception)) => {
                self.raise("RuntimeError", exception.message)
            }
            Err(error) => refuse(error.to_string()),
        }
    }

    /// An argument as text of a program.
    pub(in crate::interpreter) fn program_argument(
        &mut self,
        program: &mut Program,
        value: &Value,
    ) -> Outcome<String> {
        Ok(match value {
            Value::None => "None".to_owned(),
            Value::Bool(true) => "True".to_owned(),
            Value::Bool(false) => "False".to_owned(),
            Value::Ellipsis => "...".to_owned(),
            Value::Int(value) | Value::NumpyInt(value) => {
                program.parameter("int", IValue::Int(*value))
            }
            Value::Float(value) => program.parameter("float", IValue::Float(*value)),
            Value::Complex(re, im) => program.parameter("complex", IValue::Complex(*re, *im)),
            Value::Str(text) => program.parameter("str", IValue::str(text.clone())),
            Value::Device(device) => {
                program.parameter("torch.device", IValue::Device(device.clone()))
            }
            Value::DType(dtype) => dtype.to_string(),
            Value::Library(name) if name.starts_with("torch.") => name.to_string(),
            Value::Ref(_) => return self.nested(|this| this.program_object(program, value)),
            _ => {
                let message = format!("a {} cannot be passed to torch here", self.type_name(value));
                return refuse(message);
            }
        })
    }

    fn program_object(&mut self, program: &mut Program, value: &Value) -> Outcome<String> {
        if let Some(cell) = self.arena.tensor(value) {
            let tensor = IValue::Tensor(cell.tensor.clone());
            program.tensors.push(value.clone());
            return Ok(program.parameter("Tensor", tensor));
        }
        let is_list = self.arena.list(value).is_some()
            || self.arena.tuple(value).is_some()
            || matches!(self.arena.cell(value), Some(crate::interpreter::value::Cell::Range(..)));
        if !is_list {
            let message = format!("a {} cannot be passed to torch here", self.type_name(value));
            return refuse(message);
        }
        let items = self.iterate(value)?;
        if let Some((ty, list)) = self.program_list(program, &items)? {
            return Ok(program.parameter(ty, list));
        }
        let mut parts = Vec::with_capacity(items.len());
        for item in &items {
            parts.push(self.program_argument(program, item)?);
        }
        Ok(format!("[{}]", parts.join(", ")))
    }

    /// A list of one type, with that type.
    fn program_list(
        &mut self,
        program: &mut Program,
        items: &[Value],
    ) -> Outcome<Option<(String, IValue)>> {
        use sconce_ir::Type;
        let all = |holds: fn(&Value) -> bool| items.iter().all(holds);
        let list = |ty: Type, items: Vec<IValue>| IValue::list(ty, items);
        if all(|item| matches!(item, Value::Bool(_))) && !items.is_empty() {
            let items = items.iter().map(|item| IValue::Bool(matches!(item, Value::Bool(true))));
            return Ok(Some(("List[bool]".to_owned(), list(Type::Bool, items.collect()))));
        }
        if all(|item| item.as_int().is_some()) {
            let items = items.iter().map(|item| IValue::Int(item.as_int().unwrap_or(0)));
            return Ok(Some(("List[int]".to_owned(), list(Type::Int, items.collect()))));
        }
        if all(|item| item.as_float().is_some()) {
            let items = items.iter().map(|item| IValue::Float(item.as_float().unwrap_or(0.0)));
            return Ok(Some(("List[float]".to_owned(), list(Type::Float, items.collect()))));
        }
        if items.iter().all(|item| self.arena.tensor(item).is_some()) {
            let mut tensors = Vec::with_capacity(items.len());
            for item in items {
                if let Some(cell) = self.arena.tensor(item) {
                    tensors.push(IValue::Tensor(cell.tensor.clone()));
                    program.tensors.push(item.clone());
                }
            }
            return Ok(Some(("List[Tensor]".to_owned(), list(Type::Tensor, tensors))));
        }
        Ok(None)
    }

    /// What a program gives, as a value.
    pub(in crate::interpreter) fn program_result(
        &mut self,
        program: &Program,
        result: IValue,
        is_known: bool,
    ) -> Outcome<Value> {
        Ok(match result {
            IValue::None => Value::None,
            IValue::Bool(value) => Value::Bool(value),
            IValue::Int(value) => Value::Int(value),
            IValue::Float(value) => Value::Float(value),
            IValue::Complex(re, im) => Value::Complex(re, im),
            IValue::Str(text) => Value::Str(text.shared().clone()),
            IValue::Device(device) => Value::Device(device),
            IValue::Tensor(tensor) => self.tensor_result(program, tensor, is_known)?,
            IValue::List(list) => {
                let items = list.read().items.clone();
                let mut values = Vec::with_capacity(items.len());
                for item in items {
                    values.push(self.nested(|this| this.program_result(program, item, is_known))?);
                }
                self.new_list(values)?
            }
            IValue::Tuple(tuple) => {
                let mut values = Vec::with_capacity(tuple.items.len());
                for item in tuple.items.iter().cloned() {
                    values.push(self.nested(|this| this.program_result(program, item, is_known))?);
                }
                self.new_tuple(values)?
            }
            other => {
                return refuse(format!(
                    "a result of the kind {} is not supported here",
                    other.kind_name()
                ));
            }
        })
    }
}
