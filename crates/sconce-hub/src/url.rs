//! Addresses of files on web servers.

use std::fmt::Write as _;

use crate::{Error, ErrorKind};

/// An `http` or `https` address. The password that one may hold is sent to its own server only, and never shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Url {
    secure: bool,
    /// What stands before the `@`.
    user: Option<String>,
    host: String,
    port: Option<u16>,
    /// Begins with a slash.
    path: String,
    query: Option<String>,
}

/// What may see a token: scheme, host and port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Origin {
    secure: bool,
    host: String,
    port: u16,
}

impl Url {
    pub(crate) fn parse(text: &str) -> Result<Url, Error> {
        let wrong = |why: &str| {
            let message = format!("'{}' is not an address of a file: {why}", without_secrets(text));
            Error::new(ErrorKind::Usage, message)
        };
        let Some((scheme, rest)) = text.split_once("://") else {
            return Err(Error::new(
                ErrorKind::Usage,
                format!("unknown url type: '{}'", without_secrets(text)),
            ));
        };
        let secure = match scheme.to_ascii_lowercase().as_str() {
            "https" => true,
            "http" => false,
            other => {
                let message = format!("<urlopen error unknown url type: {}>", other.escape_debug());
                return Err(
                    Error::new(ErrorKind::Usage, message).with_note("only http and https are read")
                );
            }
        };
        let rest = rest.split('#').next().unwrap_or_default();
        let end = rest.find(['/', '?']).unwrap_or(rest.len());
        let (authority, tail) = rest.split_at(end);
        let (user, server) = match authority.rsplit_once('@') {
            Some((user, server)) => (Some(user.to_owned()), server),
            None => (None, authority),
        };
        let (host, port) = match server.rsplit_once(':') {
            // The colons of an IPv6 address stand in brackets.
            Some((host, port)) if !port.ends_with(']') => {
                let number = if port.is_empty() { Ok(None) } else { port.parse().map(Some) };
                (host, number.map_err(|_| wrong("the port is not a number"))?)
            }
            _ => (server, None),
        };
        let plain = |c: char| c.is_ascii_alphanumeric() || ".-_[]:%".contains(c);
        if host.is_empty() || !host.chars().all(plain) {
            return Err(wrong("the name of the server is missing or wrong"));
        }
        let (path, query) = match tail.split_once('?') {
            Some((path, query)) => (path, Some(escaped(query))),
            None => (tail, None),
        };
        let path = if path.is_empty() { "/".to_owned() } else { escaped(path) };
        Ok(Url { secure, user, host: host.to_ascii_lowercase(), port, path, query })
    }

    /// The address that a server redirects to.
    pub(crate) fn join(&self, location: &str) -> Result<Url, Error> {
        let scheme = location.find(':').map(|at| &location[..at]);
        let has_scheme = scheme.is_some_and(|scheme| {
            !scheme.is_empty()
                && scheme.bytes().all(|b| b.is_ascii_alphanumeric() || b"+-.".contains(&b))
        });
        if has_scheme {
            return Url::parse(location);
        }
        if let Some(rest) = location.strip_prefix("//") {
            return Url::parse(&format!("{}://{rest}", self.scheme()));
        }
        let location = location.split('#').next().unwrap_or_default();
        let (path, query) = match location.split_once('?') {
            Some((path, query)) => (path, Some(escaped(query))),
            None => (location, None),
        };
        let path = if path.is_empty() {
            self.path.clone()
        } else if path.starts_with('/') {
            escaped(path)
        } else {
            let folder = self.path.rfind('/').map_or("", |slash| &self.path[..slash]);
            escaped(&format!("{folder}/{path}"))
        };
        Ok(Url { path: without_dots(&path), query, ..self.clone() })
    }

    /// The address of another file in the same folder.
    pub(crate) fn beside(&self, name: &str) -> Url {
        let folder = self.path.rfind('/').map_or("", |slash| &self.path[..slash]);
        let path = format!("{folder}/{}", escaped_part(name, ""));
        Url { path, ..self.clone() }
    }

    /// The path, escaped; begins with a slash.
    #[cfg(feature = "buckets")]
    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    #[cfg(feature = "buckets")]
    pub(crate) fn query(&self) -> Option<&str> {
        self.query.as_deref()
    }

    /// What the header `Host` says.
    #[cfg(feature = "buckets")]
    pub(crate) fn authority(&self) -> String {
        let usual = if self.secure { 443 } else { 80 };
        match self.port.filter(|port| *port != usual) {
            Some(port) => format!("{}:{port}", self.host),
            None => self.host.clone(),
        }
    }

