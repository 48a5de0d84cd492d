//! A method's bytecode as a graph.
//!
//! PyTorch writes bytecode from graphs, branch by branch and loop by loop, so jumps say where blocks begin and end. The
//! stack and the registers are followed as values: an instruction takes values and gives some. What a branch gives
//! lies on the stack at its end. A register that is set within a block is not seen after it.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use sconce_checkpoint::ErrorKind;
use sconce_ir::operators::{CURRENT_VERSION, Upgrader};
use sconce_ir::{
    Attribute, BlockId, ClassId, Constant, Graph, Kind, MAX_BLOCK_DEPTH, NodeId, Prim, Type,
    ValueId, verify_after,
};
use sconce_syntax::SourceRange;

use super::Instruction;
use super::facts::Facts;
use super::listing::Listing;
use super::program::Method;
use crate::Error;
use crate::importer::Program;

/// How many attributes a class may have that no object has shown.
const MAX_UNSEEN_ATTRIBUTES: usize = 4096;

/// What a register holds.
#[derive(Clone, Copy)]
struct Register {
    /// `None` where it was given away, or set in a block that is over.
    value: Option<ValueId>,
    /// In how many loops it was set.
    loops: usize,
}

/// A method that is being translated.
pub(super) struct Translation<'t> {
    pub(super) program: &'t mut Program,
    pub(super) facts: &'t mut Facts,
    pub(super) method: &'t Method,
    /// Which of the program's methods it is.
    index: usize,
    pub(super) graph: Graph,
    block: BlockId,
    stack: Vec<ValueId>,
    /// How many values of the stack belong to what is around the block.
    floor: usize,
    registers: FxHashMap<i64, Register>,
    /// What registers held before they were changed in the blocks that are open.
    changes: Vec<(i64, Option<Register>)>,
    /// For each loop that is open, the registers from outside of it that its body has read.
    loops: Vec<FxHashSet<i64>>,
    depth: usize,
    /// The instruction.
    pub(super) at: usize,
    constants: FxHashMap<i64, ValueId>,
    /// The last node of the constants, which stand first.
    last_constant: NodeId,
    /// Values that are nothing yet and are never read.
    uninitialized: FxHashSet<ValueId>,
    /// Calls of operators that mean something else today.
    pub(super) outdated: Vec<(NodeId, &'static Upgrader)>,
}

pub(super) type Result<T> = std::result::Result<T, Error>;

impl<'t> Translation<'t> {
    pub(super) fn new(
        program: &'t mut Program,
        facts: &'t mut Facts,
        method: &'t Method,
        index: usize,
    ) -> Self {
        let mut graph = Graph::new();
        graph.op_version = Some(CURRENT_VERSION);
        let (block, last_constant) = (graph.root(), graph.param_node(graph.root()));
        Translation {
            program,
            facts,
            method,
            index,
            graph,
            block,
            stack: Vec::new(),
            floor: 0,
            registers: FxHashMap::default(),
            changes: Vec::new(),
            loops: Vec::new(),
            depth: 0,
            at: 0,
            constants: FxHashMap::default(),
            last_constant,
            uninitialized: FxHashSet::default(),
            outdated: Vec::new(),
        }
    }

