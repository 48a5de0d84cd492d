//! One file on a web server.

use std::io::{self, Read};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::thread;

use sconce_source::ReadAt;

use super::range_cache::{self, RangeCache};
use crate::client::{Answer, Client, Request, broken};
use crate::download::{begins_as_page, content_range, validators, web_page};
use crate::hasher;
use crate::hugging_face;
use crate::partial::Validators;
use crate::url::Url;
use crate::{Error, ErrorKind};

/// As much of the end comes with the first request. A zip file's directory of a thousand records fits, and the
/// program of a TorchScript archive of usual size.
const TAIL: u64 = 128 << 10;
/// As much of the beginning, where a server knows no ends.
const HEAD: u64 = 64 << 10;
/// Longer ranges are read in pieces of this size, some at a time.
const PIECE: u64 = 8 << 20;
const AT_A_TIME: usize = 4;
/// A reason that is longer is none.
const LONGEST_REASON: u64 = 16 << 10;
/// A file that a server sends only as a whole is taken if it is no longer.
const LONGEST_WHOLE: u64 = 1 << 20;

/// Where a piece begins, and where it is read to.
type Piece<'b> = (u64, &'b mut [u8]);

/// A file on a server that sends parts of it.
pub(super) struct HttpFile {
    client: Arc<Client>,
    /// The address that the caller named.
    request: Request,
    /// Where its redirects ended: signed addresses are used until they are refused.
    place: RwLock<Request>,
    known: Validators,
    len: u64,
    /// Where what came with the first request begins.
    start: u64,
    first: Vec<u8>,
    cache: Option<Mutex<RangeCache>>,
}

impl HttpFile {
    pub(super) fn open(
        client: &Arc<Client>,
        request: Request,
        cache: Option<RangeCache>,
    ) -> Result<HttpFile, Error> {
        HttpFile::open_at(client, request, cache, true)
    }

    /// Opens a file of a server of which it is known whether it knows what the last bytes of a file are.
    pub(super) fn open_at(
        client: &Arc<Client>,
        request: Request,
        cache: Option<RangeCache>,
        knows_ends: bool,
    ) -> Result<HttpFile, Error> {
        let address = hasher::of(&range_cache::address(&request.url));
        let known = cache.as_ref().and_then(|cache| cache.known().cloned());
        let range = match knows_ends {
            true => format!("bytes=-{TAIL}"),
            false => format!("bytes=0-{}", HEAD - 1),
        };
        let mut first = request.clone().header("Range", range);
        if let Some(etag) = known.as_ref().and_then(|known| known.etag.clone()) {
            first = first.header("If-None-Match", etag);
        } else if let Some(modified) = known.as_ref().and_then(|known| known.modified.clone()) {
            first = first.header("If-Modified-Since", modified);
        }
        let answer = client.get(&first)?;
        let mut opened = Opening { client, request, address, cache };
        match (answer.status, known) {
            (304, Some(known)) if known.total.is_some() => opened.unchanged(&answer, known),
            (206, _) if knows_ends => opened.tail(answer),
            (206, _) => opened.head_of(answer, None),
            (200, _) => opened.whole(answer),
            (416, _) => opened.not_satisfiable(answer),
            _ => Err(refused_with_reason(answer)),
        }
    }

