//! `just run TARGET`: the service with a database of its own, left running so that requests can be tried by hand.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::time::Duration;

use tokio::sync::mpsc;

use crate::cli::RunArgs;
use crate::editors;
use crate::signals::interrupted;
use crate::subject::CheckTarget;
use workshop_base::exercise::Catalogue;
use workshop_base::outcome::{Outcome, Trouble};
use workshop_base::target::Target;
use workshop_base::terminal::{Style, paint};
use workshop_base::workspace::Workspace;
use workshop_harness::build;
use workshop_harness::build::{Launch, Profile};
use workshop_harness::front::Front;
use workshop_harness::nginx::{self, FIRST_STAGE};
use workshop_harness::proxy::DatabaseProxy;
use workshop_harness::service::{PriceSettings, Service, Settings, free_address};
use workshop_harness::upstream::{Conduct, PriceFault, Upstream};
use workshop_postgres::Server;
use workshop_postgres::datasets::RunDatabase;

/// The port that is taken when it is free, so that a line of the shell's history works again tomorrow.
const USUAL_PORT: u16 = 8080;
/// The suite that needs a service of prices, the variable that names one, and how late the prices of our own are.
const PRICES: &str = "waiting-for-others";
const UPSTREAM_URL: &str = "UPSTREAM_URL";
const UPSTREAM_DELAY: Duration = Duration::from_millis(20);
/// How the suites of a service of one's own begin.
const STAGE: &str = "stage-";

/// Starts the target and waits for Ctrl-C, SIGTERM or its end.
pub async fn run(
    workspace: &Workspace,
    target: CheckTarget,
    args: &RunArgs,
) -> anyhow::Result<Outcome> {
    // From here on no signal is lost, whatever it comes in.
    let mut interrupted = std::pin::pin!(interrupted());
    let Some(prepared) = until(&mut interrupted, prepare(workspace, target, args)).await else {
        return Ok(Outcome::Passed);
    };
    let (session, launch) = prepared?;
    let ended = match &launch {
        Some(launch) => session.serve(launch, &mut interrupted).await,
        None => session.wait_for_a_debugger(&mut interrupted).await,
    };
    session.database.remove().await?;
    ended.map(|()| Outcome::Passed)
}

/// What comes of it, or none when the user wants the tool to end before.
pub(super) async fn until<T>(
    interrupted: &mut (impl Future<Output = ()> + Unpin),
    work: impl Future<Output = T>,
) -> Option<T> {
    tokio::select! {
        () = interrupted => None,
        result = work => Some(result),
    }
}

/// A service that is tried by hand, with a database of its own.
struct RunSession<'a> {
    workspace: &'a Workspace,
    target: CheckTarget,
    args: &'a RunArgs,
    server: Server,
    database: RunDatabase,
    /// Between the service and its database, where that line is to fall silent.
    line: Option<DatabaseProxy>,
    /// The service of prices, where the target asks for some and the shell names no other.
    upstream: Option<Upstream>,
}

/// The database, and the service as it was built; none where the editor builds it.
async fn prepare<'a>(
    workspace: &'a Workspace,
    target: CheckTarget,
    args: &'a RunArgs,
) -> anyhow::Result<(RunSession<'a>, Option<Launch>)> {
    // Whoever puts a load on it by hand should meet it as it would be shipped: always so for the JVM, which a check
    // starts with a compiler that stops early.
    let profile = match args.release || target == CheckTarget::Target(Target::Kotlin) {
        true => Profile::Measure,
        false => Profile::Check,
    };
    let mut launch = None;
    if !args.debug {
        let built = target.build(workspace, profile).await;
        launch = Some(built.map_err(|error| {
            Trouble::new(error.to_string())
                .next(format!("just check {target}"))
                .failed()
        })?);
    }
    let server = Server::ensure(workspace).await?;
    let database = RunDatabase::create(&server).await?;
    let line = match args.silences {
        true => Some(DatabaseProxy::start(database.url()).await?),
        false => None,
    };
    let session = RunSession {
        workspace,
        target,
        args,
        server,
        database,
        line,
        upstream: upstream(workspace, target).await?,
    };
    Ok((session, launch))
}

