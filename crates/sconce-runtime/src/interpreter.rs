//! Runs register code.

use std::collections::hash_map::Entry;
use std::fmt::Write as _;
use std::rc::Rc;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use sconce_ir::{ClassId, FunctionId, Graph, NamedRef, Type};
use sconce_syntax::SourceRange;
use sconce_torchscript::Module;

use crate::error::{Exception, Raise};
use crate::limits::{Budget, Limits};
use crate::lower::{Code, Instruction, Operand, Register, Span, Surroundings, lower};
use crate::primitive;
use crate::registry::Args;
use crate::value::IValue;
use crate::{Error, Sink};

/// How deep operators may call functions of the program that call operators (a sort that compares
/// objects whose comparison sorts).
const MAX_NESTED_RUNS: usize = 64;

/// The context lines that tracebacks show.
const CONTEXT: usize = 3;

/// A running program: its code, its registers, its limits.
pub(crate) struct Machine {
    module: Module,
    codes: FxHashMap<FunctionId, Rc<Code>>,
    classes: FxHashMap<ClassId, Rc<ClassInfo>>,
    pub(crate) constants: Vec<IValue>,
    frames: Vec<Frame>,
    registers: Vec<IValue>,
    nested: usize,
    pub(crate) budget: Budget,
    pub(crate) sink: Box<dyn Sink>,
}

/// What a running program asks of a class.
#[derive(Debug)]
pub(crate) struct ClassInfo {
    pub(crate) ty: Type,
    pub(crate) name: Arc<str>,
    /// Whether it is written in C++, and has no code here.
    pub(crate) is_torchbind: bool,
    pub(crate) attributes: Vec<(Arc<str>, Type)>,
    pub(crate) methods: FxHashMap<Arc<str>, FunctionId>,
}

struct Frame {
    code: Rc<Code>,
    next: usize,
    base: usize,
    /// Where the caller wants what is returned.
    to: Span,
    /// Objects of `with` statements that have been entered and not left.
    entered: Vec<IValue>,
}

impl Machine {
    pub(crate) fn new(module: &Module, sink: Box<dyn Sink>) -> Self {
        Machine {
            module: module.clone(),
            codes: FxHashMap::default(),
            classes: FxHashMap::default(),
            constants: Vec::new(),
            frames: Vec::new(),
            registers: Vec::new(),
            nested: 0,
            budget: Budget::new(&Limits::default()),
            sink,
        }
    }

    /// The code of a function, lowered now if it has not been.
    pub(crate) fn code(&mut self, function: FunctionId) -> Result<Rc<Code>, Error> {
        let entry = match self.codes.entry(function) {
            Entry::Occupied(known) => return Ok(Rc::clone(known.get())),
            Entry::Vacant(entry) => entry,
        };
        let constants = &self.constants;
        let code = self.module.with_program(|program| {
            let graph = program.graph(function)?;
            let unit = program.unit();
            lower(unit.function(function).name(), &graph, &Surroundings { unit, constants })
        })?;
        Ok(Rc::clone(entry.insert(Rc::new(code))))
    }

    /// Lowers a function and all that it calls; gives what they need and is not here.
    pub(crate) fn prepare(
        &mut self,
        function: FunctionId,
    ) -> Result<Vec<(String, Option<SourceRange>)>, Error> {
        let mut seen = rustc_hash::FxHashSet::default();
        let mut pending = vec![function];
        let mut missing = Vec::new();
        while let Some(function) = pending.pop() {
            if seen.insert(function) {
                let code = self.code(function)?;
                pending.extend(code.callees.iter().copied());
                missing.extend(code.missing.iter().cloned());
            }
        }
        Ok(missing)
    }

    pub(crate) fn class(&mut self, id: ClassId) -> Rc<ClassInfo> {
        let module = &self.module;
        let known = self.classes.entry(id).or_insert_with(|| {
            module.with_program(|program| {
                let unit = program.unit();
                let class = unit.class(id);
                let methods = class
                    .methods
                    .iter()
                    .map(|&method| (Arc::from(unit.function(method).name()), method));
                Rc::new(ClassInfo {
                    ty: Type::Class(NamedRef { id: id.0, name: Arc::clone(&class.name) }),
                    name: Arc::clone(&class.name),
                    is_torchbind: class.is_torchbind,
                    attributes: class
                        .attributes
                        .iter()
                        .map(|attribute| (Arc::clone(&attribute.name), attribute.ty.clone()))
                        .collect(),
                    methods: methods.collect(),
                })
            })
        });
        Rc::clone(known)
    }

