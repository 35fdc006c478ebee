//! `just run TARGET`: the service with a database of its own, left running so that requests can be tried by hand.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};

use crate::cli::RunArgs;
use crate::commands::{editors, interrupted};
use workshop_base::exercise::Catalogue;
use workshop_base::outcome::{Outcome, Trouble};
use workshop_base::target::Target;
use workshop_base::terminal::{Style, paint};
use workshop_base::workspace::Workspace;
use workshop_harness::build;
use workshop_harness::build::{Launch, Profile};
use workshop_harness::front::Front;
use workshop_harness::nginx::{self, FIRST_STAGE};
use workshop_harness::service::{Service, Settings, StartError, free_address};
use workshop_postgres::Server;
use workshop_postgres::datasets::{DataSet, RunDatabase};

/// The port that is taken when it is free, so that a line of the shell's history works again tomorrow.
const USUAL_PORT: u16 = 8080;

/// Starts the target and waits for Ctrl-C, SIGTERM or its end.
pub async fn run(workspace: &Workspace, args: &RunArgs) -> anyhow::Result<Outcome> {
    if args.debug {
        return for_a_debugger(workspace, args).await;
    }
    // From here on no signal is lost, whatever it comes in.
    let mut interrupted = std::pin::pin!(interrupted());
    let Some(prepared) = until(&mut interrupted, prepare(workspace, args)).await else {
        return Ok(Outcome::Passed);
    };
    let (launch, server, database) = prepared?;
    let ended = serve(
        workspace,
        args,
        &launch,
        database.url(),
        &server,
        interrupted,
    )
    .await;
    database.remove().await?;
    ended
}

/// What comes of it, or none when the user wants the tool to end before.
async fn until<T>(
    interrupted: &mut (impl Future<Output = ()> + Unpin),
    work: impl Future<Output = T>,
) -> Option<T> {
    tokio::select! {
        () = interrupted => None,
        result = work => Some(result),
    }
}

async fn prepare(
    workspace: &Workspace,
    args: &RunArgs,
) -> anyhow::Result<(Launch, Server, RunDatabase)> {
    // Whoever puts a load on it by hand should meet it as it would be shipped: always so for the JVM, which a check
    // starts with a compiler that stops early.
    let as_shipped = args.release || args.target == Target::Kotlin;
    let profile = if as_shipped {
        Profile::Measure
    } else {
        Profile::Check
    };
    let launch = build::build(workspace, args.target, profile)
        .await
        .map_err(|error| {
            Trouble::new(error.to_string())
                .next(format!("just check {}", args.target))
                .failed()
        })?;
    let server = Server::ensure(workspace).await?;
    let database = RunDatabase::create(&server, workspace, DataSet::Small).await?;
    Ok((launch, server, database))
}

/// A database, and the settings that an editor starts the service with.
async fn for_a_debugger(workspace: &Workspace, args: &RunArgs) -> anyhow::Result<Outcome> {
    let server = Server::ensure(workspace).await?;
    let database = RunDatabase::create(&server, workspace, DataSet::Small).await?;
    let interrupted = interrupted();
    let environment = settings(database.url()).environment(address(args.port)?);
    let written = editors::write_environment(workspace, args.target, &environment);
    if written.is_ok() {
        println!(
            "start the debugger: \"debug {}\"; Ctrl-C removes the database",
            args.target
        );
        interrupted.await;
    }
    database.remove().await?;
    written.map(|()| Outcome::Passed)
}

async fn serve(
    workspace: &Workspace,
    args: &RunArgs,
    launch: &Launch,
    database_url: &str,
    server: &Server,
    mut interrupted: impl Future<Output = ()> + Unpin,
) -> anyhow::Result<Outcome> {
    let start = start(workspace, args, launch, database_url, server);
    let Some(started) = until(&mut interrupted, start).await else {
        return Ok(Outcome::Passed);
    };
    let (mut service, front) = started?;
    if until(&mut interrupted, service.ended()).await.is_some() {
        let log = service.log_tail(20);
        return Trouble::new(format!(
            "{} ended by itself; its log ends with\n{log}",
            service.label()
        ))
        .expected("a service that runs until it is told to stop")
        .failed()
        .err();
    }
    if let Some(front) = front {
        front.stop().await;
    }
    service.stop().await;
    Ok(Outcome::Passed)
}

/// Starts the service and what belongs around it, and says how to try it.
async fn start(
    workspace: &Workspace,
    args: &RunArgs,
    launch: &Launch,
    database_url: &str,
    server: &Server,
) -> anyhow::Result<(Service, Option<Front>)> {
    let address = address(args.port)?;
    let service = Service::start_at(workspace, launch, &settings(database_url), address)
        .await
        .map_err(StartError::into_error)?;
    println!(
        "{} on {}",
        paint(Style::Strong, service.label()),
        server.describe()
    );
    println!("its log: {}", service.log().display());
    let front = front_of(workspace, launch, &service, database_url).await?;
    match &front {
        Some(front) => introduce(front, launch),
        None => println!(
            "try:     {}",
            request(workspace, args.target, service.base_url())?
        ),
    }
    println!("Ctrl-C stops it and removes its database");
    Ok((service, front))
}

/// A request that the target answers: one to the newest route that its tests ask for.
fn request(workspace: &Workspace, target: Target, base_url: &str) -> anyhow::Result<String> {
    let suites = match target {
        Target::Kotlin => vec!["read-a-record".to_owned()],
        Target::Exercise(number) | Target::Solution(number) => {
            let catalogue = Catalogue::read(workspace)?;
            let suites = catalogue.suites_for(catalogue.get(number)?);
            suites.into_iter().map(str::to_owned).collect()
        }
    };
    let tests = |suite| suites.iter().any(|tested| tested == suite);
    Ok(if tests("qrcode") {
        format!("curl -si '{base_url}/qrcode?text=hello' -o hello.png")
    } else if tests("read-a-record") {
        format!("curl -i -H 'X-API-Key: valid_key' '{base_url}/read/1'")
    } else {
        format!("curl -i '{base_url}/ready'")
    })
}

/// The usual settings, with the `LOG_LEVEL` of the shell: what happens at each request is worth reading by hand.
fn settings(database_url: &str) -> Settings {
    let usual = Settings::new(database_url);
    Settings {
        log_level: std::env::var("LOG_LEVEL").unwrap_or(usual.log_level),
        ..usual
    }
}

/// What is around a service that comes with a configuration of nginx: exercise 12 is about the three of them. Nothing is
/// around any other.
async fn front_of(
    workspace: &Workspace,
    launch: &Launch,
    rust: &Service,
    database_url: &str,
) -> anyhow::Result<Option<Front>> {
    let configuration = launch.directory.join(nginx::FOLDER);
    if !configuration.is_dir() {
        return Ok(None);
    }
    let kotlin = build::build(workspace, Target::Kotlin, Profile::Measure).await?;
    let settings = settings(database_url);
    let front = Front::start(workspace, &configuration, &kotlin, &settings, rust).await?;
    Ok(Some(front))
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
        (Err(error), Some(port)) => {
            Trouble::new(format!("port {port} cannot be listened on: {error}"))
                .next("name another with --port, or none: then a free one is taken")
                .err()
        }
    }
}
