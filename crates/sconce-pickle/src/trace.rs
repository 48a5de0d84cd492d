//! Walks a pickle opcode by opcode and shows what each one does to the stack and the memo.

use crate::arena::Value;
use crate::decode::{Arg, Instruction, Reader};
use crate::dis::{self, Argument};
use crate::error::Error;
use crate::limits::Limits;
use crate::machine::{Loaded, Machine};
use crate::opcode::{OpcodeInfo, byte as op};
use crate::policy::AllowAll;
use crate::render::{render, write_name};
use crate::repr;
use crate::text::Integer;

/// Most bytes of an instruction that [`Step::raw`] shows.
const MAX_RAW: usize = 16;

/// Most characters of an argument that [`Step::arg`] shows.
const MAX_ARG: usize = 120;

/// Most characters of one value that a [`Frame`] shows, about.
const MAX_VALUE: usize = 100;

/// Most values that one [`Frame`] shows.
const MAX_FRAME: usize = 12;

/// Most frames that [`Step::metastack`] shows.
const MAX_FRAMES: usize = 6;

/// One opcode, and the machine after it.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct Step {
    /// Offset of the opcode.
    pub at: u64,
    /// The opcode and its argument in hexadecimal, two digits a byte with blanks between; cut after
    /// 16 bytes, which a trailing `…` tells.
    pub raw: String,
    /// Number of bytes of the opcode and its argument.
    pub raw_len: usize,
    /// The opcode.
    pub info: &'static OpcodeInfo,
    /// The argument as Python shows it, cut if it is long; none if the opcode has none.
    pub arg: Option<String>,
    /// What the opcode does, in one sentence.
    pub meaning: String,
    /// The values above the innermost mark, after the opcode.
    pub stack: Frame,
    /// The frames below marks, the outermost first: those nearest to the top only.
    pub metastack: Vec<Frame>,
    /// How many more frames lie below those in `metastack`.
    pub metastack_hidden: usize,
    /// Number of memo slots in use after the opcode.
    pub memo_len: usize,
    /// The memo slot that the opcode put a value into.
    pub memo_put: Option<(u64, String)>,
    /// The result, at STOP.
    pub result: Option<String>,
}

/// Values of the stack between two marks, each as a short expression (see [`render`]).
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Frame {
    /// The values nearest to the top, the top last.
    pub values: Vec<String>,
    /// How many more lie below them.
    pub hidden: usize,
}

/// The steps of one pickle, up to and with its STOP. An error is the last item.
///
/// Skipping (`nth`, `skip`) does not render what is skipped.
///
/// ```
/// use sconce_pickle::{Limits, Tracer};
///
/// let step = Tracer::new(b"\x80\x02(K\x01ctorch\ndevice\nt.", &Limits::default())
///     .nth(3)
///     .expect("a fourth opcode")?;
/// assert_eq!(step.info.name, "GLOBAL");
/// assert_eq!(step.meaning, "Pushes the class or function torch.device.");
/// assert_eq!(step.stack.values, ["1", "torch.device"]);
/// assert_eq!(step.metastack.len(), 1);
/// # Ok::<(), sconce_pickle::Error>(())
/// ```
#[derive(Debug)]
pub struct Tracer<'a> {
    machine: Machine<'a>,
    bytes: &'a [u8],
    done: bool,
}

impl<'a> Tracer<'a> {
    /// A tracer before the first opcode of `bytes`.
    pub fn new(bytes: &'a [u8], limits: &Limits) -> Self {
        Tracer { machine: Machine::new(bytes, limits), bytes, done: false }
    }

