//! Answers the questions that `tests/golden/oracle.cpp` answers, in the same words, so that a script
//! can put both beside each other.

use std::error::Error;
use std::io::{self, BufRead, Read, Write};

#[path = "../tests/answer/mod.rs"]
mod answer;

fn main() -> Result<(), Box<dyn Error>> {
    let mut input = io::stdin().lock();
    let mut output = io::stdout().lock();
    let mut request = String::new();
    while input.read_line(&mut request)? > 0 {
        let (mode, length) = request.trim_end().rsplit_once(' ').ok_or("MODE LENGTH")?;
        let mut text = vec![0; length.parse()?];
        input.read_exact(&mut text)?;
        let (verdict, said) = match answer::answer(mode, &String::from_utf8(text)?) {
            Ok(said) => ("ok", said),
            Err(error) => ("error", error.to_string()),
        };
        write!(output, "{verdict} {}\n{said}", said.len())?;
        output.flush()?;
        request.clear();
    }
    Ok(())
}
