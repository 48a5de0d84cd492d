//! Values as text: `str`, `repr` and format specifications.

use super::Interpreter;
use super::control_flow::{Outcome, refuse};
use super::value::{Cell, ClassKind, Value};

/// How long a text of a value may get.
const MAX_TEXT: usize = 1 << 20;

impl Interpreter<'_> {
    /// `str(value)`
    pub(super) fn text(&mut self, value: &Value) -> Outcome<String> {
        if let Value::Str(text) = value {
            return Ok(text.to_string());
        }
        if let Some(Cell::Path(text)) = self.arena.cell(value) {
            return Ok(text.to_string());
        }
        if self.is_exception(value) {
            return Ok(self.text_of_exception(value));
        }
        if let Some(class) = self.own_class(value)
            && let Some(method) = self.member(class, "__str__")
        {
            let text = self.call(&method, vec![value.clone()], Vec::new())?;
            return Ok(self.string(&text)?.to_string());
        }
        self.repr(value)
    }

    /// `repr(value)`
    pub(super) fn repr(&mut self, value: &Value) -> Outcome<String> {
        let text = self.nested(|this| this.repr_here(value))?;
        if text.len() > MAX_TEXT {
            return refuse("the text of this value is too long");
        }
        self.spend(text.len())?;
        Ok(text)
    }

    fn repr_here(&mut self, value: &Value) -> Outcome<String> {
        self.step()?;
        let Value::Ref(id) = value else {
            return Ok(match value {
                Value::None => "None".to_owned(),
                Value::Bool(true) => "True".to_owned(),
                Value::Bool(false) => "False".to_owned(),
                Value::Int(value) | Value::NumpyInt(value) => value.to_string(),
                Value::Float(value) => float_text(*value),
                Value::Complex(re, im) => format!("({}+{}j)", float_text(*re), float_text(*im)),
                Value::Str(text) => quoted(text),
                Value::Library(name) => match name.strip_prefix("builtins.") {
                    Some(name) => format!("<class '{name}'>"),
                    None => format!("<{name}>"),
                },
                Value::Namespace(module) => format!("<module '{}'>", module.name),
                Value::DType(dtype) => dtype.to_string(),
                Value::Device(device) => format!("device(type='{device}')"),
                Value::NotImplemented => "NotImplemented".to_owned(),
                Value::Ellipsis | Value::Ref(_) => "Ellipsis".to_owned(),
            });
        };
        match self.arena.get(*id) {
            Cell::List(items) => {
                let items = items.clone();
                Ok(format!("[{}]", self.joined(&items)?))
            }
            Cell::Tuple(tuple) => {
                let (items, class) = (tuple.items.clone(), tuple.class);
                if let Some(method) = class.and_then(|class| self.member(class, "__repr__")) {
                    let text = self.call(&method, vec![value.clone()], Vec::new())?;
                    return Ok(self.string(&text)?.to_string());
                }
                if let Some(class) = class.map(Value::Ref) {
                    let name = self.class_name(&class);
                    return Ok(format!("{name}({})", self.joined(&items)?));
                }
                let comma = if items.len() == 1 { "," } else { "" };
                Ok(format!("({}{comma})", self.joined(&items)?))
            }
            Cell::Set(set) => {
                let items: Vec<Value> = set.values().map(|(key, _)| key.clone()).collect();
                match items.is_empty() {
                    true => Ok("set()".to_owned()),
                    false => Ok(format!("{{{}}}", self.joined(&items)?)),
                }
            }
            Cell::Dict(dict) => {
                let entries: Vec<(Value, Value)> = dict.values().cloned().collect();
                let mut parts = Vec::with_capacity(entries.len());
                for (key, value) in entries {
                    parts.push(format!("{}: {}", self.repr(&key)?, self.repr(&value)?));
                }
                Ok(format!("{{{}}}", parts.join(", ")))
            }
            Cell::Range(start, stop, 1) => Ok(format!("range({start}, {stop})")),
            Cell::Range(start, stop, step) => Ok(format!("range({start}, {stop}, {step})")),
            Cell::Class(class) => {
                Ok(format!("<class '{}.{}'>", class.source.module.name, class.name))
            }
            Cell::Instance(instance) => {
                let class = instance.class;
                if let Some(method) = self.member(class, "__repr__") {
                    let text = self.call(&method, vec![value.clone()], Vec::new())?;
                    return Ok(self.string(&text)?.to_string());
                }
                let kind = self.arena.class(&Value::Ref(class)).map(|class| class.kind.clone());
                let name = self.class_name(&Value::Ref(class));
                match kind {
                    Some(ClassKind::Enum) => {
                        let member = self.attribute(value, "name")?;
                        Ok(format!("{name}.{}", self.text(&member)?))
                    }
                    _ => Ok(format!("<{name} object>")),
                }
            }
            Cell::Exception(exception) => {
                let (class, args) = (exception.class.clone(), exception.args.clone());
                Ok(format!("{}({})", self.class_name(&class), self.joined(&args)?))
            }
            Cell::Tensor(tensor) => {
                let sizes = tensor.tensor.sizes().to_vec();
                Ok(format!("tensor of sizes {sizes:?}"))
            }
            Cell::Unknown(_) => self.refuse_unknown(value),
            Cell::Path(text) => Ok(format!("PosixPath({})", quoted(text))),
            _ => Ok(format!("<{}>", self.type_name(value))),
        }
    }

    fn joined(&mut self, items: &[Value]) -> Outcome<String> {
        let mut parts = Vec::with_capacity(items.len());
        for item in items {
            parts.push(self.repr(item)?);
        }
        Ok(parts.join(", "))
    }

    /// `format(value, specification)`
    pub(super) fn formatted(&mut self, value: &Value, specification: &str) -> Outcome<String> {
        if specification.is_empty() {
            return self.text(value);
        }
        let Some(parsed) = Specification::parse(specification) else {
            let message = format!("Invalid format specifier '{specification}'");
            return self.raise("ValueError", message);
        };
        if parsed.width > 1 << 16 || parsed.precision.is_some_and(|digits| digits > 400) {
            return refuse("a format of this width is not supported here");
        }
        let (body, is_number) = match value {
            Value::Int(_) | Value::Bool(_)
                if matches!(parsed.kind, None | Some('d' | 'x' | 'X' | 'o' | 'b' | 'c' | 'n')) =>
            {
                (parsed.int(value.as_int().unwrap_or(0)), true)
            }
            other if other.as_float().is_some() => {
                (parsed.float(other.as_float().unwrap_or(0.0)), true)
            }
            other => {
                let text = self.text(other)?;
                let text = match parsed.precision {
                    Some(count) => text.chars().take(count).collect(),
                    None => text,
                };
                (text, false)
            }
        };
        Ok(parsed.padded(body, is_number))
    }
}

