//! What a scan says: one verdict, and the findings behind it.

use std::collections::HashMap;

use sconce_checkpoint::{FileKind, GlobalUse};

/// What is to be thought of a file. Later is worse.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verdict {
    /// All was read, and nothing in it names anything but what PyTorch allows every checkpoint to name.
    Clean,
    /// It names classes or functions that are on no list. What they do depends on the process that loads it.
    Unknown,
    /// A part could not be read, so nothing is proven of it.
    Broken,
    /// It names something that is known to run code, or to reach files, processes or the network.
    Dangerous,
}

impl Verdict {
    /// The word for it, which stays the same between releases.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Clean => "clean",
            Verdict::Unknown => "unknown",
            Verdict::Broken => "broken",
            Verdict::Dangerous => "dangerous",
        }
    }
}

/// Defines the rules: number, name, what a finding of it makes of a file, what it means, and what to do.
macro_rules! rules {
    ($($variant:ident, $id:literal, $name:literal, $severity:ident, $meaning:literal, $advice:literal;)*) => {
        /// The kind of a finding.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum Rule {
            $(#[doc = $meaning] $variant,)*
        }

        impl Rule {
            /// Every rule.
            pub const ALL: &[Rule] = &[$(Rule::$variant),*];

            /// Its number, such as `SC001`, which stays the same between releases.
            pub fn id(self) -> &'static str {
                match self { $(Rule::$variant => $id,)* }
            }

            /// A name that stays the same between releases.
            pub fn name(self) -> &'static str {
                match self { $(Rule::$variant => $name,)* }
            }

            /// The rule of a number or name, in any case of letters.
            ///
            /// ```
            /// use sconce_scan::Rule;
            ///
            /// assert_eq!(Rule::find("sc001"), Some(Rule::DangerousCall));
            /// assert_eq!(Rule::find("dangerous-call"), Some(Rule::DangerousCall));
            /// ```
            pub fn find(text: &str) -> Option<Rule> {
                let named = |rule: &Rule| {
                    rule.id().eq_ignore_ascii_case(text) || rule.name().eq_ignore_ascii_case(text)
                };
                Rule::ALL.iter().copied().find(named)
            }

            /// What a file is that has a finding of this rule, if no other is worse.
            pub fn severity(self) -> Verdict {
                match self { $(Rule::$variant => Verdict::$severity,)* }
            }

            /// What the rule is for, in one sentence.
            pub fn meaning(self) -> &'static str {
                match self { $(Rule::$variant => $meaning,)* }
            }

            /// What to do about it, in a sentence or two.
            pub fn advice(self) -> &'static str {
                match self { $(Rule::$variant => $advice,)* }
            }
        }
    };
}

