//! `sconce dis`: the opcodes of a pickle, line for line as `python -m pickletools` prints them.

use std::io::{self, Write};

use clap::Args;
use sconce::pickle::{Arg, DisError, Instruction, dis_from, instructions};
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use crate::arguments::pickles::Pickles;
use crate::error::{Failure, Outcome};
use crate::output::{Line, Out, SCHEMA_VERSION, hex};
use crate::read::open;
use crate::report::pickle_streams::{self, Stream};

/// `sconce dis`.
#[derive(Debug, Args)]
pub struct DisArgs {
    /// Which pickles.
    #[command(flatten)]
    pub pickles: Pickles,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}
use crate::error::Verdict;

#[derive(Serialize)]
struct Document<'a> {
    schema_version: u32,
    file: &'a str,
    pickles: Vec<Pickle<'a>>,
}

#[derive(Serialize)]
struct Pickle<'a> {
    record: &'a str,
    offset: usize,
    /// Made one by one when they are printed: together they take far more memory than the pickle.
    #[serde(serialize_with = "rows")]
    instructions: &'a Stream,
    /// Why they end early.
    error: Option<Broken>,
}

#[derive(Serialize)]
struct Row {
    offset: u64,
    opcode: &'static str,
    code: u8,
    protocol: u8,
    bytes: usize,
    /// A number, or text; null where the opcode has no argument.
    arg: Value,
    /// The argument in hexadecimal, where it is bytes that are no text.
    #[serde(skip_serializing_if = "Option::is_none")]
    arg_hex: Option<String>,
}

#[derive(Serialize)]
struct Broken {
    offset: u64,
    message: String,
}

/// Exit code 2 when a pickle breaks off; what could be listed is.
pub fn run(args: &DisArgs, out: &mut Out) -> Verdict {
    let streams = pickle_streams::streams(&args.pickles)?;
    let file = open::name(&args.pickles.file);
    if args.json {
        let pickles: Vec<Pickle<'_>> = streams.iter().map(pickle).collect();
        out.json(&Document { schema_version: SCHEMA_VERSION, file: &file, pickles })?;
        let broken = streams.iter().find_map(|stream| {
            let error = broken(stream)?;
            Some(failure(&file, &stream.name, error.offset, &error.message))
        });
        return broken.map_or(Ok(Outcome::Clean), Err);
    }
    out.use_pager();
    for (at, stream) in streams.iter().enumerate() {
        if streams.len() > 1 {
            let title = format!("-- {} (pickle {} of {})", stream.name, at + 1, streams.len());
            out.line(&Line::new().dim(format!("{title}, from {:#x}", stream.start)))?;
        }
        let mut sink = Sink { out, failure: None };
        let listed = dis_from(&stream.bytes, stream.start, &stream.limits, &mut sink);
        if let Some(failure) = sink.failure {
            return Err(failure);
        }
        match listed {
            Ok(_) => {}
            Err(DisError::Pickle { at, message }) => {
                return Err(failure(&file, &stream.name, at, &message));
            }
            Err(DisError::Limit { at, limit }) => {
                let message = too_many(limit);
                return Err(failure(&file, &stream.name, at, &message).help(RAISE));
            }
            Err(error) => return Err(Failure::unreadable(error.to_string()).in_file(file)),
        }
    }
    Ok(Outcome::Clean)
}

const RAISE: &str = "--max-pickle-values raises the limit";

fn too_many(limit: usize) -> String {
    format!("the pickle has more than {limit} opcodes")
}

fn failure(file: &str, record: &str, at: u64, message: &str) -> Failure {
    let record = (!record.is_empty()).then_some(record);
    Failure::unreadable(message).in_file(file).in_record(record).at(Some(at))
}

/// Keeps the failure of standard output, which an [`io::Error`] cannot carry.
struct Sink<'o> {
    out: &'o mut Out,
    failure: Option<Failure>,
}