    fn scheme(&self) -> &'static str {
        if self.secure { "https" } else { "http" }
    }

    pub(crate) fn is_secure(&self) -> bool {
        self.secure
    }

    pub(crate) fn origin(&self) -> Origin {
        let port = self.port.unwrap_or(if self.secure { 443 } else { 80 });
        Origin { secure: self.secure, host: self.host.clone(), port }
    }

    pub(crate) fn user(&self) -> Option<&str> {
        self.user.as_deref()
    }

    /// What is sent: without a password.
    pub(crate) fn request(&self) -> String {
        let mut text = self.shown();
        if let Some(query) = &self.query {
            text.push('?');
            text.push_str(query);
        }
        text
    }

    /// What is shown: without a password, and without the query, which signs some addresses.
    pub(crate) fn shown(&self) -> String {
        let port = self.port.map(|port| format!(":{port}")).unwrap_or_default();
        format!("{}://{}{port}{}", self.scheme(), self.host, self.path)
    }

    /// The last part of the path, as Python's `urlparse` has it: without parameters, escapes as they are.
    pub(crate) fn file_name(&self) -> &str {
        let last = self.path.rsplit('/').next().unwrap_or_default();
        last.split(';').next().unwrap_or_default()
    }
}

/// An address as it may be shown, whatever it is.
pub(crate) fn without_secrets(text: &str) -> String {
    let text = text.split(['?', '#']).next().unwrap_or_default();
    let shown = match text.split_once("://") {
        Some((scheme, rest)) => {
            let end = rest.find('/').unwrap_or(rest.len());
            let at = rest[..end].rfind('@').map_or(0, |at| at + 1);
            format!("{scheme}://{}", &rest[at..])
        }
        None => text.to_owned(),
    };
    let short: String = shown.chars().take(300).collect();
    short.escape_debug().to_string()
}

/// Spaces, control characters and what is not ASCII cannot stand in a request.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_graphic() && !b"\"<>\\^`{|}".contains(&byte) {
            out.push(char::from(byte));
        } else {
            // Writing to a String cannot fail.
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

/// A text that stands for itself in a path or query, but for the characters in `kept`.
pub(crate) fn escaped_part(text: &str, kept: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        let is_plain = byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
        if is_plain || kept.as_bytes().contains(&byte) {
            out.push(char::from(byte));
        } else {
            // Writing to a String cannot fail.
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

/// What escapes stand for.
pub(crate) fn unescaped(text: &str) -> Vec<u8> {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let digits = bytes.get(at + 1..at + 3).and_then(|digits| std::str::from_utf8(digits).ok());
        match digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(decoded) if byte == b'%' => {
                out.push(decoded);
                at += 3;
            }
            _ => {
                out.push(byte);
                at += 1;
            }
        }
    }
    out
}

/// Resolves `.` and `..`.
fn without_dots(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    let mut names = path.split('/').skip(1).peekable();
    while let Some(name) = names.next() {
        let last = names.peek().is_none();
        match name {
            "." | ".." => {
                if name == ".." {
                    parts.pop();
                }
                if last {
                    parts.push("");
                }
            }
            name => parts.push(name),
        }
    }
    format!("/{}", parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> Url {
        Url::parse(text).unwrap()
    }

    #[test]
    fn parts_of_an_address() {
        let found = url("HTTPS://me:secret@Example.com:8443/a b/m%20x.pth;v=1?sig=abc#top");
        assert_eq!(found.request(), "https://example.com:8443/a%20b/m%20x.pth;v=1?sig=abc");
        assert_eq!(found.shown(), "https://example.com:8443/a%20b/m%20x.pth;v=1");
        assert_eq!((found.file_name(), found.user()), ("m%20x.pth", Some("me:secret")));
        assert_eq!(url("http://h").request(), "http://h/");
        assert_eq!(url("http://[::1]:80/x").origin(), url("http://[::1]/y").origin());
        assert_ne!(url("http://h/").origin(), url("https://h/").origin());
    }

    #[test]
    fn what_is_no_address() {
        for (text, message) in [
            ("x/y", "unknown url type: 'x/y'"),
            ("foo://x", "<urlopen error unknown url type: foo>"),
            ("file:///etc/passwd", "<urlopen error unknown url type: file>"),
            (
                "http:///x",
                "'http:///x' is not an address of a file: the name of the server is missing or wrong",
            ),
            (
                "http://a:b:c/x",
                "'http://a:b:c/x' is not an address of a file: the port is not a number",
            ),
            (
                "http://u:p@a b/?s=1",
                "'http://a b/' is not an address of a file: the name of the server is missing or wrong",
            ),
        ] {
            assert_eq!(Url::parse(text).unwrap_err().message(), message, "{text}");
        }
    }

    #[test]
    fn redirects_may_be_relative() {
        let from = url("https://u@h.co/a/b/c?x=1");
        for (location, to) in [
            ("d", "https://h.co/a/b/d"),
            ("../d?y", "https://h.co/a/d?y"),
            ("/api/x", "https://h.co/api/x"),
            ("//other.org/z", "https://other.org/z"),
            ("http://other.org/z", "http://other.org/z"),
            ("?y=2", "https://h.co/a/b/c?y=2"),
            ("../../../..", "https://h.co/"),
            ("e:f", "e"),
        ] {
            match from.join(location) {
                Ok(url) => assert_eq!(url.request(), to, "{location}"),
                Err(error) => assert!(error.message().contains("unknown url type"), "{error}"),
            }
        }
        assert_eq!(from.beside("m 1.pt").request(), "https://h.co/a/b/m%201.pt?x=1");
    }
}
