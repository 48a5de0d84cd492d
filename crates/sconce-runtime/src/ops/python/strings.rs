//! Strings. TorchScript's are bytes: what would cut a character in two is refused.

use sconce_ir::Type;

use crate::error::Raise;
use crate::op_context::OpContext;
use crate::ops::Args;
use crate::ops::descriptor::result_strides::ResultStrides;
use crate::ops::descriptor::{Table, op};
use crate::ops::python::lists::slice;
use crate::value::IValue::{self, Bool, Int};

type Result<T = IValue> = std::result::Result<T, Raise>;

pub(crate) const TABLE: Table = &[
    op("aten::len", "str", |_, args| Ok(Int(args.str(0)?.len() as i64))),
    op("aten::add", "str", |context, args| {
        let (a, b) = (args.str(0)?, args.str(1)?);
        // It is put together, and then copied to its place.
        context.budget().check_text(2 * (a.len() + b.len()))?;
        Ok(IValue::str([&*a, &*b].concat()))
    })
    .strides(ResultStrides::Numbers),
    op("aten::__getitem__", "str", string_index),
    op("prim::StringIndex", "-", string_index),
    op("aten::__contains__", "str_list", |_, args| contains(&args)),
    op("aten::slice", "str", |context, args| {
        let text = args.str(0)?;
        context.budget().check_text(2 * text.len())?;
        let (start, end) = (args.optional_int(1)?, args.optional_int(2)?);
        let places = slice(start, end, args.int(3)?, text.len())?;
        text_of(places.filter_map(|at| text.as_bytes().get(at).copied()).collect())
    }),
    op("aten::list", "-", |context, args| {
        let text = args.str(0)?;
        check_strings(context, text.len(), 0)?;
        let items: Result<Vec<IValue>> = text.bytes().map(|byte| text_of(vec![byte])).collect();
        Ok(IValue::list(Type::Str, items?))
    }),
    op("aten::ord", "-", |_, args| {
        let text = args.str(0)?;
        match text.as_bytes() {
            [byte] => Ok(Int(i64::from(*byte))),
            bytes => Err(Raise::message(format!(
                "String for ord() must be 1 character, found {}",
                bytes.len()
            ))),
        }
    }),
    op("aten::chr", "-", |_, args| {
        let code = args.int(0)?;
        if !(0..0x11_0000).contains(&code) {
            let message = format!("chr() arg not in range(0x110000), found {code}");
            return Err(Raise::message(message));
        }
        text_of(vec![code as u8])
    }),
    op("aten::bin", "-", |_, args| prefixed(args.int(0)?, "0b", |a| format!("{a:b}"))),
    op("aten::oct", "-", |_, args| prefixed(args.int(0)?, "0o", |a| format!("{a:o}"))),
    op("aten::hex", "-", |_, args| prefixed(args.int(0)?, "0x", |a| format!("{a:x}"))),
    op("aten::upper", "-", |context, args| map(context, &args, |text| text.to_ascii_uppercase())),
    op("aten::lower", "-", |context, args| map(context, &args, |text| text.to_ascii_lowercase())),
    op("aten::swapcase", "-", |context, args| {
        map(context, &args, |text| each(text, |_, c| swapped(c)))
    }),
    op("aten::capitalize", "-", |context, args| {
        map(context, &args, |text| {
            let mut first = true;
            each(text, |_, c| match std::mem::take(&mut first) {
                true => c.to_ascii_uppercase(),
                false => c.to_ascii_lowercase(),
            })
        })
    }),
    op("aten::title", "-", |context, args| {
        map(context, &args, |text| {
            each(text, |before, c| match before.is_some_and(|c| c.is_ascii_alphabetic()) {
                true => c.to_ascii_lowercase(),
                false => c.to_ascii_uppercase(),
            })
        })
    }),
    op("aten::isupper", "-", |_, args| {
        cased(&args, |c| c.is_ascii_uppercase(), |c| c.is_ascii_lowercase())
    }),
    op("aten::islower", "-", |_, args| {
        cased(&args, |c| c.is_ascii_lowercase(), |c| c.is_ascii_uppercase())
    }),
    op("aten::isalpha", "-", |_, args| every(&args, |c| c.is_ascii_alphabetic())),
    op("aten::isdigit", "-", |_, args| every(&args, |c| c.is_ascii_digit())),
    op("aten::isdecimal", "-", |_, args| every(&args, |c| c.is_ascii_digit())),
    op("aten::isnumeric", "-", |_, args| every(&args, |c| c.is_ascii_digit())),
    op("aten::isalnum", "-", |_, args| every(&args, |c| c.is_ascii_alphanumeric())),
    op("aten::isspace", "-", |_, args| every(&args, is_space)),
    op("aten::isidentifier", "-", |_, args| {
        let text = args.str(0)?;
        Ok(Bool(
            !text.is_empty()
                && !text.starts_with(|c: char| c.is_ascii_digit())
                && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_'),
        ))
    }),
    op("aten::istitle", "-", |_, args| Ok(Bool(is_title(&args.str(0)?)))),
    op("aten::isprintable", "-", |_, args| {
        Ok(Bool(args.str(0)?.bytes().all(|byte| (32..127).contains(&byte))))
    }),
    op("aten::strip", "-", |context, args| strip(context, &args, true, true)),
    op("aten::lstrip", "-", |context, args| strip(context, &args, true, false)),
    op("aten::rstrip", "-", |context, args| strip(context, &args, false, true)),
    op("aten::startswith", "-", |_, args| {
        let (text, part) = (args.str(0)?, args.str(1)?);
        Ok(Bool(
            window(&args, &text, 2)?.is_some_and(|(_, window)| window.starts_with(part.as_bytes())),
        ))
    }),
    op("aten::endswith", "-", |_, args| {
        let (text, part) = (args.str(0)?, args.str(1)?);
        Ok(Bool(
            window(&args, &text, 2)?.is_some_and(|(_, window)| window.ends_with(part.as_bytes())),
        ))
    }),
    op("aten::find", "-", |_, args| Ok(Int(find(&args, false)?.map_or(-1, |at| at as i64)))),
    op("aten::rfind", "-", |_, args| Ok(Int(find(&args, true)?.map_or(-1, |at| at as i64)))),
    op("aten::index", "str", |_, args| found(find(&args, false)?)).strides(ResultStrides::Indexed),
    op("aten::rindex", "-", |_, args| found(find(&args, true)?)),
    op("aten::count", "-", |_, args| {
        let (text, part) = (args.str(0)?, args.str(1)?);
        if part.is_empty() {
            return Err(Raise::unsupported("counting empty strings"));
        }
        let window = window(&args, &text, 2)?.map_or(&[][..], |(_, window)| window);
        let mut rest = window;
        let mut count = 0;
        while let Some(at) = position(rest, part.as_bytes()) {
            count += 1;
            rest = rest.get(at + part.len()..).unwrap_or_default();
        }
        Ok(Int(count))
    }),
    op("aten::replace", "-", replace),
    op("aten::join", "-", |context, args| {
        let (separator, list) = (args.str(0)?, args.list(1)?);
        let list = list.read();
        let mut length = 0_usize;
        for item in &list.items {
            let IValue::Str(item) = item else {
                return Err(Raise::unsupported("joining what are no strings"));
            };
            length = length.saturating_add(item.len()).saturating_add(separator.len());
        }
        context.budget().check_text(length.saturating_mul(2))?;
        let mut out = String::with_capacity(length);
        for (index, item) in list.items.iter().enumerate() {
            if index > 0 {
                out.push_str(&separator);
            }
            if let IValue::Str(item) = item {
                out.push_str(item);
            }
        }
        Ok(IValue::str(out))
    }),
    op("aten::split", "str", |context, args| {
        let text = args.str(0)?;
        if args.get(1).is_none() {
            let count = text.split(is_space).filter(|word| !word.is_empty()).count();
            check_strings(context, count, text.len())?;
            return words(&text, args.int(2)?);
        }
        let by = args.str(1)?;
        check_split(context, &text, &by)?;
        split(&text, &by, args.int(2)?)
    }),
    op("aten::rsplit", "-", |context, args| {
        let (text, by) = (args.str(0)?, args.str(1)?);
        check_split(context, &text, &by)?;
        rsplit(&text, &by, args.int(2)?)
    }),
    op("aten::splitlines", "-", |context, args| {
        let text = args.str(0)?;
        check_strings(context, 2 * text.matches(['\n', '\r']).count(), text.len())?;
        lines(&text, args.bool(1)?)
    }),
    op("aten::partition", "-", |context, args| {
        let (text, by) = (args.str(0)?, args.str(1)?);
        context.budget().check_text(text.len())?;
        Ok(match text.split_once(&*by) {
            Some((before, after)) => three(before, &by, after),
            None => three(&text, "", ""),
        })
    }),
    op("aten::rpartition", "-", |context, args| {
        let (text, by) = (args.str(0)?, args.str(1)?);
        context.budget().check_text(text.len())?;
        Ok(match text.rsplit_once(&*by) {
            Some((before, after)) => three(before, &by, after),
            None => three("", "", &text),
        })
    }),
    op("aten::center", "-", |context, args| {
        pad(context, &args, |missing, width| {
            // Where the padding is odd, Python puts one more on the left when the width is odd.
            let left = missing / 2 + (missing & width & 1);
            (left, missing - left)
        })
    }),
    op("aten::ljust", "-", |context, args| pad(context, &args, |missing, _| (0, missing))),
    op("aten::rjust", "-", |context, args| pad(context, &args, |missing, _| (missing, 0))),
    op("aten::zfill", "-", |context, args| {
        let text = args.str(0)?;
        let width = usize::try_from(args.int(1)?).unwrap_or(0);
        context.budget().check_text(width.max(text.len()).saturating_mul(2))?;
        // Unlike Python's, before a sign as well.
        let zeros = "0".repeat(width.saturating_sub(text.len()));
        Ok(IValue::str(zeros + &text))
    }),
    op("aten::expandtabs", "-", |context, args| {
        let size = usize::try_from(args.int(1)?).unwrap_or(0);
        let text = args.str(0)?;
        // How far it goes is known before it is made.
        let length = expanded(&text, size, &mut |_, _| ());
        context.budget().check_text(length.saturating_mul(2))?;
        let mut out = String::with_capacity(length);
        expanded(&text, size, &mut |c, times| out.extend(std::iter::repeat_n(c, times)));
        Ok(IValue::str(out))
    }),
];

