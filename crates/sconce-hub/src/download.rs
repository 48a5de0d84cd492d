//! Files from web servers into folders: whole or not at all, and resumed where they broke off.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::client::{Answer, Client, Request, broken};
use crate::hasher::{self, Hasher};
use crate::partial::{Partial, Validators};
use crate::url::Url;
use crate::watch::Watch;
use crate::{Error, ErrorKind};

/// As urllib reads in PyTorch.
const PART: usize = 128 << 10;
/// A connection that brought as much counts as one that worked.
const PROGRESS: u64 = 64 << 10;
/// How often the file on the server may be another one.
const MOST_RESTARTS: u32 = 3;
/// As much of a body shows whether it is a web page.
const HEAD: usize = 512;

/// What a download should do.
#[derive(Debug, Clone, Default)]
pub(crate) struct Wanted<'a> {
    /// What the SHA-256 of the file begins with.
    pub(crate) hash_prefix: Option<&'a str>,
    /// Whether a file that another process finished meanwhile will do.
    pub(crate) once: bool,
    /// Whether the hash is to be computed where nothing is compared with it.
    pub(crate) hash: bool,
    /// Whether what was left of an earlier try is not used.
    pub(crate) anew: bool,
    /// The longest body that is taken.
    pub(crate) most: Option<u64>,
}

/// What came.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Downloaded {
    /// The file.
    pub path: PathBuf,
    /// Its length.
    pub bytes: u64,
    /// How much of it was there from an earlier try.
    pub resumed: u64,
    /// Its SHA-256, where that was asked for.
    pub sha256: Option<String>,
}

/// Downloads to `target`, whose folder must be there. What stands there is replaced when everything has come.
pub(crate) fn download(
    client: &Client,
    request: &Request,
    target: &Path,
    wanted: &Wanted<'_>,
    watch: &dyn Watch,
) -> Result<Downloaded, Error> {
    if target.is_dir() {
        let message = format!("[Errno 21] Is a directory: '{}'", target.display());
        return Err(Error::new(ErrorKind::Usage, message));
    }
    let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty());
    if folder.is_some_and(|folder| !folder.is_dir()) {
        let message = format!("[Errno 2] No such file or directory: '{}'", target.display());
        return Err(Error::new(ErrorKind::Usage, message).with_note("its folder is not there"));
    }
    let before = target.exists();
    let mut partial = Partial::open(target, || {
        watch.warn(&format!("another process is downloading {}; waiting for it", target.display()));
    })?;
    if wanted.once && !before && target.exists() {
        let bytes = fs::metadata(target).map_or(0, |metadata| metadata.len());
        partial.discard();
        return Ok(Downloaded { path: target.to_owned(), bytes, resumed: 0, sha256: None });
    }
    let mut transfer = Transfer {
        client,
        request,
        target,
        watch,
        most: wanted.most,
        hasher: (wanted.hash || wanted.hash_prefix.is_some()).then(Hasher::start),
        address: hasher::of(&request.url.request()),
    };
    let usable =
        |known: &Validators| known.address == transfer.address && known.if_range().is_some();
    if wanted.anew || !partial.known.as_ref().is_some_and(usable) {
        partial.truncate()?;
    }
    let resumed = partial.len;
    if let Some(hasher) = &transfer.hasher {
        partial.replay(|part| hasher.update(part))?;
    } else {
        partial.seek_end()?;
    }
    let came = transfer.run(&mut partial);
    watch.end();
    let resumed = match came {
        Ok(restarted) => {
            if restarted {
                0
            } else {
                resumed
            }
        }
        Err(error) => {
            // What cannot be gone on with is of no use.
            let keep = partial.known.as_ref().is_some_and(|known| known.if_range().is_some());
            if partial.len == 0 || !keep || error.kind() != ErrorKind::Network {
                partial.discard();
            }
            return Err(error);
        }
    };
    let sha256 = transfer.hasher.take().and_then(Hasher::finish);
    if let (Some(prefix), Some(found)) = (wanted.hash_prefix, &sha256)
        && !found.starts_with(prefix)
    {
        partial.discard();
        let message = format!("invalid hash value (expected \"{prefix}\", got \"{found}\")");
        return Err(Error::new(ErrorKind::WrongHash, message).url(&request.url));
    }
    let bytes = partial.len;
    partial.finish(target)?;
    Ok(Downloaded { path: target.to_owned(), bytes, resumed, sha256 })
}

