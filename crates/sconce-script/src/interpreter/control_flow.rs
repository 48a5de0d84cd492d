//! Why running stops: what Python code raises and may catch, and what nothing can.

use sconce_compiler::Error;
use sconce_syntax::SourceRange;

use super::Interpreter;
use super::value::{Cell, Exception, Value};

/// Why an expression has no value.
#[derive(Debug)]
pub(super) enum Stop {
    /// An exception of Python, and where it was raised.
    Raised(Value, Option<SourceRange>),
    /// What is not supported, or too much.
    Refused(Box<Error>),
}

pub(super) type Outcome<T> = Result<T, Stop>;

/// Where statements lead.
#[derive(Debug)]
pub(super) enum Flow {
    Next,
    Break,
    Continue,
    Return(Value),
}

impl Stop {
    /// The same, at a place unless it has one.
    pub(super) fn or_at(self, place: impl FnOnce() -> SourceRange) -> Self {
        match self {
            Self::Raised(value, None) => Self::Raised(value, Some(place())),
            Self::Refused(error) if error.range().is_none() => {
                Self::Refused(Box::new(error.or_at(place())))
            }
            other => other,
        }
    }
}

impl Stop {
    /// The same without its place, for whoever called a library's function to say where.
    pub(super) fn without_place(self) -> Self {
        match self {
            Self::Raised(value, _) => Self::Raised(value, None),
            Self::Refused(error) => {
                Self::Refused(Box::new(Error::without_range(error.message().to_owned())))
            }
        }
    }
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Refused(Box::new(error))
    }
}

/// What is not supported here.
pub(super) fn refuse<T>(message: impl Into<String>) -> Outcome<T> {
    Err(Error::without_range(message).into())
}

impl Interpreter<'_> {
    /// An exception of a built-in class.
    pub(super) fn exception(&mut self, class: &str, message: impl Into<String>) -> Stop {
        let class = Value::library(&format!("builtins.{class}"));
        let args = vec![Value::str(message.into())];
        Stop::Raised(Value::Ref(self.arena.add(Cell::Exception(Exception { class, args }))), None)
    }

    pub(super) fn raise<T>(&mut self, class: &str, message: impl Into<String>) -> Outcome<T> {
        Err(self.exception(class, message))
    }

    pub(super) fn type_error<T>(&mut self, message: impl Into<String>) -> Outcome<T> {
        self.raise("TypeError", message)
    }

    /// What a user is told who wrote no handler.
    pub(super) fn uncaught(&mut self, stop: Stop) -> Error {
        let (value, place) = match stop {
            Stop::Refused(error) => return *error,
            Stop::Raised(value, place) => (value, place),
        };
        let class = self.class_of(&value);
        let name = self.class_name(&class);
        let text = self.text_of_exception(&value);
        let message = if text.is_empty() { name.to_string() } else { format!("{name}: {text}") };
        match place {
            Some(place) => Error::new(message, place),
            None => Error::without_range(message),
        }
    }

    /// `str(exception)`
    pub(super) fn text_of_exception(&mut self, value: &Value) -> String {
        let args = match (self.arena.exception(value), self.arena.instance(value)) {
            (Some(exception), _) => exception.args.clone(),
            (None, Some(instance)) => {
                let args = instance.attributes.get("args");
                let args = args.and_then(|args| self.arena.tuple(args));
                args.map(|tuple| tuple.items.clone()).unwrap_or_default()
            }
            _ => Vec::new(),
        };
        match args.as_slice() {
            [] => String::new(),
            [only] => self.text(only).unwrap_or_default(),
            several => {
                let parts: Vec<String> =
                    several.iter().map(|arg| self.repr(arg).unwrap_or_default()).collect();
                format!("({})", parts.join(", "))
            }
        }
    }
}
