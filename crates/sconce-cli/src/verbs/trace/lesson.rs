//! `sconce trace --tensor`: the life of one tensor, from the first opcode to the finished view.

use std::collections::HashMap;

use sconce::checkpoint::Checkpoint;
use sconce::pickle::{Arena, Error, Instruction, Machine, Tracer, Value, instructions};

use super::life::{self, Life};
use super::torch_values::TorchValues;
use crate::error::Failure;
use crate::output::{Line, Out, Style, count, grouped, shell_word};
use crate::report::pickle_streams::Stream;
use crate::report::tensor_rows;
use crate::select::suggest;

/// Most characters of one value.
const MAX_VALUE: usize = 72;

/// Where the column of what changes begins.
const CHANGES: usize = 40;

/// One opcode of the lesson.
pub struct LessonStep {
    /// Its offset in the record.
    pub at: u64,
    /// The opcode's name.
    pub name: &'static str,
    /// Its argument, short.
    pub argument: String,
    /// What it changes, each with its style.
    pub changes: Vec<(Style, String)>,
    /// How many opcodes were left out before it.
    pub skipped: usize,
}

/// The life of one tensor, and what is said of it.
pub struct Lesson {
    /// The opcodes.
    pub steps: Vec<LessonStep>,
    /// How many the pickle has.
    pub total: usize,
    /// The tensor as dtype and shape.
    pub tensor: String,
    /// What the finished view is, line by line: a label and its text.
    pub facts: Vec<(&'static str, String)>,
}

/// Follows one tensor through a pickle.
///
/// # Errors
/// When the checkpoint has no such tensor, or the pickle breaks off.
pub fn lesson(
    checkpoint: &Checkpoint,
    stream: &Stream,
    name: &str,
    file: &str,
) -> Result<Lesson, Failure> {
    let rows = tensor_rows::rows(checkpoint);
    let Some((row, tensor)) = rows.iter().find(|(row, _)| row.name == name) else {
        let names = rows.iter().map(|(row, _)| row.name.as_str());
        let close = suggest::closest(name, names, 3);
        let failure = Failure::usage(format!("{file} has no tensor '{name}'"));
        return Err(match close.as_slice() {
            [] => failure.help(format!("sconce ls {}", shell_word(file))),
            close => failure.help(suggest::did_you_mean(close)),
        });
    };
    let bytes = &stream.bytes[stream.start..];
    let record = (!stream.name.is_empty()).then_some(stream.name.as_str());
    let broken = |error: Error| {
        let offset = error.offset() + stream.start as u64;
        Failure::unreadable(error.to_string()).in_file(file).in_record(record).at(Some(offset))
    };
    let life = life::life(bytes, &stream.limits, name).map_err(broken)?.ok_or_else(|| {
        let message = format!("the opcodes that make '{name}' were not found: its name is not one of this pickle's keys");
        Failure::unreadable(message).in_file(file).in_record(record)
    })?;
    let text = format!("{} {}", row.dtype, row.shape_text());
    let values = TorchValues::new(checkpoint);
    let steps = steps(bytes, stream, &life, &values, &text).map_err(broken)?;
    let mut facts = vec![("tensor", text.clone())];
    if let (Some(strides), Some(offset)) = (&row.stride, row.storage_offset) {
        facts.push(("view", format!("strides {strides:?}, from element {offset} of its storage")));
    }
    let stored = checkpoint
        .storages()
        .iter()
        .find(|record| tensor.storage().is_some_and(|storage| storage.id() == record.storage.id()));
    if let Some(stored) = stored {
        let record =
            stored.record_name().map(|name| format!("record {name}, ")).unwrap_or_default();
        let place = row.file_offset.map_or_else(
            || "deflated".to_owned(),
            |start| {
                format!("bytes {start:#x} to {:#x} of the file", start.saturating_add(row.nbytes))
            },
        );
        facts.push(("bytes", format!("{record}{place}")));
    }
    facts.push(("device", saved_on(&row.device)));
    Ok(Lesson { steps, total: life.moments.len(), tensor: text, facts })
}

fn saved_on(device: &str) -> String {
    match device {
        "cpu" => "cpu".to_owned(),
        other => format!("{other}: torch.load on another machine needs map_location"),
    }
}

fn steps(
    bytes: &[u8],
    stream: &Stream,
    life: &Life,
    values: &TorchValues<'_>,
    tensor: &str,
) -> Result<Vec<LessonStep>, Error> {
    let mut tracer = Tracer::new(bytes, &stream.limits);
    let mut out = Vec::with_capacity(life.shown.len());
    let mut listed = instructions(bytes);
    let mut puts: HashMap<u64, u64> = HashMap::new();
    let mut next = 0;
    for (index, moment) in life.moments.iter().enumerate() {
        let Some(&shown) = life.shown.get(next) else { break };
        let Some(instruction) = listed.next().transpose()? else { break };
        let before = Before::of(tracer.machine());
        if let Some(slot) = slot(&instruction, before.memo) {
            puts.entry(slot).or_insert(instruction.at);
        }
        if index != shown {
            tracer.skip_until(moment.at + 1)?;
            continue;
        }
        let Some(step) = tracer.next().transpose()? else { break };
        let machine = tracer.machine();
        let step_text = Change {
            machine,
            before,
            values,
            puts: &puts,
            tensor: (step.at == life.made_at).then_some(tensor),
        };
        let skipped = match next {
            0 => shown,
            _ => shown - life.shown[next - 1] - 1,
        };
        next += 1;
        let argument = step.arg.clone().unwrap_or_default();
        out.push(LessonStep {
            at: step.at + stream.start as u64,
            name: step.info.name,
            argument,
            changes: step_text.describe(&instruction, step.memo_put.map(|(slot, _)| slot)),
            skipped,
        });
    }
    Ok(out)
}

/// The memo slot that an opcode puts into.
fn slot(instruction: &Instruction<'_>, memo: usize) -> Option<u64> {
    match instruction.raw {
        [b'q', slot] => Some(u64::from(*slot)),
        [b'r', a, b, c, d] => Some(u64::from(u32::from_le_bytes([*a, *b, *c, *d]))),
        [0x94] => Some(memo as u64),
        [b'p', digits @ ..] => std::str::from_utf8(digits).ok()?.trim().parse().ok(),
        _ => None,
    }
}

/// The memo slot that an opcode reads.
fn read_slot(instruction: &Instruction<'_>) -> Option<u64> {
    match instruction.raw {
        [b'h', slot] => Some(u64::from(*slot)),
        [b'j', a, b, c, d] => Some(u64::from(u32::from_le_bytes([*a, *b, *c, *d]))),
        [b'g', digits @ ..] => std::str::from_utf8(digits).ok()?.trim().parse().ok(),
        _ => None,
    }
}

/// The machine before an opcode.
struct Before {
    stack: usize,
    marks: usize,
    memo: usize,
    mark: Option<usize>,
}

impl Before {
    fn of(machine: &Machine<'_>) -> Before {
        Before {
            stack: machine.stack().len(),
            marks: machine.marks().len(),
            memo: machine.memo_len(),
            mark: machine.marks().last().copied(),
        }
    }
}

/// What one opcode did.
struct Change<'s, 'b, 'c> {
    machine: &'s Machine<'b>,
    before: Before,
    values: &'s TorchValues<'c>,
    puts: &'s HashMap<u64, u64>,
    /// The tensor's text, at the opcode that makes it.
    tensor: Option<&'s str>,
}

