//! Something that a program needs and that is not here.

use sconce_syntax::SourceRange;

/// Something that a program needs and that is not here, at one place.
#[derive(Debug, Clone)]
pub struct Need {
    /// An operator by its full name, such as `aten::stft`, or a kind of instruction.
    pub what: String,
    /// Where the program needs it.
    pub range: Option<SourceRange>,
}

impl Need {
    /// Why a program that has this is refused whether it comes to it or not: what touches files,
    /// processes or the network. `None` for what is merely missing.
    pub fn refused(&self) -> Option<&'static str> {
        sconce_ir::operators::forbidden::reason(&self.what)
    }
}
