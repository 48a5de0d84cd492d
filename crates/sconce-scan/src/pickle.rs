//! One pickle: what running it would call, import and change.
//!
//! The pickle machine has made values of every step, also of those that the result does not reach; a call
//! is a value, and so is a name. Looking at each value once is therefore looking at everything that an
//! unpickler would do.

use std::borrow::Cow;

use rustc_hash::{FxHashMap, FxHashSet};
use sconce_checkpoint::{AllowList, python3_name};
use sconce_pickle::{
    AllowAll, Arena, Call, CallKind, Error, Limits, Machine, Node, OpcodeInfo, Value, render,
};

use crate::callables;
use crate::report::{Finding, Rule, Sink, shortened};

/// Who unpickles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// Python's unpickler, which imports what is named.
    Python,
    /// TorchScript's, which finds classes in the archive's own code and imports nothing.
    TorchScript,
}

/// A pickle and where it stands.
#[derive(Clone, Copy)]
pub(crate) struct Pickle<'p> {
    pub(crate) arena: &'p Arena<'p>,
    /// The bytes, of which the arena counts offsets.
    pub(crate) bytes: &'p [u8],
    pub(crate) entry: &'p str,
    /// Where the bytes begin in the entry.
    pub(crate) start: u64,
    /// The file, where that is not the one that is scanned.
    pub(crate) file: Option<&'p str>,
    pub(crate) dialect: Dialect,
}

/// What a pickle holds that is a matter for the caller.
#[derive(Debug, Default)]
pub(crate) struct Held {
    /// Keys of storages, whose records hold numbers.
    pub(crate) storages: FxHashSet<String>,
    /// Pickles that unpickling this one unpickles, with the offset of the call.
    pub(crate) nested: Vec<(u64, Vec<u8>)>,
}

/// Functions that unpickle their first argument.
static UNPICKLERS: &[(&str, &str)] = &[
    ("_pickle", "loads"),
    ("cloudpickle", "loads"),
    ("cloudpickle.cloudpickle", "loads"),
    ("dill", "loads"),
    ("dill._dill", "loads"),
    ("pickle", "_loads"),
    ("pickle", "loads"),
    ("torch.storage", "_load_from_bytes"),
];

/// Functions of TorchScript's pickler.
static TORCHSCRIPT: &[&str] = &[
    "build_boollist",
    "build_doublelist",
    "build_intlist",
    "build_tensorlist",
    "build_tensor_from_id",
    "restore_type_tag",
];

/// Where the names of C++ classes begin.
const CUSTOM_CLASSES: &str = "__torch__.torch.classes.";
/// Most values of a pickle that only a scan reads: those of programs' constants and places in source.
const MOST_VALUES: usize = 4 << 20;
const GETATTR: (&str, &str) = ("builtins", "getattr");
/// Longest dotted name that `getattr` is followed to, and how many of them.
const LONGEST_PATH: usize = 1000;
const MOST_ATTRIBUTES: usize = 10_000;
/// Bytes of pickles within a pickle that are copied, for each of its own bytes.
const UNPACKED_PER_BYTE: usize = 2;
const ON_NO_LIST: &str = "on no list: what it does depends on the process that loads it";
/// Longest text of a call in a finding.
const LONGEST_CALL: usize = 240;
/// Longest argument in it.
const LONGEST_ARGUMENT: usize = 120;
/// Levels of calls that are followed to what is called.
const MOST_LEVELS: usize = 8;

/// What is known of a name, and what was said of it. A pickle may name and call it millions of times.
#[derive(Debug, Clone, Copy)]
struct Named {
    /// On PyTorch's list.
    listed: bool,
    /// On it, or of the archive's own program.
    allowed: bool,
    /// Why it is dangerous to name, and to call.
    named: Option<&'static str>,
    called: Option<&'static str>,
    unpickles: bool,
    is_getattr: bool,
    custom_class: bool,
    /// How often it is called.
    calls: usize,
    /// The findings: of a call, of a change, and of the name alone.
    said_called: Option<usize>,
    said_changed: Option<usize>,
    said_named: Option<usize>,
    /// Whether the name was counted.
    counted: bool,
}

