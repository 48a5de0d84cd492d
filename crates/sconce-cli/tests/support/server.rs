//! A small web server of a test's own, which misbehaves as it is told.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// What was asked for.
#[derive(Debug, Clone)]
pub struct Asked {
    pub path: String,
    pub headers: HashMap<String, String>,
}

impl Asked {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }
}

/// What is answered.
#[derive(Debug, Clone, Default)]
pub struct Reply {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
    /// Bytes after which the connection is closed.
    pub cut: Option<usize>,
    /// The length that is claimed.
    pub claimed: Option<usize>,
    /// Sent in chunks, without a length.
    pub chunked: bool,
}

impl Reply {
    pub fn new(status: u16) -> Reply {
        Reply { status, ..Reply::default() }
    }

    pub fn body(status: u16, body: impl Into<Vec<u8>>) -> Reply {
        Reply { status, body: body.into(), ..Reply::default() }
    }

    pub fn header(mut self, name: &str, value: impl Into<String>) -> Reply {
        self.headers.push((name.to_owned(), value.into()));
        self
    }

    pub fn cut(mut self, after: usize) -> Reply {
        self.cut = Some(after);
        self
    }
}

/// A file as a good server sends it: with ranges, an ETag and conditions.
pub fn file(asked: &Asked, data: &[u8], etag: &str) -> Reply {
    let quoted = format!("\"{etag}\"");
    if asked.header("if-none-match") == Some(&quoted) {
        return Reply::new(304).header("ETag", quoted);
    }
    let total = data.len();
    let whole =
        || Reply::body(200, data).header("ETag", quoted.clone()).header("Accept-Ranges", "bytes");
    let Some(range) = asked.header("range").and_then(|range| range.strip_prefix("bytes=")) else {
        return whole();
    };
    if asked.header("if-range").is_some_and(|etag| etag != quoted) {
        return whole();
    }
    let (start, end) = match range.split_once('-').unwrap() {
        ("", last) => (total - last.parse::<usize>().unwrap().min(total), total),
        (start, "") => (start.parse().unwrap(), total),
        (start, end) => (start.parse().unwrap(), (end.parse::<usize>().unwrap() + 1).min(total)),
    };
    if start >= total {
        return Reply::new(416).header("Content-Range", format!("bytes */{total}"));
    }
    Reply::body(206, &data[start..end])
        .header("ETag", quoted.clone())
        .header("Content-Range", format!("bytes {start}-{}/{total}", end - 1))
}

type Handler = dyn Fn(&Asked) -> Reply + Send + Sync;

/// A server on a port of its own, until it is dropped.
pub struct Server {
    pub url: String,
    port: u16,
    asked: Arc<Mutex<Vec<Asked>>>,
    sent: Arc<AtomicU64>,
    stop: Arc<AtomicBool>,
}

impl Server {
    pub fn new(handler: impl Fn(&Asked) -> Reply + Send + Sync + 'static) -> Server {
        Server::slow(Duration::ZERO, handler)
    }

    /// Answers after a while.
    pub fn slow(
        latency: Duration,
        handler: impl Fn(&Asked) -> Reply + Send + Sync + 'static,
    ) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let server = Server {
            url: format!("http://127.0.0.1:{port}"),
            port,
            asked: Arc::default(),
            sent: Arc::default(),
            stop: Arc::default(),
        };
        let (asked, sent, stop) =
            (Arc::clone(&server.asked), Arc::clone(&server.sent), Arc::clone(&server.stop));
        let handler: Arc<Handler> = Arc::new(handler);
        thread::spawn(move || {
            for stream in listener.incoming() {
                if stop.load(Ordering::Relaxed) {
                    return;
                }
                let Ok(stream) = stream else { continue };
                let (handler, asked, sent) =
                    (Arc::clone(&handler), Arc::clone(&asked), Arc::clone(&sent));
                thread::spawn(move || {
                    // A client that goes away is no concern of the server's.
                    let _ = serve(stream, &*handler, &asked, &sent, latency);
                });
            }
        });
        server
    }

    /// A server of one file.
    pub fn of(data: Vec<u8>) -> Server {
        Server::new(move |asked| file(asked, &data, "one"))
    }

    /// What was asked for so far.
    pub fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }

    /// Forgets what was asked for, and gives how many requests there were and how many bytes were sent.
    pub fn taken(&self) -> (usize, u64) {
        let count = std::mem::take(&mut *self.asked.lock().unwrap()).len();
        (count, self.sent.swap(0, Ordering::Relaxed))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        // Wakes the thread that waits.
        let _ = TcpStream::connect(("127.0.0.1", self.port));
    }
}