    /// The machine as it stands.
    pub fn machine(&self) -> &Machine<'a> {
        &self.machine
    }

    /// Does every opcode before offset `at`, without rendering it; the next step is the first one
    /// at or after it, if the pickle goes that far.
    ///
    /// # Errors
    /// Whatever the opcodes passed by meet.
    pub fn skip_until(&mut self, at: usize) -> Result<(), Error> {
        while self.machine.position() < at {
            match self.advance() {
                Some(advance) => drop(advance?),
                None => break,
            }
        }
        Ok(())
    }

    /// The whole result, if STOP was reached.
    pub fn finish(self) -> Option<Loaded<'a>> {
        self.machine.finish()
    }

    /// Does one opcode; gives what it was, the slot that it put into and the result.
    fn advance(&mut self) -> Option<Result<Advance<'a>, Error>> {
        if self.done {
            return None;
        }
        let instruction = Reader::starting_at(self.bytes, self.machine.position()).instruction();
        let slots = self.machine.memo_len() as u64;
        let outcome = self.machine.step(&mut AllowAll);
        // What cannot be read, the machine cannot do either: its error is the one to tell.
        let advance = outcome.and_then(|result| Ok((instruction?, slots, result)));
        self.done = !matches!(advance, Ok((.., None)));
        Some(advance)
    }

    fn describe(&self, (instruction, slots, result): Advance<'a>) -> Step {
        let arena = self.machine.arena();
        let argument = dis::argument(&instruction);
        let slot = match instruction.info.byte {
            op::MEMOIZE => Some(slots),
            op::PUT | op::BINPUT | op::LONG_BINPUT => match argument {
                Ok(Argument::Uint(slot)) => Some(slot),
                Ok(Argument::Bool(slot)) => Some(slot.into()),
                Ok(Argument::Integer(Integer::Small(slot))) => u64::try_from(slot).ok(),
                _ => None,
            },
            _ => None,
        };
        let arg = show_argument(&instruction, argument);
        let (stack, metastack, metastack_hidden) = self.frames();
        Step {
            at: instruction.at,
            raw: hex(instruction.raw),
            raw_len: instruction.raw.len(),
            info: instruction.info,
            meaning: meaning(&instruction, arg.as_deref()),
            arg,
            stack,
            metastack,
            metastack_hidden,
            memo_len: self.machine.memo_len(),
            memo_put: slot
                .and_then(|slot| Some((slot, render(arena, self.machine.memo(slot)?, MAX_VALUE)))),
            result: result.map(|root| render(arena, root, MAX_VALUE)),
        }
    }

    fn frames(&self) -> (Frame, Vec<Frame>, usize) {
        let (stack, marks) = (self.machine.stack(), self.machine.marks());
        let frame = |start: usize, end: usize| {
            let shown = start.max(end.saturating_sub(MAX_FRAME));
            let values = stack[shown..end]
                .iter()
                .map(|&value| render(self.machine.arena(), value, MAX_VALUE))
                .collect();
            Frame { values, hidden: shown - start }
        };
        let base = marks.last().copied().unwrap_or(0);
        let hidden = marks.len().saturating_sub(MAX_FRAMES);
        let below = (hidden..marks.len())
            .map(|place| {
                let start = place.checked_sub(1).map_or(0, |before| marks[before]);
                frame(start, marks[place])
            })
            .collect();
        (frame(base, stack.len()), below, hidden)
    }
}

type Advance<'a> = (Instruction<'a>, u64, Option<Value>);

impl Iterator for Tracer<'_> {
    type Item = Result<Step, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        Some(self.advance()?.map(|advance| self.describe(advance)))
    }

    fn nth(&mut self, n: usize) -> Option<Self::Item> {
        for _ in 0..n {
            // An error among the skipped is the last item, so nothing is left to give.
            self.advance()?.ok()?;
        }
        self.next()
    }
}

fn hex(raw: &[u8]) -> String {
    let shown: Vec<_> = raw.iter().take(MAX_RAW).map(|byte| format!("{byte:02x}")).collect();
    let mut out = shown.join(" ");
    if raw.len() > MAX_RAW {
        out.push_str(" …");
    }
    out
}