/// What a `getattr` gave, and the finding of a call of it.
struct Attribute {
    module: String,
    name: String,
    said_called: Option<usize>,
}

struct Reader<'p, 's> {
    pickle: Pickle<'p>,
    sink: &'s mut Sink,
    names: Vec<Named>,
    /// Places in `names`, by the names as they are written and by value.
    by_name: FxHashMap<(&'p str, &'p str), usize>,
    by_value: FxHashMap<Value, usize>,
    held: Held,
    /// What `getattr` gives where its arguments are literal: a dotted name.
    attributes: FxHashMap<Value, Attribute>,
    /// Findings of what has no name.
    said_computed: Option<usize>,
    said_extensions: FxHashMap<i64, Option<usize>>,
    /// Bytes of pickles within this one that were copied out of it.
    unpacked: usize,
    /// Globals that are not only called; found when it is first asked.
    passed_on: Option<FxHashSet<Value>>,
    /// Bytes that were found to be the argument of an unpickler.
    consumed: FxHashSet<Value>,
}

/// Adds what a pickle would do to `sink`.
pub(crate) fn examine(pickle: Pickle<'_>, sink: &mut Sink) -> Held {
    sink.pickles += 1;
    let mut reader = Reader {
        pickle,
        sink,
        names: Vec::new(),
        by_name: FxHashMap::default(),
        by_value: FxHashMap::default(),
        held: Held::default(),
        attributes: FxHashMap::default(),
        said_computed: None,
        said_extensions: FxHashMap::default(),
        unpacked: 0,
        passed_on: None,
        consumed: FxHashSet::default(),
    };
    reader.run();
    reader.held
}