impl Change<'_, '_, '_> {
    fn show(&self, value: Value) -> String {
        let arena: &Arena<'_> = self.machine.arena();
        if let Some(storage) = self.values.storage(arena, value) {
            return storage;
        }
        self.values.show(arena, value, MAX_VALUE)
    }

    fn describe(&self, instruction: &Instruction<'_>, put: Option<u64>) -> Vec<(Style, String)> {
        let stack = self.machine.stack();
        let top = stack.last().map(|&value| match self.tensor {
            Some(tensor) => tensor.to_owned(),
            None => self.show(value),
        });
        let top = top.unwrap_or_default();
        let name = instruction.info.name;
        if let Some(slot) = put {
            let short =
                stack.last().map(|&value| self.values.show(self.machine.arena(), value, 40));
            return vec![
                (Style::Name, format!("m{slot}")),
                (Style::Dim, " = ".into()),
                (Style::Plain, short.unwrap_or_default()),
            ];
        }
        let (before, after) = (self.before.stack, stack.len());
        match name {
            "PROTO" => return vec![(Style::Dim, "the pickle's protocol".into())],
            "FRAME" => return vec![(Style::Dim, "how many bytes belong together".into())],
            "STOP" => {
                return vec![(
                    Style::Dim,
                    "the end: what is left on the stack is the result".into(),
                )];
            }
            "MARK" => {
                return vec![
                    (Style::Warn, "(".into()),
                    (Style::Dim, "  what follows is collected".into()),
                ];
            }
            _ => {}
        }
        let added = |text: String| vec![(Style::Good, "+ ".to_owned()), (Style::Plain, text)];
        if let Some(slot) = read_slot(instruction) {
            let mut out = added(top);
            if let Some(at) = self.puts.get(&slot) {
                out.push((Style::Dim, format!("  m{slot}, put there at {at:#x}")));
            }
            return out;
        }
        if after > before {
            return added(top);
        }
        // The mark is gone: what lay above it was collected.
        let collected = (self.machine.marks().len() < self.before.marks)
            .then(|| before - self.before.mark.unwrap_or(before));
        let popped = collected.unwrap_or(before - after + 1);
        match name {
            "SETITEM" => stores("1 entry goes into the container below"),
            "SETITEMS" => stores(&format!(
                "{} into the container below",
                goes(popped / 2, "entry", "entries")
            )),
            "APPEND" => stores("1 item goes into the list below"),
            "APPENDS" => stores(&format!("{} into the list below", goes(popped, "item", "items"))),
            "BUILD" => stores("the state goes into the object below"),
            "REDUCE" | "NEWOBJ" | "NEWOBJ_EX" | "OBJ" | "INST" => {
                let mut out = vec![
                    (Style::Bad, "- ".to_owned()),
                    (Style::Dim, "function, arguments ".into()),
                ];
                out.extend(added(top));
                out
            }
            "BINPERSID" | "PERSID" => {
                let mut out = vec![(Style::Bad, "- ".to_owned()), (Style::Dim, "id ".into())];
                out.extend(added(top));
                out
            }
            _ => {
                let text = match collected {
                    Some(number) => format!("{} ", count(number, "value")),
                    None => format!("{} ", count(popped, "value")),
                };
                let mut out = vec![(Style::Bad, "- ".to_owned()), (Style::Dim, text)];
                out.extend(added(top));
                out
            }
        }
    }
}

