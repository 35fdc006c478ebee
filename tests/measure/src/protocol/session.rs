//! A session: what all steps of a measurement share. Who is measured is not in it: subjects go from step to step.

use std::time::Duration;

use futures_util::future::LocalBoxFuture;

use crate::protocol::lab::Lab;
use crate::protocol::neighbors::Neighbors;
use crate::protocol::plan::{CONNECTIONS, Plan, TIMEOUT};
use crate::protocol::progress::{self, Progress};
use crate::protocol::rows::Asked;
use crate::protocol::subject::{Subject, ids, pairs};
use crate::protocol::{ids, notes};
use crate::tools::database::Watch;
use crate::tools::oha::{Call, Load, Oha, Order};
use workshop_base::clock::ClockJumps;
use workshop_base::terminal::{Style, paint};
use workshop_harness::service::{PriceSettings, Service, Settings, TokenSettings};

/// What steps need.
pub struct Session<'a> {
    /// Where it happens.
    pub lab: &'a Lab<'a>,
    /// What is asked for.
    pub asked: &'a Asked,
    /// How much of everything.
    pub plan: Plan,
    /// The load generator.
    pub oha: Oha,
    /// The database that all sides read from.
    pub database_url: String,
    /// `DATABASE_TIMEOUT_MS` of the services.
    pub timeout: Duration,
    /// What the services are told about the service of prices, where there is one.
    pub prices: Option<PriceSettings>,
    /// What they are told about the issuer of tokens, where there is one.
    pub tokens: Option<TokenSettings>,
    /// The database's own statistics, where it keeps them.
    pub statements: Option<Watch>,
    /// The database's connections, where they are counted.
    pub activity: Option<Watch>,
    /// The header by which requests are let in.
    pub header: String,
    /// The load's connections, for the manifest.
    pub connections: u32,
    /// What else the machine did.
    pub neighbors: Neighbors,
    /// What has happened to the machine's clocks.
    pub jumps: ClockJumps,
    /// Where it is.
    pub progress: Progress,
    /// What a reader must know.
    pub notes: Vec<String>,
}

impl<'a> Session<'a> {
    /// Builds the task's rows, says what is about to happen, and begins, by the plan of this name.
    pub fn begin(
        lab: &'a Lab<'a>,
        asked: &'a Asked,
        plan: &'a str,
    ) -> LocalBoxFuture<'a, anyhow::Result<(Self, Vec<Subject>)>> {
        Box::pin(async move {
            let cast = lab.subjects(asked).await?;
            let plan = asked.plan(plan)?;
            let mut session = Session::of(lab, asked, &cast.subjects, plan);
            session.notes.extend(cast.missing);
            Ok((session, cast.subjects))
        })
    }

    /// The same with subjects that are built, and a plan that is made.
    pub fn of(lab: &'a Lab<'a>, asked: &'a Asked, subjects: &[Subject], plan: Plan) -> Self {
        // A plan knows how long its own rows take; a service beside the port takes about as long as one of those.
        let peers = subjects.iter().filter(|subject| subject.side.peer).count();
        let own = (subjects.len() - peers).max(1);
        let expected = plan
            .expected(asked.mode)
            .mul_f64(subjects.len() as f64 / own as f64);
        let duets = match plan.duets {
            0 => 0,
            _ => pairs(subjects).len().max(1),
        };
        let parts = [(plan.rounds, "round"), (duets, "duet")];
        let parts = parts.iter().filter(|(count, _)| *count > 0);
        println!(
            "measuring {}: {}about {}",
            paint(Style::Strong, ids(subjects).join(" and ")),
            parts
                .map(|(count, what)| format!("{}, ", counted(*count, what)))
                .collect::<String>(),
            progress::in_words(expected)
        );
        Session {
            lab,
            asked,
            plan,
            oha: Oha::of(lab.workspace),
            database_url: lab.database_url.clone(),
            timeout: TIMEOUT,
            prices: None,
            tokens: None,
            statements: None,
            activity: None,
            header: header(&key()),
            connections: CONNECTIONS,
            neighbors: Neighbors::beside(lab.first_process),
            jumps: ClockJumps::default(),
            progress: Progress::begin(expected),
            notes: notes::standing(subjects, asked.mode),
        }
    }

    /// Shows the raw command of the load on these random paths.
    pub fn show_load(&self, path: &str) {
        self.show_load_of(path, Load::Closed);
        if !self.plan.rates.is_empty() || self.plan.duets > 0 {
            println!("           and at shared rates, with -q RATE --latency-correction");
        }
    }

    /// Shows the raw command of one load on these random paths.
    pub fn show_load_of(&self, path: &str, load: Load) {
        let length = Duration::from_secs_f64(self.plan.saturation.max(1.0));
        let order = Order {
            connections: self.connections,
            ..self.order_at("http://127.0.0.1:PORT", path, length, load)
        };
        println!("the load:  {}", order.typed());
    }

    /// The path of random records, as a regular expression.
    pub fn records(&self) -> String {
        format!("/read/{}", ids::of(self.lab.seeded.set).pattern)
    }

    /// A load on random paths, which this regular expression describes.
    pub fn order(&self, path: &str, service: &Service, duration: Duration, load: Load) -> Order {
        self.order_at(service.base_url(), path, duration, load)
    }

    fn order_at(&self, base_url: &str, path: &str, duration: Duration, load: Load) -> Order {
        Order {
            url: format!("{base_url}{path}"),
            header: self.header.clone(),
            call: Call::default(),
            connections: CONNECTIONS,
            duration,
            load,
        }
    }

    /// The database's execution time so far, where it is known.
    pub async fn database_time(&mut self) -> Option<Duration> {
        self.statements.as_mut()?.execution_time().await
    }
}

/// `1 round`, `5 rounds`.
fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// The key that services are asked with.
pub fn key() -> String {
    Settings::new("").api_keys.swap_remove(0)
}

/// The header that brings this key.
pub fn header(key: &str) -> String {
    format!("X-API-Key: {key}")
}
