//! Runs register code.

pub(crate) mod traceback;

use std::collections::hash_map::Entry;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustc_hash::FxHashMap;
use sconce_ir::{ClassId, FunctionId, Graph, NamedRef, Type};
use sconce_kernels::{Generator, Memory, take_choice};
use sconce_torchscript::Module;

use crate::bytecode::autocast::with_casts;
use crate::bytecode::lower::{
    Code, Instruction, LoweringContext, Number, Operand, Register, Span, lower, slice,
};
use crate::bytecode::need::Need;
use crate::bytecode::primitive::{self, Given};
use crate::error::Raise;
use crate::limits::{Budget, Limits};
use crate::op_context::autograd_state::AutogradState;
use crate::op_context::formula::CompiledGraph;
use crate::op_context::{ClassInfo, OpContext, Operands};
use crate::ops::{Args, BorrowedArg, Builtin, MAX_BORROWED};
use crate::profile::ProfileEntry;
use crate::sink::Sink;
use crate::value::{Future, IValue};
use crate::{Error, autograd, ops};

/// How deep operators may call functions of the program that call operators (a sort that compares
/// objects whose comparison sorts).
const MAX_NESTED_RUNS: usize = 64;

/// What follows an instruction.
enum ControlFlow {
    /// The next instruction.
    Next,
    /// The next instruction of another frame.
    SwitchFrame,
    /// It is over, and [`Machine::result`] has the value.
    Finished,
}

/// A running program: its code, its registers, its limits.
pub(crate) struct Machine {
    module: Module,
    codes: FxHashMap<FunctionId, Rc<Code>>,
    /// Code of no function, while time is measured.
    graphs: Vec<Rc<Code>>,
    classes: FxHashMap<ClassId, Rc<ClassInfo>>,
    pub(crate) constants: Vec<IValue>,
    frames: Vec<Frame>,
    registers: Vec<IValue>,
    /// What the outermost frame of a run has returned.
    result: IValue,
    nested: usize,
    profiling: bool,
    pub(crate) budget: Budget,
    pub(crate) autograd: AutogradState,
    pub(crate) sink: Box<dyn Sink>,
    /// The warnings of a run that may be given up, until it is known to stand.
    held_warnings: Option<Vec<String>>,
    pub(crate) generator: sconce_kernels::Generator,
    pub(crate) exact: bool,
    pub(crate) precision: sconce_kernels::Precision,
}