/// `[[fill]align][sign][#][0][width][,][.precision][type]`
struct Specification {
    fill: char,
    align: Option<char>,
    sign: Option<char>,
    alternate: bool,
    width: usize,
    comma: bool,
    precision: Option<usize>,
    kind: Option<char>,
}

impl Specification {
    fn parse(text: &str) -> Option<Self> {
        let is_align = |c: char| matches!(c, '<' | '>' | '^' | '=');
        let chars: Vec<char> = text.chars().collect();
        let mut at = 0;
        let mut parsed = Self {
            fill: ' ',
            align: None,
            sign: None,
            alternate: false,
            width: 0,
            comma: false,
            precision: None,
            kind: None,
        };
        if let [fill, align, ..] = chars.as_slice()
            && is_align(*align)
        {
            (parsed.fill, parsed.align, at) = (*fill, Some(*align), 2);
        } else if let Some(&align) = chars.first()
            && is_align(align)
        {
            (parsed.align, at) = (Some(align), 1);
        }
        if let Some(&sign) = chars.get(at)
            && matches!(sign, '+' | '-' | ' ')
        {
            parsed.sign = Some(sign);
            at += 1;
        }
        if chars.get(at) == Some(&'#') {
            parsed.alternate = true;
            at += 1;
        }
        if chars.get(at) == Some(&'0') && parsed.align.is_none() {
            (parsed.fill, parsed.align) = ('0', Some('='));
            at += 1;
        }
        let number = |at: &mut usize| {
            let begin = *at;
            while chars.get(*at).is_some_and(char::is_ascii_digit) {
                *at += 1;
            }
            let digits: String = chars.get(begin..*at)?.iter().collect();
            digits.parse::<usize>().ok()
        };
        parsed.width = number(&mut at).unwrap_or(0);
        if matches!(chars.get(at), Some(',' | '_')) {
            parsed.comma = true;
            at += 1;
        }
        if chars.get(at) == Some(&'.') {
            at += 1;
            parsed.precision = Some(number(&mut at)?);
        }
        parsed.kind = chars.get(at).copied();
        at += usize::from(parsed.kind.is_some());
        (at == chars.len()).then_some(parsed)
    }