impl<'p> Reader<'p, '_> {
    fn run(&mut self) {
        let arena = self.pickle.arena;
        if let Some(offset) = arena.crossed_frame() {
            let reason = "what begins in a frame ends behind it";
            let mut finding = Finding::new(Rule::CrossedFrame, self.pickle.entry, reason);
            finding = finding.at(self.pickle.start + offset);
            finding.file = self.pickle.file.map(Into::into);
            self.sink.add(finding);
        }
        // Calls first: names that are called are told with their arguments.
        for value in arena.values() {
            if let Node::Call(call) = arena.node(value) {
                self.call(value, call);
            }
        }
        for value in arena.values() {
            match arena.node(value) {
                Node::Global(_) => self.global(value),
                Node::Extension(code) => self.extension(value, *code),
                Node::PersistentId(pid) => self.persistent_id(*pid),
                Node::Bytes(_) | Node::ByteStr(_) | Node::ByteArray(_) => self.held_bytes(value),
                _ => {}
            }
        }
    }

    /// Module and name in Python 3.
    fn name(&self, value: Value) -> Option<(Cow<'p, str>, Cow<'p, str>)> {
        self.pickle.arena.global(value).map(|(module, name)| python3_name(module, name))
    }

    /// The place in `names` of the global that `value` is.
    fn known(&mut self, value: Value) -> Option<usize> {
        if let Some(&at) = self.by_value.get(&value) {
            return Some(at);
        }
        let written = self.pickle.arena.global(value)?;
        let at = match self.by_name.get(&written) {
            Some(&at) => at,
            None => {
                self.names.push(self.judge(written));
                self.by_name.insert(written, self.names.len() - 1);
                self.names.len() - 1
            }
        };
        self.by_value.insert(value, at);
        Some(at)
    }

    fn judge(&self, (module, name): (&str, &str)) -> Named {
        let (module, name) = python3_name(module, name);
        let full = format!("{module}.{name}");
        let torchscript = self.pickle.dialect == Dialect::TorchScript;
        let custom_class = torchscript && full.starts_with(CUSTOM_CLASSES);
        let of_program = torchscript
            && (module.starts_with("__torch__")
                || &*module == "torch.jit._pickle" && TORCHSCRIPT.contains(&&*name));
        let listed = AllowList::contains_by_default(&full);
        let allowed = listed || of_program;
        let danger = |called| match allowed {
            true => None,
            false => callables::danger(&module, &name, called),
        };
        Named {
            listed,
            allowed,
            named: danger(false),
            called: danger(true),
            unpickles: UNPICKLERS.contains(&(&*module, &*name)),
            is_getattr: (&*module, &*name) == GETATTR,
            custom_class: custom_class && !is_of_pytorch(&full),
            calls: 0,
            said_called: None,
            said_changed: None,
            said_named: None,
            counted: false,
        }
    }

    /// `module.name` in Python 3, for people.
    fn full_name(&self, value: Value) -> String {
        let name = self.name(value).map(|(module, name)| format!("{module}.{name}"));
        shortened(&name.unwrap_or_default())
    }

    fn finding(&self, rule: Rule, value: Value, reason: impl Into<String>) -> Finding {
        let at = self.pickle.arena.offset(value);
        let opcode = self.pickle.bytes.get(at as usize).and_then(|byte| OpcodeInfo::of(*byte));
        let mut finding = Finding::new(rule, self.pickle.entry, reason)
            .at(self.pickle.start + at)
            .opcode(opcode.map(|info| info.name));
        finding.file = self.pickle.file.map(str::to_owned);
        finding
    }

    fn global(&mut self, value: Value) {
        let Some(at) = self.known(value) else { return };
        let known = self.names[at];
        if self.pickle.arena.updates(value).is_some_and(|updates| !updates.is_empty()) {
            match known.said_changed {
                Some(finding) => self.sink.again(finding),
                None => {
                    let reason = "it changes an object of the process that loads it, for whatever uses that later";
                    let finding = self.finding(Rule::ChangedGlobal, value, reason);
                    let finding = finding.global(self.full_name(value));
                    self.names[at].said_changed = self.sink.add(finding);
                }
            }
        }
        if !known.counted {
            self.names[at].counted = true;
            let place = (self.pickle.entry, self.pickle.start + self.pickle.arena.offset(value));
            if let Some((module, name)) = self.name(value) {
                self.sink.global((&module, &name), place, known.listed, known.calls);
            }
            if known.custom_class {
                let finding =
                    self.finding(Rule::CustomClass, value, "a C++ class of another library");
                self.sink.add(finding.global(self.full_name(value)));
            }
        }
        // Calls have said it with their arguments.
        let said = known.called.is_some() && known.calls > 0;
        if known.allowed || said && !(known.is_getattr && self.is_passed_on(value)) {
            return;
        }
        if let Some(finding) = known.said_named {
            return self.sink.again(finding);
        }
        let finding = match known.named {
            Some(reason) => self.finding(Rule::DangerousGlobal, value, reason),
            None => self.finding(Rule::UnknownGlobal, value, ON_NO_LIST),
        };
        self.names[at].said_named = self.sink.add(finding.global(self.full_name(value)));
    }

    fn call(&mut self, value: Value, call: &Call) {
        let callee = self.callee(call.callable);
        let Some(at) = self.known(callee) else {
            if !self.attribute_called(value, call, callee) {
                self.computed_called(value, call);
            }
            return;
        };
        self.names[at].calls += 1;
        let known = self.names[at];
        if known.is_getattr && self.attribute(value, call) {
            return;
        }
        if known.unpickles {
            self.unpickle(value, call);
        }
        let Some(reason) = known.called else { return };
        if let Some(finding) = known.said_called {
            return self.sink.again(finding);
        }
        let full = self.full_name(callee);
        let text = self.text(call, &full);
        let finding = self.finding(Rule::DangerousCall, value, reason).global(full).call(text);
        self.names[at].said_called = self.sink.add(finding);
    }

    fn computed_called(&mut self, value: Value, call: &Call) {
        match self.said_computed {
            Some(finding) => self.sink.again(finding),
            None => {
                let reason = "what it calls is computed while unpickling";
                let text = self.text(call, "…");
                let finding = self.finding(Rule::ComputedCallable, value, reason).call(text);
                self.said_computed = self.sink.add(finding);
            }
        }
    }

    /// `getattr(module.name, "attribute")` with literal arguments is a dotted name: pickles before protocol
    /// 4 name nested classes, and Python 3.11 members of enums, in no other way.
    fn attribute(&mut self, value: Value, call: &Call) -> bool {
        let arena = self.pickle.arena;
        let Some(&[object, attribute]) = arena.tuple(call.args) else { return false };
        let Some(attribute) = arena.str(attribute) else { return false };
        let (module, name) = match self.attributes.get(&object) {
            Some(known) => (known.module.clone(), format!("{}.{attribute}", known.name)),
            None => match self.name(object) {
                Some((module, name)) => (module.into_owned(), format!("{name}.{attribute}")),
                None => return false,
            },
        };
        // Each level of a chain holds the name of all below it.
        if module.len() + name.len() > LONGEST_PATH || self.attributes.len() >= MOST_ATTRIBUTES {
            return false;
        }
        let full = shortened(&format!("{module}.{name}"));
        let finding = match callables::danger(&module, &name, false) {
            Some(reason) => {
                let text = self.text(call, "builtins.getattr");
                self.finding(Rule::DangerousCall, value, reason).call(text)
            }
            None => self.finding(Rule::UnknownGlobal, value, ON_NO_LIST),
        };
        self.sink.add(finding.global(full));
        self.attributes.insert(value, Attribute { module, name, said_called: None });
        true
    }

    /// A call of what `getattr` gave.
    fn attribute_called(&mut self, value: Value, call: &Call, callee: Value) -> bool {
        let Some(known) = self.attributes.get(&callee) else { return false };
        if let Some(finding) = known.said_called {
            self.sink.again(finding);
            return true;
        }
        let full = shortened(&format!("{}.{}", known.module, known.name));
        let text = self.text(call, &full);
        let finding = match callables::danger(&known.module, &known.name, true) {
            Some(reason) => self.finding(Rule::DangerousCall, value, reason),
            None => {
                let reason = "what it calls is an attribute that is looked up while unpickling";
                self.finding(Rule::ComputedCallable, value, reason)
            }
        };
        let said = self.sink.add(finding.global(full).call(text));
        if let Some(known) = self.attributes.get_mut(&callee) {
            known.said_called = said;
        }
        true
    }

    /// Whether a `getattr` stands anywhere but where it is called.
    fn is_passed_on(&mut self, value: Value) -> bool {
        if self.passed_on.is_none() {
            self.passed_on = Some(self.all_passed_on());
        }
        self.passed_on.as_ref().is_some_and(|values| values.contains(&value))
    }

    /// The globals that are elements, arguments or states of something.
    fn all_passed_on(&self) -> FxHashSet<Value> {
        let arena = self.pickle.arena;
        let mut found = FxHashSet::default();
        let mut add = |items: &[Value]| {
            found.extend(items.iter().filter(|item| matches!(arena.node(**item), Node::Global(_))));
        };
        for value in arena.values() {
            match arena.node(value) {
                Node::Tuple(items) | Node::FrozenSet(items) => add(arena.items(*items)),
                Node::List(items) | Node::Set(items) => add(items),
                Node::Dict(entries) => entries.iter().for_each(|&(key, value)| add(&[key, value])),
                Node::Call(call) => {
                    add(&[call.args]);
                    add(call.kwargs.as_slice());
                }
                Node::PersistentId(pid) => add(&[*pid]),
                _ => {}
            }
            if let Some(updates) = arena.updates(value) {
                add(&updates.states);
                add(&updates.items);
                updates.entries.iter().for_each(|&(key, value)| add(&[key, value]));
            }
        }
        found
    }

    /// What is called: a legacy stream wraps classes of modules in persistent ids.
    fn callee(&self, mut callable: Value) -> Value {
        let arena = self.pickle.arena;
        for _ in 0..MOST_LEVELS {
            let Node::PersistentId(pid) = arena.node(callable) else { break };
            let Some(&[first, class, ..]) = arena.tuple(*pid) else { break };
            // Before 0.1.10 the class was the first of the tuple.
            callable = match arena.node(first) {
                Node::Global(_) => first,
                _ => class,
            };
        }
        callable
    }

    /// The call as Python would write it.
    fn text(&self, call: &Call, called: &str) -> String {
        let arena = self.pickle.arena;
        let mut out = called.to_owned();
        if matches!(call.kind, CallKind::NewObj | CallKind::NewObjEx) {
            out.push_str(".__new__");
        }
        out.push('(');
        match arena.tuple(call.args) {
            Some(args) => {
                for (at, &arg) in args.iter().enumerate() {
                    if at > 0 {
                        out.push_str(", ");
                    }
                    if out.len() > LONGEST_CALL {
                        out.push('…');
                        break;
                    }
                    out.push_str(&render(arena, arg, LONGEST_ARGUMENT));
                }
            }
            None => {
                out.push('*');
                out.push_str(&render(arena, call.args, LONGEST_ARGUMENT));
            }
        }
        if let Some(kwargs) = call.kwargs {
            out.push_str(", **");
            out.push_str(&render(arena, kwargs, LONGEST_ARGUMENT));
        }
        out.push(')');
        out
    }

    fn extension(&mut self, value: Value, code: i64) {
        match self.said_extensions.get(&code) {
            Some(Some(finding)) => return self.sink.again(*finding),
            Some(None) => return,
            None => {}
        }
        let reason = "what it names is known to the process that loads it alone";
        let global = format!("extension({code})");
        let finding = self.finding(Rule::Extension, value, reason).global(global);
        let said = self.sink.add(finding);
        self.said_extensions.insert(code, said);
        self.sink.extension(code);
    }

    fn persistent_id(&mut self, pid: Value) {
        let arena = self.pickle.arena;
        if let Some(&[_, _, key, ..]) = arena.tuple(pid) {
            let key = match arena.node(key) {
                Node::Str(text) => Some(text.clone().into_owned()),
                Node::Int(number) => Some(number.to_string()),
                Node::ByteStr(text) => Some(String::from_utf8_lossy(text).into_owned()),
                _ => None,
            };
            self.held.storages.extend(key);
        }
    }

    /// Literal bytes: an argument of an unpickler, or its text form in protocol 2.
    fn literal(&self, value: Value) -> Option<Vec<u8>> {
        let arena = self.pickle.arena;
        match arena.node(value) {
            Node::Bytes(bytes) | Node::ByteStr(bytes) | Node::ByteArray(bytes) => {
                Some(bytes.to_vec())
            }
            Node::Call(call) if arena.global(call.callable) == Some(("_codecs", "encode")) => {
                let (&text, encoding) = arena.tuple(call.args)?.split_first()?;
                let latin1 = matches!(encoding, [name] if arena.str(*name) == Some("latin1"));
                let text = arena.str(text).filter(|_| latin1)?;
                text.chars().map(|c| u8::try_from(u32::from(c)).ok()).collect()
            }
            _ => None,
        }
    }

    fn unpickle(&mut self, value: Value, call: &Call) {
        let arena = self.pickle.arena;
        let argument = arena.tuple(call.args).and_then(|args| args.first()).copied();
        let Some(argument) = argument else { return };
        // One bytes object may be given to any number of calls.
        if !self.consumed.insert(argument) {
            return;
        }
        // A text may be made bytes of any number of times.
        if self.unpacked > UNPACKED_PER_BYTE * self.pickle.bytes.len() {
            let reason = "it holds more pickles within it than a scan looks into";
            let finding = self.finding(Rule::NotRead, value, reason);
            self.sink.add(finding);
            return;
        }
        match self.literal(argument) {
            Some(bytes) => {
                self.unpacked += bytes.len();
                self.held.nested.push((self.pickle.start + arena.offset(value), bytes));
            }
            None => {
                let reason = "it unpickles bytes that are computed while unpickling";
                let finding = self.finding(Rule::ComputedBytes, value, reason);
                self.sink.add(finding);
            }
        }
    }

    /// Bytes that nothing here unpickles, which may be a pickle all the same.
    fn held_bytes(&mut self, value: Value) {
        let arena = self.pickle.arena;
        let (Node::Bytes(bytes) | Node::ByteStr(bytes) | Node::ByteArray(bytes)) =
            arena.node(value)
        else {
            return;
        };
        if self.consumed.contains(&value) || !matches!(**bytes, [0x80, 2..=5, _, ..]) {
            return;
        }
        if let Some((name, reason)) = worst_name(bytes) {
            let reason =
                format!("nothing here unpickles it; what does would reach {name}: {reason}");
            let finding = self.finding(Rule::HeldPayload, value, reason).global(name);
            self.sink.add(finding);
        }
    }
}

