//! Programs of torch.export: what in them PyTorch would run as Python, and native code beside them.

use sconce_checkpoint::ErrorKind;
use sconce_export_program::json::{self, Json};
use sconce_export_program::{expression, guard};

use crate::program;
use crate::report::{Finding, Rule, shortened};
use crate::scanner::{File, Job};

/// What a record of an archive is for.
pub(crate) enum Role {
    Program,
    Native,
    Other,
}

/// What a record is for, by its name without the archive's folder and with it.
pub(crate) fn role(inside: &str, plain: &str) -> Role {
    const FLAT: &str = "serialized_exported_program.json";
    let native = [".so", ".dll", ".dylib", ".pyd", ".cubin", ".o", ".a"];
    if plain == FLAT || inside == FLAT || inside.starts_with("models/") && inside.ends_with(".json")
    {
        Role::Program
    } else if native.iter().any(|ending| inside.ends_with(ending)) {
        Role::Native
    } else {
        Role::Other
    }
}

pub(crate) fn native(name: &str, file: &File, job: &mut Job<'_>) {
    let mut finding =
        Finding::new(Rule::NativeCode, name, "native code, which loading the file may run");
    finding.file.clone_from(&file.name);
    job.sink.add(finding);
}

/// Looks at every text of a program that PyTorch evaluates, wherever in it, so that what a newer version adds or what
/// does not fit is looked at, too.
pub(crate) fn program(bytes: &[u8], name: &str, file: &File, job: &mut Job<'_>) {
    let mut add = |rule, what: Option<&str>, reason: String| {
        let mut finding = Finding::new(rule, name, reason);
        finding.file.clone_from(&file.name);
        if let Some(what) = what {
            finding = finding.global(shortened(what));
        }
        job.sink.add(finding);
    };
    let json = match json::parse(bytes) {
        Ok(json) => json,
        Err(error) => {
            let rule = match error.kind() {
                ErrorKind::Limit => Rule::NotRead,
                _ => Rule::BrokenProgram,
            };
            return add(rule, None, shortened(error.message()));
        }
    };
    let mut operators = Vec::new();
    let mut left = vec![&json];
    while let Some(value) = left.pop() {
        match value {
            Json::Array(items) => left.extend(items),
            Json::Object(entries) => {
                for (key, value) in entries {
                    match (&**key, value) {
                        ("expr_str", value) => {
                            let text = value.as_str().unwrap_or_default();
                            if let Err(error) = expression::parse(text) {
                                let (rule, reason) = judged(&error, "expression");
                                add(rule, Some(text), reason);
                            }
                        }
                        ("guards_code", Json::Null) => {}
                        ("guards_code", guards) => {
                            let guards = match guards {
                                Json::Array(guards) => guards.as_slice(),
                                // No list, so that nobody can say what becomes of it.
                                guards => std::slice::from_ref(guards),
                            };
                            for text in guards {
                                let text = text.as_str().unwrap_or_default();
                                if let Err(error) = guard::parse(text) {
                                    let (rule, reason) = judged(&error, "guard");
                                    add(rule, Some(text), reason);
                                }
                            }
                        }
                        ("in_spec" | "out_spec", Json::String(spec)) => match imported(spec) {
                            Ok(names) => names.iter().for_each(|name| {
                                let reason = "a structure of arguments or of a result for which \
                                              PyTorch imports this"
                                    .to_owned();
                                add(Rule::OtherTarget, Some(name), reason);
                            }),
                            Err(error) => {
                                let rule = match error.kind() {
                                    ErrorKind::Limit => Rule::NotRead,
                                    _ => Rule::BrokenProgram,
                                };
                                add(rule, Some(spec), shortened(error.message()));
                            }
                        },
                        ("target" | "as_operator", Json::String(target)) => {
                            operators.push(&**target)
                        }
                        _ => left.push(value),
                    }
                }
            }
            _ => {}
        }
    }
    for target in operators {
        if let Some(operator) = target.strip_prefix("torch.ops.") {
            let parts: Vec<&str> = operator.split('.').collect();
            if let [namespace, operator, ..] = parts[..]
                && namespace != "higher_order"
            {
                program::operator_name(&format!("{namespace}::{operator}"), 0, name, job.sink);
            }
        } else if !is_function_of_numbers(target) {
            let reason = "PyTorch looks this function up by its name".to_owned();
            let mut finding =
                Finding::new(Rule::OtherTarget, name, reason).global(shortened(target));
            finding.file.clone_from(&file.name);
            job.sink.add(finding);
        }
    }
}

/// What PyTorch imports to read the structure of arguments or of a result: the classes of keys that are members of
/// enums, and what a `defaultdict` makes values by, unless Python has it itself. Contexts of types are texts of JSON
/// in the text of JSON.
fn imported(spec: &str) -> Result<Vec<String>, sconce_export_program::Error> {
    const OWN: [&str; 10] =
        ["list", "dict", "int", "float", "str", "set", "tuple", "bool", "frozenset", "bytes"];
    let mut names = Vec::new();
    let mut left = vec![json::parse(spec.as_bytes())?];
    while let Some(value) = left.pop() {
        match value {
            Json::Array(items) => left.extend(items),
            Json::Object(entries) => {
                let text = |key: &str| {
                    let found = entries.iter().find(|(known, _)| &**known == key);
                    found.and_then(|(_, value)| value.as_str())
                };
                if let Some(module) = text("default_factory_module") {
                    let name = text("default_factory_name").unwrap_or_default();
                    if module != "builtins" || !OWN.contains(&name) {
                        names.push(format!("{module}.{name}"));
                    }
                }
                if entries.iter().any(|(key, _)| &**key == "__enum__") {
                    names.push(text("fqn").unwrap_or_default().replace(':', "."));
                }
                left.extend(entries.into_iter().map(|(_, value)| value));
            }
            // Names of registered types are no JSON.
            Json::String(text) if text.starts_with(['[', '{']) => {
                left.push(json::parse(text.as_bytes())?);
            }
            _ => {}
        }
    }
    Ok(names)
}

/// What to think of a text that is not what it should be.
fn judged(error: &sconce_export_program::Error, what: &str) -> (Rule, String) {
    match error.kind() {
        ErrorKind::Limit => (Rule::NotRead, shortened(error.message())),
        _ => {
            let reason = format!(
                "no {what}, but text that PyTorch runs as Python when it loads or calls the program"
            );
            (Rule::CodeInExpression, reason)
        }
    }
}

/// Functions that programs call beside operators.
fn is_function_of_numbers(target: &str) -> bool {
    let named = |prefix: &str| {
        target.strip_prefix(prefix).is_some_and(|name| {
            !name.is_empty()
                && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        })
    };
    if named("_operator.") || named("math.") {
        let name = target.rsplit('.').next().unwrap_or_default();
        // Those that call or look up what they are given.
        return !matches!(name, "methodcaller" | "attrgetter" | "itemgetter" | "call");
    }
    named("torch.sym_")
        || named("torch._sym_")
        || named("torch._functorch.predispatch.")
        || matches!(
            target,
            "builtins.round"
                | "round"
                | "builtins.abs"
                | "builtins.pow"
                | "builtins.max"
                | "builtins.min"
                | "torch._C._set_grad_enabled"
                | "torch.amp.autocast_mode._enter_autocast"
                | "torch.amp.autocast_mode._exit_autocast"
        )
}