    fn signed(&self, is_negative: bool, digits: String) -> String {
        match (is_negative, self.sign) {
            (true, _) => format!("-{digits}"),
            (false, Some(sign @ ('+' | ' '))) => format!("{sign}{digits}"),
            _ => digits,
        }
    }

    fn int(&self, value: i64) -> String {
        let size = value.unsigned_abs();
        let digits = match (self.kind, self.alternate) {
            (Some('x'), false) => format!("{size:x}"),
            (Some('x'), true) => format!("{size:#x}"),
            (Some('X'), _) => format!("{size:X}"),
            (Some('o'), false) => format!("{size:o}"),
            (Some('o'), true) => format!("{size:#o}"),
            (Some('b'), false) => format!("{size:b}"),
            (Some('b'), true) => format!("{size:#b}"),
            (Some('c'), _) => char::from_u32(size as u32).unwrap_or('?').to_string(),
            _ if self.comma => grouped(&size.to_string()),
            _ => size.to_string(),
        };
        self.signed(value < 0, digits)
    }

    fn float(&self, value: f64) -> String {
        let size = value.abs();
        let precision = self.precision.unwrap_or(6);
        let digits = match self.kind {
            Some('f' | 'F') => format!("{size:.precision$}"),
            Some('%') => format!("{:.precision$}%", size * 100.0),
            Some('e' | 'E') => exponential(size, precision),
            Some('g' | 'G') => general(size, precision),
            _ if self.precision.is_some() => general(size, precision),
            _ => float_text(size),
        };
        let digits = match (self.comma, digits.split_once('.')) {
            (true, Some((whole, part))) => format!("{}.{part}", grouped(whole)),
            (true, None) => grouped(&digits),
            _ => digits,
        };
        self.signed(value.is_sign_negative(), digits)
    }

    fn padded(&self, body: String, is_number: bool) -> String {
        let missing = self.width.saturating_sub(body.chars().count());
        let fill = |count: usize| self.fill.to_string().repeat(count);
        match self.align.unwrap_or(if is_number { '>' } else { '<' }) {
            '<' => format!("{body}{}", fill(missing)),
            '^' => format!("{}{body}{}", fill(missing / 2), fill(missing - missing / 2)),
            '=' => {
                let split = usize::from(body.starts_with(['-', '+', ' ']));
                let (sign, digits) = body.split_at(split);
                format!("{sign}{}{digits}", fill(missing))
            }
            _ => format!("{}{body}", fill(missing)),
        }
    }
}

fn grouped(digits: &str) -> String {
    let mut made = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            made.push(',');
        }
        made.push(digit);
    }
    made
}

fn exponential(value: f64, precision: usize) -> String {
    let text = format!("{value:.precision$e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{mantissa}e{sign}{:02}", exponent.abs())
}

fn general(value: f64, precision: usize) -> String {
    if !value.is_finite() {
        return float_text(value);
    }
    let precision = precision.max(1);
    let scientific = exponential(value, precision - 1);
    let exponent: i32 =
        scientific.rsplit_once('e').and_then(|(_, text)| text.parse().ok()).unwrap_or(0);
    let trimmed = |text: &str| match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text.to_owned(),
    };
    if exponent < -4 || exponent >= precision as i32 {
        let (mantissa, power) = scientific.split_once('e').unwrap_or((&scientific, "+00"));
        return format!("{}e{power}", trimmed(mantissa));
    }
    let digits = (precision as i32 - 1 - exponent).max(0) as usize;
    trimmed(&format!("{value:.digits$}"))
}

/// A float as Python shows it.
pub(super) fn float_text(value: f64) -> String {
    if value.is_nan() {
        return "nan".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "inf" } else { "-inf" }.to_owned();
    }
    let size = value.abs();
    if size != 0.0 && !(1e-4..1e16).contains(&size) {
        let text = format!("{value:e}");
        let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let exponent: i32 = exponent.parse().unwrap_or(0);
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{mantissa}e{sign}{:02}", exponent.abs());
    }
    let text = value.to_string();
    if text.contains('.') { text } else { format!("{text}.0") }
}

/// A string as Python's `repr` shows it.
fn quoted(text: &str) -> String {
    let mut out = String::new();
    sconce_pickle::repr::write_str(&mut out, text);
    out
}