/// A service of prices for a target that asks for some.
async fn upstream(workspace: &Workspace, target: CheckTarget) -> anyhow::Result<Option<Upstream>> {
    if std::env::var_os(UPSTREAM_URL).is_some() || !asks_for(workspace, target, PRICES)? {
        return Ok(None);
    }
    let trouble = PriceFault {
        delay: UPSTREAM_DELAY,
        ..PriceFault::default()
    };
    Upstream::start(Conduct::Prices(trouble)).await.map(Some)
}

/// Whether the target's tests have this suite among them; those of the Kotlin service have all.
fn asks_for(workspace: &Workspace, target: CheckTarget, suite: &str) -> anyhow::Result<bool> {
    let catalogue = Catalogue::read(workspace)?;
    let exercise = target.exercise(workspace, &catalogue)?;
    Ok(exercise.is_none_or(|exercise| catalogue.suites_for(exercise).contains(&suite)))
}

impl RunSession<'_> {
    /// Gives the settings that an editor starts the service with.
    async fn wait_for_a_debugger(
        &self,
        interrupted: &mut (impl Future<Output = ()> + Unpin),
    ) -> anyhow::Result<()> {
        let CheckTarget::Target(target) = self.target else {
            return Trouble::new("editors have no run configuration for a hunt")
                .next("just run hunt, without --debug")
                .err();
        };
        let environment = self.settings().environment(address(self.args.port)?);
        let shown = self.server.shown_url(self.database.name());
        editors::write_environment(self.workspace, target, &environment, &shown)?;
        println!("start the debugger: \"debug {target}\"; Ctrl-C removes the database");
        interrupted.await;
        Ok(())
    }

    async fn serve(
        &self,
        launch: &Launch,
        interrupted: &mut (impl Future<Output = ()> + Unpin),
    ) -> anyhow::Result<()> {
        let Some(started) = until(interrupted, self.start(launch)).await else {
            return Ok(());
        };
        let (mut service, front) = started?;
        let ended = async {
            tokio::select! {
                () = service.ended() => {}
                () = self.fall_silent() => {}
            }
        };
        if until(interrupted, ended).await.is_some() {
            let (label, log) = (service.label(), service.log_tail(20));
            return Trouble::new(format!("{label} ended by itself; its log ends with\n{log}"))
                .expected("a service that runs until it is told to stop")
                .next(format!("just check {}", self.target))
                .failed()
                .err();
        }
        if let Some(front) = front {
            front.stop().await;
        }
        service.stop().await;
        Ok(())
    }

    /// Starts the service and what belongs around it, and says how to try it.
    async fn start(&self, launch: &Launch) -> anyhow::Result<(Service, Option<Front>)> {
        let address = address(self.args.port)?;
        let service = Service::start_at(self.workspace, launch, &self.settings(), address).await?;
        println!(
            "{} on {}",
            paint(Style::Strong, service.label()),
            self.server.describe()
        );
        println!("its log: {}", service.log().display());
        println!(
            "its database: {}",
            self.server.shown_url(self.database.name())
        );
        let front = self.front(launch, &service).await?;
        match &front {
            Some(front) => introduce(front, launch),
            None => println!("try:     {}", self.request(service.base_url())?),
        }
        println!("Ctrl-C stops it and removes its database");
        Ok((service, front))
    }

    /// Lets the line to the database fall silent at each Enter; never ends.
    async fn fall_silent(&self) {
        if let Some(line) = &self.line {
            println!("press Enter to let the open connections fall silent; new ones still work");
            let mut pressed = enter_pressed();
            while pressed.recv().await.is_some() {
                println!("{} connections are silent from now on", line.open());
                line.lose();
            }
        }
        std::future::pending().await
    }

    /// A request that the target answers: one to the newest route that its tests ask for.
    fn request(&self, base_url: &str) -> anyhow::Result<String> {
        let catalogue = Catalogue::read(self.workspace)?;
        let suites = match self.target.exercise(self.workspace, &catalogue)? {
            Some(exercise) => catalogue.suites_for(exercise),
            None => vec!["read-a-record"],
        };
        Ok(if suites.contains(&PRICES) {
            format!("curl -i -H 'X-API-Key: valid_key' '{base_url}/price/1'")
        } else if suites.contains(&"qrcode") {
            format!("curl -si '{base_url}/qrcode?text=hello' -o hello.png")
        } else if suites.contains(&"read-a-record") {
            format!("curl -i -H 'X-API-Key: valid_key' '{base_url}/read/1'")
        } else if suites.iter().any(|suite| suite.starts_with(STAGE)) {
            format!("curl -i -H 'X-API-Key: valid_key' '{base_url}/reports'")
        } else {
            format!("curl -i '{base_url}/ready'")
        })
    }

    /// The usual settings, with the `LOG_LEVEL` and the `UPSTREAM_URL` of the shell: what happens at each request is worth reading by hand.
    fn settings(&self) -> Settings {
        let line = self.line.as_ref().map(DatabaseProxy::url);
        let usual = Settings::new(line.unwrap_or(self.database.url()));
        let upstream = self.upstream.as_ref().map(Upstream::url);
        let upstream = upstream.or_else(|| std::env::var(UPSTREAM_URL).ok());
        Settings {
            prices: upstream.map(PriceSettings::new),
            log_level: std::env::var("LOG_LEVEL").unwrap_or(usual.log_level),
            ..usual
        }
    }

    /// What is around a service that comes with a configuration of nginx: exercise 20 is about the three of them. Nothing is
    /// around any other.
    async fn front(&self, launch: &Launch, rust: &Service) -> anyhow::Result<Option<Front>> {
        let configuration = launch.directory.join(nginx::FOLDER);
        if !configuration.is_dir() {
            return Ok(None);
        }
        let kotlin = build::build(self.workspace, Target::Kotlin, Profile::Measure).await?;
        let settings = self.settings();
        let front = Front::start(self.workspace, &configuration, &kotlin, &settings, rust);
        front.await.map(Some)
    }
}

