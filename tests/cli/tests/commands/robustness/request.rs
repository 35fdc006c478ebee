//! A request as the bytes that go over the wire, and as something that a person can send again.

use std::fmt::Write;
use std::path::{Path, PathBuf};

/// How much of a request is shown, in bytes. The file has all of it.
const SHOWN: usize = 600;

/// A request in parts that can be changed one by one.
#[derive(Debug, Clone)]
pub struct Request {
    pub method: String,
    pub path: Vec<u8>,
    /// What stands between the ampersands of the query; no question mark where there is none.
    pub query: Vec<Vec<u8>>,
    pub headers: Vec<(String, Vec<u8>)>,
    pub body: Option<Vec<u8>>,
    /// Whether the body is sent in chunks instead of with its length.
    pub chunked: bool,
    /// What was done to a plain request to get this one.
    pub changes: Vec<&'static str>,
}

impl Request {
    /// A request without anything.
    pub fn new(method: &str, path: &str) -> Self {
        Request {
            method: method.to_owned(),
            path: path.into(),
            query: Vec::new(),
            headers: vec![("Host".to_owned(), b"localhost".to_vec())],
            body: None,
            chunked: false,
            changes: Vec::new(),
        }
    }

    /// Takes the headers of this name out.
    pub fn remove_header(&mut self, name: &str) {
        self.headers
            .retain(|(other, _)| !other.eq_ignore_ascii_case(name));
    }

    /// Adds a header.
    pub fn add_header(&mut self, name: &str, value: impl AsRef<[u8]>) {
        let value = value.as_ref().to_vec();
        self.headers.push((name.to_owned(), value));
    }

    /// The same as HTTP/1.1.
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = format!("{} ", self.method).into_bytes();
        bytes.extend(&self.path);
        if !self.query.is_empty() {
            bytes.push(b'?');
            bytes.extend(self.query.join(&b'&'));
        }
        bytes.extend(b" HTTP/1.1\r\n");
        for (name, value) in &self.headers {
            bytes.extend(name.as_bytes());
            bytes.extend(b": ");
            bytes.extend(value);
            bytes.extend(b"\r\n");
        }
        match &self.body {
            Some(body) if self.chunked => {
                bytes.extend(b"Transfer-Encoding: chunked\r\n\r\n");
                // In two parts, so that there is something to put together.
                let (start, end) = body.split_at(body.len() / 2);
                for chunk in [start, end].into_iter().filter(|chunk| !chunk.is_empty()) {
                    bytes.extend(format!("{:x}\r\n", chunk.len()).as_bytes());
                    bytes.extend(chunk);
                    bytes.extend(b"\r\n");
                }
                bytes.extend(b"0\r\n\r\n");
            }
            Some(body) => {
                bytes.extend(format!("Content-Length: {}\r\n\r\n", body.len()).as_bytes());
                bytes.extend(body);
            }
            None => bytes.extend(b"\r\n"),
        }
        bytes
    }
}

/// Writes a request into a folder, and tells how to send it again.
pub fn to_send_again(bytes: &[u8], number: usize, folder: &Path) -> anyhow::Result<String> {
    std::fs::create_dir_all(folder)?;
    let file: PathBuf = folder.join(format!("{number}.http"));
    std::fs::write(&file, bytes)?;
    Ok(format!(
        "nc 127.0.0.1 8080 < {}   (a service: just run kotlin)\n{}",
        file.display(),
        shown(bytes)
    ))
}

/// Bytes as text in which everything unusual can be seen.
pub fn shown(bytes: &[u8]) -> String {
    let mut text = String::new();
    for byte in bytes.iter().take(SHOWN) {
        let _ = match byte {
            b'\n' => writeln!(text, "\\n"),
            b'\r' => write!(text, "\\r"),
            b' '..=b'~' => write!(text, "{}", char::from(*byte)),
            other => write!(text, "\\x{other:02x}"),
        };
    }
    if bytes.len() > SHOWN {
        let _ = write!(text, " … and {} bytes more", bytes.len() - SHOWN);
    }
    text
}
