//! Conditions on a program's inputs (`guards_code`).
//!
//! PyTorch pastes this text into a function and runs it as Python. Here it has a parser of its own, which takes
//! comparisons of numbers and of the inputs' sizes, and nothing else.

use crate::{Error, ErrorKind};

/// Deepest nesting of a condition.
pub const MAX_DEPTH: usize = 100;

/// Longest text of a condition, in bytes.
pub const MAX_LENGTH: usize = 1 << 16;

/// A condition, or a part of one.
#[derive(Debug, Clone, PartialEq)]
pub enum Guard {
    /// An integer.
    Int(i64),
    /// A float.
    Float(f64),
    /// A text.
    Text(String),
    /// True or false.
    Bool(bool),
    /// Python's `None`.
    None,
    /// An input by the name of its parameter, and the way to what is meant in it: `L['d']['k'][0]`.
    Input(String, Vec<Step>),
    /// `X.size()`, `X.stride()` or `X.storage_offset()`, and which item of it.
    Method(Box<Guard>, Method, Option<i64>),
    /// An operation on one operand.
    Unary(Unary, Box<Guard>),
    /// An operation on two operands.
    Binary(Binary, Box<Guard>, Box<Guard>),
    /// A chain of comparisons: `2 <= x < 5`.
    Compare(Box<Guard>, Vec<(Comparison, Guard)>),
    /// All of these.
    And(Vec<Guard>),
    /// Any of these.
    Or(Vec<Guard>),
    /// A function by its name, such as `min`, `math.floor` or `torch.sym_max`.
    Call(&'static str, Vec<Guard>),
}

/// A way into an input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// `['key']`
    Key(String),
    /// `[3]`
    Index(i64),
    /// `.name`
    Attribute(String),
}

/// What a tensor is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// Its sizes.
    Size,
    /// Its strides.
    Stride,
    /// Where it begins in its storage.
    StorageOffset,
}

/// An operation on one operand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unary {
    /// `-x`
    Minus,
    /// `+x`
    Plus,
    /// `not x`
    Not,
}

/// An operation on two operands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Binary {
    /// `a + b`
    Add,
    /// `a - b`
    Subtract,
    /// `a * b`
    Multiply,
    /// `a / b`
    Divide,
    /// `a // b`
    FloorDivide,
    /// `a % b`
    Modulo,
    /// `a ** b`
    Power,
    /// `a << b`
    ShiftLeft,
    /// `a >> b`
    ShiftRight,
}

/// A comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    /// `==`
    Equal,
    /// `!=`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    LessEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterEqual,
}

/// Functions that a condition may call.
static FUNCTIONS: [&str; 22] = [
    "abs",
    "float",
    "int",
    "math.ceil",
    "math.floor",
    "math.pow",
    "math.sqrt",
    "math.trunc",
    "max",
    "min",
    "round",
    "torch._sym_sqrt",
    "torch.sym_float",
    "torch.sym_fresh_size",
    "torch.sym_int",
    "torch.sym_ite",
    "torch.sym_max",
    "torch.sym_min",
    "torch.sym_not",
    "torch.sym_sqrt",
    "torch.sym_sum",
    "torch._check_is_size",
];

/// Operators of two operands, the loosest first; of each level those with longer signs first.
static LEVELS: [&[(&str, Binary)]; 3] = [
    &[("<<", Binary::ShiftLeft), (">>", Binary::ShiftRight)],
    &[("+", Binary::Add), ("-", Binary::Subtract)],
    &[
        ("//", Binary::FloorDivide),
        ("*", Binary::Multiply),
        ("/", Binary::Divide),
        ("%", Binary::Modulo),
    ],
];

static COMPARISONS: [(&str, Comparison); 6] = [
    ("==", Comparison::Equal),
    ("!=", Comparison::NotEqual),
    ("<=", Comparison::LessEqual),
    (">=", Comparison::GreaterEqual),
    ("<", Comparison::Less),
    (">", Comparison::Greater),
];

