//! `bytecode.pkl`: the program of PyTorch's lite interpreter.
//!
//! Archives for phones hold it beside their code (versions 4 to 8, and 9 in flatbuffers). It is shown, and where there is
//! no code, made graphs of: jumps become branches and loops again, registers and the stack values.

mod facts;
mod listing;
mod operators;
mod program;
mod translation;

use sconce_archive::Archive;
use sconce_checkpoint::{ErrorKind, pickle_limits};
use sconce_pickle::{Arena, Node, Value};

use crate::Error;
pub(crate) use program::load;

/// The record.
const RECORD: &str = "bytecode.pkl";

/// The versions that are read.
const VERSIONS: std::ops::RangeInclusive<i64> = 4..=9;

/// The lite interpreter's program.
#[derive(Debug, Clone)]
pub struct Bytecode {
    /// The version of the format.
    pub version: i64,
    /// The methods.
    pub functions: Vec<BytecodeFunction>,
}

/// One method of a [`Bytecode`].
#[derive(Debug, Clone, Default)]
pub struct BytecodeFunction {
    /// The qualified name.
    pub name: String,
    /// The names and types of what it takes; empty in versions before 4.
    pub arguments: Vec<(String, String)>,
    /// The types of what it gives.
    pub returns: Vec<String>,
    /// Its instructions.
    pub instructions: Vec<Instruction>,
    /// The operators that `OP` names by index: `aten::add.Tensor`, and how many arguments calls
    /// give, if stated.
    pub operators: Vec<(String, Option<i64>)>,
    /// The constants that `LOADC` names by index, as text.
    pub constants: Vec<String>,
    /// The types that some instructions name by index.
    pub types: Vec<String>,
    /// How many registers it needs.
    pub registers: i64,
}

/// An instruction: its name and two numbers, whose meaning depends on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Instruction {
    /// The name, such as `STOREN`.
    pub op: String,
    /// The first number.
    pub x: i64,
    /// The second number.
    pub n: i64,
}

impl Bytecode {
    /// A program without methods.
    fn empty() -> Self {
        Bytecode { version: *VERSIONS.end(), functions: Vec::new() }
    }

    /// Reads the bytecode of an archive; `None` when it has none.
    ///
    /// # Errors
    /// When it is of a version that is not read, or does not have the form it must have.
    pub fn read(archive: &Archive) -> Result<Option<Bytecode>, Error> {
        if !archive.contains(RECORD) {
            return Ok(None);
        }
        let (bytes, stored) = archive.read_to_parse(RECORD)?;
        let limits = pickle_limits(archive.directory().limits(), stored);
        let parsed = (|| {
            let loaded = sconce_pickle::load(&bytes, &limits)?;
            parse(&loaded.arena, loaded.root)
        })();
        parsed.map(Some).map_err(|error: Error| error.in_record(RECORD))
    }
}

/// The values of a function, in the pickle.
#[derive(Default)]
struct Held {
    constants: Vec<Value>,
    /// The defaults of its arguments; `None` stands for none as well.
    defaults: Vec<Value>,
}

fn parse(arena: &Arena<'_>, root: Value) -> Result<Bytecode, Error> {
    parse_with_values(arena, root).map(|(bytecode, _)| bytecode)
}

/// The program, and what each of its functions holds.
fn parse_with_values(arena: &Arena<'_>, root: Value) -> Result<(Bytecode, Vec<Held>), Error> {
    let [version, functions @ ..] = tuple(arena, root)? else {
        return Err(Error::malformed("an empty program"));
    };
    let version = int(arena, *version)?;
    if !VERSIONS.contains(&version) {
        let message = format!("bytecode of version {version} is not read, only 4 to 9");
        return Err(Error::new(ErrorKind::Unsupported, message));
    }
    let functions: Result<Vec<_>, Error> =
        functions.iter().map(|&function| parse_function(arena, function)).collect();
    let (functions, values) = functions?.into_iter().unzip();
    Ok((Bytecode { version, functions }, values))
}