/// Whether a custom class is one of PyTorch's own libraries that holds values alone.
fn is_of_pytorch(full: &str) -> bool {
    static LIBRARIES: [&str; 7] =
        ["quantized", "sparse", "xnnpack", "mkldnn", "rnn", "vulkan", "metal"];
    let library = full.strip_prefix(CUSTOM_CLASSES).unwrap_or(full);
    LIBRARIES
        .iter()
        .any(|known| library.strip_prefix(known).is_some_and(|rest| rest.starts_with('.')))
}

/// The first name of a pickle that is dangerous, and why.
fn worst_name(bytes: &[u8]) -> Option<(String, &'static str)> {
    let ran = Ran::new(bytes);
    let arena = ran.machine.arena();
    arena.values().find_map(|value| {
        let (module, name) = arena.global(value)?;
        let (module, name) = python3_name(module, name);
        let full = format!("{module}.{name}");
        if AllowList::contains_by_default(&full) {
            return None;
        }
        callables::danger(&module, &name, false).map(|reason| (shortened(&full), reason))
    })
}

/// What a pickle may build while it is scanned.
pub(crate) fn limits() -> Limits {
    Limits::default().with_max_values(MOST_VALUES).with_max_memo(MOST_VALUES)
}

/// A machine that has gone as far as it can.
pub(crate) struct Ran<'b> {
    pub(crate) machine: Machine<'b>,
    pub(crate) error: Option<Error>,
}

