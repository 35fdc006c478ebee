//! Tests: clients that can't run here, by the requests that they are known to send. A file in `replays/` is a client: where its requests
//! come from, and then each step with what the client has to find in the answer.
//!
//! A step is `### what it does`, the request as HTTP writes it, and what is expected. There, `=> 201 204` is the statuses, `PATH has
//! PROPERTY …` and `PATH is gone` are about a multistatus, `DAV says addressbook` is about a header, and `take NAME from …` keeps a value
//! of a header, of a property, or the `sync-token`, for `{NAME}` in the steps that follow.

use std::collections::BTreeMap;

use crate::client::{AddressBook, method};
use crate::multistatus::Multistatus;
use workshop_harness::contract::{Answer, Client, Context, Failure, TestResult};
use workshop_harness::http::Body;

const REPLAYS: [(&str, &str); 6] = [
    ("Thunderbird", include_str!("replays/thunderbird.http")),
    ("Apple's Contacts", include_str!("replays/apple.http")),
    ("DAVx5", include_str!("replays/davx5.http")),
    ("Evolution", include_str!("replays/evolution.http")),
    ("KDE", include_str!("replays/kde.http")),
    ("eM Client", include_str!("replays/emclient.http")),
];

/// The headers that requests have, next to `Content-Type`.
const HEADERS: [&str; 6] = [
    "Accept",
    "Brief",
    "Depth",
    "If-Match",
    "If-None-Match",
    "Prefer",
];

pub async fn what_known_clients_send_is_understood(context: &Context) -> TestResult {
    let ada = AddressBook::of(&context.client);
    for (client, replay) in REPLAYS {
        let mut taken = BTreeMap::new();
        for step in replay.split("\n### ").skip(1) {
            let step = ReplayStep::of(step, &taken);
            let went = step.play(&ada.client, &mut taken).await;
            went.map_err(|failure| Failure {
                expected: format!("{client} {}: {}", step.does, failure.expected),
                ..failure
            })?;
        }
    }
    Ok(())
}

struct ReplayStep {
    does: String,
    method: String,
    path: String,
    headers: Vec<(String, String)>,
    body: String,
    statuses: String,
    expected: Vec<String>,
}

impl ReplayStep {
    /// Parses a step, with the values taken from the answers so far.
    fn of(text: &str, taken: &BTreeMap<String, String>) -> ReplayStep {
        let mut text = text.to_owned();
        for (name, value) in taken {
            text = text.replace(&format!("{{{name}}}"), value);
        }
        let (request, expected) = text.split_once("\n=> ").unwrap_or((&text, ""));
        let (head, body) = request.split_once("\n\n").unwrap_or((request, ""));
        let mut head = head.lines();
        let does = head.next().unwrap_or_default().to_owned();
        let (method, path) = split(head.next().unwrap_or_default(), " ");
        let mut expected = expected.lines().filter(|line| !line.is_empty());
        ReplayStep {
            does,
            method,
            path,
            headers: head.map(|line| split(line, ": ")).collect(),
            body: body.to_owned(),
            statuses: expected.next().unwrap_or_default().to_owned(),
            expected: expected.map(str::to_owned).collect(),
        }
    }

    async fn play(
        &self,
        client: &Client,
        taken: &mut BTreeMap<String, String>,
    ) -> Result<(), Failure> {
        let answer = self.send(client).await?;
        let status = answer.status().to_string();
        answer.expect(
            self.statuses.split(' ').any(|expected| expected == status),
            format!("status {}", self.statuses),
            format!("status {status}, body {}", answer.text()),
        )?;
        for line in &self.expected {
            match line.split(' ').collect::<Vec<_>>()[..] {
                ["take", name, "from", "sync-token"] => {
                    taken.insert(name.to_owned(), Multistatus::of(&answer)?.token()?);
                }
                ["take", name, "from", header] => {
                    let value = answer.header(header).unwrap_or_default();
                    taken.insert(name.to_owned(), value.into_owned());
                }
                ["take", name, "from", property, "of", path] => {
                    let multistatus = Multistatus::of(&answer)?;
                    let value = multistatus.at(path)?.text(property)?;
                    taken.insert(name.to_owned(), value.trim().to_owned());
                }
                [header, "says", word] => expect_word(&answer, header, word)?,
                [path, "is", "gone"] => {
                    Multistatus::of(&answer)?.at(path)?.expect_status(404)?;
                }
                [path, "has", ref properties @ ..] => {
                    let multistatus = Multistatus::of(&answer)?;
                    for property in properties {
                        multistatus.at(path)?.property(property)?;
                    }
                }
                _ => return Err(Failure::new("a line that a replay may have", line)),
            }
        }
        Ok(())
    }

    async fn send(&self, client: &Client) -> Result<Answer, Failure> {
        let mut client = client.clone();
        for header in HEADERS {
            client = client.with(header, self.header(header));
        }
        // Lines of a vCard end as lines of HTTP do.
        let body = match self.method.as_str() {
            "PUT" => format!("{}\r\n", self.body.replace('\n', "\r\n")),
            _ => self.body.clone(),
        };
        let content = Body::new(self.header("Content-Type"), &body);
        let body = (!self.body.is_empty()).then_some(content);
        client
            .send_body(method(&self.method), &self.path, body)
            .await
    }

    fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        let header = headers.find(|(header, _)| header == name);
        header.map(|(_, value)| value.as_str())
    }
}

fn split(line: &str, between: &str) -> (String, String) {
    let (left, right) = line.split_once(between).unwrap_or((line, ""));
    (left.to_owned(), right.to_owned())
}

fn expect_word(answer: &Answer, header: &str, word: &str) -> Result<(), Failure> {
    let value = answer.header(header).unwrap_or_default();
    let says = value.split(',').any(|said| said.trim() == word);
    answer.expect(says, format!("{word} in {header}"), &*value)?;
    Ok(())
}