fn parse_function(arena: &Arena<'_>, value: Value) -> Result<(BytecodeFunction, Held), Error> {
    let [name, code, rest @ ..] = tuple(arena, value)? else {
        return Err(Error::malformed("a function without name or code"));
    };
    let mut function = BytecodeFunction { name: text(arena, *name)?, ..Default::default() };
    let mut held = Held::default();
    for (key, value) in table(arena, *code)? {
        match key {
            "instructions" => {
                for &instruction in tuple(arena, value)? {
                    let [op, x, n] = tuple(arena, instruction)? else {
                        return Err(Error::malformed("an instruction has three parts"));
                    };
                    let (x, n) = (int(arena, *x)?, int(arena, *n)?);
                    function.instructions.push(Instruction { op: text(arena, *op)?, x, n });
                }
            }
            "operators" => {
                for &operator in tuple(arena, value)? {
                    function.operators.push(parse_operator(arena, operator)?);
                }
            }
            "constants" => {
                held.constants = tuple(arena, value)?.to_vec();
                function.constants =
                    held.constants.iter().map(|&value| shown(arena, value)).collect();
            }
            "types" => {
                let types = tuple(arena, value)?;
                function.types =
                    types.iter().map(|&ty| text(arena, ty)).collect::<Result<_, _>>()?;
            }
            "register_size" => function.registers = int(arena, value)?,
            _ => {}
        }
    }
    if let [schema, ..] = rest {
        parse_schema(arena, *schema, &mut function, &mut held)?;
    }
    Ok((function, held))
}

fn parse_operator(arena: &Arena<'_>, value: Value) -> Result<(String, Option<i64>), Error> {
    let [name, overload, rest @ ..] = tuple(arena, value)? else {
        return Err(Error::malformed("an operator has a name and an overload"));
    };
    let (mut name, overload) = (text(arena, *name)?, text(arena, *overload)?);
    if !overload.is_empty() {
        name = format!("{name}.{overload}");
    }
    let count = rest.first().map(|&count| int(arena, count)).transpose()?;
    Ok((name, count))
}

fn parse_schema(
    arena: &Arena<'_>,
    value: Value,
    function: &mut BytecodeFunction,
    held: &mut Held,
) -> Result<(), Error> {
    for (key, value) in table(arena, value)? {
        for &argument in tuple(arena, value)? {
            let (mut name, mut ty, mut default) = (String::new(), String::new(), None);
            for (field, value) in table(arena, argument)? {
                match field {
                    "name" => name = text(arena, value)?,
                    "type" => ty = text(arena, value)?,
                    "default_value" => default = Some(value),
                    _ => {}
                }
            }
            match key {
                "arguments" => {
                    let default =
                        default.ok_or_else(|| Error::malformed("an argument has no default"))?;
                    function.arguments.push((name, ty));
                    held.defaults.push(default);
                }
                _ => function.returns.push(ty),
            }
        }
    }
    Ok(())
}

/// A tuple of pairs with texts for keys.
fn table<'a>(arena: &'a Arena<'_>, value: Value) -> Result<Vec<(&'a str, Value)>, Error> {
    let rows = tuple(arena, value)?.iter();
    rows.map(|&row| match tuple(arena, row)? {
        [key, value] => {
            let key = arena.str(*key).ok_or_else(|| Error::malformed("a key is no text"))?;
            Ok((key, *value))
        }
        _ => Err(Error::malformed("a table's row is no pair")),
    })
    .collect()
}

fn tuple<'a>(arena: &'a Arena<'_>, value: Value) -> Result<&'a [Value], Error> {
    arena.tuple(value).ok_or_else(|| Error::malformed("expected a tuple"))
}

fn text(arena: &Arena<'_>, value: Value) -> Result<String, Error> {
    let text = arena.str(value).map(str::to_owned);
    text.ok_or_else(|| Error::malformed("expected a text"))
}

fn int(arena: &Arena<'_>, value: Value) -> Result<i64, Error> {
    match arena.node(value) {
        Node::Int(value) => Ok(*value),
        _ => Err(Error::malformed("expected a number")),
    }
}

fn shown(arena: &Arena<'_>, value: Value) -> String {
    const LONGEST: usize = 200;
    sconce_pickle::render(arena, value, LONGEST)
}
