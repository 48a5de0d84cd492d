//! What goes wrong, and which exit code it gives. How it is printed says `output/failure.rs`.

/// What the verbs give back.
pub type Verdict = Result<Outcome, Failure>;

/// How a verb ended that did its work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    /// Exit code 0.
    Clean,
    /// Exit code 1: a finding, a difference, an anomaly.
    Finding,
    /// Exit code 2: some of the files could not be read to their end, which the output says.
    Incomplete,
}

impl Outcome {
    /// [`Outcome::Finding`] when something was found.
    pub fn found(found: bool) -> Outcome {
        if found { Outcome::Finding } else { Outcome::Clean }
    }

    /// The exit code.
    pub fn code(self) -> u8 {
        match self {
            Outcome::Clean => 0,
            Outcome::Finding => 1,
            Outcome::Incomplete => 2,
        }
    }
}

/// Why a verb could not do its work.
#[derive(Debug, Clone)]
pub struct Failure(pub(crate) Box<Inner>);

#[derive(Debug, Clone)]
pub(crate) struct Inner {
    pub(crate) exit: Exit,
    pub(crate) message: String,
    pub(crate) file: Option<String>,
    pub(crate) record: Option<String>,
    pub(crate) offset: Option<u64>,
    pub(crate) notes: Vec<String>,
    pub(crate) help: Option<String>,
    pub(crate) kind: Option<sconce::ErrorKind>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    Unreadable,
    Usage,
    PipeClosed,
}

impl Failure {
    fn new(exit: Exit, message: impl Into<String>) -> Failure {
        Failure(Box::new(Inner {
            exit,
            message: message.into(),
            file: None,
            record: None,
            offset: None,
            notes: Vec::new(),
            help: None,
            kind: None,
        }))
    }

    /// Exit code 2: the file, the disk or a limit.
    pub fn unreadable(message: impl Into<String>) -> Failure {
        Failure::new(Exit::Unreadable, message)
    }

    /// Exit code 3: the command line asks for what is not there or makes no sense.
    pub fn usage(message: impl Into<String>) -> Failure {
        Failure::new(Exit::Usage, message)
    }

    /// The reader of standard output went away: nothing to say about it.
    pub fn pipe_closed() -> Failure {
        Failure::new(Exit::PipeClosed, "")
    }

    /// Whether it is that nobody reads standard output any more.
    pub fn is_pipe_closed(&self) -> bool {
        self.0.exit == Exit::PipeClosed
    }

    /// Names the file, unless it has a name already.
    pub fn in_file(mut self, file: impl Into<String>) -> Failure {
        self.0.file.get_or_insert_with(|| file.into());
        self
    }

    /// Names the record.
    pub fn in_record(mut self, record: Option<impl Into<String>>) -> Failure {
        self.0.record = record.map(Into::into);
        self
    }

    /// Gives the offset in bytes.
    pub fn at(mut self, offset: Option<u64>) -> Failure {
        self.0.offset = offset;
        self
    }

    /// Adds why.
    pub fn note(mut self, note: impl Into<String>) -> Failure {
        self.0.notes.push(note.into());
        self
    }

    /// Says what to do next.
    pub fn help(mut self, help: impl Into<String>) -> Failure {
        self.0.help = Some(help.into());
        self
    }

    /// Says whose fault it is.
    pub(crate) fn of_kind(mut self, kind: sconce::ErrorKind) -> Failure {
        self.0.kind = Some(kind);
        self
    }

    /// Whose fault it is, where that is known.
    pub fn kind(&self) -> Option<sconce::ErrorKind> {
        self.0.kind
    }

    /// The file, as it was named.
    pub fn file_name(&self) -> Option<&str> {
        self.0.file.as_deref()
    }

    /// What led to it.
    pub fn notes(&self) -> &[String] {
        &self.0.notes
    }

    /// What to do next.
    pub fn advice(&self) -> Option<&str> {
        self.0.help.as_deref()
    }

    /// The message alone.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The exit code.
    pub fn code(&self) -> u8 {
        match self.0.exit {
            Exit::Unreadable => 2,
            Exit::Usage => 3,
            Exit::PipeClosed => 0,
        }
    }
}

impl From<sconce::source::Error> for Failure {
    fn from(error: sconce::source::Error) -> Failure {
        match &error {
            sconce::source::Error::Io { path, source } => {
                let doing = if path.to_string_lossy().contains("://") { "read" } else { "open" };
                let failure = Failure::unreadable(format!("cannot {doing}: {source}"));
                failure.in_file(path.to_string_lossy())
            }
            sconce::source::Error::NotAFile { path, what } => {
                let failure = Failure::unreadable(format!("this is a {what}, not a file"))
                    .in_file(path.to_string_lossy());
                match *what {
                    // A shell's <(…), or a pipe that somebody made; or the input under its name.
                    _ if *what == "named pipe" || path.starts_with("/dev") => {
                        failure.help("- reads standard input: … | sconce VERB -")
                    }
                    _ => failure,
                }
            }
            _ => Failure::unreadable(error.to_string()),
        }
    }
}

impl From<sconce::archive::Error> for Failure {
    fn from(error: sconce::archive::Error) -> Failure {
        let failure =
            Failure::unreadable(error.message()).in_record(error.record()).at(error.offset());
        let failure = failure.of_kind(sconce::Error::from(error.clone()).kind());
        match error.note() {
            Some(detail) => failure.note(detail),
            None => failure,
        }
    }
}

impl From<sconce::checkpoint::Error> for Failure {
    fn from(error: sconce::checkpoint::Error) -> Failure {
        let failure = match error.kind() {
            sconce::ErrorKind::Caller => Failure::usage(error.message()),
            _ => Failure::unreadable(error.message()),
        };
        let mut failure = failure.in_record(error.record()).at(error.offset());
        failure.0.kind = Some(error.kind());
        failure.0.file = error.file().map(str::to_owned);
        failure.0.notes.extend(error.note().map(str::to_owned));
        failure.0.help = error.help().map(str::to_owned);
        failure
    }
}

impl From<sconce::tensor::Error> for Failure {
    fn from(error: sconce::tensor::Error) -> Failure {
        match error.kind() {
            sconce::tensor::ErrorKind::Caller => Failure::usage(error.to_string()),
            _ => Failure::unreadable(error.to_string()),
        }
    }
}

#[cfg(feature = "hub")]
impl From<sconce::hub::Error> for Failure {
    fn from(error: sconce::hub::Error) -> Failure {
        let mut failure = match error.kind() {
            sconce::hub::ErrorKind::Usage => Failure::usage(error.message()),
            _ => Failure::unreadable(error.message()),
        };
        if let Some(address) = error.address() {
            failure = failure.in_file(address);
        }
        failure.0.notes.extend(error.note().map(str::to_owned));
        failure.0.help = error.help().map(str::to_owned);
        failure
    }
}

impl From<sconce::pickle::Error> for Failure {
    fn from(error: sconce::pickle::Error) -> Failure {
        Failure::unreadable(error.to_string()).at(Some(error.offset()))
    }
}

impl From<sconce::export::Error> for Failure {
    fn from(error: sconce::export::Error) -> Failure {
        match error.kind() {
            sconce::export::ErrorKind::Caller => Failure::usage(error.to_string()),
            _ => Failure::unreadable(error.to_string()),
        }
    }
}