/// Reads a condition.
///
/// # Errors
/// When it has anything that conditions on inputs do not have: PyTorch would run it. When
/// it is longer than [`MAX_LENGTH`] or deeper than [`MAX_DEPTH`].
pub fn parse(text: &str) -> Result<Guard, Error> {
    if text.len() > MAX_LENGTH {
        let message = format!("the guard has {} bytes, more than {MAX_LENGTH}", text.len());
        return Err(Error::new(ErrorKind::Limit, message));
    }
    let mut parser = Parser { text, at: 0, depth: 0 };
    let guard = parser.any()?;
    parser.space();
    match parser.at == text.len() {
        true => Ok(guard),
        false => Err(parser.error("something follows the condition")),
    }
}

struct Parser<'t> {
    text: &'t str,
    at: usize,
    depth: usize,
}

impl<'t> Parser<'t> {
    fn error(&self, message: impl Into<String>) -> Error {
        let shown: String = self.text.chars().take(200).collect();
        let (shown, message, at) = (shown.escape_debug(), message.into(), self.at);
        Error::malformed(format!("'{shown}' is no guard: {message}, at its byte {at}"))
    }

    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    fn space(&mut self) {
        self.at += self.rest().len() - self.rest().trim_start_matches(' ').len();
    }

    fn eat(&mut self, sign: &str) -> bool {
        self.space();
        let found = self.rest().starts_with(sign);
        if found {
            self.at += sign.len();
        }
        found
    }

    fn expect(&mut self, sign: &str) -> Result<(), Error> {
        match self.eat(sign) {
            true => Ok(()),
            false => Err(self.error(format!("'{sign}' is expected"))),
        }
    }

    fn run(&mut self, keep: impl Fn(u8) -> bool) -> &'t str {
        let rest = self.rest();
        let end = rest.bytes().position(|byte| !keep(byte)).unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    fn word(&mut self) -> &'t str {
        self.run(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    }

    /// A word such as `and`, whole.
    fn eat_word(&mut self, word: &str) -> bool {
        self.space();
        let start = self.at;
        let found = self.word() == word;
        if !found {
            self.at = start;
        }
        found
    }

    /// Runs a part of the grammar one level deeper.
    fn deeper<T>(&mut self, part: impl FnOnce(&mut Self) -> Result<T, Error>) -> Result<T, Error> {
        if self.depth >= MAX_DEPTH {
            let message = format!("a guard is nested deeper than {MAX_DEPTH} levels");
            return Err(Error::new(ErrorKind::Limit, message));
        }
        self.depth += 1;
        let done = part(self);
        self.depth -= 1;
        done
    }

    fn any(&mut self) -> Result<Guard, Error> {
        self.deeper(|parser| {
            let mut parts = vec![parser.all()?];
            while parser.eat_word("or") {
                parts.push(parser.all()?);
            }
            Ok(single_or(parts, Guard::Or))
        })
    }

    fn all(&mut self) -> Result<Guard, Error> {
        let mut parts = vec![self.not()?];
        while self.eat_word("and") {
            parts.push(self.not()?);
        }
        Ok(single_or(parts, Guard::And))
    }

