//! Changes programs word by word, which keeps more of them whole than changing bytes does.

use std::sync::LazyLock;

/// Every operator, as programs call it.
static OPERATORS: LazyLock<Vec<&str>> = LazyLock::new(|| {
    let lines = include_str!("../../crates/sconce-ir/operators/schemas.txt").lines();
    lines
        .filter_map(|line| line.strip_prefix("aten::"))
        .filter(|name| !name.contains('\t'))
        .collect()
});

/// What can stand in the place of a value.
const VALUES: &[&str] = &[
    "0",
    "1",
    "-1",
    "2",
    "3",
    "7",
    "-9223372036854775808",
    "9223372036854775807",
    "0.5",
    "-1.5",
    "1e308",
    "float('nan')",
    "1j",
    "True",
    "False",
    "None",
    "[]",
    "[1, 2]",
    "[[1.0], [2.0]]",
    "{}",
    "{1: 2}",
    "()",
    "(1, 2.5)",
    "''",
    "'mean'",
    "x",
    "self",
    "self.training",
    "torch.float64",
    "torch.int64",
    "torch.ones([2, 3])",
    "torch.zeros([0])",
    "torch.tensor(3)",
    "x[0]",
    "x[1:]",
    "len(x)",
];

/// What can stand in the place of a type.
const TYPES: &[&str] = &[
    "Tensor",
    "int",
    "float",
    "bool",
    "str",
    "complex",
    "number",
    "Any",
    "List[int]",
    "List[Tensor]",
    "Optional[int]",
    "Optional[Tensor]",
    "Dict[str, int]",
    "Tuple[int, int]",
    "Union[int, str]",
    "List[Any]",
];

/// What can stand between two values.
const BETWEEN: &[&str] = &[
    "+", "-", "*", "/", "//", "%", "**", "@", "<", "==", "!=", ">=", "is", "is not", "in", "and",
    "or", "&", "|", "^", "<<", ">>", ",", "=", "+=", ":", ".", "if", "else", "for", "not",
];

/// Changes the program in the first `size` bytes of `data`, leaving the first `head` of them as they
/// mostly are; gives its new size. `None` where it is no text, or too long.
pub fn mutate(data: &mut [u8], size: usize, seed: u32, head: usize) -> Option<usize> {
    let mut dice = Dice(u64::from(seed) << 1 | 1);
    if head > 0 && dice.below(8) == 0 {
        *data.get_mut(1).filter(|_| size > 1)? = b'0' + dice.below(10) as u8;
    }
    let text = str::from_utf8(data.get(head..size)?).ok()?;
    let mut text = text.to_owned();
    for _ in 0..=dice.below(3) {
        text = match dice.below(10) {
            0 | 1 => lines(&text, &mut dice),
            _ => one_word(&text, &mut dice),
        };
    }
    let end = head + text.len();
    data.get_mut(head..end)?.copy_from_slice(text.as_bytes());
    Some(end)
}

fn lines(text: &str, dice: &mut Dice) -> String {
    let mut lines: Vec<&str> = text.split('\n').collect();
    let (at, other) = (dice.below(lines.len()), dice.below(lines.len()));
    match dice.below(4) {
        0 => drop(lines.remove(at)),
        1 => lines.insert(other, lines[at]),
        2 => lines.swap(at, other),
        _ => {
            let line = lines.remove(at);
            lines.insert(other.min(lines.len()), line);
        }
    }
    lines.join("\n")
}

fn one_word(text: &str, dice: &mut Dice) -> String {
    let words = words(text);
    let is_name =
        |word: &str| word.starts_with(|first: char| first.is_alphabetic() || first == '_');
    let solid: Vec<usize> = (0..words.len()).filter(|&at| !words[at].trim().is_empty()).collect();
    if solid.is_empty() {
        return dice.of(VALUES).to_owned();
    }
    let at = solid[dice.below(solid.len())];
    let word = words[at];
    let another = words[solid[dice.below(solid.len())]];
    let calls = words.get(at + 1) == Some(&"(");
    let new = match dice.below(8) {
        0 => String::new(),
        1 => format!("{word} {another}"),
        2 => another.to_owned(),
        3 if word == ")" => format!(", {})", dice.of(VALUES)),
        _ if is_name(word) && calls => dice.of(&OPERATORS).to_owned(),
        _ if TYPES.contains(&word) => dice.of(TYPES).to_owned(),
        _ if is_name(word) || word.starts_with(|first: char| first.is_ascii_digit()) => {
            match dice.below(2) {
                0 => dice.of(VALUES).to_owned(),
                _ => another.to_owned(),
            }
        }
        _ => dice.of(BETWEEN).to_owned(),
    };
    [words[..at].concat(), new, words[at + 1..].concat()].concat()
}

/// Names, numbers, and other characters one by one.
fn words(text: &str) -> Vec<&str> {
    let belongs = |char: char| char.is_alphanumeric() || char == '_';
    let mut out: Vec<&str> = Vec::new();
    let mut start = 0;
    let mut last = None;
    for (at, char) in text.char_indices() {
        if last.is_some_and(|last| !(belongs(last) && belongs(char))) {
            out.push(&text[start..at]);
            start = at;
        }
        last = Some(char);
    }
    out.push(&text[start..]);
    out
}

/// Random numbers of a seed: xorshift.
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) as usize % end.max(1)
    }

    fn of(&mut self, all: &[&'static str]) -> &'static str {
        all[self.below(all.len())]
    }
}