impl<'b> Ran<'b> {
    pub(crate) fn new(bytes: &'b [u8]) -> Ran<'b> {
        let mut machine = Machine::new(bytes, &limits());
        let error = loop {
            match machine.step(&mut AllowAll) {
                Ok(None) => {}
                Ok(Some(_)) => break None,
                Err(error) => break Some(error),
            }
        };
        Ran { machine, error }
    }

    /// Whether this looks like a pickle, and not like other data that happens to begin so.
    pub(crate) fn is_plausible(&self, bytes: &[u8]) -> bool {
        let arena = self.machine.arena();
        let binary = matches!(bytes, [0x80, 2..=5, ..]);
        let (mut names, mut extension) = (false, false);
        for value in arena.values() {
            extension |= matches!(arena.node(value), Node::Extension(_));
            let Some((module, name)) = arena.global(value) else { continue };
            if !is_name(module) || !is_name(name) {
                continue;
            }
            names = true;
            // Text may name modules by chance, but not these.
            let (module, name) = python3_name(module, name);
            if callables::danger(&module, &name, true).is_some() {
                return true;
            }
        }
        match self.error {
            None => {
                let rest = &bytes[self.machine.position()..];
                binary || names || extension || rest.trim_ascii().is_empty()
            }
            Some(_) => binary && (names || extension),
        }
    }
}

fn is_name(text: &str) -> bool {
    let part = |part: &str| {
        let mut chars = part.chars();
        chars.next().is_some_and(|c| c.is_alphabetic() || c == '_')
            && chars.all(|c| c.is_alphanumeric() || c == '_')
    };
    text.split('.').all(part)
}

/// Whether bytes may begin a pickle: protocols 0 and 1 begin with the opcode of a value.
pub(crate) fn may_begin_pickle(bytes: &[u8]) -> bool {
    matches!(bytes, [0x80, 2..=5, ..])
        || matches!(
            bytes,
            [
                b'('
                | b')'
                | b'F'..=b'N'
                | b'P'
                | b'S'..=b'X'
                | b'c'
                | b']'
                | b'}'
                | 0x80..=0x84
                | 0x88..=0x8f
                | 0x95..=0x97,
                ..,
            ]
        )
}

/// The finding for a pickle that broke off. A name that is no literal text is worse than damage: Python
/// would go on with whatever was computed.
pub(crate) fn broken(error: &Error, pickle: Pickle<'_>) -> Finding {
    let at = error.offset();
    let byte = usize::try_from(at).ok().and_then(|at| pickle.bytes.get(at));
    let opcode = byte.and_then(|byte| OpcodeInfo::of(*byte)).map(|info| info.name);
    let computed = opcode == Some("STACK_GLOBAL") && matches!(error, Error::NotApplicable { .. });
    let mut finding = match computed {
        true => Finding::new(
            Rule::ComputedName,
            pickle.entry,
            "the name of what it imports is no literal text, so only running it would tell what it is",
        ),
        false => Finding::new(Rule::BrokenPickle, pickle.entry, error.to_string()),
    };
    finding = finding.at(pickle.start + at).opcode(opcode);
    finding.file = pickle.file.map(str::to_owned);
    finding
}

#[cfg(test)]
mod tests {
    use sconce_checkpoint::FileKind;

