//! Functions of numbers: `_operator.add`, `torch.sym_max`, `math.ceil`. They compute with sizes.

use sconce_ir::{Constant, Prim, Type, ValueId};

use super::builder::{Builder, Result, unsupported};
use super::operators::find;
use crate::Error;
use crate::schema::{Argument, Node};

/// What functions of two numbers are called, and the operators that compute them: of ints, of floats.
const BINARY: &[(&str, &str, &str)] = &[
    ("add", "aten::add.int", "aten::add.float"),
    ("sub", "aten::sub.int", "aten::sub.float"),
    ("mul", "aten::mul.int", "aten::mul.float"),
    ("floordiv", "aten::floordiv.int", "aten::floordiv.float"),
    ("mod", "aten::remainder.int", "aten::remainder.float"),
    ("pow", "aten::pow.int_to_int", "aten::pow.float"),
    ("eq", "aten::eq.int", "aten::eq.float"),
    ("ne", "aten::ne.int", "aten::ne.float"),
    ("lt", "aten::lt.int", "aten::lt.float"),
    ("le", "aten::le.int", "aten::le.float"),
    ("gt", "aten::gt.int", "aten::gt.float"),
    ("ge", "aten::ge.int", "aten::ge.float"),
    ("sym_max", "prim::max.int", "prim::max.float"),
    ("sym_min", "prim::min.int", "prim::min.float"),
];

/// The functions of a float that give a float.
const FLOAT: &[(&str, &str)] = &[
    ("sqrt", "aten::sqrt.float"),
    ("exp", "aten::exp.float"),
    ("log", "aten::log.float"),
    ("log2", "aten::log2.float"),
    ("cos", "aten::cos.float"),
    ("sin", "aten::sin.float"),
    ("tan", "aten::tan.float"),
    ("cosh", "aten::cosh.float"),
    ("sinh", "aten::sinh.float"),
    ("tanh", "aten::tanh.float"),
    ("acos", "aten::acos.float"),
    ("asin", "aten::asin.float"),
    ("atan", "aten::atan.float"),
];

impl Builder {
    /// Imports a call of a function of Python.
    pub(super) fn scalar(&mut self, node: &Node) -> Result<()> {
        let target = node.target.as_str();
        let function = ["_operator.", "math.", "torch.", "builtins."]
            .iter()
            .find_map(|prefix| target.strip_prefix(prefix))
            .unwrap_or(target);
        let function = function.strip_prefix("_sym_").map_or(function, |rest| {
            if FLOAT.iter().any(|(name, _)| *name == rest) { rest } else { function }
        });
        if function == "_C._set_grad_enabled" {
            return Ok(());
        }
        if function.is_empty() || function.contains('.') {
            let given: Vec<(&str, &Argument)> =
                node.inputs.iter().map(|input| (input.name.as_str(), &input.arg)).collect();
            return self.unknown(target, "", &given, &node.outputs);
        }
        let mut args = Vec::new();
        if function == "sym_sum" {
            args.extend(self.values(find(&node.inputs, 0, "args")?)?);
        } else {
            for input in &node.inputs {
                args.push(self.plain(&input.arg)?);
            }
        }
        let result = self.function(function, &args)?;
        let result = result.ok_or_else(|| {
            unsupported(format!(
                "the function {target} of {} arguments is not supported",
                args.len()
            ))
        })?;
        self.bind(&[result], &node.outputs)
    }

