//! Branches and loops: jumps, and values that come from one side or the other.

use sconce_ir::{BlockId, Constant, NodeId, ValueId};

use crate::Error;
use crate::bytecode::lower::{Instruction, Lowering, Operand, Register, Span, slice};
use crate::value::IValue;

impl Lowering<'_> {
    pub(crate) fn branch(&mut self, node: NodeId) -> Result<(), Error> {
        let graph = self.graph;
        let at = graph.node(node);
        let (&[condition], &[then, otherwise]) = (at.inputs(), at.blocks()) else {
            return Err(Error::Malformed("a prim::If of another shape".to_owned()));
        };
        let condition = self.operand(node, condition, true)?;
        let to = self.outputs(node);
        let test = self.emit(Instruction::JumpUnless { condition, to: 0 });
        self.arm(then, to)?;
        let leave = self.emit(Instruction::Jump { to: 0 });
        self.aim(test);
        self.arm(otherwise, to)?;
        self.aim(leave);
        Ok(())
    }

    fn arm(&mut self, block: BlockId, to: Span) -> Result<(), Error> {
        self.block(block)?;
        let from = self.operands(self.graph.return_node(block))?;
        self.assign(from, to);
        Ok(())
    }

    /// Assigns all at once: one by one where no value is overwritten before it is read.
    fn assign(&mut self, from: Span, to: Span) {
        let operands = slice(&self.code.operands, from).to_vec();
        let targets = slice(&self.code.targets, to).to_vec();
        let reads = |operand: &Operand, register: Register| match operand {
            Operand::Copy(read) | Operand::Move(read) => *read == register,
            Operand::Constant(_) => false,
        };
        let pairs = operands.into_iter().zip(targets);
        let (kept, pairs): (Vec<_>, Vec<_>) = pairs.partition(|(operand, to)| reads(operand, *to));
        // A value that stays where it is is still there after others have read it.
        let stays = |register| kept.iter().any(|&(_, to)| to == register);
        let pairs: Vec<(Operand, Register)> = pairs
            .into_iter()
            .map(|(operand, to)| match operand {
                Operand::Move(register) if stays(register) => (Operand::Copy(register), to),
                operand => (operand, to),
            })
            .collect();
        let overwritten = pairs.iter().enumerate().any(|(index, &(_, target))| {
            pairs.iter().skip(index + 1).any(|(operand, _)| reads(operand, target))
        });
        if overwritten {
            self.emit(Instruction::Assign { from, to });
            return;
        }
        for (from, to) in pairs {
            if !self.redirect(from, to) {
                self.emit(Instruction::Move { from, to });
            }
        }
    }

    /// Lets the operator of numbers that made a value put it where it is wanted, if there is nothing
    /// but such operators and moves since, and those leave both registers alone.
    fn redirect(&mut self, from: Operand, wanted: Register) -> bool {
        let Operand::Move(made) = from else { return false };
        let touches = |operand: &Operand| match *operand {
            Operand::Copy(register) | Operand::Move(register) => {
                register == made || register == wanted
            }
            Operand::Constant(_) => false,
        };
        let since = self.code.instructions.get_mut(self.label..).unwrap_or_default();
        for instruction in since.iter_mut().rev() {
            match instruction {
                Instruction::Numbers { to, .. } if *to == made => {
                    *to = wanted;
                    return true;
                }
                Instruction::Numbers { a, b, to, .. }
                    if *to != wanted && !touches(a) && !touches(b) => {}
                Instruction::Move { from, to } if *to != wanted && !touches(from) => {}
                _ => return false,
            }
        }
        false
    }

    /// Lets a jump go here.
    fn aim(&mut self, jump: usize) {
        let here = self.here();
        self.label = here as usize;
        if let Some(
            Instruction::Jump { to }
            | Instruction::JumpUnless { to, .. }
            | Instruction::Loop { exit: to, .. },
        ) = self.code.instructions.get_mut(jump)
        {
            *to = here;
        }
    }

    pub(crate) fn repeat(&mut self, node: NodeId) -> Result<(), Error> {
        let graph = self.graph;
        let at = graph.node(node);
        let (&[_, _, ..], &[body]) = (at.inputs(), at.blocks()) else {
            return Err(Error::Malformed("a prim::Loop of another shape".to_owned()));
        };
        let Some((&index, carried)) = graph.block_inputs(body).split_first() else {
            return Err(Error::Malformed("a prim::Loop of another shape".to_owned()));
        };
        let [limit, counter] = [self.fresh(), self.fresh()];
        let index = self.register(index);
        let carried: Vec<Register> = carried.iter().map(|&value| self.register(value)).collect();
        let results = graph.block_outputs(body);
        let endless = |value: Option<&ValueId>| {
            let constant = value.and_then(|&value| graph.constant(value));
            matches!(constant, Some(Constant::Bool(true)))
        };
        let condition = match endless(at.inputs().get(1)) && endless(results.first()) {
            true => None,
            false => Some(self.fresh()),
        };
        let zero = self.code.constants.len() as u32;
        self.code.constants.push(IValue::Int(0));
        let from = self.loop_operands(node, condition.is_some(), true)?;
        let into = [limit].into_iter().chain(condition).chain(carried.iter().copied());
        let to = self.targets(into);
        self.assign(from, to);
        self.emit(Instruction::Move { from: Operand::Constant(zero), to: counter });
        let body_at = self.here() + 1;
        let test = self.emit(Instruction::Loop {
            limit,
            condition,
            counter,
            index,
            body: body_at,
            exit: 0,
        });
        self.label = body_at as usize;
        self.block(body)?;
        let from = self.loop_operands(graph.return_node(body), condition.is_some(), false)?;
        let to = self.targets(condition.into_iter().chain(carried.iter().copied()));
        self.assign(from, to);
        let exit = self.here() + 1;
        self.emit(Instruction::Loop { limit, condition, counter, index, body: body_at, exit });
        self.aim(test);
        // What was carried last is what the loop gives.
        for (&output, &register) in graph.node(node).outputs().iter().zip(&carried) {
            self.registers.insert(output, register);
        }
        Ok(())
    }

    /// The operands of a loop or of the end of its body, without the condition where that always
    /// holds.
    fn loop_operands(&mut self, node: NodeId, tested: bool, counts: bool) -> Result<Span, Error> {
        let all = self.operands(node)?;
        if tested {
            return Ok(all);
        }
        let operands = slice(&self.code.operands, all).to_vec();
        let condition = usize::from(counts);
        let kept = operands.into_iter().enumerate().filter(|&(index, _)| index != condition);
        let start = self.code.operands.len() as u32;
        self.code.operands.extend(kept.map(|(_, operand)| operand));
        Ok(Span { start, len: all.len - 1 })
    }
}
