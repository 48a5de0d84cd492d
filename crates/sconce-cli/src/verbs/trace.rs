//! `sconce trace`: the pickle machine at work, opcode by opcode, on values that do nothing.

mod lesson;
mod life;
mod page;
mod torch_values;

use std::collections::HashMap;
use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use sconce::checkpoint::Checkpoint;
use sconce::pickle::{Frame, Step, Tracer};
use serde::Serialize;

use self::lesson::Lesson;
use self::page::Page;
use self::torch_values::TorchValues;
use crate::arguments::pickles::Pickles;
use crate::arguments::reading::Load;
use crate::arguments::values::offset;
use crate::error::{Failure, Outcome, Verdict};
use crate::output::{self, Line, Out, SCHEMA_VERSION, Style, count};
use crate::read::open::{self, Say};
use crate::report::pickle_streams::{self, Stream};
use crate::write::atomic::AtomicFile;
use crate::write::wrote::wrote;

/// `sconce trace`.
#[derive(Debug, Args)]
pub struct TraceArgs {
    /// Which pickles.
    #[command(flatten)]
    pub pickles: Pickles,
    /// Show the life of one tensor, from the first opcode to the finished view
    #[arg(long, value_name = "NAME", conflicts_with_all = ["limit", "at", "record"])]
    pub tensor: Option<String>,
    /// Write a page for a browser that steps forwards and backwards
    #[arg(long, value_name = "OUT", conflicts_with = "json")]
    pub html: Option<PathBuf>,
    /// With --html: replace the file that is there
    #[arg(short, long, requires = "html")]
    pub force: bool,
    /// Show at most N steps (default: 200, 5000 with --html); 0 is no limit
    #[arg(long, value_name = "N")]
    pub limit: Option<usize>,
    /// Start at the first opcode at or after this offset (0x… works)
    #[arg(long, value_name = "OFFSET", value_parser = offset)]
    pub at: Option<usize>,
    /// Print a JSON object on a line for each step
    #[arg(long)]
    pub json: bool,
}

#[derive(Serialize)]
struct Row<'a> {
    schema_version: u32,
    record: &'a str,
    offset: u64,
    opcode: &'static str,
    arg: Option<&'a str>,
    raw: &'a str,
    meaning: &'a str,
    stack: FrameRow<'a>,
    metastack: Vec<FrameRow<'a>>,
    metastack_hidden: usize,
    memo: usize,
    memo_put: Option<(u64, &'a str)>,
    result: Option<&'a str>,
}

#[derive(Serialize)]
struct FrameRow<'a> {
    hidden: usize,
    values: &'a [String],
}

impl<'a> From<&'a Frame> for FrameRow<'a> {
    fn from(frame: &'a Frame) -> FrameRow<'a> {
        FrameRow { hidden: frame.hidden, values: &frame.values }
    }
}

/// Exit code 2 when the pickle breaks off.
pub fn run(args: &TraceArgs, out: &mut Out, say: Say) -> Verdict {
    let file = open::name(&args.pickles.file);
    let mut streams = pickle_streams::streams(&args.pickles)?;
    // Of a legacy file, the pickle that matters.
    let at = streams.iter().position(|stream| stream.name == "object").unwrap_or(0);
    let stream = streams.swap_remove(at);
    let record = (!stream.name.is_empty()).then_some(stream.name.as_str());
    let bytes = &stream.bytes[stream.start..];
    let broken = |error: sconce::pickle::Error| {
        let offset = error.offset() + stream.start as u64;
        Failure::unreadable(error.to_string()).in_file(&file).in_record(record).at(Some(offset))
    };
    let checkpoint = match &args.tensor {
        Some(_) => Some(checkpoint(args)?),
        None => None,
    };
    let lesson = match (&args.tensor, &checkpoint) {
        (Some(name), Some(checkpoint)) => Some(lesson::lesson(checkpoint, &stream, name, &file)?),
        _ => None,
    };
    if let (Some(name), Some(lesson), None, false) = (&args.tensor, &lesson, &args.html, args.json)
    {
        out.use_pager();
        lesson::print(lesson, &stream, name, out)?;
        return Ok(Outcome::Clean);
    }
    let mut tracer = Tracer::new(bytes, &stream.limits);
    if let Some(at) = args.at {
        let inside = at.saturating_sub(stream.start);
        tracer.skip_until(inside).map_err(broken)?;
    }
    if let Some(target) = &args.html {
        let page = page(args, &mut tracer, &stream, lesson.as_ref(), checkpoint.as_ref())
            .map_err(broken)?;
        return write_page(args, target, &page, &stream, lesson.as_ref(), say);
    }
    out.use_pager();
    let limit = args.limit.unwrap_or(200);
    let mut wanted = lesson.iter().flat_map(|lesson| &lesson.steps);
    let mut shown = 0;
    loop {
        if lesson.is_some() {
            // Only the opcodes of the tensor's life.
            let Some(step) = wanted.next() else { return Ok(Outcome::Clean) };
            tracer.skip_until(step.at as usize - stream.start).map_err(broken)?;
        } else if limit > 0 && shown == limit {
            if !args.json && tracer.next().is_some() {
                let text = format!(
                    "… {shown} steps shown: --limit 0 shows all, --at OFFSET starts elsewhere"
                );
                out.line(&Line::new().dim(text))?;
            }
            return Ok(Outcome::Clean);
        }
        let Some(step) = tracer.next() else { return Ok(Outcome::Clean) };
        let step = step.map_err(broken)?;
        shown += 1;
        if args.json {
            out.json_line(&row(&step, &stream.name, stream.start as u64))?;
        } else {
            print(&step, stream.start as u64, out)?;
        }
    }
}