    /// Whether a type is a subtype of another in this program.
    pub(crate) fn is_subtype(&self, ty: &Type, of: &Type) -> bool {
        self.module.with_program(|program| ty.is_subtype_of(of, program.unit()))
    }

    /// The method of an object.
    pub(crate) fn method(&mut self, object: &IValue, name: &str) -> Result<FunctionId, Error> {
        let IValue::Object(object) = object else {
            return Err(Error::Malformed(format!("a method '{name}' of what is no object")));
        };
        let id = object.read().class;
        let class = self.class(id);
        let method = class.methods.get(name).copied();
        method.ok_or_else(|| Error::Malformed(format!("{} has no method '{name}'", class.name)))
    }

    /// Runs a function from an operator or from outside.
    pub(crate) fn call(
        &mut self,
        function: FunctionId,
        args: Vec<IValue>,
    ) -> Result<IValue, Error> {
        let code = self.code(function)?;
        self.run(code, args)
    }

    /// Lowers a graph that is in no function, with a table of constants of its own.
    pub(crate) fn lower_graph(
        &self,
        name: &str,
        graph: &Graph,
        constants: &[IValue],
    ) -> Result<Code, Error> {
        self.module.with_program(|program| {
            lower(name, graph, &Surroundings { unit: program.unit(), constants })
        })
    }

    /// Runs code from an operator or from outside.
    pub(crate) fn run(&mut self, code: Rc<Code>, args: Vec<IValue>) -> Result<IValue, Error> {
        if self.nested >= MAX_NESTED_RUNS {
            let message = format!("operators call functions nested deeper than {MAX_NESTED_RUNS}");
            return Err(Error::Limit(message));
        }
        self.nested += 1;
        let (frames, registers) = (self.frames.len(), self.registers.len());
        let result = self.push(code, args, Span::default()).and_then(|()| self.work(frames));
        if result.is_err() {
            self.leave_entered(frames);
        }
        self.frames.truncate(frames);
        self.registers.truncate(registers);
        self.nested -= 1;
        result
    }

    fn push(&mut self, code: Rc<Code>, args: Vec<IValue>, to: Span) -> Result<(), Error> {
        self.budget.check_depth(self.frames.len())?;
        let base = self.registers.len();
        self.registers.extend(args);
        self.registers.resize(base + code.registers as usize, IValue::None);
        self.frames.push(Frame { code, next: 0, base, to, entered: Vec::new() });
        Ok(())
    }

    /// On the way out of an error, the exits of entered objects are run, the innermost first.
    fn leave_entered(&mut self, frames: usize) {
        let mut left = Vec::new();
        for frame in self.frames.iter_mut().skip(frames).rev() {
            left.extend(std::mem::take(&mut frame.entered).into_iter().rev());
        }
        for object in left {
            if let Ok(exit) = self.method(&object, "__exit__") {
                // What an exit raises while another error is on its way is of no account.
                let _ = self.call(exit, vec![object, IValue::None, IValue::None, IValue::None]);
            }
        }
    }

    /// Runs until no more than so many frames are left.
    fn work(&mut self, floor: usize) -> Result<IValue, Error> {
        loop {
            match self.step(floor) {
                Ok(None) => {}
                Ok(Some(value)) => return Ok(value),
                Err(raise) => return Err(self.traced(raise)),
            }
        }
    }

    fn take(registers: &mut [IValue], code: &Code, base: usize, operand: Operand) -> IValue {
        match operand {
            Operand::Copy(register) => {
                registers.get(base + register as usize).cloned().unwrap_or(IValue::None)
            }
            Operand::Move(register) => registers
                .get_mut(base + register as usize)
                .map_or(IValue::None, |slot| std::mem::replace(slot, IValue::None)),
            Operand::Constant(index) => {
                code.constants.get(index as usize).cloned().unwrap_or(IValue::None)
            }
        }
    }

    fn gather(&mut self, code: &Code, base: usize, from: Span) -> Vec<IValue> {
        let operands = slice(&code.operands, from);
        let registers = &mut self.registers;
        operands.iter().map(|&operand| Self::take(registers, code, base, operand)).collect()
    }