    fn not(&mut self) -> Result<Guard, Error> {
        if self.eat_word("not") {
            let operand = self.deeper(Parser::not)?;
            return Ok(Guard::Unary(Unary::Not, Box::new(operand)));
        }
        let first = self.binary(0)?;
        let mut others = Vec::new();
        'chain: loop {
            for (sign, comparison) in COMPARISONS {
                self.space();
                let shift = self.rest().starts_with("<<") || self.rest().starts_with(">>");
                if !shift && self.eat(sign) {
                    others.push((comparison, self.binary(0)?));
                    continue 'chain;
                }
            }
            break;
        }
        Ok(if others.is_empty() { first } else { Guard::Compare(Box::new(first), others) })
    }

    fn binary(&mut self, level: usize) -> Result<Guard, Error> {
        let Some(operators) = LEVELS.get(level) else { return self.unary() };
        let mut left = self.binary(level + 1)?;
        // A chain leans to the left, so each operator is one level more.
        let mut links = 0;
        'chain: loop {
            self.space();
            for (sign, operator) in *operators {
                let power = *sign == "*" && self.rest().starts_with("**");
                if !power && self.eat(sign) {
                    links += 1;
                    if self.depth + links > MAX_DEPTH {
                        let message = format!("a guard is nested deeper than {MAX_DEPTH} levels");
                        return Err(Error::new(ErrorKind::Limit, message));
                    }
                    let right = self.binary(level + 1)?;
                    left = Guard::Binary(*operator, Box::new(left), Box::new(right));
                    continue 'chain;
                }
            }
            return Ok(left);
        }
    }

    fn unary(&mut self) -> Result<Guard, Error> {
        for (sign, operator) in [("-", Unary::Minus), ("+", Unary::Plus)] {
            if self.eat(sign) {
                let operand = self.deeper(Parser::unary)?;
                return Ok(Guard::Unary(operator, Box::new(operand)));
            }
        }
        let base = self.primary()?;
        if self.eat("**") {
            let exponent = self.deeper(Parser::unary)?;
            return Ok(Guard::Binary(Binary::Power, Box::new(base), Box::new(exponent)));
        }
        Ok(base)
    }

    fn primary(&mut self) -> Result<Guard, Error> {
        self.space();
        let start = self.at;
        match self.rest().as_bytes().first() {
            Some(b'(') => {
                self.at += 1;
                let inner = self.any()?;
                self.expect(")")?;
                Ok(inner)
            }
            Some(b'0'..=b'9' | b'.') => self.number(),
            Some(b'\'' | b'"') => Ok(Guard::Text(self.quoted()?)),
            Some(byte) if byte.is_ascii_alphabetic() || *byte == b'_' => {
                let name =
                    self.run(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'.');
                match name {
                    "L" => self.input(),
                    "True" => Ok(Guard::Bool(true)),
                    "False" => Ok(Guard::Bool(false)),
                    "None" => Ok(Guard::None),
                    name => {
                        let Some(function) = FUNCTIONS.iter().find(|&&known| known == name) else {
                            self.at = start;
                            let shown: String = name.chars().take(60).collect();
                            return Err(self.error(format!("{shown} is not a function of guards")));
                        };
                        self.expect("(")?;
                        Ok(Guard::Call(function, self.arguments()?))
                    }
                }
            }
            _ => Err(self.error("a number, an input or a function is expected")),
        }
    }

    fn arguments(&mut self) -> Result<Vec<Guard>, Error> {
        let mut arguments = Vec::new();
        if self.eat(")") {
            return Ok(arguments);
        }
        loop {
            arguments.push(self.any()?);
            if self.eat(")") {
                return Ok(arguments);
            }
            self.expect(",")?;
        }
    }

    fn number(&mut self) -> Result<Guard, Error> {
        let start = self.at;
        self.run(|byte| byte.is_ascii_digit() || byte == b'.');
        if self.rest().starts_with(['e', 'E']) {
            self.at += 1;
            if self.rest().starts_with(['+', '-']) {
                self.at += 1;
            }
            self.run(|byte| byte.is_ascii_digit());
        }
        let text = &self.text[start..self.at];
        let whole = text.bytes().all(|byte| byte.is_ascii_digit());
        let number = match whole {
            true => text.parse().ok().map(Guard::Int),
            false => text.parse().ok().map(Guard::Float),
        };
        number.ok_or_else(|| self.error(format!("{text} is not a number of 64 bits")))
    }

    fn quoted(&mut self) -> Result<String, Error> {
        let quote = self.rest().as_bytes()[0];
        self.at += 1;
        let text = self.run(|byte| byte != quote && byte != b'\\' && byte != b'\n');
        match self.rest().as_bytes().first() {
            Some(&byte) if byte == quote => {
                self.at += 1;
                Ok(text.to_owned())
            }
            _ => Err(self.error("the text does not end, or has escapes")),
        }
    }

    /// What follows `L`.
    fn input(&mut self) -> Result<Guard, Error> {
        self.expect("[")?;
        self.space();
        if !self.rest().starts_with(['\'', '"']) {
            return Err(self.error("an input's name is expected"));
        }
        let name = self.quoted()?;
        self.expect("]")?;
        let mut steps = Vec::new();
        loop {
            if self.rest().starts_with('[') {
                self.at += 1;
                self.space();
                steps.push(match self.rest().starts_with(['\'', '"']) {
                    true => Step::Key(self.quoted()?),
                    false => Step::Index(self.index()?),
                });
                self.expect("]")?;
                continue;
            }
            if !self.rest().starts_with('.') {
                return Ok(Guard::Input(name, steps));
            }
            self.at += 1;
            let word = self.word();
            if self.rest().starts_with('(') {
                return self.method(word, Guard::Input(name, steps));
            }
            // Names with two underscores lead to Python's insides.
            if word.is_empty() || word.starts_with("__") {
                return Err(self.error("an attribute's name is expected"));
            }
            steps.push(Step::Attribute(word.to_owned()));
        }
    }

    fn method(&mut self, name: &str, of: Guard) -> Result<Guard, Error> {
        let method = match name {
            "size" => Method::Size,
            "stride" => Method::Stride,
            "storage_offset" => Method::StorageOffset,
            _ => return Err(self.error(format!("{name} is not a method of guards"))),
        };
        self.expect("(")?;
        // `x.size(0)` is `x.size()[0]`.
        let mut item = None;
        self.space();
        if method != Method::StorageOffset && !self.rest().starts_with(')') {
            item = Some(self.index()?);
        }
        self.expect(")")?;
        if method != Method::StorageOffset && item.is_none() && self.rest().starts_with('[') {
            self.at += 1;
            item = Some(self.index()?);
            self.expect("]")?;
        }
        Ok(Guard::Method(Box::new(of), method, item))
    }

    fn index(&mut self) -> Result<i64, Error> {
        let negative = self.eat("-");
        self.space();
        let digits = self.run(|byte| byte.is_ascii_digit());
        let index: i64 = digits.parse().map_err(|_| self.error("an index is expected"))?;
        Ok(if negative { -index } else { index })
    }
}