    use super::*;
    use crate::report::Report;

    fn report(bytes: &[u8], dialect: Dialect) -> Report {
        let ran = Ran::new(bytes);
        let (arena, entry) = (ran.machine.arena(), "data.pkl");
        let pickle = Pickle { arena, bytes, entry, start: 0x100, file: None, dialect };
        let mut sink = Sink::default();
        examine(pickle, &mut sink);
        if let Some(error) = &ran.error {
            sink.add(broken(error, pickle));
        }
        sink.finish(FileKind::Pickle)
    }

    fn rules(bytes: &[u8]) -> Vec<(Rule, String)> {
        let findings = report(bytes, Dialect::Python).findings.into_iter();
        findings
            .map(|finding| (finding.rule, finding.call.or(finding.global).unwrap_or_default()))
            .collect()
    }

    #[test]
    fn a_finding_of_each_kind() {
        let cases: &[(&[u8], Rule, &str)] = &[
            (b"cos\nsystem\nX\x02\0\0\0ls\x85R.", Rule::DangerousCall, "os.system('ls')"),
            (b"(X\x02\0\0\0lsios\nsystem\n.", Rule::DangerousCall, "os.system('ls')"),
            (b"(cos\nsystem\nX\x02\0\0\0lso.", Rule::DangerousCall, "os.system('ls')"),
            (b"cos\nsystem\n)\x81.", Rule::DangerousCall, "os.system.__new__()"),
            (b"cos\nsystem\n)}\x92.", Rule::DangerousCall, "os.system.__new__(, **{})"),
            (b"\x8c\x02os\x8c\x06system\x93)R.", Rule::DangerousCall, "os.system()"),
            (b"c__builtin__\neval\nN\x85R.", Rule::DangerousCall, "builtins.eval(None)"),
            (b"cos\nsystem\n)R0N.", Rule::DangerousCall, "os.system()"),
            (b"cos\nsystem\n.", Rule::DangerousGlobal, "os.system"),
            (b"cfunctools\npartial\ncos\nsystem\n\x85R.", Rule::DangerousGlobal, "os.system"),
            (b"cm\nC\n}b.", Rule::ChangedGlobal, "m.C"),
            (b"ctorch\nSize\nK\x01a.", Rule::ChangedGlobal, "torch.Size"),
            (b"cm\nC\n)\x81.", Rule::UnknownGlobal, "m.C"),
            (b"cm\nf\n)R)R.", Rule::ComputedCallable, "…()"),
            (b"\x82\x05.", Rule::Extension, "extension(5)"),
            (b"\x84\x05\0\0\0)R.", Rule::Extension, "extension(5)"),
            (b"ctorch.storage\n_load_from_bytes\nN\x85R.", Rule::ComputedBytes, ""),
            (b"C\x0f\x80\x02cos\nsystem\n.N.", Rule::HeldPayload, "os.system"),
            (b"X\x02\0\0\0osK\x01\x93.", Rule::ComputedName, ""),
            (b"N", Rule::BrokenPickle, ""),
        ];
        for &(bytes, rule, what) in cases {
            let found = rules(bytes);
            assert!(found.contains(&(rule, what.to_owned())), "{bytes:?}: {found:?}");
        }
    }

