//! Graphs to register code, once, before anything runs.

pub(crate) mod control_flow;
pub(crate) mod last_use;

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use sconce_ir::{
    Attribute, BlockId, Constant, FunctionId, Graph, Kind, NamedRef, NodeId, Prim, Type, Unit,
    ValueId,
};
use sconce_kernels::Scalar;
use sconce_syntax::SourceRange;

pub(crate) use crate::bytecode::code::Code;
pub(crate) use crate::bytecode::code::Instruction;
pub(crate) use crate::bytecode::code::Operand;
use crate::bytecode::code::OperatorName;
pub(crate) use crate::bytecode::code::Primitive;
pub(crate) use crate::bytecode::code::Register;
pub(crate) use crate::bytecode::code::Span;
use crate::bytecode::lower::last_use::LastUses;
pub(crate) use crate::bytecode::number::Number;
use crate::bytecode::number::NumberOp;

use crate::Error;
use crate::autograd;
use crate::ops;
use crate::value::IValue;

/// What lowering asks of the program context a graph.
pub(crate) struct LoweringContext<'a> {
    pub(crate) unit: &'a Unit,
    /// The archive's table of constants.
    pub(crate) constants: &'a [IValue],
}

/// Lowers a graph.
pub(crate) fn lower(
    name: &str,
    graph: &Graph,
    context: &LoweringContext<'_>,
) -> Result<Code, Error> {
    let mut lowering = Lowering {
        graph,
        context,
        uses: LastUses::new(graph),
        registers: FxHashMap::default(),
        constants: FxHashMap::default(),
        range: None,
        gives: None,
        label: 0,
        code: Code {
            name: name.into(),
            registers: 0,
            instructions: Vec::new(),
            ranges: Vec::new(),
            gives: Vec::new(),
            operands: Vec::new(),
            targets: Vec::new(),
            constants: Vec::new(),
            callees: Vec::new(),
            missing: Vec::new(),
            operators: Vec::new(),
            asks_for_gradients: false,
            spent: RefCell::default(),
        },
        operator: None,
    };
    for &input in graph.inputs() {
        lowering.register(input);
    }
    lowering.block(graph.root())?;
    let from = lowering.operands(graph.return_node(graph.root()))?;
    lowering.emit(Instruction::Return { from });
    Ok(lowering.code)
}

struct Lowering<'a> {
    graph: &'a Graph,
    context: &'a LoweringContext<'a>,
    uses: LastUses,
    registers: FxHashMap<ValueId, Register>,
    constants: FxHashMap<ValueId, u32>,
    /// The place of the node being lowered.
    range: Option<SourceRange>,
    /// As [`Code::gives`].
    gives: Option<bool>,
    /// The last instruction that something jumps to.
    label: usize,
    /// The operator being lowered.
    operator: Option<Rc<OperatorName>>,
    code: Code,
}