struct Transfer<'a> {
    client: &'a Client,
    request: &'a Request,
    target: &'a Path,
    watch: &'a dyn Watch,
    most: Option<u64>,
    hasher: Option<Hasher>,
    address: String,
}

/// What an answer means for what is there.
enum Next {
    /// It goes on where the partial file ends.
    GoesOn,
    /// It is the whole file.
    Anew,
    /// Everything is there.
    Complete,
    /// What is there is of another file.
    Other,
}

impl Transfer<'_> {
    /// Reads until the file is whole. Gives whether what was there from before was thrown away.
    fn run(&mut self, partial: &mut Partial) -> Result<bool, Error> {
        let mut restarts = 0;
        let mut restarted = false;
        let mut tries = self.client.tries();
        let mut shown = false;
        loop {
            let answer = self.ask(partial)?;
            let known = validators(&self.address, &answer);
            let next = self.judge(&answer, &known, partial)?;
            let anew = matches!(next, Next::Anew);
            match next {
                Next::Complete => return Ok(restarted),
                Next::Other => {
                    self.forget(partial)?;
                    restarted = true;
                    restarts += 1;
                    if restarts > MOST_RESTARTS {
                        let message = "the file changes while it is being downloaded";
                        return Err(Error::new(ErrorKind::Changed, message).url(&answer.url));
                    }
                    continue;
                }
                Next::GoesOn => partial.seek_end()?,
                Next::Anew => {
                    restarted |= partial.len > 0;
                    self.forget(partial)?;
                    partial.restart(known.clone())?;
                }
            }
            if !shown || anew {
                self.watch.begin(known.total, partial.len);
                shown = true;
            }
            let before = partial.len;
            match self.body(answer, known.total, partial) {
                Ok(()) => return Ok(restarted),
                Err(error) if error.kind() == ErrorKind::Network => {
                    if partial.len >= before + PROGRESS {
                        tries = self.client.tries();
                    }
                    if !tries.again(None) {
                        return Err(error);
                    }
                }
                Err(error) => return Err(error),
            }
        }
    }

    fn forget(&self, partial: &mut Partial) -> Result<(), Error> {
        if let Some(hasher) = &self.hasher {
            hasher.restart();
        }
        partial.truncate()
    }

    fn ask(&self, partial: &Partial) -> Result<Answer, Error> {
        let mut request = self.request.clone();
        let if_range = partial.known.as_ref().and_then(Validators::if_range);
        if let Some(if_range) = if_range.filter(|_| partial.len > 0) {
            request = request
                .header("Range", format!("bytes={}-", partial.len))
                .header("If-Range", if_range);
        }
        self.client.get(&request)
    }

    fn judge(&self, answer: &Answer, known: &Validators, partial: &Partial) -> Result<Next, Error> {
        let before = partial.known.as_ref().filter(|_| partial.len > 0);
        let coded = answer.header("content-encoding").filter(|coding| *coding != "identity");
        if let (200 | 206, Some(coding)) = (answer.status, coded) {
            let message = format!("the server packed the file ({coding}), which was not asked for");
            return Err(Error::new(ErrorKind::BadAnswer, message).url(&answer.url));
        }
        match (answer.status, before) {
            (200, _) => {
                if let (Some(most), Some(total)) = (self.most, known.total)
                    && total > most
                {
                    return Err(too_long(most).url(&answer.url));
                }
                Ok(Next::Anew)
            }
            (206, Some(before)) => {
                let range = content_range(answer);
                let fits = range.is_some_and(|(range, total)| {
                    range.is_some_and(|(start, end)| {
                        start == partial.len && total.is_none_or(|total| end + 1 == total)
                    })
                });
                let same = before.agree(known);
                Ok(if fits && same { Next::GoesOn } else { Next::Other })
            }
            (416, Some(before)) => {
                let total = content_range(answer).and_then(|(_, total)| total);
                let whole = total == Some(partial.len) && before.total == total;
                Ok(if whole { Next::Complete } else { Next::Other })
            }
            (206, None) => {
                let message = "the server sent a part of the file, which was not asked for";
                Err(Error::new(ErrorKind::BadAnswer, message).url(&answer.url))
            }
            (201..=299, _) => {
                let message = format!("the server sent no file: status {}", answer.status);
                Err(Error::new(ErrorKind::BadAnswer, message).url(&answer.url))
            }
            _ => Err(answer.error()),
        }
    }

    fn body(&self, answer: Answer, total: Option<u64>, partial: &mut Partial) -> Result<(), Error> {
        let url = answer.url.clone();
        let page = answer
            .header("content-type")
            .is_some_and(|kind| kind.trim_start().starts_with("text/html"));
        let mut body = answer.into_body();
        let mut buffer = vec![0; PART];
        let mut at_start = partial.len == 0;
        loop {
            let filled =
                if at_start { fill(&mut body, &mut buffer, HEAD) } else { body.read(&mut buffer) };
            let read = filled.map_err(|error| broken(&error).url(&url))?;
            if at_start && self.is_page(&buffer[..read], page) {
                return Err(web_page().url(&url));
            }
            at_start = false;
            if read == 0 {
                break;
            }
            let data = &buffer[..read];
            if total.is_some_and(|total| partial.len + read as u64 > total) {
                let message = "the server sent more bytes than it said";
                return Err(Error::new(ErrorKind::BadAnswer, message).url(&url));
            }
            if let Some(most) = self.most.filter(|most| partial.len + read as u64 > *most) {
                return Err(too_long(most).url(&url));
            }
            partial.push(data)?;
            if let Some(hasher) = &self.hasher {
                hasher.update(data);
            }
            self.watch.advance(read as u64);
        }
        match total {
            Some(total) if partial.len < total => {
                let message =
                    format!("the connection broke after {} of {total} bytes", partial.len);
                Err(Error::new(ErrorKind::Network, message).url(&url))
            }
            _ => Ok(()),
        }
    }

    /// Whether a web page came where a file was wanted that is none.
    fn is_page(&self, head: &[u8], says_so: bool) -> bool {
        let name = self.target.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
        if ["html", "htm", "xhtml"].iter().any(|ending| name.eq_ignore_ascii_case(ending)) {
            return false;
        }
        says_so || begins_as_page(head)
    }
}