    /// Reads a range that begins at `offset`, of at most [`PIECE`] bytes.
    fn piece(&self, offset: u64, buffer: &mut [u8]) -> Result<(), Error> {
        let end = offset + buffer.len() as u64;
        if let Some(cache) = self.locked_cache()
            && cache.read(offset, buffer)
        {
            return Ok(());
        }
        let mut tries = self.client.tries();
        let (mut filled, mut renewed) = (0, false);
        while filled < buffer.len() {
            let from = offset + filled as u64;
            let place = self.place.read().unwrap_or_else(PoisonError::into_inner).clone();
            let range = format!("bytes={from}-{}", end - 1);
            let answer = self.client.get(&place.clone().header("Range", range))?;
            let signed = place.url != self.request.url;
            if matches!(answer.status, 401 | 403 | 404 | 410) && signed && !renewed {
                // Signatures last some minutes.
                renewed = true;
                *self.place.write().unwrap_or_else(PoisonError::into_inner) = self.request.clone();
                continue;
            }
            self.check(&answer, from, end)?;
            if answer.url != place.url {
                let mut place = self.place.write().unwrap_or_else(PoisonError::into_inner);
                place.url = answer.url.clone();
            }
            let url = answer.url.clone();
            let mut body = answer.into_body();
            let before = filled;
            let ended = loop {
                if filled == buffer.len() {
                    break None;
                }
                match body.read(&mut buffer[filled..]) {
                    Ok(0) => break Some(broken(&io::ErrorKind::UnexpectedEof.into())),
                    Ok(read) => filled += read,
                    Err(error) => break Some(broken(&error)),
                }
            };
            if let Some(error) = ended {
                if filled - before >= 64 << 10 {
                    tries = self.client.tries();
                }
                if !tries.again(None) {
                    return Err(error.url(&url));
                }
            }
        }
        if let Some(mut cache) = self.locked_cache() {
            cache.write(offset, buffer);
        }
        Ok(())
    }

    fn locked_cache(&self) -> Option<std::sync::MutexGuard<'_, RangeCache>> {
        let cache = self.cache.as_ref()?;
        Some(cache.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Whether an answer is the part that was asked for, of the file that was opened.
    fn check(&self, answer: &Answer, from: u64, end: u64) -> Result<(), Error> {
        let bad = |message: &str| Err(Error::new(ErrorKind::BadAnswer, message).url(&answer.url));
        let other = || {
            if let Some(mut cache) = self.locked_cache() {
                cache.forget();
            }
            Err(changed().url(&self.request.url))
        };
        match answer.status {
            206 => {}
            200 => {
                // Another file, or a server that forgot how to send parts.
                let now = validators(&self.known.address, answer);
                if !self.known.agree(&now) {
                    return other();
                }
                return bad("the server sent the whole file where a part was asked for");
            }
            412 | 416 => return other(),
            _ => return Err(refused(answer)),
        }
        if answer.header("content-encoding").is_some_and(|coding| coding != "identity") {
            return bad("the server sent a part of a packed file");
        }
        let now = validators(&self.known.address, answer);
        let Some((Some(range), total)) = content_range(answer) else {
            return bad("the server does not say which part of the file it sent");
        };
        if total.is_some_and(|total| total != self.len) || !self.is_same(&now) {
            return other();
        }
        if range != (from, end - 1) {
            return bad("the server sent another part of the file than was asked for");
        }
        Ok(())
    }

    /// Whether what a server says now fits what it said first. Where it says nothing, the length has to do.
    fn is_same(&self, now: &Validators) -> bool {
        let says = |known: &Validators| known.etag.is_some() || known.modified.is_some();
        if !says(&self.known) && !says(now) {
            return true;
        }
        self.known.agree(now)
            || (self.known.etag == now.etag && self.known.modified == now.modified)
    }
}

impl ReadAt for HttpFile {
    fn len(&self) -> u64 {
        self.len
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        // What came with the first request needs no other.
        let end = offset + buffer.len() as u64;
        let first = self.start..self.start + self.first.len() as u64;
        let (from, to) = (offset.max(first.start), end.min(first.end));
        if from >= to {
            return self.pieces(offset, buffer);
        }
        let (there, here) =
            ((from - first.start) as usize..(to - first.start) as usize, from - offset);
        buffer[here as usize..(to - offset) as usize].copy_from_slice(&self.first[there]);
        self.pieces(offset, &mut buffer[..here as usize])?;
        self.pieces(to, &mut buffer[(to - offset) as usize..])
    }

    fn identity(&self) -> Option<String> {
        self.known.etag.clone().filter(|etag| !etag.starts_with("W/"))
    }