impl Write for Sink<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // pickletools prints representations, which have no characters that a terminal minds.
        match self.out.raw(bytes) {
            Ok(()) => Ok(bytes.len()),
            Err(failure) => {
                self.failure = Some(failure);
                Err(io::ErrorKind::BrokenPipe.into())
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn pickle(stream: &Stream) -> Pickle<'_> {
    Pickle {
        record: &stream.name,
        offset: stream.start,
        instructions: stream,
        error: broken(stream),
    }
}

/// The instructions of a pickle, and behind them why there are no more.
fn listed(stream: &Stream) -> impl Iterator<Item = Result<Instruction<'_>, Broken>> {
    let (start, most) = (stream.start as u64, stream.limits.max_values);
    instructions(&stream.bytes[stream.start..]).enumerate().map(move |(at, instruction)| {
        let instruction = instruction.map_err(|error| Broken {
            offset: error.offset() + start,
            message: error.to_string(),
        })?;
        if at >= most {
            return Err(Broken { offset: instruction.at + start, message: too_many(most) });
        }
        Ok(instruction)
    })
}

/// Why a listing ends early.
fn broken(stream: &Stream) -> Option<Broken> {
    listed(stream).find_map(Result::err)
}

fn rows<S: Serializer>(stream: &&Stream, serializer: S) -> Result<S::Ok, S::Error> {
    let start = stream.start as u64;
    serializer.collect_seq(listed(stream).map_while(Result::ok).map(|found| row(&found, start)))
}

fn row(instruction: &Instruction<'_>, start: u64) -> Row {
    let (arg, arg_hex) = argument(instruction);
    Row {
        offset: instruction.at + start,
        opcode: instruction.info.name,
        code: instruction.info.byte,
        protocol: instruction.info.protocol,
        bytes: instruction.raw.len(),
        arg,
        arg_hex,
    }
}

fn argument(instruction: &Instruction<'_>) -> (Value, Option<String>) {
    match instruction.arg {
        Arg::Uint(number) => (json!(number), None),
        Arg::Int(number) => (json!(number), None),
        Arg::Float(number) if number.is_finite() => (json!(number), None),
        Arg::Float(number) => (json!(number.to_string()), None),
        Arg::Bytes(bytes) if matches!(instruction.info.name, "LONG1" | "LONG4") => {
            match long(bytes) {
                Some(number) => (json!(number), None),
                None => (Value::Null, Some(hex(bytes))),
            }
        }
        Arg::Bytes(bytes) | Arg::Line(bytes) => text(bytes),
        Arg::Lines(first, second) => text(&[first, b" ", second].concat()),
        _ => (Value::Null, None),
    }
}

fn text(bytes: &[u8]) -> (Value, Option<String>) {
    match std::str::from_utf8(bytes) {
        Ok(text) => (json!(text), None),
        Err(_) => (Value::Null, Some(hex(bytes))),
    }
}

/// Little-endian two's complement of up to eight bytes.
fn long(bytes: &[u8]) -> Option<i64> {
    if bytes.len() > 8 {
        return None;
    }
    let negative = bytes.last().is_some_and(|byte| byte & 0x80 != 0);
    let mut word = [if negative { 0xff } else { 0 }; 8];
    word[..bytes.len()].copy_from_slice(bytes);
    Some(i64::from_le_bytes(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_keep_their_kind() {
        let bytes = b"\x80\x02\x8a\x01\xfeX\x02\0\0\0hiK\x07G?\xf8\0\0\0\0\0\0ca\nb\nU\x01\xff.";
        let args: Vec<(Value, Option<String>)> =
            instructions(bytes).map(|instruction| argument(&instruction.unwrap())).collect();
        let want = [
            (json!(2), None),
            (json!(-2), None),
            (json!("hi"), None),
            (json!(7), None),
            (json!(1.5), None),
            (json!("a b"), None),
            (Value::Null, Some("ff".to_owned())),
            (Value::Null, None),
        ];
        assert_eq!(args, want);
    }
}
