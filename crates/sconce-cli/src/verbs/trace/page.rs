//! The steps of a pickle as one self-contained page that goes forwards and backwards.

use std::collections::BTreeSet;

use sconce::pickle::Step;
use serde::Serialize;

/// Bytes in a row of the page.
const ROW: usize = 16;

/// Bytes of a long opcode that are shown.
const MOST_SHOWN: usize = 48;

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

    /// Adds a step, and what it changes in words.
    pub fn add(&mut self, step: Step, change: String) {
        let at = step.at as usize + self.start;
        let first = at.saturating_sub(2 * ROW) / ROW;
        let last = (at + step.raw_len.min(MOST_SHOWN) + 2 * ROW) / ROW;
        self.rows.extend(first..=last);
        let frames = step.metastack.into_iter().chain([step.stack]);
        self.steps.push(PageStep {
            offset: at as u64,
            length: step.raw_len,
            opcode: step.info.name,
            arg: step.arg,
            meaning: step.meaning,
            change,
            frames: frames
                .map(|frame| PageFrame { hidden: frame.hidden, values: frame.values })
                .collect(),
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
