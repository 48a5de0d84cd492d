//! The flags of the verbs that run programs, and what they stand for.

use sconce::run::{
    Error, Generator, Limits, Missing, Need, Options, Precision, Session, Sink,
    limit_vector_instructions,
};

use crate::arguments::call::{BudgetOptions, Call, LIMITS_HELP, PrecisionChoice};
use crate::call::callable::{Callable, Default};
use crate::call::deadline::Deadline;
use crate::call::memory_ceiling;
use crate::error::Failure;
use crate::output::{self, program_text};
use crate::read::archive;
use crate::read::open::Say;

/// Output of programs to the process's own streams: text to standard output, or beside a JSON
/// document to standard error; warnings to standard error.
struct Streams {
    say: Say,
    json: bool,
}

impl Sink for Streams {
    fn print(&mut self, text: &str) {
        program_text(text, self.json);
    }

    fn warn(&mut self, message: &str) {
        if !self.say.quiet {
            output::warn(self.say.color, message);
        }
    }
}

impl BudgetOptions {
    /// The options of a session that prints what the program prints.
    pub fn options(&self, say: Say, json: bool) -> Options {
        Options { sink: Some(Box::new(Streams { say, json })), ..self.silent() }
    }

    /// The options of a session that prints nothing.
    pub fn silent(&self) -> Options {
        let mut limits = Limits { time: self.limits.max_seconds, ..Limits::default() };
        if let Some(steps) = self.limits.max_steps {
            limits.steps = steps;
        }
        let missing = if self.strict { Missing::Refuse } else { Missing::WhenReached };
        let memory = self.limits.memory();
        let (optimize, exact) = (!self.no_optimize, self.exact);
        let precision = match self.precision {
            None | Some(PrecisionChoice::Full) => Precision::Full,
            Some(PrecisionChoice::Bf16) => Precision::Bf16,
            Some(PrecisionChoice::Int8Weights) => Precision::Int8Weights,
        };
        Options { limits, missing, memory, optimize, exact, precision, ..Options::default() }
    }

    /// What holds a call that begins now to `--max-seconds`, also within an operator.
    pub fn deadline(&self, file: &str, say: Say) -> Option<Deadline> {
        let most = self.limits.max_seconds?;
        let late = Error::Limit(format!("time limit of {} s exceeded", most.as_secs_f64()));
        let failure = failure(late, file).note("one operator was still at work");
        Some(Deadline::new(most, failure, say.color))
    }

    /// Where random numbers for arguments come from.
    pub fn generator(&self) -> Generator {
        self.seed.map_or_else(Generator::default, Generator::new)
    }

    /// Sets what holds for the whole process: vector instructions and the number of threads.
    pub fn set_up_process(&self) -> Result<(), Failure> {
        if let Some(level) = &self.vector_instructions {
            limit_vector_instructions(level)
                .map_err(|error| Failure::usage(format!("--vector-instructions: {error}")))?;
        }
        let Some(threads) = self.threads else { return Ok(()) };
        let pool = rayon::ThreadPoolBuilder::new().num_threads(usize::from(threads));
        pool.build_global().map_err(|error| Failure::unreadable(error.to_string()))
    }
}

/// A session, and the method of its module that is called.
pub struct Called {
    /// The session.
    pub session: Session,
    /// The method.
    pub method: String,
    /// What arguments are that are not given.
    pub defaults: Vec<Default>,
}

/// A session of what is called, whose method has nothing that it must not have.
pub fn session(
    callable: &Callable,
    call: &Call,
    options: Options,
    file: &str,
    say: Say,
) -> Result<Called, Failure> {
    if let Some(memory) = options.memory {
        memory_ceiling::set(memory, file, say);
    }
    let strict = options.missing == Missing::Refuse;
    let path = call.method.or_forward();
    let (callable, method) = callable.method(path, file)?;
    let mut session = callable.session(options).map_err(|error| failure(error, file))?;
    let mut needs = session.needs(&method).map_err(|error| failure(error, file))?;
    needs.retain(|need| strict || need.refused().is_some());
    if !needs.is_empty() {
        return Err(refusal(&needs, path, file));
    }
    if let Some(seed) = call.budget.seed {
        session.manual_seed(seed);
    }
    Ok(Called { session, method, defaults: callable.defaults().to_vec() })
}

/// How many operators a refusal names, with a place each.
const MOST_NAMED: usize = 20;

fn refusal(needs: &[Need], method: &str, file: &str) -> Failure {
    let mut named: Vec<(&str, usize, &Need)> = Vec::new();
    for need in needs {
        match named.iter_mut().find(|(what, ..)| *what == need.what) {
            Some((_, count, _)) => *count += 1,
            None => named.push((&need.what, 1, need)),
        }
    }
    let plural = if named.len() == 1 { "" } else { "s" };
    let message =
        format!("'{method}' has {} operator{plural} that sconce does not run", named.len());
    let mut failure = Failure::unreadable(message).in_file(file);
    for (what, count, need) in named.iter().take(MOST_NAMED) {
        let places = if *count == 1 { String::new() } else { format!(" at {count} places") };
        let range = need.range.as_ref();
        let place = range.map(|range| range.original().unwrap_or_else(|| range.clone()));
        let place = place.map_or(String::new(), |place| format!("\n{}", place.highlight()));
        let why = need.refused().map_or(String::new(), |why| format!(" ({why})"));
        failure = failure.note(format!("{what}{why}{places}{place}"));
    }
    if named.len() > MOST_NAMED {
        failure = failure.note(format!("and {} more: sconce ops FILE", named.len() - MOST_NAMED));
    }
    match needs.iter().any(|need| need.refused().is_some()) {
        true => failure,
        false => failure.help("without --strict it runs unless it comes to one of them"),
    }
}

/// What is wrong with a program that was prepared or run. An exception's text is PyTorch's.
pub fn failure(error: Error, file: &str) -> Failure {
    match error {
        Error::Archive(error) => archive::failure(error, file),
        Error::Arguments(message) => Failure::usage(message).in_file(file),
        Error::Limit(message) => Failure::unreadable(message).in_file(file).help(LIMITS_HELP),
        Error::Unsupported { .. } => {
            let failure = Failure::unreadable(error.to_string()).in_file(file);
            failure.help("sconce ops FILE lists the operators of a program that are missing")
        }
        other => Failure::unreadable(other.to_string()).in_file(file),
    }
}
