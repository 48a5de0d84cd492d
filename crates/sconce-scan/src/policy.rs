//! What somebody allows and denies beyond PyTorch's own list.

use crate::report::{Finding, Report, Rule, Verdict};

/// Names and files that are allowed or denied, a line each:
///
/// ```text
/// # classes of our own
/// allow models.yolo.*
/// deny  torch.hub.*
/// allow sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
/// ```
///
/// `*` stands for any characters. A name that is allowed is no finding any more, unless it is known to be
/// dangerous: that only the hash of a whole file allows. A name or file that is denied makes a file dangerous. Where
/// lines contradict each other, denying wins.
///
/// ```
/// use sconce_scan::{Policy, Verdict, scan};
/// use sconce_source::{Limits, Source};
///
/// let file = b"\x80\x02cmodels.yolo\nModel\n)\x81.".to_vec();
/// let mut report = scan(&Source::from_vec("model.pkl", file), &Limits::default());
/// assert_eq!(report.verdict, Verdict::Unknown);
/// let policy: Policy = "allow models.yolo.*".parse()?;
/// policy.apply(&mut report, None);
/// assert_eq!(report.verdict, Verdict::Clean);
/// # Ok::<(), sconce_scan::PolicyError>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Policy {
    lines: Vec<PolicyLine>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct PolicyLine {
    allows: bool,
    subject: Subject,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Subject {
    /// A pattern of full names.
    Name(String),
    /// The SHA-256 of a whole file, in lower case.
    Sha256(String),
}

/// Why a policy cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyError {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub message: String,
}

impl std::fmt::Display for PolicyError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "line {}: {}", self.line, self.message)
    }
}

impl std::error::Error for PolicyError {}

impl std::str::FromStr for Policy {
    type Err = PolicyError;

    fn from_str(text: &str) -> Result<Policy, PolicyError> {
        let mut lines = Vec::new();
        for (number, line) in (1..).zip(text.lines()) {
            let line = line.split('#').next().unwrap_or_default().trim();
            if line.is_empty() {
                continue;
            }
            let wrong = |message: String| PolicyError { line: number, message };
            let (word, subject) = line
                .split_once(char::is_whitespace)
                .ok_or_else(|| wrong(format!("'{line}' is not `allow NAME` or `deny NAME`")))?;
            let allows = match word {
                "allow" => true,
                "deny" => false,
                other => return Err(wrong(format!("'{other}' is neither `allow` nor `deny`"))),
            };
            let subject = subject.trim();
            let subject = match subject.strip_prefix("sha256:") {
                Some(hash) if hash.len() == 64 && hash.bytes().all(|b| b.is_ascii_hexdigit()) => {
                    Subject::Sha256(hash.to_ascii_lowercase())
                }
                Some(_) => return Err(wrong("a SHA-256 has 64 hexadecimal digits".to_owned())),
                None if subject.contains(char::is_whitespace) => {
                    return Err(wrong(format!("'{subject}' is more than one name")));
                }
                None => Subject::Name(subject.to_owned()),
            };
            lines.push(PolicyLine { allows, subject });
        }
        Ok(Policy { lines })
    }
}

impl Policy {
    /// Whether the policy speaks of whole files, so that [`Policy::apply`] should be given the hash.
    pub fn needs_hash(&self) -> bool {
        self.lines.iter().any(|line| matches!(line.subject, Subject::Sha256(_)))
    }

    /// Changes a report to what it is under this policy. `sha256` is the hash of the whole file, in hexadecimal
    /// digits, where it is known.
    pub fn apply(&self, report: &mut Report, sha256: Option<&str>) {
        let hashed = |allows: bool| {
            self.lines.iter().any(|line| {
                line.allows == allows
                    && matches!((&line.subject, sha256), (Subject::Sha256(hash), Some(of)) if hash.eq_ignore_ascii_case(of))
            })
        };
        if hashed(false) {
            let reason = "the policy denies this file by its SHA-256";
            report.findings.insert(0, Finding::new(Rule::DeniedByPolicy, "", reason));
            report.verdict = Verdict::Dangerous;
            return;
        }
        let denied: Vec<Finding> = report
            .globals
            .iter()
            .filter(|global| self.says(false, &global.full_name()))
            .map(|global| {
                Finding::new(Rule::DeniedByPolicy, &global.record, "the policy denies this name")
                    .at(global.offset)
                    .global(global.full_name())
            })
            .collect();
        if denied.is_empty() && hashed(true) {
            report.findings.clear();
            report.left_out = 0;
            report.verdict = Verdict::Clean;
            return;
        }
        report.findings.retain(|finding| {
            let allowed = finding.global.as_deref().is_some_and(|name| self.says(true, name));
            !(allowed && finding.severity() == Verdict::Unknown)
        });
        report.findings.splice(0..0, denied);
        let worst = report.findings.iter().map(Finding::severity).max();
        // What was left out may be worse than what was kept.
        let unseen = (report.left_out > 0).then_some(Verdict::Unknown);
        report.verdict = worst.max(unseen).unwrap_or(Verdict::Clean);
    }

    fn says(&self, allows: bool, name: &str) -> bool {
        self.lines.iter().any(|line| match &line.subject {
            Subject::Name(pattern) => line.allows == allows && matches(pattern, name),
            Subject::Sha256(_) => false,
        })
    }
}

/// Whether a text matches a pattern in which `*` stands for any characters.
fn matches(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = text.strip_prefix(parts.next().unwrap_or_default()) else { return false };
    let mut parts = parts.peekable();
    if parts.peek().is_none() {
        return rest.is_empty();
    }
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return rest.ends_with(part);
        }
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use sconce_source::{Limits, Source};

    use super::*;
    use crate::scan;

    #[test]
    fn patterns() {
        for (pattern, text, expected) in [
            ("os.system", "os.system", true),
            ("os.system", "os.systems", false),
            ("models.*", "models.yolo.Model", true),
            ("*.Model", "models.yolo.Model", true),
            ("m*y*M*", "models.yolo.Model", true),
            ("m*y*Z", "models.yolo.Model", false),
            ("*", "anything", true),
            ("a*a", "a", false),
        ] {
            assert_eq!(matches(pattern, text), expected, "{pattern} {text}");
        }
    }

    #[test]
    fn what_is_dangerous_is_allowed_by_hash_alone() {
        let file = b"\x80\x02cos\nsystem\nX\x02\0\0\0ls\x85R.".to_vec();
        let report = scan(&Source::from_vec("model.pkl", file), &Limits::default());
        let under = |text: &str, hash: Option<&str>| {
            let mut report = report.clone();
            text.parse::<Policy>().unwrap().apply(&mut report, hash);
            report.verdict
        };
        let hash = "0".repeat(64);
        assert_eq!(under("allow os.system", None), Verdict::Dangerous);
        assert_eq!(under(&format!("allow sha256:{hash}"), Some(&hash)), Verdict::Clean);
        assert_eq!(under(&format!("allow sha256:{hash}"), None), Verdict::Dangerous);
        let both = format!("allow sha256:{hash}\ndeny os.*");
        assert_eq!(under(&both, Some(&hash)), Verdict::Dangerous);
    }

    #[test]
    fn lines_that_are_none_are_refused() {
        for text in ["permit os", "allow", "deny sha256:12", "allow a b"] {
            assert_eq!(text.parse::<Policy>().unwrap_err().line, 1, "{text}");
        }
        let text = "# nothing\n\nallow a # and why\n";
        assert_eq!(text.parse::<Policy>().unwrap().lines.len(), 1);
    }
}