    /// The graph.
    pub(super) fn run(mut self) -> Result<Graph> {
        let formals = Arc::clone(&self.program.unit().function(self.method.id).schema);
        for (formal, ty) in formals.arguments.iter().zip(&self.method.arguments) {
            let value = self.graph.add_input(ty.clone());
            let starts = formal.name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
            if starts && formal.name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
                self.graph.set_name(value, &formal.name);
            }
            self.stack.push(value);
        }
        let end = self.method.code.instructions.len().saturating_sub(1);
        let result = self.range(0, end).and_then(|()| {
            self.at = end;
            match self.method.code.instructions.last() {
                Some(last) if last.op == "RET" => self.pop(),
                _ => Err(Error::malformed("it does not end with RET")),
            }
        });
        let result = result.map_err(|error| self.located(&error))?;
        let root = self.graph.root();
        self.graph.add_block_output(root, result);
        sconce_compiler::upgrade(&mut self.graph, &self.outdated);
        verify_after("translation of bytecode", &self.graph);
        Ok(self.graph)
    }

    /// The error with the method and the instruction.
    fn located(&self, error: &Error) -> Error {
        let op = self.method.code.instructions.get(self.at).map_or("", |at| at.op.as_str());
        let (name, at) = (&self.method.code.name, self.at);
        let message = format!("{name}, instruction {at} ({op}): {}", error.message());
        Error::new(error.kind(), message)
    }

    /// Translates the instructions from `start` to before `end`.
    fn range(&mut self, start: usize, end: usize) -> Result<()> {
        let mut next = start;
        while next < end {
            self.at = next;
            next = self.step(end)?;
        }
        Ok(())
    }

    /// Translates an instruction, and gives the one after it.
    fn step(&mut self, end: usize) -> Result<usize> {
        let method = self.method;
        let Some(Instruction { op, x, n }) = method.code.instructions.get(self.at) else {
            return Err(Error::malformed("the code ends here"));
        };
        match op.as_str() {
            "JF" => return self.branch(*x, end),
            "LOOP" => return self.repeat(*x, *n, end),
            "LOAD" => {
                let value = self.register(*x)?;
                self.stack.push(value);
            }
            "MOVE" => {
                let value = self.register(*x)?;
                self.stack.push(value);
                self.set(*x, None)?;
            }
            "STORE" => {
                let value = self.pop()?;
                self.set(*x, Some(value))?;
            }
            "STOREN" => {
                let values = self.pop_many(*n)?;
                for (register, value) in (*x..).zip(values) {
                    self.set(register, Some(value))?;
                }
            }
            "DROP" => {
                self.pop()?;
            }
            "DROPR" => self.set(*x, None)?,
            "LOADC" => {
                let value = self.constant_at(*x)?;
                self.stack.push(value);
            }
            "GET_ATTR" => self.get_attribute(*x)?,
            "SET_ATTR" => self.set_attribute(*x)?,
            "INTERFACE_CALL" => self.call_method(*x, *n)?,
            op => self.instruction(op, *x, *n)?,
        }
        Ok(self.at + 1)
    }

    /// Where a jump leads that must stay before `end`.
    fn target(&self, x: i64, end: usize) -> Result<usize> {
        let target = i64::try_from(self.at).ok().and_then(|at| at.checked_add(x));
        let target = target.and_then(|target| usize::try_from(target).ok());
        target.filter(|&target| target > self.at && target <= end).ok_or_else(|| {
            let message = format!("it jumps by {x}, out of the block that it is in");
            Error::new(ErrorKind::Unsupported, message)
        })
    }

    /// Where the jump leads that must stand before `at`, relative to it.
    fn jump_before(&self, at: usize) -> Result<i64> {
        match self.method.code.instructions.get(at.wrapping_sub(1)) {
            Some(jump) if jump.op == "JMP" && at > self.at + 1 => Ok(jump.x),
            _ => {
                let message = format!("no JMP stands before instruction {at}, where it leads");
                Err(Error::new(ErrorKind::Unsupported, message))
            }
        }
    }

    fn branch(&mut self, x: i64, end: usize) -> Result<usize> {
        let start = self.at;
        let otherwise = self.target(x, end)?;
        let leave = self.jump_before(otherwise)?;
        self.at = otherwise - 1;
        let after = self.target(leave, end)?;
        self.at = start;
        let condition = self.pop()?;
        let node = self.node(Prim::If, &[condition], &[]);
        let (first, mut changed) = self.arm(node, start + 1, otherwise - 1)?;
        let (second, more) = self.arm(node, otherwise, after)?;
        self.at = start;
        if first.len() != second.len() {
            let (first, second) = (first.len(), second.len());
            let message = format!("its branches give {first} and {second} values");
            return Err(Error::malformed(message));
        }
        for (&a, &b) in first.iter().zip(&second) {
            let (ty, is_nothing) = self.joined(a, b);
            let output = self.graph.add_output(node, ty);
            if is_nothing {
                self.uninitialized.insert(output);
            }
            self.stack.push(output);
        }
        changed.extend(more);
        self.forget(&changed)?;
        Ok(after)
    }

    /// A branch: what it gives, and the registers that it changes.
    fn arm(&mut self, node: NodeId, start: usize, end: usize) -> Result<(Vec<ValueId>, Vec<i64>)> {
        let block = self.graph.add_block(node);
        self.within(block, Vec::new(), start, end)
    }

    /// Translates instructions as a block that begins with these values.
    fn within(
        &mut self,
        block: BlockId,
        inputs: Vec<ValueId>,
        start: usize,
        end: usize,
    ) -> Result<(Vec<ValueId>, Vec<i64>)> {
        if self.depth >= MAX_BLOCK_DEPTH - 1 {
            let message = "blocks are nested too deeply";
            return Err(Error::new(ErrorKind::Limit, message));
        }
        self.depth += 1;
        let around = std::mem::replace(&mut self.block, block);
        let floor = std::mem::replace(&mut self.floor, self.stack.len());
        let before = self.changes.len();
        self.stack.extend(inputs);
        self.range(start, end)?;
        let given = self.stack.split_off(self.floor);
        for &value in &given {
            self.graph.add_block_output(block, value);
        }
        let mut changed = Vec::new();
        for (register, held) in self.changes.drain(before..).rev() {
            match held {
                Some(held) => self.registers.insert(register, held),
                None => self.registers.remove(&register),
            };
            changed.push(register);
        }
        self.block = around;
        self.floor = floor;
        self.depth -= 1;
        Ok((given, changed))
    }

    fn repeat(&mut self, x: i64, n: i64, end: usize) -> Result<usize> {
        let start = self.at;
        let after = self.target(x, end)?;
        let back = self.jump_before(after)?;
        if back.checked_add(after as i64 - 1) != Some(start as i64) {
            let message = format!("the JMP before instruction {after} does not lead back here");
            return Err(Error::new(ErrorKind::Unsupported, message));
        }
        let mut inputs = self.pop_many(n)?;
        let count = self.pop()?;
        if self.graph.constant(count) != Some(Constant::Int(0)) {
            return Err(Error::new(ErrorKind::Unsupported, "it does not count from 0"));
        }
        if inputs.len() < 2 {
            return Err(Error::malformed("it has no trip count and condition"));
        }
        let node = self.node(Prim::Loop, &inputs, &[]);
        let carried = inputs.split_off(2);
        let block = self.graph.add_block(node);
        let mut parameters = vec![self.graph.add_block_input(block, Type::Int)];
        for (place, &value) in carried.iter().enumerate() {
            let known = self.facts.carried(self.index, start).get(place).cloned().flatten();
            let is_nothing = known.is_none() && self.uninitialized.contains(&value);
            let ty = known.unwrap_or_else(|| self.graph.ty(value).clone());
            let parameter = self.graph.add_block_input(block, ty);
            if is_nothing {
                self.uninitialized.insert(parameter);
            }
            parameters.push(parameter);
        }
        self.loops.push(FxHashSet::default());
        let (given, changed) = self.within(block, parameters.clone(), start + 1, after - 1)?;
        self.loops.pop();
        self.at = start;
        if given.len() != carried.len() + 1 {
            let (given, carried) = (given.len(), carried.len());
            let message = format!("its body gives {given} values, and it carries {carried}");
            return Err(Error::malformed(message));
        }
        let mut types = Vec::with_capacity(carried.len());
        let pairs = carried.iter().zip(&parameters[1..]).zip(&given[1..]);
        for ((&before, &parameter), &value) in pairs {
            self.adopt(before, parameter);
            let (ty, is_nothing) = self.joined(parameter, value);
            let output = self.graph.add_output(node, ty.clone());
            if is_nothing {
                self.uninitialized.insert(output);
            }
            self.stack.push(output);
            types.push((!is_nothing).then_some(ty));
        }
        self.facts.carry(self.index, start, types);
        self.forget(&changed)?;
        Ok(after)
    }

    /// The type of which both values are, and whether neither is anything.
    fn joined(&mut self, a: ValueId, b: ValueId) -> (Type, bool) {
        let [no_a, no_b] = [a, b].map(|value| self.uninitialized.contains(&value));
        match (no_a, no_b) {
            (false, false) => {
                let unit = self.program.unit();
                (self.facts.joined(self.graph.ty(a), self.graph.ty(b), unit), false)
            }
            (true, true) => (self.graph.ty(a).clone(), true),
            (true, false) => {
                self.adopt(a, b);
                (self.graph.ty(b).clone(), false)
            }
            (false, true) => {
                self.adopt(b, a);
                (self.graph.ty(a).clone(), false)
            }
        }
    }

    /// Gives a value that is nothing the type of one that stands beside it.
    fn adopt(&mut self, nothing: ValueId, beside: ValueId) {
        let is_free = *self.graph.ty(nothing) == Type::None;
        if is_free && self.uninitialized.contains(&nothing) {
            let ty = self.graph.ty(beside).clone();
            self.graph.set_type(nothing, ty);
        }
    }

    /// Notes a value that is nothing yet.
    pub(super) fn nothing(&mut self, value: ValueId) {
        self.uninitialized.insert(value);
    }

    /// Registers that a block has changed hold nothing after it.
    fn forget(&mut self, registers: &[i64]) -> Result<()> {
        registers.iter().try_for_each(|&register| self.set(register, None))
    }

    fn check_register(&self, register: i64) -> Result<()> {
        let registers = self.method.code.registers;
        if !(1..=registers).contains(&register) {
            let message = format!("there is no register {register}, only 1 to {registers}");
            return Err(Error::malformed(message));
        }
        Ok(())
    }

    fn register(&mut self, register: i64) -> Result<ValueId> {
        self.check_register(register)?;
        let held = self.registers.get(&register).copied();
        let Some(Register { value: Some(value), loops }) = held else {
            return Err(Error::malformed(format!("register {register} holds nothing here")));
        };
        self.loops.iter_mut().skip(loops).for_each(|read| {
            read.insert(register);
        });
        Ok(value)
    }

    fn set(&mut self, register: i64, value: Option<ValueId>) -> Result<()> {
        self.check_register(register)?;
        // In its next round a loop would find another value than in its first.
        if self.loops.iter().any(|read| read.contains(&register)) {
            let message =
                format!("register {register} is changed in a loop that has read it before");
            return Err(Error::new(ErrorKind::Unsupported, message));
        }
        let held = Register { value, loops: self.loops.len() };
        let before = self.registers.insert(register, held);
        if self.depth > 0 {
            self.changes.push((register, before));
        }
        Ok(())
    }

    pub(super) fn pop(&mut self) -> Result<ValueId> {
        let value = (self.stack.len() > self.floor).then(|| self.stack.pop()).flatten();
        value.ok_or_else(|| Error::malformed("it takes a value, and there is none"))
    }

    /// The last values of the stack, the deepest first.
    pub(super) fn pop_many(&mut self, count: i64) -> Result<Vec<ValueId>> {
        let there = self.stack.len() - self.floor;
        let start = usize::try_from(count).ok().and_then(|count| there.checked_sub(count));
        match start {
            Some(start) => Ok(self.stack.split_off(self.floor + start)),
            None => {
                let message = format!("it takes {count} values, and there are {there}");
                Err(Error::malformed(message))
            }
        }
    }

    pub(super) fn push(&mut self, value: ValueId) {
        self.stack.push(value);
    }

    /// How many values the block has on the stack.
    pub(super) fn height(&self) -> usize {
        self.stack.len() - self.floor
    }

    /// The instruction after this one.
    pub(super) fn next(&self) -> Option<&'t Instruction> {
        self.method.code.instructions.get(self.at + 1)
    }

    /// Adds a node.
    pub(super) fn node(
        &mut self,
        kind: impl Into<Kind>,
        inputs: &[ValueId],
        outputs: &[Type],
    ) -> NodeId {
        let node = self.graph.append_node(self.block, kind, inputs, outputs);
        self.graph.node_mut(node).range = self.place();
        node
    }

    /// The line of the listing that shows the instruction.
    fn place(&self) -> Option<SourceRange> {
        let Listing { source, lines } = &self.method.listing;
        Some(SourceRange::new(Arc::clone(source), *lines.get(self.at)?))
    }

    /// A constant that stands before everything else.
    pub(super) fn constant(&mut self, constant: &Constant) -> ValueId {
        let node = self.graph.new_constant(constant);
        self.graph.node_mut(node).range = self.place();
        let root = self.graph.root();
        if self.last_constant == self.graph.param_node(root) {
            self.graph.prepend(root, node);
        } else {
            self.graph.insert_after(node, self.last_constant);
        }
        self.last_constant = node;
        self.graph.node(node).output()
    }

    /// A constant of the method.
    pub(super) fn entry(&self, index: i64) -> Result<&'t Constant> {
        let entry = usize::try_from(index).ok();
        entry.and_then(|index| self.method.constants.get(index)).ok_or_else(|| {
            let count = self.method.constants.len();
            Error::malformed(format!("it names constant {index} of {count}"))
        })
    }

    fn constant_at(&mut self, index: i64) -> Result<ValueId> {
        if let Some(&known) = self.constants.get(&index) {
            return Ok(known);
        }
        let entry = self.entry(index)?;
        let value = self.constant(entry);
        self.constants.insert(index, value);
        Ok(value)
    }

    /// The class of an object, and its attribute of a number.
    fn attribute(&mut self, object: ValueId, slot: i64) -> Result<(ClassId, usize, Arc<str>)> {
        let class = self.class_of(object)?;
        let of = self.program.unit().class(class);
        let (there, name) = (of.attributes.len(), Arc::clone(&of.name));
        let told = self.program.importer.told_by_objects.as_ref();
        let is_told = of.is_torchbind || told.is_some_and(|told| told.contains_key(&class));
        let most = if is_told { there } else { MAX_UNSEEN_ATTRIBUTES };
        let Some(slot) = usize::try_from(slot).ok().filter(|&slot| slot < most) else {
            let message = format!("the class {name} has no attribute of the number {slot}");
            return Err(Error::malformed(message));
        };
        let of = self.program.unit.class_mut(class);
        while of.attributes.len() <= slot {
            let mut name = of.attributes.len().to_string();
            while of.slot(&name).is_some() {
                name.push('_');
            }
            let (name, ty, role) = (name.into(), Type::Any, sconce_ir::Role::Plain);
            of.attributes.push(sconce_ir::ClassAttribute { name, ty, role });
        }
        Ok((class, slot, Arc::clone(&of.attributes[slot].name)))
    }

    /// The class of an object, which only its type says.
    fn class_of(&mut self, object: ValueId) -> Result<ClassId> {
        let ty = match self.graph.ty(object) {
            Type::Optional(of) => (**of).clone(),
            ty => ty.clone(),
        };
        let class = match &ty {
            Type::Class(class) => match self.program.unit().class_of(class) {
                Some(_) => Some(ClassId(class.id)),
                None => self.program.custom_class(&class.name),
            },
            _ => None,
        };
        class.ok_or_else(|| {
            let message = format!("it takes an object, and there is a value of the type {ty}");
            Error::new(ErrorKind::Unsupported, message)
        })
    }

    fn get_attribute(&mut self, slot: i64) -> Result<()> {
        let object = self.pop()?;
        let (class, slot, name) = self.attribute(object, slot)?;
        let ty = self.facts.attribute(class, slot).cloned().unwrap_or(Type::Any);
        let node = self.node(Prim::GetAttr, &[object], &[ty]);
        self.graph.node_mut(node).set_attribute("name", Attribute::Str(name));
        self.stack.push(self.graph.node(node).output());
        Ok(())
    }

    fn set_attribute(&mut self, slot: i64) -> Result<()> {
        let value = self.pop()?;
        let object = self.pop()?;
        let (class, slot, name) = self.attribute(object, slot)?;
        let ty = self.graph.ty(value).clone();
        self.facts.store(class, slot, &ty, self.program.unit());
        let node = self.node(Prim::SetAttr, &[object, value], &[]);
        self.graph.node_mut(node).set_attribute("name", Attribute::Str(name));
        Ok(())
    }

    fn call_method(&mut self, name: i64, count: i64) -> Result<()> {
        let Constant::Str(name) = self.entry(name)? else {
            return Err(Error::malformed("the name of the method is no text"));
        };
        let inputs = self.pop_many(count)?;
        let Some(&object) = inputs.first() else {
            return Err(Error::malformed("a method of nothing"));
        };
        let class = self.class_of(object)?;
        let unit = self.program.unit();
        let Some(method) = unit.find_method(class, name) else {
            let class = &unit.class(class).name;
            return Err(Error::malformed(format!("the class {class} has no method '{name}'")));
        };
        let schema = Arc::clone(&unit.function(method).schema);
        if schema.arguments.len() != inputs.len() {
            let (takes, given) = (schema.arguments.len(), inputs.len());
            return Err(Error::malformed(format!("'{name}' takes {takes} values, not {given}")));
        }
        let ty = schema.returns.first().map_or(Type::None, |returned| returned.ty.clone());
        let node = self.node(Prim::CallMethod, &inputs, &[ty]);
        self.graph.node_mut(node).set_attribute("name", Attribute::Str(Arc::clone(name)));
        self.stack.push(self.graph.node(node).output());
        Ok(())
    }
}