    fn beside(&self, name: &str) -> io::Result<Box<dyn ReadAt>> {
        let mut request = self.request.clone();
        request.url = request.url.beside(name);
        let cache = self.locked_cache().and_then(|cache| cache.of(&request.url));
        Ok(Box::new(HttpFile::open(&self.client, request, cache)?))
    }
}

impl HttpFile {
    fn pieces(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        if buffer.is_empty() {
            return Ok(());
        }
        if buffer.len() as u64 <= PIECE {
            return Ok(self.piece(offset, buffer)?);
        }
        let pieces: Vec<Mutex<Option<Piece<'_>>>> = buffer
            .chunks_mut(PIECE as usize)
            .enumerate()
            .map(|(at, part)| Mutex::new(Some((offset + at as u64 * PIECE, part))))
            .collect();
        let (next, failed) = (AtomicUsize::new(0), Mutex::new(None));
        thread::scope(|scope| {
            for _ in 0..AT_A_TIME.min(pieces.len()) {
                scope.spawn(|| {
                    while let Some(piece) = pieces.get(next.fetch_add(1, Ordering::Relaxed)) {
                        let piece = piece.lock().unwrap_or_else(PoisonError::into_inner).take();
                        let Some((offset, part)) = piece else { continue };
                        if let Err(error) = self.piece(offset, part) {
                            next.store(pieces.len(), Ordering::Relaxed);
                            *failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                            return;
                        }
                    }
                });
            }
        });
        match failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some(error) => Err(error.into()),
            None => Ok(()),
        }
    }
}

/// A file whose first answer has come.
struct Opening<'a> {
    client: &'a Arc<Client>,
    request: Request,
    address: String,
    cache: Option<RangeCache>,
}

impl Opening<'_> {
    fn done(
        &mut self,
        known: Validators,
        url: Url,
        len: u64,
        start: u64,
        first: Vec<u8>,
    ) -> HttpFile {
        let mut cache = self.cache.take();
        if let Some(cache) = &mut cache {
            cache.begin(&known);
            cache.write(start, &first);
        }
        let mut place = self.request.clone();
        place.url = url;
        HttpFile {
            client: Arc::clone(self.client),
            request: self.request.clone(),
            place: RwLock::new(place),
            known,
            len,
            start,
            first,
            cache: cache.map(Mutex::new),
        }
    }

    /// The server says that the file is the one that the cache knows.
    fn unchanged(&mut self, answer: &Answer, known: Validators) -> Result<HttpFile, Error> {
        let len = known.total.unwrap_or(0);
        let mut place = self.request.clone();
        place.url = answer.url.clone();
        Ok(HttpFile {
            client: Arc::clone(self.client),
            request: self.request.clone(),
            place: RwLock::new(place),
            known,
            len,
            start: len,
            first: Vec::new(),
            cache: self.cache.take().map(Mutex::new),
        })
    }

    fn tail(&mut self, answer: Answer) -> Result<HttpFile, Error> {
        unpacked(&answer)?;
        let known = validators(&self.address, &answer);
        let url = answer.url.clone();
        let wrong = |message: &str| Error::new(ErrorKind::BadAnswer, message).url(&url);
        let (range, total) = content_range(&answer)
            .ok_or_else(|| wrong("the server does not say which part of the file it sent"))?;
        let (Some((start, end)), Some(total)) = (range, total) else {
            return Err(wrong("the server does not say how long the file is"));
        };
        let len = end - start + 1;
        if end + 1 != total || len > TAIL {
            return Err(wrong("the server sent another part of the file than was asked for"));
        }
        let first = exact(answer, len)?;
        if start == 0 && begins_as_page(&first) {
            return Err(web_page().url(&url));
        }
        Ok(self.done(known, url, total, start, first))
    }

    /// A server that sends no parts, or not of the end.
    fn whole(&mut self, answer: Answer) -> Result<HttpFile, Error> {
        unpacked(&answer)?;
        let url = answer.url.clone();
        let total = answer.number("content-length");
        if total.is_some_and(|total| total <= LONGEST_WHOLE) {
            return self.all_of(answer);
        }
        let page = answer.header("content-type").is_some_and(|kind| kind.starts_with("text/html"));
        if page {
            return Err(web_page().url(&url));
        }
        drop(answer);
        self.head(total)
    }

    fn all_of(&mut self, answer: Answer) -> Result<HttpFile, Error> {
        let (known, url) = (validators(&self.address, &answer), answer.url.clone());
        let total = known.total.unwrap_or(0);
        let data = exact(answer, total)?;
        if begins_as_page(&data) {
            return Err(web_page().url(&url));
        }
        Ok(self.done(known, url, total, 0, data))
    }

    /// Asks for the beginning, from which the length is known, too.
    fn head(&mut self, total: Option<u64>) -> Result<HttpFile, Error> {
        let request = self.request.clone().header("Range", format!("bytes=0-{}", HEAD - 1));
        let answer = self.client.get(&request)?;
        self.head_of(answer, total)
    }

    fn head_of(&mut self, answer: Answer, total: Option<u64>) -> Result<HttpFile, Error> {
        let url = answer.url.clone();
        let range = content_range(&answer);
        match (answer.status, range) {
            (206, Some((Some((0, end)), Some(total)))) if end < HEAD => {
                unpacked(&answer)?;
                let known = validators(&self.address, &answer);
                let first = exact(answer, end + 1)?;
                if begins_as_page(&first) {
                    return Err(web_page().url(&url));
                }
                Ok(self.done(known, url, total, 0, first))
            }
            (200, _) if answer.number("content-length").is_some_and(|len| len <= LONGEST_WHOLE) => {
                self.all_of(answer)
            }
            (200 | 206, _) => {
                let size = total.map(|total| format!(" of {total} bytes")).unwrap_or_default();
                let message =
                    format!("the server sends no parts of this file{size}, only all of it");
                let help = format!(
                    "sconce hub download {}    then look at the file",
                    self.request.url.shown()
                );
                Err(Error::new(ErrorKind::BadAnswer, message).url(&url).with_help(help))
            }
            _ => Err(refused(&answer)),
        }
    }

    fn not_satisfiable(&mut self, answer: Answer) -> Result<HttpFile, Error> {
        let known = validators(&self.address, &answer);
        match known.total {
            Some(0) => Ok(self.done(known, answer.url, 0, 0, Vec::new())),
            _ => self.head(known.total),
        }
    }
}