fn single_or(mut parts: Vec<Guard>, many: impl FnOnce(Vec<Guard>) -> Guard) -> Guard {
    match parts.len() {
        1 => parts.swap_remove(0),
        _ => many(parts),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_torch_export_writes_is_read() {
        for text in [
            "L['x'].size()[0] == (1 + L['y'].size()[0])",
            "(L['x'].size()[0] % 2) == 0",
            "2*L['x'].size()[0] > 3 + L['y'].size()[0]",
            "((torch.sym_max(L['d']['k'][0].size()[1], L['x'].size()[0]) // 2) % 3) == 1",
            "not L['x'].stride()[1] < 2 and L['y'].storage_offset() == 0 or False",
            "2 <= L['args'][-1].first.size(0) ** 2 << 1 <= 1e3",
            "L['mode'] == 'up'",
            "L['flag'] == None",
        ] {
            assert!(parse(text).is_ok(), "{text}: {:?}", parse(text));
        }
    }

    #[test]
    fn operators_bind_as_in_python() {
        let int = |value| Box::new(Guard::Int(value));
        let product = Guard::Binary(Binary::Multiply, int(2), int(3));
        let sum = Guard::Binary(Binary::Add, int(1), Box::new(product));
        let power = Guard::Binary(Binary::Power, int(2), int(2));
        let minus = Guard::Unary(Unary::Minus, Box::new(power));
        let want = Guard::Compare(Box::new(sum), vec![(Comparison::Greater, minus)]);
        assert_eq!(parse("1 + 2 * 3 > -2 ** 2").unwrap(), want);
    }

    #[test]
    fn what_runs_in_python_is_no_guard() {
        for text in [
            "__import__('os').system('id')",
            "exec('1')",
            "L['x'].__class__ == 1",
            "L['x'].size().__len__()",
            "L['x'].tolist() == 1",
            "(lambda: 1)()",
            "[1]",
            "L['x']\nimport os",
            "L['x'] if True else 1",
            "L[f('x')]",
            "torch.load('x')",
            "min",
            "'a' 'b'",
            "'\\x41'",
            "1 = 1",
            "x := 1",
            "",
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn depth_and_length_have_limits() {
        for (open, close) in [("(", ")"), ("not ", ""), ("-", ""), ("2**", ""), ("min(", ")")] {
            for levels in [200, 10_000] {
                let text = format!("{}1{}", open.repeat(levels), close.repeat(levels));
                assert_eq!(parse(&text).unwrap_err().kind(), ErrorKind::Limit, "{open}");
            }
        }
        let chain = vec!["1"; 1000].join(" + ");
        assert_eq!(parse(&chain).unwrap_err().kind(), ErrorKind::Limit);
        assert_eq!(parse(&"1".repeat(100_000)).unwrap_err().kind(), ErrorKind::Limit);
    }
}
