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
                        ("guards_code", Json::Array(guards)) => {
                            for text in guards {
                                let text = text.as_str().unwrap_or_default();
                                if let Err(error) = guard::parse(text) {
                                    let (rule, reason) = judged(&error, "guard");
                                    add(rule, Some(text), reason);
                                }
                            }
                        }
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