fn unpacked(answer: &Answer) -> Result<(), Error> {
    match answer.header("content-encoding") {
        None | Some("identity") => Ok(()),
        Some(coding) => {
            let message =
                format!("the server sent the file packed ({coding}), which was not asked for");
            Err(Error::new(ErrorKind::BadAnswer, message).url(&answer.url))
        }
    }
}

/// A body of a length that is known, and bounded by the caller.
fn exact(answer: Answer, len: u64) -> Result<Vec<u8>, Error> {
    let url = answer.url.clone();
    let mut data = Vec::new();
    let read = answer.into_body().take(len + 1).read_to_end(&mut data);
    read.map_err(|error| broken(&error).url(&url))?;
    if data.len() as u64 != len {
        let message = format!("the server announced {len} bytes and sent {}", data.len());
        return Err(Error::new(ErrorKind::BadAnswer, message).url(&url));
    }
    Ok(data)
}

fn changed() -> Error {
    Error::new(ErrorKind::Changed, "the file on the server changed while it was being read")
        .with_help("read it again")
}

/// What a store says in its answer, besides the status.
fn refused_with_reason(answer: Answer) -> Error {
    let mut error = refused(&answer);
    if let Some(region) = answer.header("x-amz-bucket-region") {
        error = error.in_region(region);
    }
    let Ok(text) = answer.text(LONGEST_REASON) else { return error };
    let text = String::from_utf8_lossy(&text).into_owned();
    let part = |name: &str| {
        let (_, rest) = text.split_once(&format!("<{name}>"))?;
        Some(rest.split_once(&format!("</{name}>"))?.0)
    };
    match (part("Code"), part("Message")) {
        (Some(code), Some(message)) => error.with_note(format!("{code}: {}", message.trim())),
        (Some(code), None) => error.with_note(code),
        _ => error,
    }
}

fn refused(answer: &Answer) -> Error {
    let error = answer.error();
    let code = answer.header("x-error-code");
    match code.and_then(hugging_face::explain) {
        Some(text) => error.with_note(text),
        None => error,
    }
}