/// The argument as pickletools shows it, cut; as raw bytes if pickletools would refuse it.
fn show_argument(
    instruction: &Instruction<'_>,
    argument: Result<Argument<'_>, String>,
) -> Option<String> {
    let mut out = String::new();
    // Counted arguments can be of any length, and escapes make them longer: cut before showing.
    let cut = |bytes: &[u8]| bytes.len() > MAX_ARG;
    match (&argument, instruction.arg) {
        (_, Arg::None) => return None,
        (Ok(Argument::Integer(Integer::Big(value))), _) if value.bits() > 256 => {
            out = format!("<int of {} bits>", value.bits());
        }
        (Ok(Argument::Str(text)), _) if cut(text) => {
            repr::write_wtf8(&mut out, &text[..char_boundary(text, MAX_ARG)]);
            out.push('…');
        }
        (Ok(Argument::Latin1(bytes)), _) if cut(bytes) => {
            let _ = Argument::Latin1(&bytes[..MAX_ARG]).write_repr(&mut out);
            out.push('…');
        }
        (Ok(Argument::Bytes(bytes) | Argument::ByteArray(bytes)), _) if cut(bytes) => {
            repr::write_bytes(&mut out, &bytes[..MAX_ARG]);
            out.push('…');
        }
        (Ok(argument), _) => {
            let _ = argument.write_repr(&mut out);
        }
        (Err(_), Arg::Lines(first, second)) => {
            repr::write_wtf8(&mut out, &first[..first.len().min(MAX_ARG)]);
            out.push(' ');
            repr::write_wtf8(&mut out, &second[..second.len().min(MAX_ARG)]);
        }
        (Err(_), Arg::Line(bytes) | Arg::Bytes(bytes)) => {
            repr::write_bytes(&mut out, &bytes[..bytes.len().min(MAX_ARG)]);
        }
        (Err(_), _) => {}
    }
    Some(out)
}

fn char_boundary(text: &[u8], max: usize) -> usize {
    (0..=max).rev().find(|&end| text[end] & 0xc0 != 0x80).unwrap_or(max)
}

