//! Scans as SARIF 2.1.0, which code hosts show beside the files.

use sconce::scan::{Finding, Report, Rule, Verdict};
use serde_json::{Value, json};

const SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";

/// The log of one run over files.
pub fn log<'a>(scanned: impl Iterator<Item = (&'a str, &'a Report)>) -> Value {
    let rules: Vec<Value> = Rule::ALL.iter().map(|rule| descriptor(*rule)).collect();
    let mut results = Vec::new();
    let mut complete = true;
    for (file, report) in scanned {
        complete &= report.complete();
        results.extend(report.findings.iter().map(|finding| result(file, finding)));
    }
    json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": {
                "driver": {
                    "name": "sconce",
                    "semanticVersion": env!("CARGO_PKG_VERSION"),
                    "rules": rules,
                },
            },
            "invocations": [{ "executionSuccessful": complete }],
            "results": results,
        }],
    })
}

fn descriptor(rule: Rule) -> Value {
    json!({
        "id": rule.id(),
        "name": rule.name(),
        "shortDescription": { "text": rule.meaning() },
        "help": { "text": rule.advice() },
        "defaultConfiguration": { "level": level(rule) },
    })
}

fn level(rule: Rule) -> &'static str {
    match rule.severity() {
        Verdict::Dangerous => "error",
        Verdict::Broken | Verdict::Unknown => "warning",
        Verdict::Clean => "note",
    }
}

fn result(file: &str, finding: &Finding) -> Value {
    let mut message = match finding.call.as_ref().or(finding.global.as_ref()) {
        Some(what) => format!("{what}: {}", finding.reason),
        None => finding.reason.clone(),
    };
    if !finding.entry.is_empty() {
        message.push_str(&format!(" (in {})", finding.entry));
    }
    let place = match &finding.file {
        // A shard lies beside the index that was scanned.
        Some(shard) => match file.rsplit_once('/') {
            Some((folder, _)) => format!("{folder}/{shard}"),
            None => shard.clone(),
        },
        None => file.to_owned(),
    };
    let mut physical = json!({ "artifactLocation": { "uri": uri(&place) } });
    // Offsets of findings in records count there, not in the file.
    if finding.entry.is_empty()
        && let Some(offset) = finding.offset
    {
        physical["region"] = json!({ "byteOffset": offset });
    }
    let index = Rule::ALL.iter().position(|rule| *rule == finding.rule);
    json!({
        "ruleId": finding.rule.id(),
        "ruleIndex": index,
        "level": level(finding.rule),
        "message": { "text": message },
        "locations": [{
            "physicalLocation": physical,
            "logicalLocations": [{ "fullyQualifiedName": finding.entry, "kind": "resource" }],
        }],
        "properties": {
            "offset": finding.offset,
            "opcode": finding.opcode,
            "count": finding.count,
        },
    })
}

/// A path as a relative or `file:` URI.
fn uri(path: &str) -> String {
    let mut out = String::new();
    if path.starts_with('/') {
        out.push_str("file://");
    }
    for byte in path.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' | b'~' => {
                out.push(byte.into());
            }
            other => out.push_str(&format!("%{other:02X}")),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_uris() {
        assert_eq!(uri("a b/é.pt"), "a%20b/%C3%A9.pt");
        assert_eq!(uri("/tmp/x#1.pt"), "file:///tmp/x%231.pt");
    }
}