    fn function(&mut self, function: &str, args: &[ValueId]) -> Result<Option<ValueId>> {
        let value = match (function, args) {
            ("and_" | "or_", &[a, b]) if *self.ty(a) == Type::Bool && *self.ty(b) == Type::Bool => {
                let name =
                    if function == "and_" { "aten::__and__.bool" } else { "aten::__or__.bool" };
                self.known(name, &[a, b])?
            }
            ("and_" | "or_" | "xor" | "lshift" | "rshift", &[a, b]) => {
                let (a, b) = (self.converted(a, &Type::Int)?, self.converted(b, &Type::Int)?);
                let name = match function {
                    "and_" => "aten::__and__.int",
                    "or_" => "aten::__or__.int",
                    "xor" => "aten::__xor__.int",
                    "lshift" => "aten::__lshift__.int",
                    _ => "aten::__rshift__.int",
                };
                self.known(name, &[a, b])?
            }
            ("truediv", &[a, b]) => {
                let (a, b) = (self.converted(a, &Type::Float)?, self.converted(b, &Type::Float)?);
                self.known("aten::div.float", &[a, b])?
            }
            ("not_" | "sym_not", &[a]) => {
                let a = self.converted(a, &Type::Bool)?;
                self.known("aten::__not__", &[a])?
            }
            ("pos", &[a]) => a,
            ("neg", &[a]) => self.of_one(a, "aten::neg.int", "aten::neg.float")?,
            ("abs", &[a]) => self.of_one(a, "prim::abs.int", "prim::abs.float")?,
            ("floor", &[a]) => self.rounded(a, "aten::floor.float")?,
            ("ceil", &[a]) => self.rounded(a, "aten::ceil.float")?,
            ("trunc" | "sym_int", &[a]) => self.rounded(a, "aten::Int.float")?,
            ("round", &[a]) => match self.ty(a) {
                Type::Float => {
                    let whole = self.known("aten::round.float", &[a])?;
                    self.known("aten::Int.float", &[whole])?
                }
                _ => self.converted(a, &Type::Int)?,
            },
            ("sym_float", &[a]) => self.converted(a, &Type::Float)?,
            ("sym_sum", args) => {
                let mut sum = self.int(0);
                for &item in args {
                    let item = self.converted(item, &Type::Int)?;
                    sum = self.known("aten::add.int", &[sum, item])?;
                }
                sum
            }
            ("sym_ite", &[condition, then, otherwise]) => {
                self.either(condition, then, otherwise)?
            }
            (name, &[a]) => match FLOAT.iter().find(|(known, _)| *known == name) {
                Some((_, operator)) => {
                    let a = self.converted(a, &Type::Float)?;
                    self.known(operator, &[a])?
                }
                None => return Ok(None),
            },
            (name, &[a, b]) => match BINARY.iter().find(|(known, ..)| *known == name) {
                Some(&(_, ints, floats)) => self.of_two(a, b, ints, floats)?,
                None => return Ok(None),
            },
            _ => return Ok(None),
        };
        Ok(Some(value))
    }

    fn of_one(&mut self, a: ValueId, int: &str, float: &str) -> Result<ValueId> {
        match self.ty(a) {
            Type::Float => self.known(float, &[a]),
            _ => {
                let a = self.converted(a, &Type::Int)?;
                self.known(int, &[a])
            }
        }
    }

    fn of_two(&mut self, a: ValueId, b: ValueId, ints: &str, floats: &str) -> Result<ValueId> {
        let is_float = |value: ValueId| *self.ty(value) == Type::Float;
        let (name, ty) = match is_float(a) || is_float(b) {
            true => (floats, Type::Float),
            false => (ints, Type::Int),
        };
        // A negative power of an int is a float.
        if ints == "aten::pow.int_to_int"
            && let Some(Constant::Int(..0)) = self.graph.constant(b)
        {
            return self.of_two_floats(a, b, floats);
        }
        let (a, b) = (self.converted(a, &ty)?, self.converted(b, &ty)?);
        self.known(name, &[a, b])
    }

    fn of_two_floats(&mut self, a: ValueId, b: ValueId, name: &str) -> Result<ValueId> {
        let (a, b) = (self.converted(a, &Type::Float)?, self.converted(b, &Type::Float)?);
        self.known(name, &[a, b])
    }

    /// A float as an int; ints stay what they are.
    fn rounded(&mut self, a: ValueId, name: &str) -> Result<ValueId> {
        match self.ty(a) {
            Type::Float => self.known(name, &[a]),
            _ => self.converted(a, &Type::Int),
        }
    }

    fn either(&mut self, condition: ValueId, then: ValueId, otherwise: ValueId) -> Result<ValueId> {
        let condition = self.converted(condition, &Type::Bool)?;
        let is_float = |value: ValueId| *self.ty(value) == Type::Float;
        let (then, otherwise) = match is_float(then) || is_float(otherwise) {
            true => (self.converted(then, &Type::Float)?, self.converted(otherwise, &Type::Float)?),
            false => (then, otherwise),
        };
        if self.ty(then) != self.ty(otherwise) {
            return Err(Error::malformed("the branches of torch.sym_ite give different types"));
        }
        let ty = self.ty(then).clone();
        let node = self.node(Prim::If, &[condition], &[ty]);
        for value in [then, otherwise] {
            let block = self.graph.add_block(node);
            self.graph.add_block_output(block, value);
        }
        Ok(self.graph.node(node).output())
    }
}
