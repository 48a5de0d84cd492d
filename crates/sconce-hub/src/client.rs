//! Requests: redirects, tokens that stay with their server, what is tried again.

use std::io::{self, Read};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use ureq::http::{HeaderMap, Response as HttpResponse};
use ureq::tls::{PemItem, RootCerts, TlsConfig, parse_pem};
use ureq::{Agent, Body};

use crate::environment::Environment;
use crate::http_date;
use crate::url::{Origin, Url, unescaped};
use crate::{Error, ErrorKind};

/// As urllib has it.
const MOST_REDIRECTS: usize = 10;
/// A server that asks for more patience is not waited for.
const LONGEST_WAIT: Duration = Duration::from_secs(120);
/// A server that sends less than this within [`DRIP`] is as good as silent.
const DRIP_BYTES: u64 = 1 << 10;
const DRIP: Duration = Duration::from_secs(60);

/// How patient a client is.
#[derive(Debug, Clone)]
pub struct Patience {
    /// How often a request is made that fails for a reason that may pass: no connection, 408, 429, 500, 502, 503, 504.
    pub tries: u32,
    /// The wait before the second try, which doubles with each; a `Retry-After` of the server counts instead.
    pub first_wait: Duration,
    /// How long a server may take to accept a connection.
    pub connect: Duration,
    /// How long it may stay silent.
    pub silence: Duration,
}

impl Default for Patience {
    fn default() -> Patience {
        Patience {
            tries: 5,
            first_wait: Duration::from_millis(500),
            connect: Duration::from_secs(20),
            silence: Duration::from_secs(60),
        }
    }
}

/// Makes requests, over connections that are kept for the next ones.
#[derive(Debug)]
pub(crate) struct Client {
    agent: Agent,
    pub(crate) patience: Patience,
    requests: AtomicU64,
}

/// What is asked for.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) url: Url,
    headers: Vec<(&'static str, String)>,
    /// A header `Authorization`, and who may see it.
    token: Option<(String, Vec<Origin>)>,
    /// Who signs each request.
    #[cfg(feature = "buckets")]
    pub(crate) signer: Option<std::sync::Arc<crate::buckets::Signer>>,
}

/// What a server sent, but for the body.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    /// Where redirects ended.
    pub(crate) url: Url,
    body: Body,
}

impl Request {
    pub(crate) fn new(url: Url) -> Request {
        let headers = vec![
            ("Accept-Encoding", "identity".to_owned()),
            ("User-Agent", "torch.hub".to_owned()),
        ];
        Request {
            url,
            headers,
            token: None,
            #[cfg(feature = "buckets")]
            signer: None,
        }
    }

    pub(crate) fn header(mut self, name: &'static str, value: impl Into<String>) -> Request {
        self.headers.retain(|(other, _)| *other != name);
        self.headers.push((name, value.into()));
        self
    }

    /// A token for these servers alone.
    pub(crate) fn token(mut self, value: Option<String>, origins: Vec<Origin>) -> Request {
        self.token = value.map(|value| (value, origins));
        self
    }

    /// What is asked for: an address with what signs it.
    fn address(&self, url: &Url) -> Result<String, Error> {
        #[cfg(feature = "buckets")]
        if let Some(signer) = &self.signer {
            return signer.signed(url, SystemTime::now());
        }
        Ok(url.request())
    }

    fn authorization(&self, url: &Url) -> Option<String> {
        if let Some(user) = url.user() {
            return Some(format!("Basic {}", base64(unescaped(user).as_slice())));
        }
        let (value, origins) = self.token.as_ref()?;
        origins.contains(&url.origin()).then(|| value.clone())
    }
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    pub(crate) fn number(&self, name: &str) -> Option<u64> {
        self.header(name)?.trim().parse().ok()
    }

    pub(crate) fn into_body(self) -> Steady {
        Steady { body: Box::new(self.body.into_reader()), since: Instant::now(), came: 0 }
    }

    /// Reads a short body.
    pub(crate) fn text(self, limit: u64) -> Result<Vec<u8>, Error> {
        let url = self.url.clone();
        let mut data = Vec::new();
        let read = self.into_body().take(limit + 1).read_to_end(&mut data);
        read.map_err(|error| broken(&error).url(&url))?;
        if data.len() as u64 > limit {
            let message = format!("the answer has more than {limit} bytes");
            return Err(Error::new(ErrorKind::BadAnswer, message).url(&url));
        }
        Ok(data)
    }

    /// PyTorch's words for a status.
    pub(crate) fn error(&self) -> Error {
        let message = format!("HTTP Error {}: {}", self.status, reason(self.status));
        Error::new(ErrorKind::Http(self.status), message).url(&self.url)
    }
}

/// A body, unless it comes in drips.
pub(crate) struct Steady {
    body: Box<dyn Read + Send + Sync>,
    since: Instant,
    came: u64,
}

impl Read for Steady {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.body.read(buffer)?;
        self.came += read as u64;
        if self.since.elapsed() > DRIP {
            if self.came < DRIP_BYTES {
                let message = format!("the server sent {} bytes in a minute", self.came);
                return Err(io::Error::new(io::ErrorKind::TimedOut, message));
            }
            self.since = Instant::now();
            self.came = 0;
        }
        Ok(read)
    }
}