    fn put(&mut self, base: usize, register: Register, value: IValue) {
        if let Some(slot) = self.registers.get_mut(base + register as usize) {
            *slot = value;
        }
    }

    fn scatter(
        &mut self,
        code: &Code,
        base: usize,
        to: Span,
        values: impl IntoIterator<Item = IValue>,
    ) {
        for (&register, value) in slice(&code.targets, to).iter().zip(values) {
            self.put(base, register, value);
        }
    }

    fn step(&mut self, floor: usize) -> Result<Option<IValue>, Raise> {
        self.budget.step()?;
        let Some(frame) = self.frames.last_mut() else {
            return Err(Error::Malformed("no function is running".to_owned()).into());
        };
        let (code, base) = (Rc::clone(&frame.code), frame.base);
        let Some(instruction) = code.instructions.get(frame.next) else {
            return Err(Error::Malformed("a function without an end".to_owned()).into());
        };
        frame.next += 1;
        match instruction {
            Instruction::Operator { builtin, from, to } => {
                let mut args = self.gather(&code, base, *from);
                let result = (builtin.run)(self, Args(&mut args))?;
                self.store(&code, base, *to, result);
            }
            Instruction::Primitive { primitive, from, to } => {
                let args = self.gather(&code, base, *from);
                let results = primitive::run(self, primitive, args)?;
                self.scatter(&code, base, *to, results);
            }
            Instruction::Assign { from, to } => {
                let values = self.gather(&code, base, *from);
                self.scatter(&code, base, *to, values);
            }
            Instruction::Drop { registers } => {
                for &register in slice(&code.targets, *registers) {
                    self.put(base, register, IValue::None);
                }
            }
            Instruction::Jump { to } => self.jump(*to),
            Instruction::JumpUnless { condition, to } => {
                match Self::take(&mut self.registers, &code, base, *condition) {
                    IValue::Bool(true) => {}
                    IValue::Bool(false) => self.jump(*to),
                    _ => {
                        return Err(
                            Error::Malformed("a condition that is no bool".to_owned()).into()
                        );
                    }
                }
            }
            Instruction::Loop { limit, condition, counter, index, exit } => {
                let read = |register: Register| self.registers.get(base + register as usize);
                let (
                    Some(IValue::Int(limit)),
                    Some(IValue::Bool(condition)),
                    Some(IValue::Int(round)),
                ) = (read(*limit), read(*condition), read(*counter))
                else {
                    return Err(Error::Malformed("a loop without a count".to_owned()).into());
                };
                let round = *round;
                if !*condition || round >= *limit {
                    self.jump(*exit);
                } else {
                    self.put(base, *counter, IValue::Int(round + 1));
                    self.put(base, *index, IValue::Int(round));
                }
            }
            Instruction::Call { function, from, to } => {
                let args = self.gather(&code, base, *from);
                let callee = self.code(*function)?;
                self.push(callee, args, *to)?;
            }
            Instruction::CallMethod { method, from, to } => {
                let args = self.gather(&code, base, *from);
                self.call_method(method, args, *to)?;
            }
            Instruction::Enter { from, to } => {
                let args = self.gather(&code, base, *from);
                if let (Some(frame), Some(object)) = (self.frames.last_mut(), args.first()) {
                    frame.entered.push(object.clone());
                }
                self.call_method("__enter__", args, *to)?;
            }
            Instruction::Exit { from, to } => {
                let mut args = self.gather(&code, base, *from);
                if let Some(frame) = self.frames.last_mut() {
                    frame.entered.pop();
                }
                args.extend([IValue::None, IValue::None, IValue::None]);
                self.call_method("__exit__", args, *to)?;
            }
            Instruction::Fork { code: forked, from, to } => {
                let args = self.gather(&code, base, *from);
                let value = self.run(Rc::clone(forked), args)?;
                self.scatter(&code, base, *to, [IValue::Future(Rc::new(value))]);
            }
            Instruction::Return { from } => {
                let values = self.gather(&code, base, *from);
                return Ok(self.give_back(values, floor));
            }
        }
        Ok(None)
    }

    fn store(&mut self, code: &Code, base: usize, to: Span, result: IValue) {
        match (to.len, result) {
            (0, _) => {}
            (1, value) => self.scatter(code, base, to, [value]),
            (_, IValue::Tuple(tuple)) => {
                self.scatter(code, base, to, tuple.items.iter().cloned());
            }
            (_, value) => self.scatter(code, base, to, [value]),
        }
    }