/// Gives the characters of a text with its tabs expanded, each with how often it stands there, and the
/// length of it all.
fn expanded(text: &str, size: usize, give: &mut dyn FnMut(char, usize)) -> usize {
    let (mut column, mut length) = (0_usize, 0_usize);
    for c in text.chars() {
        let (c, times) = match c {
            '\t' if size == 0 => (' ', 0),
            '\t' => (' ', size - column % size),
            c => (c, 1),
        };
        give(c, times);
        column = if matches!(c, '\n' | '\r') { 0 } else { column.saturating_add(times) };
        length = length.saturating_add(times.saturating_mul(c.len_utf8()));
    }
    length
}

fn text_of(bytes: Vec<u8>) -> Result {
    match String::from_utf8(bytes) {
        Ok(text) => Ok(IValue::str(text)),
        Err(_) => Err(Raise::unsupported("a string that is not UTF-8")),
    }
}

fn map(
    context: &mut dyn OpContext,
    args: &Args<'_>,
    function: impl FnOnce(&str) -> String,
) -> Result {
    let text = args.str(0)?;
    context.budget().check_text(2 * text.len())?;
    Ok(IValue::str(function(&text)))
}

/// Asks for a list of so many strings of so many bytes in all.
fn check_strings(context: &mut dyn OpContext, count: usize, bytes: usize) -> Result<()> {
    /// What a short string takes beside its bytes.
    const EACH: usize = 100;
    context.budget().check_items(count)?;
    Ok(context.budget().check_bytes(count.saturating_mul(EACH).saturating_add(bytes))?)
}