fn meaning(instruction: &Instruction<'_>, arg: Option<&str>) -> String {
    let info = instruction.info;
    match instruction.arg {
        Arg::Lines(module, name) => {
            let mut dotted = String::new();
            write_name(&mut dotted, &String::from_utf8_lossy(module));
            dotted.push('.');
            write_name(&mut dotted, &String::from_utf8_lossy(name));
            info.explain(&dotted).into_owned()
        }
        _ => info.explain(arg.unwrap_or_default()).into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(bytes: &[u8]) -> Vec<Step> {
        Tracer::new(bytes, &Limits::default()).collect::<Result<_, _>>().expect("valid")
    }

    #[test]
    fn every_step_of_a_small_pickle() {
        let bytes = b"\x80\x02}q\x00(X\x01\0\0\0wcm\nf\nK\x07\x85Rq\x01u.";
        let lines: Vec<String> = steps(bytes)
            .iter()
            .map(|step| {
                let below: Vec<_> = step.metastack.iter().map(|f| f.values.join(", ")).collect();
                format!(
                    "{} [{}] {}{} | {} | {} | memo {}{}{}",
                    step.at,
                    step.raw,
                    step.info.name,
                    step.arg.as_ref().map(|arg| format!(" {arg}")).unwrap_or_default(),
                    below.join(" / "),
                    step.stack.values.join(", "),
                    step.memo_len,
                    step.memo_put
                        .as_ref()
                        .map(|(slot, value)| format!(", {slot} = {value}"))
                        .unwrap_or_default(),
                    step.result
                        .as_ref()
                        .map(|value| format!(", result {value}"))
                        .unwrap_or_default(),
                )
            })
            .collect();
        let want = [
            "0 [80 02] PROTO 2 |  |  | memo 0",
            "2 [7d] EMPTY_DICT |  | {} | memo 0",
            "3 [71 00] BINPUT 0 |  | {} | memo 1, 0 = {}",
            "5 [28] MARK | {} |  | memo 1",
            "6 [58 01 00 00 00 77] BINUNICODE 'w' | {} | 'w' | memo 1",
            "12 [63 6d 0a 66 0a] GLOBAL 'm f' | {} | 'w', m.f | memo 1",
            "17 [4b 07] BININT1 7 | {} | 'w', m.f, 7 | memo 1",
            "19 [85] TUPLE1 | {} | 'w', m.f, (7,) | memo 1",
            "20 [52] REDUCE | {} | 'w', m.f(7) | memo 1",
            "21 [71 01] BINPUT 1 | {} | 'w', m.f(7) | memo 2, 1 = m.f(7)",
            "23 [75] SETITEMS |  | {'w': m.f(7)} | memo 2",
            "24 [2e] STOP |  |  | memo 2, result {'w': m.f(7)}",
        ];
        assert_eq!(lines, want);
    }

    #[test]
    fn meanings_name_the_argument() {
        let meanings: Vec<_> =
            steps(b"\x80\x02cos\nsystem\nq\x00.").into_iter().map(|step| step.meaning).collect();
        assert_eq!(
            meanings,
            [
                "Says that the pickle is of protocol 2.",
                "Pushes the class or function os.system.",
                "Notes the top value in memo slot 0.",
                "Ends the pickle; the top value is its result.",
            ]
        );
    }

    #[test]
    fn memo_slots_of_every_kind_of_put() {
        let puts: Vec<_> = steps(b"Np01\np7\nr\x09\0\0\0\x94.")
            .into_iter()
            .filter_map(|step| step.memo_put.map(|(slot, _)| slot))
            .collect();
        assert_eq!(puts, [1, 7, 9, 3]);
    }

    #[test]
    fn long_things_are_cut() {
        let bytes = [b"B\x10\x27\0\0".as_slice(), &[b'a'; 10_000], b"."].concat();
        let step = &steps(&bytes)[0];
        assert_eq!((step.raw.len(), step.raw_len), (16 * 3 + "…".len(), 10_005));
        assert!(step.arg.as_ref().is_some_and(|arg| arg.len() < 140));
        assert!(step.stack.values[0].len() < 100);
        let many = [b"(".repeat(100), b"N".repeat(100), b"t.".to_vec()].concat();
        let step = Tracer::new(&many, &Limits::default()).nth(199).expect("a step").expect("fine");
        assert_eq!((step.stack.values.len(), step.stack.hidden), (MAX_FRAME, 100 - MAX_FRAME));
        assert_eq!((step.metastack.len(), step.metastack_hidden), (MAX_FRAMES, 100 - MAX_FRAMES));
    }

    #[test]
    fn an_error_is_the_last_item() {
        let items: Vec<_> = Tracer::new(b"NNa.", &Limits::default()).collect();
        assert_eq!(items.len(), 3);
        assert!(matches!(items[2], Err(Error::NotApplicable { at: 2, .. })));
        let mut tracer = Tracer::new(b"N\xff", &Limits::default());
        assert!(tracer.nth(1).is_some_and(|item| item.is_err()));
        assert!(tracer.next().is_none());
        let mut tracer = Tracer::new(b"NK\x01\x86.", &Limits::default());
        assert_eq!(tracer.skip_until(2), Ok(()));
        assert!(tracer.next().is_some_and(|step| step.is_ok_and(|step| step.at == 3)));
        assert_eq!(tracer.skip_until(100), Ok(()));
        assert!(tracer.next().is_none());
        assert!(Tracer::new(b"N\xffN", &Limits::default()).skip_until(2).is_err());
        // Names that pickletools refuses and the machine takes.
        let step = &steps("cé\nx\n.".as_bytes())[0];
        assert_eq!(step.arg.as_deref(), Some("'é' 'x'"));
    }
}
