//! Small programs whose comments say what must come out: `filetests/*.py`.
//!
//! A case is `# test: WHAT MODE`, a program, and what PyTorch's parser says of it as `#| ` comments:
//! its tree, its nodes' ranges, or its error. `golden/generate.py` writes them. Where sconce differs on
//! purpose the header begins with `sconce`; `SCONCE_BLESS=1` writes what sconce says there.

use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs};

mod answer;

const HEADER: &str = "# test: ";
const EXPECTED: &str = "#|";

/// One case of a file.
struct Case<'a> {
    header: &'a str,
    /// Whether sconce differs from PyTorch here.
    deliberate: bool,
    what: &'a str,
    mode: &'a str,
    text: String,
    expected: Vec<&'a str>,
}

impl<'a> Case<'a> {
    fn new(part: &'a str) -> Self {
        let (header, rest) = part.split_once('\n').expect("a header is a line");
        let words: Vec<_> = header.split(' ').collect();
        let (deliberate, what, mode) = match words[..] {
            ["sconce", what, mode] => (true, what, mode),
            [what, mode] => (false, what, mode),
            _ => panic!("header {header}"),
        };
        let (expected, program): (Vec<_>, Vec<_>) =
            rest.lines().partition(|line| line.starts_with(EXPECTED));
        let mut text = program.join("\n").trim_matches('\n').to_owned();
        if mode != "exp" {
            text.push('\n');
        }
        let expected = expected.iter().map(|line| {
            let line = &line[EXPECTED.len()..];
            line.strip_prefix(' ').unwrap_or(line)
        });
        Self { header, deliberate, what, mode, text, expected: expected.collect() }
    }

    /// What sconce says, and whether it is what must come out.
    fn run(&self) -> (String, bool) {
        let answer = answer::answer(self.mode, &self.text);
        let parts = answer.as_ref().ok().and_then(|said| said.rsplit_once("--\n"));
        let said = match (self.what, parts, &answer) {
            ("error", None, Err(error)) => error.to_string(),
            ("tree", Some((tree, _)), _) => tree.to_owned(),
            ("ranges", Some((_, places)), _) => places.to_owned(),
            (.., Ok(said)) => return (said.clone(), false),
            (.., Err(error)) => return (error.to_string(), false),
        };
        let lines: Vec<_> = said.trim_end_matches('\n').lines().collect();
        let alike = lines.len() == self.expected.len()
            && lines.iter().zip(&self.expected).all(|(ours, expected)| {
                // Lists and optional children have a place in PyTorch only.
                let placeless = self.what == "ranges" && ours.ends_with("\t-\t-");
                placeless || ours.trim_end() == *expected
            });
        (said, alike)
    }

    fn blessed(&self, said: &str) -> String {
        let mut out = format!("{}\n{}\n", self.header, self.text.trim_end_matches('\n'));
        for line in said.trim_end_matches('\n').lines() {
            out += format!("{EXPECTED} {line}").trim_end();
            out.push('\n');
        }
        out + "\n"
    }
}

#[test]
fn programs_come_out_as_their_comments_say() {
    let bless = env::var_os("SCONCE_BLESS").is_some();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/filetests");
    let (mut cases, mut wrong) = (0, String::new());
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let file = fs::read_to_string(&path).unwrap();
        let mut parts = file.split(HEADER);
        let mut blessed = parts.next().unwrap().to_owned();
        for part in parts {
            let case = Case::new(part);
            let (said, alike) = case.run();
            cases += 1;
            blessed += HEADER;
            blessed += &if case.deliberate { case.blessed(&said) } else { part.to_owned() };
            if !(alike || bless && case.deliberate) {
                let name = path.file_name().unwrap().display();
                let expected = case.expected.join("\n");
                writeln!(wrong, "== {name}: {}\n{}", case.header, case.text).unwrap();
                writeln!(wrong, "-- expected\n{expected}\n-- found\n{said}").unwrap();
            }
        }
        if bless {
            fs::write(&path, blessed.trim_end().to_owned() + "\n").unwrap();
        }
    }
    assert!(cases > 300, "{cases} cases found");
    assert!(wrong.is_empty(), "{wrong}");
}