/// The text with each character replaced; the function is given the one before too.
fn each(text: &str, mut function: impl FnMut(Option<char>, char) -> char) -> String {
    let mut before = None;
    text.chars()
        .map(|c| {
            let new = function(before, c);
            before = Some(c);
            new
        })
        .collect()
}

fn swapped(c: char) -> char {
    if c.is_ascii_lowercase() { c.to_ascii_uppercase() } else { c.to_ascii_lowercase() }
}

fn is_space(c: char) -> bool {
    c.is_ascii_whitespace() || c == '\x0b'
}

fn every(args: &Args<'_>, holds: fn(char) -> bool) -> Result {
    let text = args.str(0)?;
    Ok(Bool(!text.is_empty() && text.chars().all(holds)))
}

fn cased(args: &Args<'_>, some: fn(char) -> bool, none: fn(char) -> bool) -> Result {
    let text = args.str(0)?;
    Ok(Bool(text.chars().any(some) && !text.chars().any(none)))
}

fn is_title(text: &str) -> bool {
    let mut letters = false;
    let mut before = false;
    for c in text.chars() {
        let fits = if before { !c.is_ascii_uppercase() } else { !c.is_ascii_lowercase() };
        if !fits {
            return false;
        }
        before = c.is_ascii_alphabetic();
        letters |= before;
    }
    letters
}

