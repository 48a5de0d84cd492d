//! Patterns over names.

use crate::error::Failure;

/// Most patterns that braces may expand to.
const MAX_ALTERNATIVES: usize = 1024;

/// A glob: `*` any run of characters (dots and slashes too), `?` one character, `[a-z]` and
/// `[!a-z]` one of a set, `{a,b}` alternatives, `\` takes the next character as it is.
#[derive(Debug, Clone)]
pub struct Glob {
    alternatives: Vec<Vec<Token>>,
}

#[derive(Debug, Clone, PartialEq)]
enum Token {
    Char(char),
    Any,
    Run,
    Set { negated: bool, ranges: Vec<(char, char)> },
}

impl Token {
    fn matches(&self, c: char) -> bool {
        match self {
            Token::Char(own) => *own == c,
            Token::Any => true,
            Token::Run => false,
            Token::Set { negated, ranges } => {
                ranges.iter().any(|&(from, to)| from <= c && c <= to) != *negated
            }
        }
    }
}

impl Glob {
    /// Whether a text has a character that means something in a pattern.
    pub fn is_pattern(text: &str) -> bool {
        text.contains(['*', '?', '[', '{'])
    }

    /// Reads a pattern.
    pub fn new(pattern: &str) -> Result<Glob, Failure> {
        let wrong = |why| Failure::usage(format!("pattern '{pattern}': {why}"));
        let alternatives = expand_braces(pattern).map_err(wrong)?;
        let alternatives = alternatives.iter().map(|text| tokens(text)).collect::<Result<_, _>>();
        Ok(Glob { alternatives: alternatives.map_err(wrong)? })
    }

    /// Whether the whole text matches.
    pub fn matches(&self, text: &str) -> bool {
        let chars: Vec<char> = text.chars().collect();
        self.alternatives.iter().any(|tokens| matches(tokens, &chars))
    }
}

/// `--include` and `--exclude`.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    include: Vec<Glob>,
    exclude: Vec<Glob>,
}

impl Filter {
    /// Everything that some `include` matches (all, without any) and no `exclude` does.
    pub fn new(include: &[String], exclude: &[String]) -> Result<Filter, Failure> {
        let read = |patterns: &[String]| -> Result<Vec<Glob>, Failure> {
            patterns.iter().map(|text| Glob::new(text)).collect()
        };
        Ok(Filter { include: read(include)?, exclude: read(exclude)? })
    }

    /// Whether a name passes.
    pub fn accepts(&self, name: &str) -> bool {
        let included =
            self.include.is_empty() || self.include.iter().any(|glob| glob.matches(name));
        included && !self.exclude.iter().any(|glob| glob.matches(name))
    }
}

/// Greedy with one point to return to: linear in practice, never exponential.
fn matches(tokens: &[Token], text: &[char]) -> bool {
    let (mut token, mut at) = (0, 0);
    let mut retry: Option<(usize, usize)> = None;
    while at < text.len() {
        match tokens.get(token) {
            Some(Token::Run) => {
                retry = Some((token, at));
                token += 1;
            }
            Some(one) if one.matches(text[at]) => {
                token += 1;
                at += 1;
            }
            _ => {
                let Some((run, from)) = retry else { return false };
                retry = Some((run, from + 1));
                token = run + 1;
                at = from + 1;
            }
        }
    }
    tokens[token..].iter().all(|token| *token == Token::Run)
}

fn tokens(pattern: &str) -> Result<Vec<Token>, &'static str> {
    let mut out = Vec::new();
    let mut chars = pattern.chars().peekable();
    while let Some(c) = chars.next() {
        out.push(match c {
            '*' => {
                if out.last() == Some(&Token::Run) {
                    continue;
                }
                Token::Run
            }
            '?' => Token::Any,
            '\\' => Token::Char(chars.next().ok_or("ends in a backslash")?),
            '[' => {
                let negated = chars.next_if(|c| matches!(c, '!' | '^')).is_some();
                let mut ranges = Vec::new();
                loop {
                    let from = chars.next().ok_or("'[' without ']'")?;
                    if from == ']' && !ranges.is_empty() {
                        break;
                    }
                    let mut to = from;
                    if chars.next_if_eq(&'-').is_some() {
                        match chars.next().ok_or("'[' without ']'")? {
                            ']' => {
                                ranges.extend([(from, from), ('-', '-')]);
                                break;
                            }
                            end => to = end,
                        }
                    }
                    ranges.push((from, to));
                }
                Token::Set { negated, ranges }
            }
            c => Token::Char(c),
        });
    }
    Ok(out)
}