fn serve(
    mut stream: TcpStream,
    handler: &Handler,
    asked: &Mutex<Vec<Asked>>,
    sent: &AtomicU64,
    latency: Duration,
) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream.try_clone()?);
    loop {
        let mut line = String::new();
        if (&mut reader).take(1 << 16).read_line(&mut line)? == 0 {
            return Ok(());
        }
        let path = line.split(' ').nth(1).unwrap_or("/").to_owned();
        let mut headers = HashMap::new();
        loop {
            let mut line = String::new();
            reader.read_line(&mut line)?;
            let Some((name, value)) = line.trim_end().split_once(':') else { break };
            headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
        }
        let request = Asked { path, headers };
        asked.lock().unwrap().push(request.clone());
        thread::sleep(latency);
        let reply = handler(&request);
        let mut head = format!("HTTP/1.1 {} X\r\n", reply.status);
        for (name, value) in &reply.headers {
            head += &format!("{name}: {value}\r\n");
        }
        if reply.chunked {
            head += "Transfer-Encoding: chunked\r\n";
        } else if reply.status != 304 {
            head += &format!("Content-Length: {}\r\n", reply.claimed.unwrap_or(reply.body.len()));
        }
        head += "\r\n";
        stream.write_all(head.as_bytes())?;
        let end = reply.cut.unwrap_or(reply.body.len()).min(reply.body.len());
        for part in reply.body[..end].chunks(1 << 16) {
            if reply.chunked {
                stream.write_all(format!("{:x}\r\n", part.len()).as_bytes())?;
            }
            // Before the client can see it.
            sent.fetch_add(part.len() as u64, Ordering::Relaxed);
            stream.write_all(part)?;
            if reply.chunked {
                stream.write_all(b"\r\n")?;
            }
        }
        if reply.cut.is_some() {
            return Ok(());
        }
        if reply.chunked {
            stream.write_all(b"0\r\n\r\n")?;
        }
        stream.flush()?;
    }
}

/// A zip file with these names and contents, whatever the names are.
pub fn zip(entries: &[(&str, &[u8])]) -> Vec<u8> {
    let (mut out, mut central) = (Vec::new(), Vec::new());
    for (name, data) in entries {
        let crc = crc32fast::hash(data).to_le_bytes();
        let size = (data.len() as u32).to_le_bytes();
        let name_len = (name.len() as u16).to_le_bytes();
        let common =
            [&[20, 0, 0, 0, 0, 0, 0, 0, 0, 0][..], &crc, &size, &size, &name_len, &[0, 0]].concat();
        let offset = (out.len() as u32).to_le_bytes();
        out.extend([&b"PK\x03\x04"[..], &common, name.as_bytes(), data].concat());
        central.extend(
            [&b"PK\x01\x02\x14\x00"[..], &common, &[0; 10], &offset, name.as_bytes()].concat(),
        );
    }
    let count = (entries.len() as u16).to_le_bytes();
    let (size, offset) = ((central.len() as u32).to_le_bytes(), (out.len() as u32).to_le_bytes());
    out.extend(&central);
    out.extend([&b"PK\x05\x06\0\0\0\0"[..], &count, &count, &size, &offset, &[0, 0]].concat());
    out
}