fn prefixed(a: i64, prefix: &str, digits: fn(u64) -> String) -> Result {
    let sign = if a < 0 { "-" } else { "" };
    Ok(IValue::str(format!("{sign}{prefix}{}", digits(a.unsigned_abs()))))
}

fn string_index(_: &mut dyn OpContext, args: Args<'_>) -> Result {
    let text = args.str(0)?;
    let index = args.int(1)?;
    let at = if index < 0 { index.wrapping_add(text.len() as i64) } else { index };
    match usize::try_from(at).ok().and_then(|at| text.as_bytes().get(at)) {
        Some(&byte) => text_of(vec![byte]),
        None => Err(Raise::message(format!(
            "basic_string::at: __n (which is {}) >= this->size() (which is {})",
            at as u64,
            text.len()
        ))),
    }
}

fn contains(args: &Args<'_>) -> Result {
    let list = args.list(0)?;
    let list = list.read();
    Ok(Bool(list.items.iter().any(|item| item.equal(args.get(1)) == Some(true))))
}

fn strip(context: &mut dyn OpContext, args: &Args<'_>, left: bool, right: bool) -> Result {
    let (text, set) = (args.str(0)?, args.str(1)?);
    context.budget().check_text(text.len())?;
    let mut text = &*text;
    if left {
        text = text.trim_start_matches(|c| set.contains(c));
    }
    if right {
        text = text.trim_end_matches(|c| set.contains(c));
    }
    Ok(IValue::str(text))
}

/// The part of the text from the start to the end that the operands give, and where it begins.
fn window<'t>(args: &Args<'_>, text: &'t str, first: usize) -> Result<Option<(usize, &'t [u8])>> {
    let length = text.len() as i64;
    let (start, end) = (args.int(first)?, args.int(first + 1)?);
    let start = if start < 0 { start.saturating_add(length).max(0) } else { start };
    // The default end, -1, is one past the last.
    let end =
        if end < 0 { end.saturating_add(length).saturating_add(1).max(0) } else { end.min(length) };
    let (Ok(start), Ok(end)) = (usize::try_from(start), usize::try_from(end)) else {
        return Ok(None);
    };
    Ok(text.as_bytes().get(start..end).map(|window| (start, window)))
}

fn position(text: &[u8], part: &[u8]) -> Option<usize> {
    if part.is_empty() {
        return Some(0);
    }
    text.windows(part.len()).position(|window| window == part)
}

fn find(args: &Args<'_>, last: bool) -> Result<Option<usize>> {
    let (text, part) = (args.str(0)?, args.str(1)?);
    if part.is_empty() {
        return Err(Raise::unsupported("searching for empty strings"));
    }
    let Some((start, window)) = window(args, &text, 2)? else { return Ok(None) };
    let mut places = window.windows(part.len()).enumerate();
    let matches = |&(_, found): &(usize, &[u8])| found == part.as_bytes();
    let at = if last { places.rev().find(matches) } else { places.find(matches) };
    Ok(at.map(|(at, _)| start + at))
}