fn goes(number: usize, one: &str, many: &str) -> String {
    let number_text = grouped(number as i64);
    if number == 1 { format!("1 {one} goes") } else { format!("{number_text} {many} go") }
}

fn stores(text: &str) -> Vec<(Style, String)> {
    vec![(Style::Bad, "- ".to_owned()), (Style::Dim, text.to_owned())]
}

/// Prints a lesson.
///
/// # Errors
/// When standard output fails.
pub fn print(lesson: &Lesson, stream: &Stream, name: &str, out: &mut Out) -> Result<(), Failure> {
    let width = out.width();
    let show = |line: Line, out: &mut Out| out.line(&line.fit(width));
    let name = if name.is_empty() { "(root)" } else { name };
    show(Line::new().add(Style::Strong, name).plain("  ").add(Style::Good, &lesson.tensor), out)?;
    let record = if stream.name.is_empty() { "the pickle" } else { &stream.name };
    let text = format!(
        "{} of {} of {record}",
        grouped(lesson.steps.len() as i64),
        count(lesson.total, "opcode")
    );
    show(Line::new().dim(text), out)?;
    show(Line::new(), out)?;
    show(Line::new().dim("  offset  opcode").pad_to(CHANGES).dim("what changes"), out)?;
    for step in &lesson.steps {
        if step.skipped > 0 {
            let text = format!("       …  {}: what lies beside it", count(step.skipped, "opcode"));
            show(Line::new().dim(text), out)?;
        }
        let argument = crop(&step.argument, CHANGES.saturating_sub(12 + step.name.len()));
        let mut line = Line::new()
            .dim(format!("{:>#8x}  ", step.at))
            .add(Style::Strong, step.name)
            .plain(" ")
            .add(Style::Name, argument)
            .pad_to(CHANGES);
        let mut below = None;
        for (style, text) in &step.changes {
            // Where a storage's bytes lie has a line of its own, so that a narrow terminal shows it.
            let (text, place) =
                text.split_once(" → ").map_or((text.as_str(), None), |(a, b)| (a, Some(b)));
            line.push(*style, text);
            below = below.or(place);
        }
        show(line, out)?;
        if let Some(place) = below {
            show(Line::new().pad_to(CHANGES).plain("  → ").plain(place), out)?;
        }
    }
    show(Line::new(), out)?;
    for (label, text) in &lesson.facts {
        show(Line::new().dim(format!("  {label:<7} ")).plain(text), out)?;
    }
    let legend = Line::new()
        .dim("  legend  ")
        .add(Style::Good, "+")
        .dim(" pushed  ")
        .add(Style::Bad, "-")
        .dim(" taken off  ")
        .add(Style::Warn, "(")
        .dim(" mark  ")
        .add(Style::Name, "m5")
        .dim(" memo slot 5");
    show(legend, out)
}

/// A text cut in its middle, so that both ends stay.
fn crop(text: &str, width: usize) -> String {
    let chars: Vec<char> = text.chars().collect();
    if chars.len() <= width || width < 3 {
        return text.to_owned();
    }
    let start = (width - 1) / 2;
    let end = width - 1 - start;
    let head: String = chars[..start].iter().collect();
    let tail: String = chars[chars.len() - end..].iter().collect();
    format!("{head}…{tail}")
}
