//! The kinds of tokens and what PyTorch calls them.

use crate::Range;

/// A token: what it is and where it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token {
    /// What it is.
    pub kind: TokenKind,
    /// Where it stands. For [`TokenKind::Newline`], [`TokenKind::Indent`] and
    /// [`TokenKind::Dedent`] this is the white space before the next line's first token.
    pub range: Range,
}

macro_rules! token_kinds {
    ($($(#[doc = $doc:literal])* $kind:ident $name:literal,)*) => {
        /// What a token is.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum TokenKind {
            $(#[doc = concat!("`", $name, "`")] $(#[doc = $doc])* $kind,)*
        }

        impl TokenKind {
            /// What PyTorch calls it, in error messages and in printed trees.
            pub fn name(self) -> &'static str {
                match self { $(Self::$kind => $name,)* }
            }
        }
    };
}

token_kinds! {
    /// The end of the text.
    Eof "eof",
    /// A line that is indented as much as the line before ended.
    Newline "newline",
    /// A line that is indented more than the line before.
    Indent "indent",
    /// The end of an indented block.
    Dedent "dedent",
    /// A name.
    Ident "ident",
    /// A number, without its sign.
    Number "number",
    /// A quoted string.
    Str "string_literal",
    /// The mark that starts a type comment.
    TypeComment "type comment",

    Def "def",
    Class "class",
    Import "import",
    If "if",
    Else "else",
    Elif "elif",
    For "for",
    While "while",
    With "with",
    As "as",
    Return "return",
    Raise "raise",
    Assert "assert",
    Break "break",
    Continue "continue",
    Pass "pass",
    Delete "del",
    Global "global",
    True "True",
    False "False",
    None "None",
    NoneType "NoneType",
    Ellipsis "Ellipsis",
    And "and",
    Or "or",
    Not "not",
    In "in",
    NotIn "not in",
    Is "is",
    IsNot "is not",

    LeftParen "(",
    RightParen ")",
    LeftBracket "[",
    RightBracket "]",
    LeftBrace "{",
    RightBrace "}",
    Comma ",",
    Colon ":",
    Dot ".",
    /// Three dots.
    Dots "dots",
    Arrow "arrow",
    Question "?",
    Exclamation "!",
    Plus "+",
    Minus "-",
    Star "*",
    /// Two stars.
    Pow "pow operator",
    Slash "/",
    /// Two slashes.
    FloorDiv "floordiv",
    Percent "%",
    At "@",
    Ampersand "&",
    Bar "|",
    Caret "^",
    Tilde "~",
    LShift "<<",
    RShift ">>",
    Less "<",
    Greater ">",
    LessEqual "le",
    GreaterEqual "ge",
    EqualEqual "eq",
    NotEqual "ne",
    /// A less-than sign, an equals sign, a greater-than sign.
    Equivalent "equivalent",
    Equal "=",
    PlusEqual "+=",
    MinusEqual "-=",
    StarEqual "*=",
    SlashEqual "/=",
    PercentEqual "%=",
    BarEqual "|=",
    AmpersandEqual "&=",
    CaretEqual "^=",
    LShiftEqual "<<=",
    RShiftEqual ">>=",
    PowEqual "**=",
}

impl TokenKind {
    /// The keyword that `word` is, or else [`TokenKind::Ident`].
    pub(crate) fn of_word(word: &[u8]) -> Self {
        // Most words are names: longer than any keyword, or begun with no keyword's letter.
        if word.len() > "continue".len() || !b"dcieafwrbpgTFNEon".contains(&word[0]) {
            return Self::Ident;
        }
        match word {
            b"def" => Self::Def,
            b"class" => Self::Class,
            b"import" => Self::Import,
            b"if" => Self::If,
            b"else" => Self::Else,
            b"elif" => Self::Elif,
            b"for" => Self::For,
            b"while" => Self::While,
            b"with" => Self::With,
            b"as" => Self::As,
            b"return" => Self::Return,
            b"raise" => Self::Raise,
            b"assert" => Self::Assert,
            b"break" => Self::Break,
            b"continue" => Self::Continue,
            b"pass" => Self::Pass,
            b"del" => Self::Delete,
            b"global" => Self::Global,
            b"True" => Self::True,
            b"False" => Self::False,
            b"None" => Self::None,
            b"NoneType" => Self::NoneType,
            b"Ellipsis" => Self::Ellipsis,
            b"and" => Self::And,
            b"or" => Self::Or,
            b"not" => Self::Not,
            b"in" => Self::In,
            b"is" => Self::Is,
            _ => Self::Ident,
        }
    }

    /// The operator or punctuation that `text` starts with, the longest there is, and its length.
    pub(crate) fn of_sign(text: &[u8]) -> Option<(Self, u32)> {
        let second = text.get(1).copied().unwrap_or(0);
        let third = text.get(2).copied().unwrap_or(0);
        Some(match (text.first()?, second, third) {
            (b'.', b'.', b'.') => (Self::Dots, 3),
            (b'<', b'=', b'>') => (Self::Equivalent, 3),
            (b'<', b'<', b'=') => (Self::LShiftEqual, 3),
            (b'>', b'>', b'=') => (Self::RShiftEqual, 3),
            (b'*', b'*', b'=') => (Self::PowEqual, 3),
            (b'*', b'*', _) => (Self::Pow, 2),
            (b'/', b'/', _) => (Self::FloorDiv, 2),
            (b'=', b'=', _) => (Self::EqualEqual, 2),
            (b'!', b'=', _) => (Self::NotEqual, 2),
            (b'<', b'=', _) => (Self::LessEqual, 2),
            (b'>', b'=', _) => (Self::GreaterEqual, 2),
            (b'<', b'<', _) => (Self::LShift, 2),
            (b'>', b'>', _) => (Self::RShift, 2),
            (b'-', b'>', _) => (Self::Arrow, 2),
            (b'+', b'=', _) => (Self::PlusEqual, 2),
            (b'-', b'=', _) => (Self::MinusEqual, 2),
            (b'*', b'=', _) => (Self::StarEqual, 2),
            (b'/', b'=', _) => (Self::SlashEqual, 2),
            (b'%', b'=', _) => (Self::PercentEqual, 2),
            (b'|', b'=', _) => (Self::BarEqual, 2),
            (b'&', b'=', _) => (Self::AmpersandEqual, 2),
            (b'^', b'=', _) => (Self::CaretEqual, 2),
            (b'(', ..) => (Self::LeftParen, 1),
            (b')', ..) => (Self::RightParen, 1),
            (b'[', ..) => (Self::LeftBracket, 1),
            (b']', ..) => (Self::RightBracket, 1),
            (b'{', ..) => (Self::LeftBrace, 1),
            (b'}', ..) => (Self::RightBrace, 1),
            (b',', ..) => (Self::Comma, 1),
            (b':', ..) => (Self::Colon, 1),
            (b'.', ..) => (Self::Dot, 1),
            (b'?', ..) => (Self::Question, 1),
            (b'!', ..) => (Self::Exclamation, 1),
            (b'+', ..) => (Self::Plus, 1),
            (b'-', ..) => (Self::Minus, 1),
            (b'*', ..) => (Self::Star, 1),
            (b'/', ..) => (Self::Slash, 1),
            (b'%', ..) => (Self::Percent, 1),
            (b'@', ..) => (Self::At, 1),
            (b'&', ..) => (Self::Ampersand, 1),
            (b'|', ..) => (Self::Bar, 1),
            (b'^', ..) => (Self::Caret, 1),
            (b'~', ..) => (Self::Tilde, 1),
            (b'<', ..) => (Self::Less, 1),
            (b'>', ..) => (Self::Greater, 1),
            (b'=', ..) => (Self::Equal, 1),
            _ => return None,
        })
    }
}