rules! {
    DangerousCall, "SC001", "dangerous-call", Dangerous,
        "Unpickling calls something that runs code or reaches files, processes or the network.",
        "Do not load the file. Ask its source for one with weights alone, such as safetensors.";
    DangerousGlobal, "SC002", "dangerous-global", Dangerous,
        "The pickle names something that runs code or reaches outside, for whatever is called later.",
        "Do not load the file. Ask its source for one with weights alone, such as safetensors.";
    ComputedName, "SC003", "computed-name", Dangerous,
        "The name of what is imported is computed while unpickling, so only a running Python knows it.",
        "Do not load the file: no honest writer computes names. Ask its source for another.";
    ChangedGlobal, "SC004", "changed-global", Dangerous,
        "The pickle changes a class, function or module of the process that loads it.",
        "Do not load the file. Ask its source for one with weights alone, such as safetensors.";
    ForbiddenOperator, "SC005", "forbidden-operator", Dangerous,
        "TorchScript code names an operator that touches files, processes or the network.",
        "Do not run the program where it can reach files or a network. sconce run refuses the operator.";
    UnknownGlobal, "SC006", "unknown-global", Unknown,
        "The pickle names a class or function that PyTorch does not allow every checkpoint to name.",
        "If you trust the author and know the class, allow it: sconce globals --python prints the line for torch.load, a policy file allows it here. sconce clean and sconce convert keep the tensors without it.";
    ComputedCallable, "SC007", "computed-callable", Unknown,
        "What is called is itself the result of a call.",
        "Read what is called, with sconce globals and sconce trace, before you load the file with anything but weights_only=True.";
    Extension, "SC008", "extension", Unknown,
        "The pickle names a class or function by its number in the registry of the process that loads it.",
        "Find out what the number stands for in the process that would load the file: copyreg keeps the registry. Honest checkpoints use none.";
    ComputedBytes, "SC009", "computed-bytes", Unknown,
        "A pickle within the pickle is not there literally, so what it holds was not seen.",
        "Load the file with weights_only=True alone, which refuses pickles within pickles.";
    HeldPayload, "SC010", "held-payload", Unknown,
        "A value that nothing here unpickles holds a pickle that would run code.",
        "Do not unpickle the value. Find out why it is there.";
    AfterStop, "SC011", "after-stop", Unknown,
        "Bytes follow the end of a pickle where nothing should follow.",
        "See what the bytes are: sconce dis shows a pickle that begins there. Ask for a file without them.";
    ObjectArray, "SC012", "object-array", Unknown,
        "A numpy array holds Python objects, which numpy unpickles when it is told to.",
        "Load the array with allow_pickle=False, and ask for one of numbers.";
    CustomOperator, "SC013", "custom-operator", Clean,
        "TorchScript code names an operator of another library, which is not in the file: PyTorch alone refuses it.",
        "Nothing, unless you load a library that has the operator: then what it does is that library's matter.";
    CustomClass, "SC014", "custom-class", Unknown,
        "A TorchScript archive names a C++ class that no PyTorch library has.",
        "Find out which library registers the class. PyTorch alone refuses the archive.";
    BrokenPickle, "SC015", "broken-pickle", Broken,
        "A pickle could not be read to its end.",
        "Fetch the file again. What comes before the break would be run by unpickling all the same.";
    BrokenCode, "SC016", "broken-code", Broken,
        "A TorchScript source could not be read to its end.",
        "Fetch the file again, or ask its source for one that torch.jit.load takes.";
    DamagedValue, "SC017", "damaged-value", Broken,
        "A value could not be rebuilt.",
        "Fetch the file again; sconce verify says which bytes are wrong.";
    Unreadable, "SC018", "unreadable", Broken,
        "The file, or a part of it, could not be read.",
        "Fetch the file again; sconce verify says which bytes are wrong.";
    NotRead, "SC019", "not-read", Broken,
        "A part is larger or nested deeper than a scan looks into.",
        "Raise the limits, or unpack what is nested and scan it by itself.";
    NotACheckpoint, "SC020", "not-a-checkpoint", Broken,
        "The file is of a format that is not read here, so nothing is proven of it.",
        "Unpack or convert the file first, and scan what comes of it.";
    Container, "SC021", "container", Unknown,
        "The archive's own tables disagree, its data does not fit its checksum, or bytes belong to no record: readers may see different files.",
        "Have the file written again by the program that made it. sconce verify lists every disagreement.";
    DeniedByPolicy, "SC022", "denied-by-policy", Dangerous,
        "The policy that was given denies the file, or a class or function that it names.",
        "Ask whoever keeps the policy.";
    OtherFormat, "SC023", "other-format", Unknown,
        "An archive that another program loads: the pickles in it were read, what else that program runs was not judged.",
        "Unpack it, look at the code in it, and scan the checkpoints in it by themselves.";
    CodeInExpression, "SC024", "code-in-expression", Dangerous,
        "A .pt2 file has something else where a symbolic expression or a guard is to be, and PyTorch runs that text as Python.",
        "Do not load the file with PyTorch: torch.export.load evaluates the text.";
    NativeCode, "SC025", "native-code", Unknown,
        "A .pt2 file holds native code, which torch.export.load and AOTInductor load into the process.",
        "Load the file only if you trust who compiled it. Use the torch.export program that it was compiled from.";
    OtherTarget, "SC026", "other-target", Unknown,
        "A .pt2 file names a function that is not an operator, or a class that its arguments are of: PyTorch imports both by name.",
        "Find out what it is: programs of torch.export call operators and functions of numbers, on tensors and plain containers.";
    BrokenProgram, "SC027", "broken-program", Broken,
        "A .pt2 file's program could not be read to its end.",
        "Fetch the file again, or ask its source for one that torch.export.load takes.";
    CrossedFrame, "SC028", "crossed-frame", Dangerous,
        "A value of a pickle begins in a frame and ends behind it: Python's unpicklers read different bytes there, so what loading runs depends on how the file is opened.",
        "Do not load the file: no pickler writes this. Ask its source for another.";
}