/// Every way to choose from the braces of a pattern; braces inside braces are chosen from in turn.
fn expand_braces(pattern: &str) -> Result<Vec<String>, &'static str> {
    let mut done = Vec::new();
    let mut open = vec![pattern.to_owned()];
    while let Some(text) = open.pop() {
        let Some(start) = find_unescaped(&text, '{') else {
            done.push(text);
            continue;
        };
        let mut depth = 0;
        let mut cuts = vec![start];
        let mut end = None;
        let mut escaped = false;
        for (at, c) in text[start..].char_indices().map(|(at, c)| (at + start, c)) {
            match c {
                _ if std::mem::take(&mut escaped) => {}
                '\\' => escaped = true,
                '{' => depth += 1,
                ',' if depth == 1 => cuts.push(at),
                '}' => {
                    depth -= 1;
                    if depth == 0 {
                        end = Some(at);
                        break;
                    }
                }
                _ => {}
            }
        }
        let end = end.ok_or("'{' without '}'")?;
        cuts.push(end);
        for pair in cuts.windows(2) {
            open.push(format!(
                "{}{}{}",
                &text[..start],
                &text[pair[0] + 1..pair[1]],
                &text[end + 1..]
            ));
        }
        if open.len() + done.len() > MAX_ALTERNATIVES {
            return Err("too many alternatives");
        }
    }
    Ok(done)
}

fn find_unescaped(text: &str, wanted: char) -> Option<usize> {
    let mut escaped = false;
    text.char_indices().find_map(|(at, c)| {
        if std::mem::take(&mut escaped) {
            return None;
        }
        escaped = c == '\\';
        (c == wanted).then_some(at)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        let cases = [
            ("conv1.weight", "conv1.weight", true),
            ("*.weight", "layers.0.weight", true),
            ("**.weight", "layers.0.weight", true),
            ("*.weight", "layers.0.bias", false),
            ("layers.?.*", "layers.3.bias", true),
            ("layers.?.*", "layers.13.bias", false),
            ("layers.[0-4].*", "layers.3.bias", true),
            ("layers.[!0-4].*", "layers.3.bias", false),
            ("[]x]", "]", true),
            ("[a-]", "-", true),
            ("*.{weight,bias}", "a.bias", true),
            ("{a,b{c,d}}", "bd", true),
            ("{a,b{c,d}}", "b", false),
            ("\\*", "*", true),
            ("\\*", "x", false),
            ("\\{a,b\\}", "{a,b}", true),
            ("*", "", true),
            ("", "", true),
            ("", "x", false),
            ("a*a*a*a*a*a*b", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", false),
        ];
        for (pattern, text, want) in cases {
            assert_eq!(Glob::new(pattern).unwrap().matches(text), want, "{pattern} {text}");
        }
    }

    #[test]
    fn broken_patterns_are_usage_errors() {
        for pattern in ["[a", "{a,b", "a\\", &"{a,b}".repeat(20)] {
            assert_eq!(Glob::new(pattern).unwrap_err().code(), 3, "{pattern}");
        }
    }

    #[test]
    fn filters() {
        let filter = Filter::new(&["a*".into(), "b*".into()], &["*c".into()]).unwrap();
        assert!(filter.accepts("ax") && filter.accepts("b"));
        assert!(!filter.accepts("ac") && !filter.accepts("x"));
        assert!(Filter::default().accepts("anything"));
    }
}