fn found(at: Option<usize>) -> Result {
    match at {
        Some(at) => Ok(Int(at as i64)),
        None => Err(Raise::message("ValueError: substring not found")),
    }
}

fn replace(context: &mut dyn OpContext, args: Args<'_>) -> Result {
    let (text, from, to) = (args.str(0)?, args.str(1)?, args.str(2)?);
    if from.is_empty() {
        return Err(Raise::unsupported("replacing empty strings"));
    }
    let most = usize::try_from(args.int(3)?).unwrap_or(usize::MAX);
    let count = text.matches(&*from).count().min(most);
    let length = text.len().saturating_add(count.saturating_mul(to.len()));
    context.budget().check_text(length.saturating_mul(2))?;
    Ok(IValue::str(text.replacen(&*from, &to, count)))
}

fn strings<'t>(items: impl IntoIterator<Item = &'t str>) -> IValue {
    IValue::list(Type::Str, items.into_iter().map(IValue::str).collect())
}

fn empty_separator<T>() -> Result<T> {
    Err(Raise::message("ValueError: empty separator"))
}

fn split(text: &str, by: &str, most: i64) -> Result {
    if by.is_empty() {
        return empty_separator();
    }
    Ok(match usize::try_from(most) {
        Ok(most) => strings(text.splitn(most + 1, by)),
        Err(_) => strings(text.split(by)),
    })
}

/// Asks for the parts of a split text, one more than the separators in it.
fn check_split(context: &mut dyn OpContext, text: &str, by: &str) -> Result<()> {
    let count = if by.is_empty() { 0 } else { text.matches(by).count() };
    check_strings(context, count, text.len())
}

fn rsplit(text: &str, by: &str, most: i64) -> Result {
    if by.is_empty() {
        return empty_separator();
    }
    let mut items: Vec<&str> = match usize::try_from(most) {
        Ok(most) => text.rsplitn(most + 1, by).collect(),
        Err(_) => text.rsplit(by).collect(),
    };
    items.reverse();
    Ok(strings(items))
}

/// `split()` without a separator.
fn words(text: &str, most: i64) -> Result {
    if most >= 0 {
        return Err(Raise::unsupported("aten::split.str at spaces with a limit"));
    }
    Ok(strings(text.split(is_space).filter(|word| !word.is_empty())))
}

/// `splitlines`, as PyTorch has it: each line break ends a line, `\r\n` two; those that are kept are
/// items of their own.
fn lines(text: &str, keep_ends: bool) -> Result {
    if text.contains(['\x0b', '\x0c', '\x1c', '\x1d', '\x1e', '\u{85}']) {
        return Err(Raise::unsupported("aten::splitlines at other than line feeds"));
    }
    let mut items = Vec::new();
    let mut rest = text;
    while let Some(end) = rest.find(['\n', '\r']) {
        items.push(rest.get(..end).unwrap_or_default());
        if keep_ends {
            items.push(rest.get(end..=end).unwrap_or_default());
        }
        rest = rest.get(end + 1..).unwrap_or_default();
    }
    if !rest.is_empty() {
        items.push(rest);
    }
    Ok(strings(items))
}

fn three(before: &str, by: &str, after: &str) -> IValue {
    IValue::tuple(vec![IValue::str(before), IValue::str(by), IValue::str(after)])
}

fn pad(
    context: &mut dyn OpContext,
    args: &Args<'_>,
    share: fn(usize, usize) -> (usize, usize),
) -> Result {
    let (text, fill) = (args.str(0)?, args.str(2)?);
    if fill.len() != 1 {
        return Err(Raise::message(
            "TypeError: The fill character must be exactly one character long",
        ));
    }
    let width = usize::try_from(args.int(1)?).unwrap_or(0);
    // The padding, the whole, and the copy in its place.
    context.budget().check_text(width.max(text.len()).saturating_mul(3))?;
    let (left, right) = share(width.saturating_sub(text.len()), width);
    Ok(IValue::str(format!("{}{text}{}", fill.repeat(left), fill.repeat(right))))
}