    #[test]
    fn what_the_list_has_is_clean() {
        let clean: [&[u8]; 5] = [
            b"N.",
            b"ccollections\nOrderedDict\n)R.",
            b"ctorch\nSize\n(K\x01t\x85R.",
            b"c__builtin__\nset\n]\x85R.",
            b"C\x04\x80\x02N..",
        ];
        for bytes in clean {
            assert_eq!(rules(bytes), [], "{bytes:?}");
        }
    }

    #[test]
    fn getattr_of_literal_names_is_a_dotted_name() {
        let colour = b"cbuiltins\ngetattr\ncm\nColour\nX\x03\0\0\0RED\x86R.";
        let unknown = |name: &str| (Rule::UnknownGlobal, name.to_owned());
        assert_eq!(rules(colour), [unknown("m.Colour.RED"), unknown("m.Colour")]);
        // On the way to what runs, or called, or handed on, it is what it is.
        let os = b"cbuiltins\ngetattr\nctorch\nserialization\nX\x02\0\0\0os\x86R.";
        assert_eq!(rules(os)[0].0, Rule::DangerousCall);
        let method = b"cbuiltins\ngetattr\ncm\nC\nX\x01\0\0\0f\x86R)R.";
        assert!(rules(method).contains(&(Rule::ComputedCallable, "m.C.f()".to_owned())));
        let computed = b"cbuiltins\ngetattr\ncm\nC\ncm\nname\n)R\x86R.";
        assert_eq!(rules(computed)[0].0, Rule::DangerousCall);
        let passed_on = b"cbuiltins\ngetattr\nq\0cm\nC\nX\x01\0\0\0f\x86Rh\0\x86.";
        assert_eq!(rules(passed_on)[0].0, Rule::DangerousGlobal);
    }

