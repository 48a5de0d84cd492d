//! `--set`, `--split` and `--concat`: what stands behind them on the command line.

use sconce::checkpoint::Value;

/// `NAME=VALUE`, the value a Python literal.
pub fn assignment(text: &str) -> Result<(String, Value), String> {
    let (name, value) = text.split_once('=').ok_or("there is no '=': NAME=VALUE")?;
    if name.is_empty() {
        return Err("there is no name before '='".to_owned());
    }
    let parsed = Value::parse(value).map_err(|error| error.message().to_owned())?;
    Ok((name.to_owned(), parsed))
}

/// `NAME=A,B,…@DIM[:SIZE,SIZE,…]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Split {
    /// What is split.
    pub name: String,
    /// Names of the parts.
    pub into: Vec<String>,
    /// The dimension.
    pub dim: i64,
    /// Sizes of the parts; equal ones without.
    pub sizes: Option<Vec<i64>>,
}

impl Split {
    /// Reads what is on the command line.
    pub fn parse(text: &str) -> Result<Split, String> {
        let (name, rest) = sides(text)?;
        let (parts, place) = rest.rsplit_once('@').ok_or("there is no '@DIM'")?;
        let (dim, sizes) = match place.split_once(':') {
            Some((dim, sizes)) => (dim, Some(sizes)),
            None => (place, None),
        };
        let sizes = sizes.map(|sizes| sizes.split(',').map(number).collect()).transpose()?;
        let (name, into) = (name.to_owned(), names(parts)?);
        Ok(Split { name, into, dim: number(dim)?, sizes })
    }
}

/// `A,B,…=NAME@DIM`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Concat {
    /// What is joined.
    pub from: Vec<String>,
    /// The name of what it becomes.
    pub into: String,
    /// The dimension.
    pub dim: i64,
}

impl Concat {
    /// Reads what is on the command line.
    pub fn parse(text: &str) -> Result<Concat, String> {
        let (parts, rest) = sides(text)?;
        let (into, dim) = rest.rsplit_once('@').ok_or("there is no '@DIM'")?;
        if into.is_empty() {
            return Err("there is no name before '@'".to_owned());
        }
        Ok(Concat { from: names(parts)?, into: into.to_owned(), dim: number(dim)? })
    }
}

fn sides(text: &str) -> Result<(&str, &str), String> {
    let sides = text.split_once('=').filter(|(left, _)| !left.is_empty());
    sides.ok_or_else(|| "there is no name before '='".to_owned())
}

fn names(text: &str) -> Result<Vec<String>, String> {
    let names: Vec<String> = text.split(',').map(|name| name.trim().to_owned()).collect();
    if names.len() < 2 || names.iter().any(String::is_empty) {
        return Err("two or more names with commas between them are wanted".to_owned());
    }
    Ok(names)
}

fn number(text: &str) -> Result<i64, String> {
    text.trim().parse().map_err(|_| format!("'{text}' is not an integer"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_read() {
        let split = Split::parse("m.qkv=m.q, m.k,m.v@-1:8,4,4").unwrap();
        assert_eq!((split.name.as_str(), split.dim), ("m.qkv", -1));
        assert_eq!(split.into, ["m.q", "m.k", "m.v"]);
        assert_eq!(split.sizes, Some(vec![8, 4, 4]));
        assert_eq!(Split::parse("x=a,b@0").unwrap().sizes, None);
        let concat = Concat::parse("a,b=c@1").unwrap();
        assert_eq!((concat.into.as_str(), concat.dim), ("c", 1));
        assert_eq!(concat.from, ["a", "b"]);
        for text in
            ["", "x", "x=a,b", "=a,b@0", "x=a@0", "x=a,@0", "x=a,b@z", "x=a,b@0:", "x=a,b@0:1,z"]
        {
            assert!(Split::parse(text).is_err(), "{text}");
        }
        for text in ["", "a,b", "a,b=c", "a=c@0", "a,b=@0", "a,b=c@", "=c@0"] {
            assert!(Concat::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn assignments_are_read() {
        let (name, value) = assignment("config.url='a=b'").unwrap();
        assert_eq!(name, "config.url");
        assert!(matches!(value, Value::Str(text) if text == "a=b"));
        for text in ["x", "=1", "x=", "x=hello"] {
            assert!(assignment(text).is_err(), "{text}");
        }
    }
}
