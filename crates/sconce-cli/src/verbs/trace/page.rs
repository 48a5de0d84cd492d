//! The steps of a pickle as one self-contained page that goes forwards and backwards.

use std::collections::BTreeSet;

use sconce::pickle::{Machine, Step};
use serde::Serialize;

use super::torch_values::TorchValues;

/// Bytes in a row of the page.
const ROW: usize = 16;

/// Bytes of a long opcode that are shown.
const MOST_SHOWN: usize = 48;

/// Frames of the stack that are shown, and values of one.
const MOST_FRAMES: usize = 6;
const MOST_VALUES: usize = 12;

/// A page that is being made.
pub struct Page<'b> {
    bytes: &'b [u8],
    start: usize,
    rows: BTreeSet<usize>,
    steps: Vec<PageStep>,
}

#[derive(Serialize)]
struct PageStep {
    offset: u64,
    length: usize,
    opcode: &'static str,
    arg: Option<String>,
    meaning: String,
    change: String,
    frames: Vec<PageFrame>,
    memo_put: Option<(u64, String)>,
    result: Option<String>,
}

#[derive(Serialize)]
struct PageFrame {
    hidden: usize,
    values: Vec<String>,
}

#[derive(Serialize)]
struct Data<'p> {
    title: &'p str,
    subtitle: &'p str,
    rows: Vec<(usize, String)>,
    steps: &'p [PageStep],
}

impl<'b> Page<'b> {
    /// An empty page of a pickle that starts at `start` in `bytes`.
    pub fn new(bytes: &'b [u8], start: usize) -> Page<'b> {
        Page { bytes, start, rows: BTreeSet::new(), steps: Vec::new() }
    }

    /// Adds a step, what it changes in words, and how the stack stands after it.
    pub fn add(
        &mut self,
        step: Step,
        change: String,
        machine: &Machine<'_>,
        values: Option<&TorchValues<'_>>,
    ) {
        let at = step.at as usize + self.start;
        let first = at.saturating_sub(2 * ROW) / ROW;
        let last = (at + step.raw_len.min(MOST_SHOWN) + 2 * ROW) / ROW;
        self.rows.extend(first..=last);
        let frames = match values {
            Some(values) => frames(machine, values),
            None => {
                let frames = step.metastack.into_iter().chain([step.stack]);
                frames
                    .map(|frame| PageFrame { hidden: frame.hidden, values: frame.values })
                    .collect()
            }
        };
        self.steps.push(PageStep {
            offset: at as u64,
            length: step.raw_len,
            opcode: step.info.name,
            arg: step.arg,
            meaning: step.meaning,
            change,
            frames,
            memo_put: step.memo_put,
            result: step.result,
        });
    }

    /// How many steps there are.
    pub fn len(&self) -> usize {
        self.steps.len()
    }

    /// The page.
    ///
    /// # Errors
    /// Never, but for what serde may refuse.
    pub fn render(&self, title: &str, subtitle: &str) -> serde_json::Result<String> {
        let hex = |row: &usize| {
            let (from, to) = (row * ROW, ((row + 1) * ROW).min(self.bytes.len()));
            let bytes = self.bytes.get(from..to)?;
            Some((from, bytes.iter().map(|byte| format!("{byte:02x}")).collect()))
        };
        let rows = self.rows.iter().filter_map(hex).collect();
        let data = serde_json::to_string(&Data { title, subtitle, rows, steps: &self.steps })?;
        // Nothing in a file may end the element that holds the data.
        let data = data.replace('<', "\\u003c");
        Ok(include_str!("page.html").replacen("@DATA@", &data, 1))
    }
}

/// The stack with its tensors and storages as what they are.
fn frames(machine: &Machine<'_>, values: &TorchValues<'_>) -> Vec<PageFrame> {
    let (stack, arena) = (machine.stack(), machine.arena());
    let mut starts = vec![0];
    starts.extend(machine.marks());
    let mut ends: Vec<usize> = machine.marks().to_vec();
    ends.push(stack.len());
    let frame = |(&start, &end): (&usize, &usize)| {
        let shown = start.max(end.saturating_sub(MOST_VALUES));
        let values = stack[shown..end].iter().map(|&value| values.show(arena, value, 80)).collect();
        PageFrame { hidden: shown - start, values }
    };
    let first = starts.len().saturating_sub(MOST_FRAMES);
    starts[first..].iter().zip(&ends[first..]).map(frame).collect()
}
