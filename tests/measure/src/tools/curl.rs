//! curl, the client of exports: it reads as fast as it gets, and keeps nothing.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;

use crate::tools;
use workshop_base::program;
use workshop_base::workspace::Workspace;

/// What is asked of curl at the end.
const FORMAT: &str = "%{http_code} %{size_download} %{time_starttransfer} %{time_total}";

/// curl, found on this machine.
#[derive(Debug, Clone)]
pub struct Curl(PathBuf);

/// What curl saw of one download.
#[derive(Debug, Clone, PartialEq)]
pub struct CurlDownload {
    /// The answer's status.
    pub status: u16,
    /// The body's bytes.
    pub bytes: u64,
    /// From the request to the first byte of the body, in seconds.
    pub first_byte_s: f64,
    /// From the request to the last byte, in seconds.
    pub seconds: f64,
    /// What curl says when the connection broke.
    pub broke: Option<String>,
}

impl Curl {
    /// Looks for curl.
    pub fn find(workspace: &Workspace) -> anyhow::Result<Self> {
        Ok(Curl(tools::find(workspace, "curl")?))
    }

    /// Downloads a URL into a file.
    pub async fn download(
        &self,
        url: &str,
        key: &str,
        file: &Path,
    ) -> anyhow::Result<CurlDownload> {
        let mut command = Command::new(&self.0);
        command
            .args(["--silent", "--show-error", "--noproxy", "*"])
            .args(["--header", &format!("X-API-Key: {key}")])
            .args(["--write-out", FORMAT, "--output"])
            .arg(file)
            .arg(url);
        let output = program::run_tool(command).await?;
        let text = String::from_utf8_lossy(&output.stdout);
        let said = String::from_utf8_lossy(&output.stderr);
        let broke = (!output.status.success()).then(|| said.trim().to_owned());
        parse(&text, broke).with_context(|| format!("curl printed {text:?}"))
    }
}

fn parse(text: &str, broke: Option<String>) -> Option<CurlDownload> {
    let mut words = text.split_whitespace();
    Some(CurlDownload {
        status: words.next()?.parse().ok()?,
        bytes: words.next()?.parse().ok()?,
        first_byte_s: words.next()?.parse().ok()?,
        seconds: words.next()?.parse().ok()?,
        broke,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_curl_prints_is_read() {
        let whole = parse("200 107055563 0.014934 0.866172", None).unwrap();
        assert_eq!((whole.seconds, whole.first_byte_s), (0.866_172, 0.014_934));
        assert_eq!(parse("curl: no", None), None);
    }
}
