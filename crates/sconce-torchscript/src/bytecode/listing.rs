//! Bytecode as text.

use std::fmt::{self, Write};
use std::sync::Arc;

use sconce_syntax::{Range, Source};

use super::{Bytecode, BytecodeFunction, Instruction};

/// The longest note beside an instruction, in characters.
const LONGEST_NOTE: usize = 200;

impl fmt::Display for Bytecode {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(out, "bytecode version {}", self.version)?;
        self.functions.iter().try_for_each(|function| write!(out, "\n{function}"))
    }
}

impl fmt::Display for BytecodeFunction {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let signature = self.signature();
        writeln!(out, "{}{signature}  {} registers", self.name, self.registers)?;
        (0..self.instructions.len()).try_for_each(|at| writeln!(out, "{}", self.line(at)))
    }
}

impl BytecodeFunction {
    /// What it takes and gives: `(x: Tensor, k: int) -> Tensor`.
    fn signature(&self) -> String {
        if self.arguments.is_empty() && self.returns.is_empty() {
            return String::new();
        }
        let arguments: Vec<String> =
            self.arguments.iter().map(|(name, ty)| format!("{name}: {ty}")).collect();
        format!("({}) -> {}", arguments.join(", "), self.returns.join(", "))
    }

    /// An instruction as the listing shows it.
    fn line(&self, at: usize) -> String {
        let Some(Instruction { op, x, n }) = self.instructions.get(at) else {
            return String::new();
        };
        let mut line = format!("{at:>5}  {op:<20} {x:>5} {n:>5}");
        let note = match op.as_str() {
            "OP" | "OPN" => entry(*x, &self.operators).map(|(name, _)| name.clone()),
            "LOADC" | "INTERFACE_CALL" => entry(*x, &self.constants).cloned(),
            "ISINSTANCE"
            | "LIST_CONSTRUCT"
            | "DICT_CONSTRUCT"
            | "NAMED_TUPLE_CONSTRUCT"
            | "CREATE_OBJECT" => entry(*x, &self.types).cloned(),
            "JMP" | "JF" | "LOOP" => Some(format!("-> {}", (at as i64).saturating_add(*x))),
            _ => None,
        };
        if let Some(note) = note {
            let _ = write!(line, "  {note:.LONGEST_NOTE$}");
        }
        line.truncate(line.trim_end().len());
        line
    }
}

fn entry<T>(index: i64, table: &[T]) -> Option<&T> {
    table.get(usize::try_from(index).ok()?)
}

/// The instructions of a function as text, for errors to show.
pub(super) struct Listing {
    pub(super) source: Arc<Source>,
    /// Where each instruction is in it.
    pub(super) lines: Vec<Range>,
}

impl Listing {
    pub(super) fn of(code: &BytecodeFunction) -> Self {
        let (mut text, mut lines) = (String::new(), Vec::with_capacity(code.instructions.len()));
        for at in 0..code.instructions.len() {
            let line = code.line(at);
            let indented = line.len() - line.trim_start().len();
            let (start, end) = (text.len() + indented, text.len() + line.len());
            let (Ok(start), Ok(end)) = (u32::try_from(start), u32::try_from(end)) else { break };
            lines.push(Range::new(start, end));
            text.push_str(&line);
            text.push('\n');
        }
        let source = Source::new(text).with_filename(format!("bytecode of {}", code.name));
        Listing { source: Arc::new(source), lines }
    }
}
