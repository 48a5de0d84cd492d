//! Arguments of entries, as they are written on a command line.

use sconce_checkpoint::Value;

use crate::Error;

/// What an entry is called with.
#[derive(Debug, Clone, Default)]
pub struct Arguments {
    pub(crate) positional: Vec<Value>,
    pub(crate) keywords: Vec<(String, Value)>,
}

impl Arguments {
    /// No arguments.
    pub fn new() -> Self {
        Self::default()
    }

    /// Arguments as Python writes them: `3`, `'small'`, `pretrained=True`, `sizes=[1, 2]`.
    ///
    /// # Errors
    /// When one is no literal, comes behind one by name, or has the name of another.
    pub fn parse<S: AsRef<str>>(texts: impl IntoIterator<Item = S>) -> Result<Self, Error> {
        let mut arguments = Self::new();
        for text in texts {
            let text = text.as_ref();
            match named(text) {
                Some((name, value)) => {
                    let value = literal(value, text)?;
                    if arguments.keywords.iter().any(|(known, _)| known == name) {
                        let message = format!("keyword argument repeated: {name}");
                        return Err(Error::without_range(message));
                    }
                    arguments = arguments.keyword(name, value);
                }
                None if !arguments.keywords.is_empty() => {
                    let message = "positional argument follows keyword argument";
                    return Err(Error::without_range(format!("{message}: {text}")));
                }
                None => arguments = arguments.positional(literal(text, text)?),
            }
        }
        Ok(arguments)
    }

    /// One more argument by place.
    pub fn positional(mut self, value: impl Into<Value>) -> Self {
        self.positional.push(value.into());
        self
    }

    /// One more argument by name.
    pub fn keyword(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.keywords.push((name.into(), value.into()));
        self
    }
}

/// The name and value of `name=value`.
fn named(text: &str) -> Option<(&str, &str)> {
    let (name, value) = text.split_once('=')?;
    let name = name.trim();
    let mut chars = name.chars();
    let begins = chars.next().is_some_and(|c| c.is_alphabetic() || c == '_');
    let is_name = begins && chars.all(|c| c.is_alphanumeric() || c == '_');
    (is_name && !value.starts_with('=')).then_some((name, value))
}

fn literal(value: &str, whole: &str) -> Result<Value, Error> {
    Value::parse(value.trim()).map_err(|_| {
        Error::without_range(format!(
            "the argument {whole} is not a Python literal: write numbers, True, False, None, text in \
             quotes ('small'), lists and dicts of these"
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_literals() {
        let parsed =
            Arguments::parse(["3", "'a=b'", "pretrained=True", "sizes=[1, 2]", "url='x?a=b'"]);
        let parsed = parsed.unwrap();
        assert_eq!(parsed.positional.len(), 2);
        let names: Vec<&str> = parsed.keywords.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["pretrained", "sizes", "url"]);
        for wrong in [&["Flase"][..], &["a=b"], &["a=1", "2"], &["a=1", "a=2"], &["f()"]] {
            assert!(Arguments::parse(wrong).is_err(), "{wrong:?}");
        }
    }
}