/// One thing that a scan found.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// Its kind, and with it how much it matters.
    pub rule: Rule,
    /// The file, where that is not the one that was scanned: a shard.
    pub file: Option<String>,
    /// The record of an archive, or the part of a stream; within something nested, the path to it.
    pub entry: String,
    /// Where in the entry; in a stream, where in the file.
    pub offset: Option<u64>,
    /// The opcode at fault.
    pub opcode: Option<&'static str>,
    /// The class, function or operator.
    pub global: Option<String>,
    /// The call with its arguments, as Python would write it.
    pub call: Option<String>,
    /// What is wrong with it.
    pub reason: String,
    /// How often it was found in the entry.
    pub count: usize,
}

impl Finding {
    pub(crate) fn new(rule: Rule, entry: &str, reason: impl Into<String>) -> Finding {
        Finding {
            rule,
            file: None,
            entry: entry.to_owned(),
            offset: None,
            opcode: None,
            global: None,
            call: None,
            reason: reason.into(),
            count: 1,
        }
    }

    pub(crate) fn at(mut self, offset: u64) -> Finding {
        self.offset = Some(offset);
        self
    }

    pub(crate) fn opcode(mut self, opcode: Option<&'static str>) -> Finding {
        self.opcode = opcode;
        self
    }

    pub(crate) fn global(mut self, global: impl Into<String>) -> Finding {
        self.global = Some(global.into());
        self
    }

    pub(crate) fn call(mut self, call: impl Into<String>) -> Finding {
        self.call = Some(call.into());
        self
    }

    /// What it makes of the file.
    pub fn severity(&self) -> Verdict {
        self.rule.severity()
    }
}

/// What is known of a file after a scan.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Report {
    /// What the file is.
    pub format: FileKind,
    /// The worst of the findings; [`Verdict::Clean`] where there are none.
    pub verdict: Verdict,
    /// What was found, the worst first, then in the order of reading.
    pub findings: Vec<Finding>,
    /// Findings beyond the number that is kept.
    pub left_out: usize,
    /// Every class and function that a pickle of the file names, in order of first appearance.
    pub globals: Vec<GlobalUse>,
    /// Numbers of the extension registry that are named.
    pub extensions: Vec<i64>,
    /// How many pickles were read.
    pub pickles: usize,
    /// Records of numbers whose headers were not looked at: none, but for a [sparse](crate::Scanner::sparse) scan.
    pub unread_headers: usize,
}

impl Report {
    /// Whether every part that was to be read was read.
    pub fn complete(&self) -> bool {
        self.findings.iter().all(|finding| finding.severity() != Verdict::Broken)
            && self.findings.iter().all(|finding| finding.rule != Rule::ComputedName)
    }

    /// The findings of a severity.
    pub fn of(&self, severity: Verdict) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(move |finding| finding.severity() == severity)
    }
}

/// Most findings that are kept.
const MOST_FINDINGS: usize = 1000;
/// Most names that are kept.
const MOST_GLOBALS: usize = 100_000;
/// Longest name that is kept whole, in bytes.
const LONGEST_NAME: usize = 500;

/// What makes two findings one.
type Same = (Rule, Option<String>, String, Option<String>);

/// Collects findings.
#[derive(Debug, Default)]
pub(crate) struct Sink {
    findings: Vec<Finding>,
    same: HashMap<Same, usize>,
    worst: Option<Verdict>,
    left_out: usize,
    globals: Vec<GlobalUse>,
    by_name: HashMap<(String, String), usize>,
    pub(crate) extensions: Vec<i64>,
    pub(crate) pickles: usize,
    pub(crate) unread_headers: usize,
}

impl Sink {
    /// Adds a finding. One that says the same of the same entry as another is counted there. Gives its place,
    /// for [`Sink::again`], if there is room for it.
    pub(crate) fn add(&mut self, finding: Finding) -> Option<usize> {
        self.worst = self.worst.max(Some(finding.severity()));
        let name = finding.global.clone();
        let same = (finding.rule, finding.file.clone(), finding.entry.clone(), name);
        if let Some(&at) = self.same.get(&same) {
            self.findings[at].count += finding.count;
            return Some(at);
        }
        // What is dangerous is kept all the same: a thousand harmless names must not hide it.
        let room = if finding.severity() == Verdict::Dangerous { 2 } else { 1 } * MOST_FINDINGS;
        if self.findings.len() >= room {
            self.left_out += 1;
            return None;
        }
        self.same.insert(same, self.findings.len());
        self.findings.push(finding);
        Some(self.findings.len() - 1)
    }