impl Client {
    pub(crate) fn new(environment: &Environment, patience: Patience) -> Result<Client, Error> {
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .max_idle_connections_per_host(8)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .timeout_connect(Some(patience.connect))
            .timeout_recv_response(Some(patience.silence))
            .timeout_per_read(Some(patience.silence))
            .tls_config(TlsConfig::builder().root_certs(roots(environment)?).build())
            .build();
        Ok(Client { agent: config.into(), patience, requests: AtomicU64::new(0) })
    }

    /// How many requests were made, redirects and repetitions counted.
    pub(crate) fn requests(&self) -> u64 {
        self.requests.load(Ordering::Relaxed)
    }

    /// Sends a request and follows redirects. What may pass is tried again; every other answer comes back.
    pub(crate) fn get(&self, request: &Request) -> Result<Answer, Error> {
        let mut tries = self.tries();
        loop {
            match self.get_once(request) {
                Ok(answer) if may_pass(answer.status) => {
                    let after = answer.header("retry-after").and_then(retry_after);
                    if !tries.again(after) {
                        return Ok(answer);
                    }
                }
                Err(error) if error.kind() == ErrorKind::Network && !is_lasting(&error) => {
                    if !tries.again(None) {
                        return Err(error);
                    }
                }
                other => return other,
            }
        }
    }

    /// Counts tries of something that this client does.
    pub(crate) fn tries(&self) -> Tries {
        Tries { left: self.patience.tries.max(1) - 1, wait: self.patience.first_wait }
    }

    /// [`Client::get`] without a second try.
    pub(crate) fn get_once(&self, request: &Request) -> Result<Answer, Error> {
        let mut url = request.url.clone();
        for _ in 0..=MOST_REDIRECTS {
            let answer = self.send(request, &url)?;
            let redirect = matches!(answer.status, 301 | 302 | 303 | 307 | 308);
            let Some(location) = answer.headers.get("location").filter(|_| redirect) else {
                return Ok(answer);
            };
            let location = String::from_utf8_lossy(location.as_bytes()).into_owned();
            let refused = |target: &str| {
                let message = format!(
                    "HTTP Error {}: {} - Redirection to url '{}' is not allowed",
                    answer.status,
                    reason(answer.status),
                    crate::url::without_secrets(target)
                );
                Error::new(ErrorKind::BadAnswer, message).url(&url)
            };
            let next = url.join(&location).map_err(|_| refused(&location))?;
            if url.is_secure() && !next.is_secure() {
                return Err(refused(&next.shown()).with_note("it leads from https to http"));
            }
            url = next;
        }
        let message = "HTTP Error 302: The HTTP server returned a redirect error that would lead to an infinite loop.";
        Err(Error::new(ErrorKind::BadAnswer, message)
            .url(&request.url)
            .with_note(format!("more than {MOST_REDIRECTS} redirects")))
    }

    fn send(&self, request: &Request, url: &Url) -> Result<Answer, Error> {
        self.requests.fetch_add(1, Ordering::Relaxed);
        let mut builder = self.agent.get(request.address(url)?);
        for (name, value) in &request.headers {
            builder = builder.header(*name, value);
        }
        if let Some(token) = request.authorization(url) {
            builder = builder.header("Authorization", token);
        }
        let answer = builder.call().map_err(|error| unreachable_server(&error).url(url))?;
        let (parts, body) = HttpResponse::into_parts(answer);
        Ok(Answer { status: parts.status.as_u16(), headers: parts.headers, url: url.clone(), body })
    }
}

/// Tries that are left.
#[derive(Debug)]
pub(crate) struct Tries {
    left: u32,
    wait: Duration,
}

impl Tries {
    /// Waits for the next try; `false` where there is none.
    pub(crate) fn again(&mut self, after: Option<Duration>) -> bool {
        if self.left == 0 || after.is_some_and(|after| after > LONGEST_WAIT) {
            return false;
        }
        self.left -= 1;
        thread::sleep(after.unwrap_or_else(|| self.wait + jitter(self.wait)));
        self.wait *= 2;
        true
    }
}

/// Up to half of a wait, so that many who failed at once do not come back at once.
fn jitter(wait: Duration) -> Duration {
    use std::hash::{BuildHasher, Hasher};
    // The standard library seeds this from the system's random numbers.
    let random = std::collections::hash_map::RandomState::new().build_hasher().finish();
    wait.mul_f64((random % 1000) as f64 / 2000.0)
}

fn may_pass(status: u16) -> bool {
    matches!(status, 408 | 429 | 500 | 502 | 503 | 504)
}

/// `Retry-After`: seconds, or a date.
fn retry_after(text: &str) -> Option<Duration> {
    let text = text.trim();
    if let Ok(seconds) = text.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let until = http_date::parse(text)?;
    Some(until.duration_since(SystemTime::now()).unwrap_or_default())
}

const NO_NAME: &str = "<urlopen error [Errno -2] Name or service not known>";
const NO_NETWORK: &str = "<urlopen error [Errno 101] Network is unreachable>";

