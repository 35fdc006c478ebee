//! The program `workshop-signer` at work: it makes keys and signs tokens. It is compiled the first time that somebody asks.

use std::process::{Command, Stdio};

use anyhow::Context;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{ChildStdin, ChildStdout};
use tokio::sync::Mutex;
use workshop_base::outcome::{Trouble, last_lines};
use workshop_base::program::{self, Program};
use workshop_base::workspace::Workspace;

/// The program; it ends when this is dropped.
pub struct Signer {
    talk: Mutex<Talk>,
}

struct Talk {
    questions: ChildStdin,
    answers: BufReader<ChildStdout>,
    program: Program,
    made: usize,
}

/// A key that the program has.
#[derive(Debug, Clone)]
pub struct Key {
    number: usize,
    /// How it signs.
    pub alg: &'static str,
    /// The members of its JWK, and for RSA the same as `pem`.
    pub public: Value,
}

impl Signer {
    pub fn start(workspace: &Workspace) -> anyhow::Result<Signer> {
        let mut command = Command::new("sh");
        command
            .arg(workspace.root().join("justw"))
            .args(["--run", "workshop-signer"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut program = program::start(command)?;
        let questions = program.child.stdin.take().context("no pipe to it")?;
        let answers = program.child.stdout.take().context("no pipe from it")?;
        Ok(Signer {
            talk: Mutex::new(Talk {
                questions,
                answers: BufReader::new(answers),
                program,
                made: 0,
            }),
        })
    }

    /// Makes a key of this kind, as the program names them, that signs like this.
    pub async fn key(&self, kind: Value, alg: &'static str) -> anyhow::Result<Key> {
        let mut talk = self.talk.lock().await;
        let public = talk.ask(&json!({"make": kind})).await?;
        let number = talk.made;
        talk.made += 1;
        Ok(Key {
            number,
            alg,
            public,
        })
    }

    /// A token with this header and this payload, to the byte, signed by the key as `alg` says.
    pub async fn token(
        &self,
        key: &Key,
        alg: &str,
        header: &str,
        payload: &str,
    ) -> anyhow::Result<String> {
        let number = key.number;
        let sign =
            json!({"sign": {"key": number, "alg": alg, "header": header, "payload": payload}});
        let token = self.talk.lock().await.ask(&sign).await?;
        Ok(token.as_str().context("a token is a text")?.to_owned())
    }
}

impl Talk {
    async fn ask(&mut self, question: &Value) -> anyhow::Result<Value> {
        let line = format!("{question}\n");
        let asked = self.questions.write_all(line.as_bytes()).await;
        let mut answer = String::new();
        if asked.is_err() || self.answers.read_line(&mut answer).await? == 0 {
            let mut said = String::new();
            if let Some(stderr) = &mut self.program.child.stderr {
                stderr.read_to_string(&mut said).await?;
            }
            return Trouble::new(format!("tokens cannot be signed{}", last_lines(&said)))
                .expected("the program workshop-signer, which cargo builds")
                .next("just doctor")
                .err();
        }
        serde_json::from_str(&answer).context("workshop-signer printed no JSON")
    }
}