    /// Counts a finding once more, without putting it into words again.
    pub(crate) fn again(&mut self, at: usize) {
        self.findings[at].count += 1;
    }

    /// Counts a class or function that a pickle names; `calls` times it is called.
    pub(crate) fn global(
        &mut self,
        (module, name): (&str, &str),
        (record, offset): (&str, u64),
        allowed: bool,
        calls: usize,
    ) {
        let key = (shortened(module), shortened(name));
        if let Some(&at) = self.by_name.get(&key) {
            self.globals[at].count += calls;
            return;
        }
        if self.globals.len() >= MOST_GLOBALS {
            return;
        }
        self.globals.push(GlobalUse {
            module: key.0.clone(),
            name: key.1.clone(),
            offset,
            record: shortened(record),
            count: calls,
            allowed,
        });
        self.by_name.insert(key, self.globals.len() - 1);
    }

    pub(crate) fn has(&self, test: impl Fn(&Finding) -> bool) -> bool {
        self.findings.iter().any(test)
    }

    /// Takes in what was found in something nested; `place` is the path to it.
    pub(crate) fn nest(&mut self, report: Report, place: &str) {
        for mut finding in report.findings {
            finding.entry = match finding.entry.as_str() {
                "" => place.to_owned(),
                entry => shortened(&format!("{place} → {entry}")),
            };
            self.add(finding);
        }
        self.left_out += report.left_out;
        self.pickles += report.pickles;
        for global in report.globals {
            let place = (format!("{place} → {}", global.record), global.offset);
            let name = (global.module.as_str(), global.name.as_str());
            self.global(name, (&place.0, place.1), global.allowed, global.count);
        }
        for code in report.extensions {
            self.extension(code);
        }
    }

    pub(crate) fn extension(&mut self, code: i64) {
        if self.extensions.len() < MOST_FINDINGS && !self.extensions.contains(&code) {
            self.extensions.push(code);
        }
    }

    pub(crate) fn finish(mut self, format: FileKind) -> Report {
        self.findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity()));
        Report {
            format,
            verdict: self.worst.unwrap_or(Verdict::Clean),
            findings: self.findings,
            left_out: self.left_out,
            globals: self.globals,
            extensions: self.extensions,
            pickles: self.pickles,
            unread_headers: self.unread_headers,
        }
    }
}

/// As much of a name as is kept.
pub(crate) fn shortened(name: &str) -> String {
    let end = (0..=LONGEST_NAME.min(name.len())).rev().find(|&end| name.is_char_boundary(end));
    let kept = &name[..end.unwrap_or(0)];
    if kept.len() < name.len() { format!("{kept}…") } else { kept.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_have_names_of_their_own() {
        let mut names: Vec<&str> = Rule::ALL.iter().map(|rule| rule.name()).collect();
        // A remark, and no more: what it names is not in the file.
        let remark = |rule: &Rule| *rule == Rule::CustomOperator;
        assert!(Rule::ALL.iter().all(|rule| remark(rule) == (rule.severity() == Verdict::Clean)));
        assert!(Rule::ALL.iter().all(|rule| rule.meaning().ends_with('.')));
        assert!(Rule::ALL.iter().all(|rule| rule.advice().ends_with('.')));
        for (number, rule) in (1..).zip(Rule::ALL) {
            assert_eq!(rule.id(), format!("SC{number:03}"));
            assert_eq!(Rule::find(rule.id()), Some(*rule));
        }
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), Rule::ALL.len());
    }

    #[test]
    fn harmless_findings_do_not_hide_a_dangerous_one() {
        let mut sink = Sink::default();
        for number in 0..5000 {
            let name = format!("m.C{number}");
            sink.add(Finding::new(Rule::UnknownGlobal, "data.pkl", "unknown").global(name));
        }
        sink.add(Finding::new(Rule::DangerousCall, "data.pkl", "runs").global("os.system"));
        sink.add(Finding::new(Rule::DangerousCall, "data.pkl", "runs").global("os.system"));
        let report = sink.finish(FileKind::Zip);
        assert_eq!(report.verdict, Verdict::Dangerous);
        assert_eq!(report.findings[0].global.as_deref(), Some("os.system"));
        assert_eq!((report.findings[0].count, report.left_out), (2, 4000));
        assert!(report.complete());
    }

    #[test]
    fn verdicts_are_ordered_by_how_bad_they_are() {
        let order = [Verdict::Clean, Verdict::Unknown, Verdict::Broken, Verdict::Dangerous];
        assert!(order.is_sorted());
    }
}
