//! What `sys` and `os` say of the process: a plain one, without arguments and variables.

use super::super::arguments::LibraryArguments;
use super::super::control_flow::{Outcome, refuse};
use super::super::value::{Dict, Value};
use super::Interpreter;

/// Objects that are made once and may be changed.
const OBJECTS: &[&str] = &["sys.path", "sys.modules", "sys.argv", "sys.version_info", "os.environ"];

/// The Python that files find here, and its parts as `sys.version_info` names them.
const VERSION: &str = "3.12.0";
const VERSION_PARTS: &str = "major minor micro releaselevel serial";

impl Interpreter<'_> {
    /// A value of `sys` or `os`, if it is one that is known here.
    pub(in super::super) fn machine_value(&mut self, name: &str) -> Outcome<Option<Value>> {
        if self.execution.is_none() {
            return Ok(None);
        }
        if let Some(known) = OBJECTS.iter().find(|known| **known == name) {
            return self.machine(known).map(Some);
        }
        Ok(Some(match name {
            "os.sep" | "os.path.sep" => Value::str("/"),
            "os.pathsep" => Value::str(":"),
            "os.linesep" => Value::str("\n"),
            "os.curdir" => Value::str("."),
            "os.pardir" => Value::str(".."),
            "os.name" => Value::str("posix"),
            "sys.platform" => Value::str("linux"),
            "sys.version" => Value::str(format!("{VERSION} (main)")),
            "sys.byteorder" => Value::str("little"),
            "sys.maxsize" => Value::Int(i64::MAX),
            "string.ascii_lowercase" => Value::str("abcdefghijklmnopqrstuvwxyz"),
            "string.ascii_uppercase" => Value::str("ABCDEFGHIJKLMNOPQRSTUVWXYZ"),
            "string.ascii_letters" => {
                Value::str("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
            }
            "string.digits" => Value::str("0123456789"),
            "string.punctuation" => Value::str("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"),
            _ => return Ok(None),
        }))
    }

    /// One of the [`OBJECTS`], the same at each call.
    pub(super) fn machine(&mut self, name: &'static str) -> Outcome<Value> {
        if let Some(known) = self.execution()?.machine.get(name) {
            return Ok(known.clone());
        }
        let made = match name {
            "sys.path" => {
                let execution = self.execution()?;
                let folders = [&execution.repository.folder].into_iter().chain(&execution.folders);
                let folders =
                    folders.map(|folder| Value::str(folder.display().to_string())).collect();
                self.new_list(folders)?
            }
            "sys.argv" => self.new_list(vec![Value::str("")])?,
            "sys.version_info" => {
                let names = vec![Value::str("version_info"), Value::str(VERSION_PARTS)];
                let mut given = LibraryArguments::new("namedtuple", names, Vec::new());
                let class = self.named_tuple_class(&mut given)?;
                let numbers = VERSION.split('.').filter_map(|part| part.parse().ok());
                let mut parts: Vec<Value> = numbers.map(Value::Int).collect();
                parts.extend([Value::str("final"), Value::Int(0)]);
                self.call(&class, parts, Vec::new())?
            }
            "os.environ" | "sys.modules" => self.new_dict(Dict::default())?,
            _ => return refuse("no such value"),
        };
        self.execution_mut()?.machine.insert(name, made.clone());
        Ok(made)
    }

    /// Makes a file known to `sys.modules`.
    pub(super) fn add_to_modules(&mut self, name: &str, module: Value) -> Outcome<()> {
        let modules = self.machine("sys.modules")?;
        self.set_item(&modules, &Value::str(name), module)
    }
}