    #[test]
    fn places_are_those_of_the_entry() {
        let report = report(b"Ncos\nsystem\n)R.", Dialect::Python);
        let finding = &report.findings[0];
        assert_eq!((finding.offset, finding.opcode), (Some(0x100 + 13), Some("REDUCE")));
        assert_eq!((&*finding.entry, report.globals[0].offset), ("data.pkl", 0x101));
    }

    #[test]
    fn a_program_names_its_own_classes() {
        let own =
            b"\x80\x02c__torch__.Net\nInner\n)\x81}bctorch.jit._pickle\nbuild_intlist\n]\x85R\x86.";
        assert_eq!(report(own, Dialect::TorchScript).verdict.name(), "clean");
        assert_eq!(report(own, Dialect::Python).verdict.name(), "unknown");
        let packed = b"c__torch__.torch.classes.quantized\nLinearPackedParamsBase\n)\x81.";
        assert_eq!(report(packed, Dialect::TorchScript).verdict.name(), "clean");
        let custom = b"c__torch__.torch.classes.mylib\nThing\n)\x81.";
        assert_eq!(report(custom, Dialect::TorchScript).findings[0].rule, Rule::CustomClass);
        assert_eq!(report(b"cos\nsystem\n)R.", Dialect::TorchScript).verdict.name(), "dangerous");
    }

    #[test]
    fn a_thousand_calls_are_one_finding() {
        let call = b"cos\nsystem\n)R0".repeat(1000);
        let report = report(&[&call[..], b"N."].concat(), Dialect::Python);
        assert_eq!((report.findings.len(), report.findings[0].count), (1, 1000));
        assert_eq!((report.globals.len(), report.globals[0].count), (1, 1000));
    }

    #[test]
    fn other_data_is_no_pickle() {
        for bytes in [
            &b"class Net(Module):\n  x = 1\n"[..],
            b"control\nvalue\nmore",
            b"It is text.\n",
            b"(x",
            b"12\n",
        ] {
            assert!(!may_begin_pickle(bytes) || !Ran::new(bytes).is_plausible(bytes), "{bytes:?}");
        }
        for bytes in
            [&b"cos\nsystem\n(S'x'\n\xff"[..], b"cm\nC\n.", b"\x80\x02}.", b"\x82\x01.", b"(lp0\n."]
        {
            assert!(may_begin_pickle(bytes) && Ran::new(bytes).is_plausible(bytes), "{bytes:?}");
        }
    }
}