/// Tells of each Enter. A thread of its own waits for it: it holds up nothing that wants to end.
fn enter_pressed() -> mpsc::UnboundedReceiver<()> {
    let (pressed, is_pressed) = mpsc::unbounded_channel();
    std::thread::spawn(move || {
        let lines = std::io::stdin().lines().map_while(Result::ok);
        lines.take_while(|_| pressed.send(()).is_ok()).count()
    });
    is_pressed
}

fn introduce(front: &Front, launch: &Launch) {
    let nginx = format!("http://{}", front.nginx.address());
    println!("kotlin:  {}", front.kotlin.base_url());
    println!("nginx:   {nginx}, in front of both, at the stage {FIRST_STAGE}");
    println!("try:     curl -si '{nginx}/qrcode?text=hello' | grep -a X-Served-By");
    println!(
        "switch:  sh {}/{}/switch.sh {} mirror",
        launch.directory.display(),
        nginx::FOLDER,
        front.nginx.folder().display()
    );
}

/// The address asked for; else the usual port when it is free, else any that is.
fn address(port: Option<u16>) -> anyhow::Result<SocketAddr> {
    let usual = SocketAddr::from((Ipv4Addr::LOCALHOST, port.unwrap_or(USUAL_PORT)));
    match (TcpListener::bind(usual), port) {
        (Ok(_), _) => Ok(usual),
        (Err(_), None) => Ok(free_address()?),
        (Err(error), Some(port)) => Trouble::new(format!("cannot listen on port {port}: {error}"))
            .next("choose another with --port, or leave it out: then the tool takes a free one")
            .err(),
    }
}