/// The checkpoint whose tensors have names.
fn checkpoint(args: &TraceArgs) -> Result<Checkpoint, Failure> {
    if args.pickles.file == "-" {
        let message = "--tensor reads its file twice, which standard input does not allow";
        return Err(Failure::usage(message));
    }
    let load = Load { bounds: args.pickles.bounds.clone(), ..Load::inspect() };
    let checkpoint = open::options(&load).open(&args.pickles.file);
    checkpoint.map_err(|error| Failure::from(error).in_file(open::name(&args.pickles.file)))
}

/// The steps for the browser: those of a tensor's life, or as many as are wanted from where the tracer stands.
fn page<'b>(
    args: &TraceArgs,
    tracer: &mut Tracer<'_>,
    stream: &'b Stream,
    lesson: Option<&Lesson>,
    checkpoint: Option<&Checkpoint>,
) -> Result<Page<'b>, sconce::pickle::Error> {
    let values = checkpoint.map(TorchValues::new);
    let mut page = Page::new(&stream.bytes, stream.start);
    let changes: HashMap<u64, String> = lesson
        .iter()
        .flat_map(|lesson| &lesson.steps)
        .map(|step| (step.at, step.changes.iter().map(|(_, text)| text.as_str()).collect()))
        .collect();
    match lesson {
        Some(lesson) => {
            for wanted in &lesson.steps {
                tracer.skip_until(wanted.at as usize - stream.start)?;
                let Some(step) = tracer.next().transpose()? else { break };
                let change = changes.get(&wanted.at).cloned().unwrap_or_default();
                page.add(step, change, tracer.machine(), values.as_ref());
            }
        }
        None => {
            let limit = args.limit.unwrap_or(5000);
            while limit == 0 || page.len() < limit {
                let Some(step) = tracer.next().transpose()? else { break };
                page.add(step, String::new(), tracer.machine(), None);
            }
        }
    }
    Ok(page)
}

fn write_page(
    args: &TraceArgs,
    target: &std::path::Path,
    page: &Page<'_>,
    stream: &Stream,
    lesson: Option<&Lesson>,
    say: Say,
) -> Verdict {
    let file = open::short_name(&args.pickles.file);
    let (title, subtitle) = match (&args.tensor, lesson) {
        (Some(name), Some(lesson)) => {
            let name = if name.is_empty() { "(root)" } else { name };
            (format!("{name} · {}", lesson.tensor), format!("{file} · {}", stream.name))
        }
        _ => (file, stream.name.clone()),
    };
    let text = page.render(&title, &subtitle);
    let text = text.map_err(|error| Failure::unreadable(error.to_string()))?;
    let mut to = AtomicFile::create(target, args.force)?;
    if let Err(error) = to.write_all(text.as_bytes()) {
        let failure = Failure::unreadable(format!("cannot write: {error}"));
        return Err(to.failure().unwrap_or_else(|| failure.in_file(target.to_string_lossy())));
    }
    to.commit()?;
    if !say.quiet {
        output::remark(say.color, &wrote(target, &format!("HTML, {}", count(page.len(), "step"))));
    }
    Ok(Outcome::Clean)
}

fn row<'a>(step: &'a Step, record: &'a str, start: u64) -> Row<'a> {
    Row {
        schema_version: SCHEMA_VERSION,
        record,
        offset: step.at + start,
        opcode: step.info.name,
        arg: step.arg.as_deref(),
        raw: &step.raw,
        meaning: &step.meaning,
        stack: (&step.stack).into(),
        metastack: step.metastack.iter().map(Into::into).collect(),
        metastack_hidden: step.metastack_hidden,
        memo: step.memo_len,
        memo_put: step.memo_put.as_ref().map(|(slot, value)| (*slot, value.as_str())),
        result: step.result.as_deref(),
    }
}

fn print(step: &Step, start: u64, out: &mut Out) -> Result<(), Failure> {
    let line = Line::new()
        .dim(format!("{:>#8x}  ", step.at + start))
        .add(Style::Strong, format!("{:<16}", step.info.name))
        .add(Style::Name, step.arg.as_deref().unwrap_or_default())
        .pad_to(44)
        .plain("  ")
        .dim(&step.meaning);
    out.line(&line.fit(out.width()))?;
    let mut stack = Line::new().dim("            stack  ");
    if step.metastack_hidden > 0 {
        stack.push(Style::Dim, format!("({} more marks) ", step.metastack_hidden));
    }
    for frame in &step.metastack {
        push_frame(&mut stack, frame);
        stack.push(Style::Warn, " ( ");
    }
    push_frame(&mut stack, &step.stack);
    out.line(&stack.fit(out.width()))?;
    if let Some((slot, value)) = &step.memo_put {
        let line = Line::new().dim(format!("            memo   {slot} = ")).plain(value);
        out.line(&line.fit(out.width()))?;
    }
    if let Some(result) = &step.result {
        out.line(&Line::new().dim("            result ").add(Style::Good, result))?;
    }
    Ok(())
}

fn push_frame(line: &mut Line, frame: &Frame) {
    if frame.hidden > 0 {
        line.push(Style::Dim, format!("… {} below, ", frame.hidden));
    }
    line.push(Style::Plain, frame.values.join(", "));
}
