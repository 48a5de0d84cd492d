//! When to use colour, and which colour means what.

use std::env;
use std::io::IsTerminal;

use anstyle::{AnsiColor, Effects, Style as Ansi};
use clap::ValueEnum;

/// `--color`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ColorChoice {
    /// On a terminal, unless NO_COLOR is set or TERM is dumb; everywhere with CLICOLOR_FORCE.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

impl ColorChoice {
    /// Whether to colour a stream.
    pub fn applies_to(self, stream: &impl IsTerminal) -> bool {
        let set = |name: &str| env::var_os(name).filter(|value| !value.is_empty());
        match self {
            ColorChoice::Always => true,
            ColorChoice::Never => false,
            ColorChoice::Auto => {
                if set("NO_COLOR").is_some() {
                    return false;
                }
                if set("CLICOLOR_FORCE").is_some_and(|value| value != "0") {
                    return true;
                }
                let off = set("CLICOLOR").is_some_and(|value| value == "0");
                let dumb = set("TERM").is_some_and(|value| value == "dumb");
                !off && !dumb && stream.is_terminal()
            }
        }
    }
}

/// What a piece of text is, from which its colour follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// Most text.
    Plain,
    /// Headings and the names that a screen is about.
    Strong,
    /// Labels, rulers, hints.
    Dim,
    /// Names of tensors, keys, classes.
    Name,
    /// Numbers and sizes.
    Number,
    /// All is well.
    Good,
    /// Worth a look.
    Warn,
    /// Wrong.
    Bad,
}

/// Turns styles into escape sequences, or into nothing.
#[derive(Debug, Clone, Copy)]
pub struct Palette {
    on: bool,
}

impl Palette {
    /// With colours or without.
    pub fn new(on: bool) -> Palette {
        Palette { on }
    }

    /// Whether there are colours.
    pub fn is_on(self) -> bool {
        self.on
    }

    /// The sequence that starts a style and the one that ends it.
    pub fn ansi(self, style: Style) -> (String, String) {
        if !self.on || style == Style::Plain {
            return (String::new(), String::new());
        }
        let colored = |color: AnsiColor| Ansi::new().fg_color(Some(color.into()));
        let ansi = match style {
            Style::Plain => Ansi::new(),
            Style::Strong => Ansi::new().effects(Effects::BOLD),
            Style::Dim => Ansi::new().effects(Effects::DIMMED),
            Style::Name => colored(AnsiColor::Cyan),
            Style::Number => colored(AnsiColor::Green),
            Style::Good => colored(AnsiColor::Green).effects(Effects::BOLD),
            Style::Warn => colored(AnsiColor::Yellow).effects(Effects::BOLD),
            Style::Bad => colored(AnsiColor::Red).effects(Effects::BOLD),
        };
        (ansi.render().to_string(), ansi.render_reset().to_string())
    }
}
