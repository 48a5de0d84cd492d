//! Listings beside those of Python's pickletools, which `golden/generate.py` wrote down.

use sconce_pickle::{DisError, Limits, dis, dis_from};

const GOLDEN: &str = include_str!("golden/dis.txt");

#[derive(Default, PartialEq, Debug)]
struct Case {
    name: &'static str,
    bytes: Vec<u8>,
    text: String,
    last: String,
}

fn cases() -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    for line in GOLDEN.split_terminator('\n') {
        if let Some(name) = line.strip_prefix("case ") {
            cases.push(Case { name, ..Case::default() });
            continue;
        }
        let case = cases.last_mut().expect("a case first");
        if let Some(hex) = line.strip_prefix("hex ") {
            case.bytes = (0..hex.len())
                .step_by(2)
                .map(|place| u8::from_str_radix(&hex[place..place + 2], 16).expect("hex"))
                .collect();
        } else if let Some(text) = line.strip_prefix("| ") {
            match text.strip_suffix('\\') {
                Some(cut) if cut.ends_with(": ") => case.text.push_str(cut),
                _ => case.text.push_str(&format!("{text}\n")),
            }
        } else {
            case.last = line.to_owned();
        }
    }
    cases
}

/// Python's `ascii()` of an error message.
fn ascii(text: &str) -> String {
    let quote = if text.contains('\'') && !text.contains('"') { '"' } else { '\'' };
    let mut out = String::from(quote);
    for c in text.chars() {
        if c == quote || c == '\\' {
            out.push('\\');
        }
        out.push(c);
    }
    out.push(quote);
    out
}

#[test]
fn listings_are_those_of_pickletools() {
    let cases = cases();
    assert!(cases.len() > 200);
    let mut wrong = Vec::new();
    for case in &cases {
        let mut out = Vec::new();
        let last = match dis(&case.bytes, &mut out) {
            Ok(summary) => format!("end {}", summary.end),
            Err(error) => format!("error {}", ascii(&error.to_string())),
        };
        let text = String::from_utf8(out).expect("UTF-8");
        if (text.as_str(), last.as_str()) != (case.text.as_str(), case.last.as_str()) {
            wrong.push(format!("{}:\n{text}{last}\nnot\n{}{}", case.name, case.text, case.last));
        }
    }
    assert!(wrong.is_empty(), "{} wrong\n{}", wrong.len(), wrong.join("\n\n"));
}

#[test]
fn pickles_in_a_row() {
    let bytes = b"\x80\x02K\x01.\x80\x02](K\x02e.";
    let mut out = Vec::new();
    let first = dis(bytes, &mut out).expect("valid");
    assert_eq!((first.end, first.opcodes), (5, 3));
    out.clear();
    let second = dis_from(bytes, first.end, &Limits::default(), &mut out).expect("valid");
    assert_eq!(second.end, bytes.len());
    assert_eq!(
        String::from_utf8_lossy(&out),
        "    5: \\x80 PROTO      2
    7: ]    EMPTY_LIST
    8: (    MARK
    9: K        BININT1    2
   11: e        APPENDS    (MARK at 8)
   12: .    STOP
highest protocol among opcodes = 2
"
    );
    out.clear();
    let error =
        dis_from(bytes, second.end, &Limits::default(), &mut out).expect_err("nothing left");
    assert!(matches!(error, DisError::Pickle { at: 13, .. }));
    let error = dis_from(bytes, 99, &Limits::default(), &mut out).expect_err("nothing there");
    assert_eq!(error.to_string(), "pickle exhausted before seeing STOP");
}

#[test]
fn a_megabyte_of_marks_is_not_a_terabyte_of_blanks() {
    struct Count(u64);
    impl std::io::Write for Count {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 += bytes.len() as u64;
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut count = Count(0);
    assert!(dis(&b"(".repeat(1 << 14), &mut count).is_err());
    assert!(count.0 < 5000 << 14);
}