/// What is known of a function, with all that it calls, before it runs.
#[derive(Default)]
pub(crate) struct Prepared {
    /// What it needs and is not here.
    pub(crate) missing: Vec<Need>,
    pub(crate) asks_for_gradients: bool,
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
    pub(crate) fn new(module: &Module, sink: Box<dyn Sink>, profiling: bool) -> Self {
        Machine {
            module: module.clone(),
            codes: FxHashMap::default(),
            graphs: Vec::new(),
            classes: FxHashMap::default(),
            constants: Vec::new(),
            frames: Vec::new(),
            registers: Vec::new(),
            result: IValue::None,
            nested: 0,
            profiling,
            budget: Budget::new(&Limits::default(), &Memory::new(None)),
            autograd: AutogradState::default(),
            sink,
            held_warnings: None,
            generator: sconce_kernels::Generator::default(),
            exact: false,
            precision: sconce_kernels::Precision::Full,
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
            let graph = with_casts(program, graph)?;
            let unit = program.unit();
            lower(unit.function(function).name(), &graph, &LoweringContext { unit, constants })
        })?;
        if self.profiling {
            code.count_time();
        }
        Ok(Rc::clone(entry.insert(Rc::new(code))))
    }

    /// Lowers a function and all that it calls.
    pub(crate) fn prepare(&mut self, function: FunctionId) -> Result<Prepared, Error> {
        let mut seen = rustc_hash::FxHashSet::default();
        let mut pending = vec![function];
        let mut prepared = Prepared::default();
        while let Some(function) = pending.pop() {
            if seen.insert(function) {
                let code = self.code(function)?;
                pending.extend(code.callees.iter().copied());
                let needs = code.missing.iter().cloned();
                prepared.missing.extend(needs.map(|(what, range)| Need { what, range }));
                prepared.asks_for_gradients |= code.asks_for_gradients;
            }
        }
        Ok(prepared)
    }

    /// Lowers a graph that is in no function, with a table of constants of its own; `None` if it
    /// cannot be. An operator that is not here is an error where the code comes to it.
    pub(crate) fn lower_graph(
        &mut self,
        name: &str,
        graph: &Graph,
        constants: &[IValue],
    ) -> Option<Rc<Code>> {
        let code = self.module.with_program(|program| {
            lower(name, graph, &LoweringContext { unit: program.unit(), constants })
        });
        let code = Rc::new(code.ok()?);
        if self.profiling {
            code.count_time();
            self.graphs.push(Rc::clone(&code));
        }
        Some(code)
    }

    /// What each instruction that has run has taken.
    pub(crate) fn profile(&self) -> Vec<ProfileEntry> {
        let mut entries = Vec::new();
        let mut pending: Vec<&Rc<Code>> = self.codes.values().chain(&self.graphs).collect();
        while let Some(code) = pending.pop() {
            pending.extend(code.forked());
            entries.extend(code.profile());
        }
        entries
    }

    /// Runs code that may turn out not to be up to it: `None` then, and nobody sees that it ran.
    pub(crate) fn attempt(
        &mut self,
        code: Rc<Code>,
        args: Operands,
        draws: bool,
    ) -> Option<Result<IValue, Error>> {
        let generator = draws.then(|| self.generator.clone());
        self.held_warnings = Some(Vec::new());
        let result = self.run(code, args);
        let warnings = self.held_warnings.take().unwrap_or_default();
        if let Err(Error::Raised(_) | Error::Unsupported { .. } | Error::Malformed(_)) = result {
            generator.into_iter().for_each(|before| self.generator = before);
            return None;
        }
        warnings.iter().for_each(|message| self.sink.warn(message));
        Some(result)
    }

    /// Runs code from an operator or from outside.
    pub(crate) fn run(&mut self, code: Rc<Code>, args: Operands) -> Result<IValue, Error> {
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

    fn push(&mut self, code: Rc<Code>, args: Operands, to: Span) -> Result<(), Error> {
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
            let next = match self.profiling || self.autograd.recording {
                false => self.run_frame::<false>(floor),
                true => self.run_frame::<true>(floor),
            };
            match next {
                Ok(ControlFlow::Finished) => return Ok(std::mem::take(&mut self.result)),
                Ok(_) => {}
                Err(raise) => return Err(self.traced(raise)),
            }
        }
    }

    #[inline]
    fn take(registers: &mut [IValue], code: &Code, operand: Operand) -> IValue {
        match operand {
            Operand::Copy(register) => {
                registers.get(register as usize).cloned().unwrap_or(IValue::None)
            }
            Operand::Move(register) => {
                registers.get_mut(register as usize).map(std::mem::take).unwrap_or_default()
            }
            Operand::Constant(index) => {
                code.constants.get(index as usize).cloned().unwrap_or(IValue::None)
            }
        }
    }

    /// A look at an operand where it is.
    #[inline]
    fn peek<'a>(registers: &'a [IValue], code: &'a Code, operand: Operand) -> &'a IValue {
        let found = match operand {
            Operand::Copy(register) | Operand::Move(register) => registers.get(register as usize),
            Operand::Constant(index) => code.constants.get(index as usize),
        };
        found.unwrap_or(&IValue::None)
    }

    /// Forgets what an operand is if it is not read again.
    #[inline]
    fn forget(registers: &mut [IValue], operand: Operand) {
        if let Operand::Move(register) = operand
            && let Some(slot) = registers.get_mut(register as usize)
        {
            *slot = IValue::None;
        }
    }

    /// Puts a value into another register.
    #[inline]
    fn shift(registers: &mut [IValue], code: &Code, from: Operand, to: Register) {
        match Self::peek(registers, code, from) {
            &IValue::Int(int) => {
                if let Some(slot) = registers.get_mut(to as usize) {
                    Number::Int(int).put(slot);
                }
            }
            // Part by part, as `IValue::put` says.
            IValue::Tensor(tensor) => {
                let tensor = tensor.clone();
                Self::forget(registers, from);
                if let Some(slot) = registers.get_mut(to as usize) {
                    *slot = IValue::Tensor(tensor);
                }
            }
            _ => {
                let value = Self::take(registers, code, from);
                if let Some(slot) = registers.get_mut(to as usize) {
                    *slot = value;
                }
            }
        }
    }

    /// Computes an operator by its short cut, with the operands where they are; gives whether that
    /// was possible.
    #[inline]
    fn operate_in_place(
        &mut self,
        builtin: &Builtin,
        code: &Code,
        base: usize,
        from: Span,
        to: Span,
    ) -> bool {
        let (Some(fast_path), &[to]) = (builtin.fast_path, slice(&code.targets, to)) else {
            return false;
        };
        let (operands, registers) = (slice(&code.operands, from), self.registers(base));
        let mut borrowed = [BorrowedArg { value: &IValue::None, is_done: false }; MAX_BORROWED];
        for (borrowed, &operand) in borrowed.iter_mut().zip(operands) {
            borrowed.value = Self::peek(registers, code, operand);
            borrowed.is_done = matches!(operand, Operand::Move(_));
        }
        let Some(tensor) = fast_path(&borrowed) else { return false };
        operands.iter().for_each(|&operand| Self::forget(registers, operand));
        if let Some(slot) = registers.get_mut(to as usize) {
            *slot = IValue::Tensor(tensor);
        }
        true
    }

    /// The registers of the frame that starts there.
    #[inline]
    fn registers(&mut self, base: usize) -> &mut [IValue] {
        self.registers.get_mut(base..).unwrap_or_default()
    }

    #[inline]
    fn gather(&mut self, code: &Code, base: usize, from: Span) -> Operands {
        let operands = slice(&code.operands, from);
        let registers = self.registers(base);
        operands.iter().map(|&operand| Self::take(registers, code, operand)).collect()
    }

    #[inline]
    fn put(&mut self, base: usize, register: Register, value: IValue) {
        if let Some(slot) = self.registers.get_mut(base + register as usize) {
            value.put(slot);
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

    /// Runs the innermost frame until it calls or returns. `WATCHED` is a run of which time is measured
    /// or gradients are recorded: operators take no short cut.
    fn run_frame<const WATCHED: bool>(&mut self, floor: usize) -> Result<ControlFlow, Raise> {
        let Some(frame) = self.frames.last() else {
            return Err(Error::Malformed("no function is running".to_owned()).into());
        };
        let (code, base, mut next) = (Rc::clone(&frame.code), frame.base, frame.next);
        loop {
            let at = next;
            next += 1;
            let Some(instruction) = code.instructions.get(at) else {
                return Err(Error::Malformed("a function without an end".to_owned()).into());
            };
            if self.budget.step() {
                self.stand_at(next);
                self.budget.look()?;
            }
            // The instructions that neither call nor raise.
            match instruction {
                Instruction::Numbers { op, a, b, to } if !WATCHED => {
                    let registers = self.registers(base);
                    let (x, y) =
                        (Self::peek(registers, &code, *a), Self::peek(registers, &code, *b));
                    if let Some(number) = op.of(x, y) {
                        if let Some(slot) = registers.get_mut(*to as usize) {
                            number.put(slot);
                        }
                        continue;
                    }
                }
                Instruction::Operator { builtin, from, to }
                    if !WATCHED && self.operate_in_place(builtin, &code, base, *from, *to) =>
                {
                    continue;
                }
                Instruction::Move { from, to } => {
                    Self::shift(self.registers(base), &code, *from, *to);
                    continue;
                }
                Instruction::Jump { to } => {
                    next = *to as usize;
                    continue;
                }
                Instruction::JumpUnless { condition, to } => {
                    match Self::peek(self.registers(base), &code, *condition) {
                        IValue::Bool(true) => continue,
                        IValue::Bool(false) => {
                            next = *to as usize;
                            continue;
                        }
                        _ => {}
                    }
                }
                Instruction::Loop { limit, condition, counter, index, body, exit } => {
                    match Self::next_round(self.registers(base), *limit, *condition, *counter) {
                        Some(Some(round)) => {
                            if let Some(slot) = self.registers(base).get_mut(*index as usize) {
                                Number::Int(round).put(slot);
                            }
                            next = *body as usize;
                            continue;
                        }
                        Some(None) => {
                            next = *exit as usize;
                            continue;
                        }
                        None => {}
                    }
                }
                _ => {}
            }
            self.stand_at(next);
            let begun = (WATCHED && self.profiling).then(|| {
                take_choice();
                Instant::now()
            });
            let going = self.step(instruction, &code, base, floor)?;
            if let Some(begun) = begun {
                spend(&code, at, begun.elapsed(), take_choice());
            }
            if !matches!(going, ControlFlow::Next) {
                return Ok(going);
            }
        }
    }

    /// Lets whoever looks at the frames see where the innermost one is.
    #[inline]
    fn stand_at(&mut self, next: usize) {
        if let Some(frame) = self.frames.last_mut() {
            frame.next = next;
        }
    }

    /// The number of a loop's next round; an inner `None` where there is none, an outer one where the
    /// registers hold no loop.
    #[inline]
    fn next_round(
        registers: &mut [IValue],
        limit: Register,
        condition: Option<Register>,
        counter: Register,
    ) -> Option<Option<i64>> {
        let read = |register: Register| registers.get(register as usize);
        let (IValue::Int(limit), &IValue::Int(round)) = (read(limit)?, read(counter)?) else {
            return None;
        };
        let holds = match condition.map(read) {
            None => true,
            Some(Some(IValue::Bool(holds))) => *holds,
            Some(_) => return None,
        };
        if !holds || round >= *limit {
            return Some(None);
        }
        Number::Int(round + 1).put(registers.get_mut(counter as usize)?);
        Some(Some(round))
    }

    /// Runs an instruction that may call or raise.
    fn step(
        &mut self,
        instruction: &Instruction,
        code: &Code,
        base: usize,
        floor: usize,
    ) -> Result<ControlFlow, Raise> {
        match instruction {
            Instruction::Operator { builtin, from, to } if self.autograd.recording => {
                let args = self.gather(code, base, *from);
                let at = self.frames.last().and_then(|frame| frame.next.checked_sub(1));
                let name = at.and_then(|at| Some(&code.operators.get(at)?.as_ref()?.full));
                let result = match name {
                    Some(name) => self.run_recorded(name, builtin, args)?,
                    None => {
                        return Err(
                            Error::Malformed("an operator without a name".to_owned()).into()
                        );
                    }
                };
                self.store(code, base, *to, result);
            }
            Instruction::Operator { builtin, from, to } => {
                if self.profiling && self.operate_in_place(builtin, code, base, *from, *to) {
                    return Ok(ControlFlow::Next);
                }
                let operands = slice(&code.operands, *from);
                match operands.len() {
                    0..=2 => self.operate::<2>(builtin, code, base, operands, *to)?,
                    3..=4 => self.operate::<4>(builtin, code, base, operands, *to)?,
                    5..=8 => self.operate::<8>(builtin, code, base, operands, *to)?,
                    _ => {
                        let mut args = self.gather(code, base, *from);
                        let result = builtin.call(self, Args(&mut args))?;
                        self.store(code, base, *to, result);
                    }
                }
            }
            Instruction::Numbers { op, a, b, to } => {
                let registers = self.registers(base);
                let mut args = [*a, *b].map(|operand| Self::take(registers, code, operand));
                let result = match op.of(&args[0], &args[1]) {
                    Some(number) => number.into(),
                    None => op.builtin()?.call(self, Args(&mut args))?,
                };
                self.put(base, *to, result);
            }
            Instruction::Not { from, to } => {
                let IValue::Bool(value) = Self::take(self.registers(base), code, *from) else {
                    return Err(Error::Malformed("not of what is no bool".to_owned()).into());
                };
                self.put(base, *to, IValue::Bool(!value));
            }
            Instruction::Attribute { object, slot, to } => {
                let registers = self.registers(base);
                let IValue::Object(held) = Self::peek(registers, code, *object) else {
                    let message = "an attribute of what is no object".to_owned();
                    return Err(Error::Malformed(message).into());
                };
                let held = held.clone();
                Self::forget(registers, *object);
                let held = held.read();
                let Some(Some(value)) = held.slots.get(*slot as usize) else {
                    let message = "an attribute that has not been set".to_owned();
                    return Err(Error::Malformed(message).into());
                };
                if let Some(slot) = registers.get_mut(*to as usize) {
                    value.put_copy(slot);
                }
            }
            Instruction::Primitive { primitive, from, to } => {
                let args = self.gather(code, base, *from);
                match primitive::run(self, primitive, args)? {
                    Given::One(value) => self.scatter(code, base, *to, [value]),
                    Given::Several(values) => self.scatter(code, base, *to, values),
                }
            }
            Instruction::Assign { from, to } => {
                let values = self.gather(code, base, *from);
                self.scatter(code, base, *to, values);
            }
            Instruction::Drop { registers } => {
                for &register in slice(&code.targets, *registers) {
                    self.put(base, register, IValue::None);
                }
            }
            Instruction::Call { function, from, to } => {
                let args = self.gather(code, base, *from);
                let callee = self.code(*function)?;
                self.push(callee, args, *to)?;
                return Ok(ControlFlow::SwitchFrame);
            }
            Instruction::CallMethod { method, from, to } => {
                let args = self.gather(code, base, *from);
                self.call_method(method, args, *to)?;
                return Ok(ControlFlow::SwitchFrame);
            }
            Instruction::Enter { from, to } => {
                let args = self.gather(code, base, *from);
                if let (Some(frame), Some(object)) = (self.frames.last_mut(), args.first()) {
                    frame.entered.push(object.clone());
                }
                self.call_method("__enter__", args, *to)?;
                return Ok(ControlFlow::SwitchFrame);
            }
            Instruction::Exit { from, to } => {
                let mut args = self.gather(code, base, *from);
                if let Some(frame) = self.frames.last_mut() {
                    frame.entered.pop();
                }
                args.extend([IValue::None, IValue::None, IValue::None]);
                self.call_method("__exit__", args, *to)?;
                return Ok(ControlFlow::SwitchFrame);
            }
            Instruction::Fork { code: forked, from, to } => {
                let args = self.gather(code, base, *from);
                // Tracebacks of what it raises begin with it.
                let frames = std::mem::take(&mut self.frames);
                let result = self.run(Rc::clone(forked), args);
                self.frames = frames;
                let outcome = match result {
                    Ok(value) => Ok(value),
                    Err(Error::Raised(exception)) => Err(exception.text),
                    Err(error) => return Err(error.into()),
                };
                self.scatter(code, base, *to, [IValue::Future(Rc::new(Future { outcome }))]);
            }
            Instruction::Return { from } => {
                let values = self.gather(code, base, *from);
                return Ok(self.give_back(values, floor));
            }
            Instruction::Move { .. } | Instruction::Jump { .. } => {}
            Instruction::JumpUnless { .. } => {
                return Err(Error::Malformed("a condition that is no bool".to_owned()).into());
            }
            Instruction::Loop { .. } => {
                return Err(Error::Malformed("a loop without a count".to_owned()).into());
            }
        }
        Ok(ControlFlow::Next)
    }

    /// Computes an operator of up to `N` operands.
    #[inline]
    fn operate<const N: usize>(
        &mut self,
        builtin: &Builtin,
        code: &Code,
        base: usize,
        operands: &[Operand],
        to: Span,
    ) -> Result<(), Raise> {
        let mut args = [const { IValue::None }; N];
        let registers = self.registers(base);
        for (slot, &operand) in args.iter_mut().zip(operands) {
            Self::peek(registers, code, operand).put_copy(slot);
            Self::forget(registers, operand);
        }
        let args = args.get_mut(..operands.len()).unwrap_or_default();
        let result = builtin.call(self, Args(args))?;
        self.store(code, base, to, result);
        Ok(())
    }

    fn store(&mut self, code: &Code, base: usize, to: Span, result: IValue) {
        match (slice(&code.targets, to), result) {
            (&[register], value) => self.put(base, register, value),
            (_, IValue::Tuple(tuple)) => {
                self.scatter(code, base, to, tuple.items.iter().cloned());
            }
            (_, value) => self.scatter(code, base, to, [value]),
        }
    }

    fn call_method(&mut self, method: &str, args: Operands, to: Span) -> Result<(), Raise> {
        let function = match args.first() {
            Some(object) => self.method(object, method)?,
            None => return Err(Error::Malformed("a method without an object".to_owned()).into()),
        };
        let callee = self.code(function)?;
        Ok(self.push(callee, args, to)?)
    }

    /// Ends a call.
    fn give_back(&mut self, mut values: Operands, floor: usize) -> ControlFlow {
        let to = self.frames.pop().map_or(Span::default(), |frame| {
            self.registers.truncate(frame.base);
            frame.to
        });
        match self.frames.last() {
            Some(caller) if self.frames.len() > floor => {
                let (code, base) = (Rc::clone(&caller.code), caller.base);
                self.scatter(&code, base, to, values);
                ControlFlow::SwitchFrame
            }
            _ => {
                self.result = match values.len() {
                    0 => IValue::None,
                    1 => values.pop().unwrap_or(IValue::None),
                    _ => IValue::tuple(values.into_vec()),
                };
                ControlFlow::Finished
            }
        }
    }
}

/// Counts what an instruction took.
fn spend(code: &Code, at: usize, time: Duration, implementation: Option<&'static str>) {
    if let Some(spent) = code.spent.borrow_mut().get_mut(at) {
        spent.calls += 1;
        spent.time += time;
        spent.implementation = implementation.or(spent.implementation);
    }
}

impl Machine {
    /// Calls an operator, and records it where one of its operands requires a gradient.
    fn run_recorded(
        &mut self,
        name: &Rc<str>,
        builtin: &Builtin,
        args: Operands,
    ) -> Result<IValue, Raise> {
        autograd::run_recorded(self, name, &|context, args| builtin.call(context, Args(args)), args)
    }
}

impl OpContext for Machine {
    fn budget(&self) -> &Budget {
        &self.budget
    }

    fn budget_mut(&mut self) -> &mut Budget {
        &mut self.budget
    }

    fn generator(&mut self) -> &mut Generator {
        &mut self.generator
    }

    fn exact(&self) -> bool {
        self.exact
    }

    fn precision(&self) -> sconce_kernels::Precision {
        self.precision
    }

    fn autograd(&self) -> &AutogradState {
        &self.autograd
    }

    fn autograd_mut(&mut self) -> &mut AutogradState {
        &mut self.autograd
    }

    fn print(&mut self, text: &str) {
        self.sink.print(text);
    }

    fn warn(&mut self, message: &str) {
        match &mut self.held_warnings {
            Some(held) => held.push(message.to_owned()),
            None => self.sink.warn(message),
        }
    }

    fn class(&mut self, id: ClassId) -> Rc<ClassInfo> {
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

    fn custom_class(&self, name: &str) -> Option<ClassId> {
        self.module.with_program(|program| program.custom_class(name))
    }

    fn is_subtype(&self, ty: &Type, of: &Type) -> bool {
        self.module.with_program(|program| ty.is_subtype_of(of, program.unit()))
    }

    fn method(&mut self, object: &IValue, name: &str) -> Result<FunctionId, Error> {
        let IValue::Object(object) = object else {
            return Err(Error::Malformed(format!("a method '{name}' of what is no object")));
        };
        let id = object.read().class;
        let class = self.class(id);
        let method = class.methods.get(name).copied();
        method.ok_or_else(|| Error::Malformed(format!("{} has no method '{name}'", class.name)))
    }

    fn call(&mut self, function: FunctionId, args: Vec<IValue>) -> Result<IValue, Error> {
        let code = self.code(function)?;
        self.run(code, args.into())
    }

    fn apply(&mut self, name: &str, args: Operands) -> Result<IValue, Raise> {
        let (symbol, overload) = name.split_once('.').unwrap_or((name, ""));
        let Some(builtin) = ops::find(symbol, overload) else {
            return Err(Raise::unsupported(name));
        };
        self.run_recorded(&Rc::from(name), &builtin, args)
    }

    fn compile(
        &mut self,
        name: &str,
        graph: &Graph,
        constants: &[IValue],
    ) -> Result<CompiledGraph, String> {
        let code = self.lower_graph(name, graph, constants).ok_or("cannot be lowered")?;
        match code.missing.first() {
            Some((operator, _)) => Err(format!("needs {operator}")),
            None => Ok(CompiledGraph(code)),
        }
    }

    fn run_compiled(&mut self, graph: &CompiledGraph, args: Operands) -> Result<IValue, Raise> {
        match Rc::clone(&graph.0).downcast::<Code>() {
            Ok(code) => Ok(self.run(code, args)?),
            Err(_) => Err(Error::Malformed("a graph of another program".to_owned()).into()),
        }
    }
}
