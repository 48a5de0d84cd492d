//! The text of an error that comes out of a program: where it came through.

use std::fmt::Write as _;

use sconce_syntax::SourceRange;

use crate::Error;
use crate::bytecode::interpreter::{Frame, Machine};
use crate::bytecode::lower::Instruction;
use crate::error::{Exception, Raise};

/// The context lines that tracebacks show.
const CONTEXT: usize = 3;

impl Machine {
    /// The error with the places it came through.
    pub(crate) fn traced(&self, raise: Raise) -> Error {
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