impl Lowering<'_> {
    fn emit(&mut self, instruction: Instruction) -> usize {
        self.code.instructions.push(instruction);
        self.code.ranges.push(self.range.clone());
        self.code.gives.push(self.gives);
        self.code.operators.push(self.operator.clone());
        self.code.instructions.len() - 1
    }

    fn here(&self) -> u32 {
        self.code.instructions.len() as u32
    }

    fn fresh(&mut self) -> Register {
        self.code.registers += 1;
        self.code.registers - 1
    }

    fn register(&mut self, value: ValueId) -> Register {
        if let Some(&register) = self.registers.get(&value) {
            return register;
        }
        let register = self.fresh();
        self.registers.insert(value, register);
        register
    }

    /// An operand of a node. `last` says whether no later operand of the node is the same value.
    fn operand(&mut self, node: NodeId, value: ValueId, last: bool) -> Result<Operand, Error> {
        if let Some(&index) = self.constants.get(&value) {
            return Ok(Operand::Constant(index));
        }
        let Some(&register) = self.registers.get(&value) else {
            return Err(Error::Malformed(format!("%{} is used before it is made", value.0)));
        };
        Ok(match last && self.uses.is_last(node, value) {
            true => Operand::Move(register),
            false => Operand::Copy(register),
        })
    }

    fn operands(&mut self, node: NodeId) -> Result<Span, Error> {
        let inputs = self.graph.node(node).inputs();
        self.operands_of(node, inputs)
    }

    fn operands_of(&mut self, node: NodeId, inputs: &[ValueId]) -> Result<Span, Error> {
        let start = self.code.operands.len() as u32;
        let all = self.graph.node(node).inputs();
        // Of a loop, the first inputs and the carried values are read apart.
        let whole = inputs.len() == all.len();
        for (index, &value) in inputs.iter().enumerate() {
            let last = whole && !inputs.get(index + 1..).unwrap_or_default().contains(&value);
            let operand = self.operand(node, value, last)?;
            self.code.operands.push(operand);
        }
        Ok(Span { start, len: inputs.len() as u32 })
    }

    fn targets(&mut self, registers: impl IntoIterator<Item = Register>) -> Span {
        let start = self.code.targets.len() as u32;
        self.code.targets.extend(registers);
        Span { start, len: self.code.targets.len() as u32 - start }
    }

    fn outputs(&mut self, node: NodeId) -> Span {
        let graph = self.graph;
        let registers: Vec<_> =
            graph.node(node).outputs().iter().map(|&output| self.register(output)).collect();
        self.targets(registers)
    }

    fn block(&mut self, block: BlockId) -> Result<(), Error> {
        let graph = self.graph;
        for node in graph.block_nodes(block) {
            self.range.clone_from(&graph.node(node).range);
            if block == graph.root() {
                let at = graph.node(node);
                let calls = at.is(Prim::CallFunction) || at.is(Prim::CallMethod);
                self.gives = (!calls).then_some(!at.outputs().is_empty());
            }
            self.node(node)?;
            self.drops(node);
        }
        self.range.clone_from(&graph.node(graph.return_node(block)).range);
        Ok(())
    }

    /// Forgets what a node gave in vain, and what was read last inside it.
    fn drops(&mut self, node: NodeId) {
        let graph = self.graph;
        let unused = graph.node(node).outputs().iter().copied();
        let mut dead: Vec<Register> = unused
            .filter(|&output| self.uses.is_unused(output))
            .filter_map(|output| self.registers.get(&output).copied())
            .collect();
        let inside = self.uses.ending_inside(node).iter();
        dead.extend(inside.filter_map(|value| self.registers.get(value).copied()));
        if !dead.is_empty() {
            let registers = self.targets(dead);
            self.emit(Instruction::Drop { registers });
        }
    }

    fn node(&mut self, node: NodeId) -> Result<(), Error> {
        match &self.graph.node(node).kind {
            Kind::Prim(prim) => self.prim(node, *prim),
            Kind::Op(symbol) => self.operator(node, symbol),
        }
    }

    fn operator(&mut self, node: NodeId, symbol: &str) -> Result<(), Error> {
        // `del` is compiled to a node whose operator is not looked for.
        let schema = self.graph.operator(node);
        let overload = schema.map_or("", |operator| &*operator.schema.overload);
        let name = schema.map(|operator| operator.schema.full_name());
        let name = name.as_deref().unwrap_or(symbol);
        self.code.asks_for_gradients |= autograd::asks(name);
        self.operator = Some(Rc::new(OperatorName { full: name.into(), steps: Box::default() }));
        let lowered = self.known_operator(node, symbol, overload);
        self.operator = None;
        lowered
    }

    fn known_operator(&mut self, node: NodeId, symbol: &str, overload: &str) -> Result<(), Error> {
        if let (&[a, b], &[output], Some(op)) = (
            self.graph.node(node).inputs(),
            self.graph.node(node).outputs(),
            NumberOp::find(symbol, overload),
        ) {
            let (a, b) = (self.operand(node, a, false)?, self.operand(node, b, false)?);
            let to = self.register(output);
            self.emit(Instruction::Numbers { op, a, b, to });
            return Ok(());
        }
        let from = self.operands(node)?;
        self.unwrap_constant(symbol, overload, from);
        let symbol = if self.is_unscaled(symbol, from) { ops::SUM_WITH_PRODUCT } else { symbol };
        let to = self.outputs(node);
        match ops::find(symbol, overload) {
            Some(_) if (symbol, overload) == ("aten::__not__", "") => {
                let place = (self.code.operands.get(from.start as usize).copied())
                    .zip(self.code.targets.get(to.start as usize).copied());
                if let Some((from, to)) = place {
                    self.emit(Instruction::Not { from, to });
                }
            }
            Some(builtin) => {
                self.name_steps(symbol, from);
                self.emit(Instruction::Operator { builtin, from, to });
            }
            None => {
                let full = match overload {
                    "" => symbol.to_owned(),
                    overload => format!("{symbol}.{overload}"),
                };
                if autograd::is_expression(&full) {
                    let primitive = Box::new(Primitive::Expression(full.into()));
                    self.emit(Instruction::Primitive { primitive, from, to });
                } else {
                    self.missing(full, from, to);
                }
            }
        }
        Ok(())
    }

    /// Notes what a fused operator computes.
    fn name_steps(&mut self, symbol: &str, operands: Span) {
        let all = self.code.operands.iter().skip(operands.start as usize);
        let constants: Vec<_> = all
            .take(operands.len as usize)
            .map(|operand| match operand {
                Operand::Constant(index) => self.code.constants.get(*index as usize),
                _ => None,
            })
            .collect();
        let steps = ops::fused_steps(symbol, &constants);
        if let (false, Some(name)) = (steps.is_empty(), &self.operator) {
            let name = OperatorName { full: Rc::clone(&name.full), steps: steps.into() };
            self.operator = Some(Rc::new(name));
        }
    }

    /// Before it runs a program, PyTorch takes a constant without dimensions that is added or
    /// multiplied for a number, which gives way in type promotion.
    fn unwrap_constant(&mut self, symbol: &str, overload: &str, operands: Span) {
        let arithmetic = ["aten::add", "aten::sub", "aten::mul", "aten::div"].contains(&symbol);
        let second = operands.start as usize + 1;
        let Some(&Operand::Constant(index)) = self.code.operands.get(second) else { return };
        let Some(IValue::Tensor(tensor)) = self.code.constants.get(index as usize) else { return };
        if !arithmetic || overload != "Tensor" || tensor.dim() != 0 {
            return;
        }
        let number = match tensor.item() {
            Ok(Scalar::Int(value)) => IValue::Int(value),
            Ok(Scalar::Float(value)) => IValue::Float(value),
            Ok(Scalar::Complex(value)) => IValue::Complex(value.re, value.im),
            _ => return,
        };
        if let Some(operand) = self.code.operands.get_mut(second) {
            *operand = Operand::Constant(self.code.constants.len() as u32);
            self.code.constants.push(number);
        }
    }

    /// Whether an operator is `aten::addmm` with ones as its factors.
    fn is_unscaled(&self, symbol: &str, operands: Span) -> bool {
        let is_one = |place: usize| match self.code.operands.get(operands.start as usize + place) {
            Some(&Operand::Constant(index)) => {
                self.code.constants.get(index as usize).is_some_and(|value| match *value {
                    IValue::Bool(value) => value,
                    IValue::Int(value) => value == 1,
                    IValue::Float(value) => value == 1.0,
                    _ => false,
                })
            }
            _ => false,
        };
        symbol == "aten::addmm" && is_one(3) && is_one(4)
    }

    fn missing(&mut self, what: String, from: Span, to: Span) {
        self.code.missing.push((what.clone(), self.range.clone()));
        let primitive = Box::new(Primitive::Missing(what));
        self.emit(Instruction::Primitive { primitive, from, to });
    }

    fn prim(&mut self, node: NodeId, prim: Prim) -> Result<(), Error> {
        let graph = self.graph;
        let at = graph.node(node);
        match prim {
            Prim::Constant => return self.constant(node),
            Prim::If => return self.branch(node),
            Prim::Loop => return self.repeat(node),
            Prim::CallFunction => return self.call_function(node),
            _ => {}
        }
        if prim == Prim::ToList {
            // PyTorch's compiler gives it no place, and tracebacks do not show it.
            self.range = None;
        }
        let from = self.operands(node)?;
        let to = self.outputs(node);
        match prim {
            Prim::CallMethod => {
                let method = Arc::clone(name_of(graph, node)?);
                if let Some(function) = self.method(node, &method) {
                    self.code.callees.push(function);
                    self.emit(Instruction::Call { function, from, to });
                } else {
                    self.emit(Instruction::CallMethod { method, from, to });
                }
            }
            Prim::Enter => {
                self.emit(Instruction::Enter { from, to });
            }
            Prim::Exit => {
                self.emit(Instruction::Exit { from, to });
            }
            Prim::Fork => {
                let sub = at.attributes().find_map(|(_, attribute)| match attribute {
                    Attribute::Graph(graph) => Some(graph),
                    _ => None,
                });
                let Some(sub) = sub else {
                    return Err(Error::Malformed("a fork without a graph".to_owned()));
                };
                let code = lower("<forked function>", sub, self.context)?;
                self.code.callees.extend(code.callees.iter().copied());
                self.code.missing.extend(code.missing.iter().cloned());
                self.code.asks_for_gradients |= code.asks_for_gradients;
                self.emit(Instruction::Fork { code: Rc::new(code), from, to });
            }
            Prim::GetAttr => {
                let slot = self.slot(node)? as u32;
                let operand = self.code.operands.get(from.start as usize).copied();
                let target = self.code.targets.get(to.start as usize).copied();
                let (Some(object), Some(to)) = (operand, target) else {
                    return Err(Error::Malformed("an attribute of nothing".to_owned()));
                };
                self.emit(Instruction::Attribute { object, slot, to });
            }
            _ => match self.primitive(node, prim)? {
                Some(primitive) => {
                    let primitive = Box::new(primitive);
                    self.emit(Instruction::Primitive { primitive, from, to });
                }
                None => self.missing(prim.symbol().to_owned(), from, to),
            },
        }
        Ok(())
    }

    fn primitive(&mut self, node: NodeId, prim: Prim) -> Result<Option<Primitive>, Error> {
        let graph = self.graph;
        let at = graph.node(node);
        let output = at.outputs().first().map(|&output| graph.ty(output));
        Ok(Some(match prim {
            Prim::TupleConstruct => Primitive::Tuple(match output {
                Some(Type::Tuple(of)) if of.named.is_some() => output.cloned(),
                _ => None,
            }),
            Prim::ListConstruct => match output {
                Some(Type::List(element)) => Primitive::List((**element).clone()),
                _ => return Err(Error::Malformed("a list of no list type".to_owned())),
            },
            Prim::DictConstruct => match output {
                Some(Type::Dict(of)) => Primitive::Dict(of.0.clone(), of.1.clone()),
                _ => return Err(Error::Malformed("a dict of no dict type".to_owned())),
            },
            Prim::TupleUnpack => Primitive::TupleUnpack,
            Prim::TupleIndex => Primitive::TupleIndex,
            Prim::TupleSlice => {
                let bound = |name| match at.attribute(name) {
                    Some(Attribute::Int(bound)) => Ok(*bound),
                    _ => Err(Error::Malformed("a slice without bounds".to_owned())),
                };
                Primitive::TupleSlice(bound("beg")?, bound("end")?)
            }
            Prim::ListUnpack => Primitive::ListUnpack(at.outputs().len()),
            Prim::CreateObject => match output {
                Some(Type::Class(class)) => match self.context.unit.class_of(class) {
                    Some(of) if !of.is_torchbind => {
                        Primitive::CreateObject(sconce_ir::ClassId(class.id), of.attributes.len())
                    }
                    _ => return Ok(None),
                },
                _ => return Err(Error::Malformed("an object of no class".to_owned())),
            },
            Prim::SetAttr => {
                Primitive::SetAttribute(self.slot(node)?, Arc::clone(name_of(graph, node)?))
            }
            Prim::ModuleContainerIndex => Primitive::ContainerIndex,
            Prim::Isinstance => match at.attribute("types") {
                Some(Attribute::Types(types)) => Primitive::Isinstance(types.clone()),
                _ => return Err(Error::Malformed("isinstance without types".to_owned())),
            },
            Prim::Uninitialized => Primitive::Uninitialized,
            Prim::UncheckedCast => Primitive::Cast,
            Prim::UncheckedUnwrapOptional => Primitive::UnwrapOptional,
            Prim::RaiseException => Primitive::Raise,
            Prim::Print => Primitive::Print,
            Prim::ToList => Primitive::ToList,
            Prim::EnumName => Primitive::EnumName,
            Prim::EnumValue => Primitive::EnumValue,
            _ => return Ok(None),
        }))
    }

    /// The place of the attribute that an instruction reads or writes.
    fn slot(&self, node: NodeId) -> Result<usize, Error> {
        let graph = self.graph;
        let name = name_of(graph, node)?;
        let class = match graph.node(node).inputs().first().map(|&object| graph.ty(object)) {
            Some(Type::Class(class)) => self.context.unit.class_of(class),
            _ => None,
        };
        let slot = class.and_then(|class| class.slot(name));
        slot.ok_or_else(|| Error::Malformed(format!("there is no attribute '{name}'")))
    }

    /// The method that a call means, where the object's class is known.
    fn method(&self, node: NodeId, method: &str) -> Option<FunctionId> {
        let object = self.graph.node(node).inputs().first()?;
        let Type::Class(class) = self.graph.ty(*object) else { return None };
        self.context.unit.class_of(class)?;
        self.context.unit.find_method(sconce_ir::ClassId(class.id), method)
    }

    fn call_function(&mut self, node: NodeId) -> Result<(), Error> {
        let graph = self.graph;
        let inputs = graph.node(node).inputs();
        let callee = inputs.first().and_then(|&callee| graph.constant(callee));
        let Some(Constant::Function(named)) = callee else {
            return Err(Error::Malformed("a call of no known function".to_owned()));
        };
        let function = self.function(&named)?;
        let all = self.operands(node)?;
        let from = Span { start: all.start + 1, len: all.len - 1 };
        let to = self.outputs(node);
        self.code.callees.push(function);
        self.emit(Instruction::Call { function, from, to });
        Ok(())
    }

    /// A function by its place in the unit (static methods have no other), or by its name.
    fn function(&self, named: &NamedRef) -> Result<FunctionId, Error> {
        let unit = self.context.unit;
        let by_place = unit.function_of(named).map(|_| FunctionId(named.id));
        let function = by_place.or_else(|| unit.find_function(&named.name));
        function.ok_or_else(|| Error::Malformed(format!("there is no function {}", named.name)))
    }

    fn constant(&mut self, node: NodeId) -> Result<(), Error> {
        let output = self.graph.node(node).output();
        let Some(constant) = self.graph.constant(output) else {
            return Err(Error::Malformed("a constant without a value".to_owned()));
        };
        let value = self.value_of(&constant)?;
        self.constants.insert(output, self.code.constants.len() as u32);
        self.code.constants.push(value);
        Ok(())
    }

    /// Constants nest no deeper than what they were read from, which is bounded.
    fn value_of(&self, constant: &Constant) -> Result<IValue, Error> {
        if let Some(value) = IValue::of_constant(constant) {
            return Ok(value);
        }
        let values = |items: &[Constant]| -> Result<Vec<IValue>, Error> {
            items.iter().map(|item| self.value_of(item)).collect()
        };
        Ok(match constant {
            Constant::List(element, items) => IValue::list(element.clone(), values(items)?),
            Constant::Tuple(items, named) => {
                let items: Vec<IValue> = values(items)?;
                let tuple = crate::value::Tuple::new(items, named.clone());
                IValue::Tuple(Rc::new(tuple))
            }
            Constant::Dict(key, value, entries) => {
                let mut dict = crate::value::Dict::new(key.clone(), value.clone());
                for (key, value) in entries.iter() {
                    if !dict.insert(self.value_of(key)?, self.value_of(value)?) {
                        return Err(Error::Malformed(
                            "a dict with a key of no key type".to_owned(),
                        ));
                    }
                }
                IValue::Dict(crate::value::shared::Shared::new(dict))
            }
            Constant::Tensor(tensor) => self.in_table(tensor.index)?,
            Constant::Object(_, index) => self.in_table(*index)?,
            Constant::Function(named) => IValue::Function(self.function(named)?),
            Constant::Generator(..) => {
                let what = "a generator of another device than the CPU".to_owned();
                return Err(Error::Unsupported { what, range: self.range.clone() });
            }
            _ => return Err(Error::Malformed("a constant of no known kind".to_owned())),
        })
    }

    fn in_table(&self, index: u32) -> Result<IValue, Error> {
        let value = self.context.constants.get(index as usize);
        value.cloned().ok_or_else(|| Error::Malformed(format!("there is no constant {index}")))
    }
}

/// A stretch of operands or targets.
pub(crate) fn slice<T>(items: &[T], span: Span) -> &[T] {
    let start = span.start as usize;
    items.get(start..start + span.len as usize).unwrap_or_default()
}

fn name_of(graph: &Graph, node: NodeId) -> Result<&Arc<str>, Error> {
    let name = graph.node(node).str_attribute("name");
    name.ok_or_else(|| Error::Malformed("an instruction without a name".to_owned()))
}
