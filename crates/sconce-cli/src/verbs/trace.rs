//! `sconce trace`: the pickle machine at work, opcode by opcode, on values that do nothing.

use clap::Args;
use sconce::pickle::{Frame, Step, Tracer};
use serde::Serialize;

use crate::arguments::pickles::Pickles;
use crate::arguments::values::offset;
use crate::error::{Failure, Outcome};
use crate::output::{Line, Out, SCHEMA_VERSION, Style};
use crate::read::open;
use crate::report::pickle_streams;

/// `sconce trace`.
#[derive(Debug, Args)]
pub struct TraceArgs {
    /// Which pickles.
    #[command(flatten)]
    pub pickles: Pickles,
    /// Show at most N steps; 0 is no limit
    #[arg(long, value_name = "N", default_value_t = 200)]
    pub limit: usize,
    /// Start at the first opcode at or after this offset (0x… works)
    #[arg(long, value_name = "OFFSET", value_parser = offset)]
    pub at: Option<usize>,
    /// Print a JSON object on a line for each step
    #[arg(long)]
    pub json: bool,
}
use crate::error::Verdict;

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
pub fn run(args: &TraceArgs, out: &mut Out) -> Verdict {
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
    let mut tracer = Tracer::new(bytes, &stream.limits);
    if let Some(at) = args.at {
        let inside = at.saturating_sub(stream.start);
        tracer.skip_until(inside).map_err(broken)?;
    }
    out.use_pager();
    let mut shown = 0;
    loop {
        if args.limit > 0 && shown == args.limit {
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