/// Whether trying again makes no sense.
fn is_lasting(error: &Error) -> bool {
    [NO_NAME, NO_NETWORK].contains(&error.message()) || error.message().contains("certificate")
}

/// No answer, in urllib's words where it has some.
fn unreachable_server(error: &ureq::Error) -> Error {
    let network = |message: String| Error::new(ErrorKind::Network, message);
    match error {
        ureq::Error::HostNotFound => network(NO_NAME.to_owned()),
        ureq::Error::Timeout(what) => network(format!("<urlopen error timed out>: {what}")),
        ureq::Error::Io(error) => match error.kind() {
            io::ErrorKind::ConnectionRefused => {
                network("<urlopen error [Errno 111] Connection refused>".to_owned())
            }
            io::ErrorKind::NetworkUnreachable | io::ErrorKind::HostUnreachable => {
                network(NO_NETWORK.to_owned())
            }
            io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => {
                network("<urlopen error timed out>".to_owned())
            }
            // The system's resolver has no kind of its own.
            _ if error.to_string().contains("failed to lookup address") => {
                network(NO_NAME.to_owned())
            }
            _ => network(format!("<urlopen error {error}>")),
        },
        ureq::Error::ConnectionFailed => {
            network("<urlopen error the connection failed>".to_owned())
        }
        ureq::Error::BadUri(_) | ureq::Error::Http(_) => {
            Error::new(ErrorKind::Usage, format!("this is not an address of a file: {error}"))
        }
        other => network(format!("<urlopen error {other}>")),
    }
}

/// A body that broke off.
pub(crate) fn broken(error: &io::Error) -> Error {
    Error::new(ErrorKind::Network, format!("the connection broke: {error}"))
}

/// Python's `http.HTTPStatus`.
fn reason(status: u16) -> &'static str {
    match status {
        429 => "Too Many Requests",
        416 => "Requested Range Not Satisfiable",
        302 => "Found",
        _ => ureq::http::StatusCode::from_u16(status)
            .ok()
            .and_then(|status| status.canonical_reason())
            .unwrap_or(""),
    }
}

/// The authorities that vouch for servers: Mozilla's list, or those of `SSL_CERT_FILE`.
fn roots(environment: &Environment) -> Result<RootCerts, Error> {
    let Some(file) = environment.text("SSL_CERT_FILE") else { return Ok(RootCerts::WebPki) };
    let path = std::path::Path::new(&file);
    let pem = std::fs::read(path)
        .map_err(|error| Error::io(path, &error).with_note("SSL_CERT_FILE names it"))?;
    let certificates: Vec<_> = parse_pem(&pem)
        .filter_map(|item| match item {
            Ok(PemItem::Certificate(certificate)) => Some(certificate),
            _ => None,
        })
        .collect();
    if certificates.is_empty() {
        let message =
            format!("{file}: there is no certificate in this file, which SSL_CERT_FILE names");
        return Err(Error::new(ErrorKind::Usage, message));
    }
    Ok(RootCerts::new_with_certs(&certificates))
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let part = |at: usize| u32::from(chunk.get(at).copied().unwrap_or(0));
        let bits = part(0) << 16 | part(1) << 8 | part(2);
        for digit in 0..4 {
            let value = (bits >> (18 - 6 * digit)) & 63;
            let filler = digit > chunk.len();
            out.push(if filler { '=' } else { char::from(DIGITS[value as usize]) });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_basic() {
        assert_eq!(base64(b"Aladdin:open sesame"), "QWxhZGRpbjpvcGVuIHNlc2FtZQ==");
        assert_eq!(
            (base64(b""), base64(b"a"), base64(b"ab")),
            (String::new(), "YQ==".into(), "YWI=".into())
        );
        let request = Request::new(Url::parse("http://me:a%20b@h/x").unwrap());
        let there = request.authorization(&request.url).unwrap();
        assert_eq!(there, format!("Basic {}", base64(b"me:a b")));
        assert_eq!(request.authorization(&Url::parse("http://h2/x").unwrap()), None);
    }

    #[test]
    fn tokens_stay_with_their_server() {
        let url = |text: &str| Url::parse(text).unwrap();
        let origins = vec![url("https://api.github.com").origin()];
        let request =
            Request::new(url("https://api.github.com/x")).token(Some("token t".into()), origins);
        assert_eq!(request.authorization(&request.url).as_deref(), Some("token t"));
        for other in
            ["http://api.github.com/", "https://api.github.com:444/", "https://github.com/"]
        {
            assert_eq!(request.authorization(&url(other)), None, "{other}");
        }
    }

    #[test]
    fn waits() {
        assert_eq!(retry_after("7"), Some(Duration::from_secs(7)));
        assert_eq!(retry_after("Sun, 06 Nov 1994 08:49:37 GMT"), Some(Duration::ZERO));
        assert_eq!(retry_after("soon"), None);
        let mut tries = Tries { left: 1, wait: Duration::ZERO };
        assert!(!Tries { left: 1, wait: Duration::ZERO }.again(Some(Duration::from_secs(3600))));
        assert!(tries.again(None) && !tries.again(None));
    }
}