/// Reads until there are some bytes, or no more.
fn fill(body: &mut impl Read, buffer: &mut [u8], least: usize) -> std::io::Result<usize> {
    let mut len = 0;
    while len < least {
        match body.read(&mut buffer[len..])? {
            0 => break,
            read => len += read,
        }
    }
    Ok(len)
}

pub(crate) fn begins_as_page(head: &[u8]) -> bool {
    let text = head.trim_ascii_start();
    let begins = |word: &str| {
        text.get(..word.len()).is_some_and(|found| found.eq_ignore_ascii_case(word.as_bytes()))
    };
    begins("<!doctype html") || begins("<html")
}

pub(crate) fn web_page() -> Error {
    Error::new(ErrorKind::BadAnswer, "the server sent a web page, not a file")
        .with_help("the address may be that of a page about the file, or need a login")
}

fn too_long(most: u64) -> Error {
    Error::new(ErrorKind::BadAnswer, format!("the server sends more than {most} bytes, the limit"))
}

/// What an answer says of the file that it is of or from.
pub(crate) fn validators(address: &str, answer: &Answer) -> Validators {
    let total = match answer.status {
        206 | 416 => content_range(answer).and_then(|(_, total)| total),
        _ => answer.number("content-length"),
    };
    Validators {
        address: address.to_owned(),
        etag: answer.header("etag").map(str::to_owned),
        modified: answer.header("last-modified").map(str::to_owned),
        total,
    }
}

/// `Content-Range`: first and last byte, and the length of the whole.
#[expect(clippy::type_complexity, reason = "a range and a length, either of which may be unknown")]
pub(crate) fn content_range(answer: &Answer) -> Option<(Option<(u64, u64)>, Option<u64>)> {
    let text = answer.header("content-range")?.trim();
    let rest = text.strip_prefix("bytes")?.trim_start();
    let (range, total) = rest.split_once('/')?;
    let total = match total.trim() {
        "*" => None,
        total => Some(total.parse().ok()?),
    };
    let range = match range.trim() {
        "*" => None,
        range => {
            let (start, end) = range.split_once('-')?;
            let (start, end): (u64, u64) = (start.parse().ok()?, end.parse().ok()?);
            (start <= end && end < u64::MAX).then_some((start, end))
        }
    };
    Some((range, total))
}

/// The request for a file at an address that a user names.
pub(crate) fn plain(url: &str) -> Result<Request, Error> {
    Ok(Request::new(Url::parse(url)?))
}