    fn call_method(&mut self, method: &str, args: Vec<IValue>, to: Span) -> Result<(), Raise> {
        let function = match args.first() {
            Some(object) => self.method(object, method)?,
            None => return Err(Error::Malformed("a method without an object".to_owned()).into()),
        };
        let callee = self.code(function)?;
        Ok(self.push(callee, args, to)?)
    }

    fn jump(&mut self, to: u32) {
        if let Some(frame) = self.frames.last_mut() {
            frame.next = to as usize;
        }
    }

    /// Ends a call; gives the value when it was the outermost.
    fn give_back(&mut self, values: Vec<IValue>, floor: usize) -> Option<IValue> {
        let frame = self.frames.pop()?;
        self.registers.truncate(frame.base);
        if self.frames.len() == floor {
            let mut values = values;
            return Some(match values.len() {
                1 => values.pop().unwrap_or(IValue::None),
                0 => IValue::None,
                _ => IValue::tuple(values),
            });
        }
        let caller = self.frames.last()?;
        let (code, base) = (Rc::clone(&caller.code), caller.base);
        self.scatter(&code, base, frame.to, values);
        None
    }

    /// The error with the places it came through.
    fn traced(&self, raise: Raise) -> Error {
        let (class, message) = match raise {
            Raise::Error(Error::Unsupported { what, range: None }) => {
                let range = self.frames.last().and_then(range_of);
                return Error::Unsupported { what, range };
            }
            Raise::Error(error) => return error,
            Raise::Exception { class, message } => (class, message),
        };
        let class = class.unwrap_or_else(|| "RuntimeError".to_owned());
        let text = self.traceback(&class, &message);
        Error::Raised(Box::new(Exception { class, message, text }))
    }

    /// The places that a traceback shows, with the functions' names. PyTorch runs functions that it
    /// has put in the place of their calls, and forgets the call for nodes that give nothing.
    fn entries(&self) -> Vec<(SourceRange, &str)> {
        let mut shown = vec![true; self.frames.len()];
        let mut inner = true;
        for (index, frame) in self.frames.iter().enumerate().rev() {
            let at = frame.next.saturating_sub(1);
            inner = frame.code.gives.get(at).copied().flatten().unwrap_or(inner);
            let caller = index.checked_sub(1).and_then(|index| self.frames.get(index));
            let inlined = caller.is_some_and(|caller| {
                let at = caller.next.saturating_sub(1);
                matches!(caller.code.instructions.get(at), Some(Instruction::Call { .. }))
            });
            shown[index] = inner || !inlined;
        }
        let mut entries: Vec<(SourceRange, &str)> = Vec::new();
        for (frame, shown) in self.frames.iter().zip(shown) {
            let name = match (shown, entries.pop()) {
                (false, Some((_, name))) => name,
                (_, kept) => {
                    entries.extend(kept);
                    &*frame.code.name
                }
            };
            entries.extend(range_of(frame).map(|range| (range, name)));
        }
        entries
    }

    /// The text of `JITException`: where in the generated code, where in the original.
    fn traceback(&self, class: &str, message: &str) -> String {
        let entries = self.entries();
        let originals: Vec<Option<SourceRange>> =
            entries.iter().map(|(range, _)| range.original()).collect();
        let has_originals = originals.iter().any(Option::is_some);
        let mut out = "The following operation failed in the TorchScript interpreter.\n\
                       Traceback of TorchScript"
            .to_owned();
        out.push_str(if has_originals { ", serialized code" } else { "" });
        out.push_str(" (most recent call last):\n");
        for (range, name) in &entries {
            let _ = write!(out, "{}", range.with_context(CONTEXT, true, name));
        }
        if has_originals {
            out.push_str("\nTraceback of TorchScript, original code (most recent call last):\n");
            for ((range, name), original) in entries.iter().zip(&originals) {
                let range = original.as_ref().unwrap_or(range);
                let _ = write!(out, "{}", range.with_context(CONTEXT, true, name));
            }
        }
        let _ = writeln!(out, "{class}: {message}");
        out
    }
}

fn range_of(frame: &Frame) -> Option<SourceRange> {
    frame.code.ranges.get(frame.next.checked_sub(1)?)?.clone()
}

fn slice<T>(items: &[T], span: Span) -> &[T] {
    let start = span.start as usize;
    items.get(start..start + span.len as usize).unwrap_or_default()
}
