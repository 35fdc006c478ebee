//! What the worst request of each kind costs an address book as it would be shipped: memory and CPU.

#![allow(clippy::expect_used, clippy::unwrap_used)]

use std::fs;
use std::time::Duration;

use workshop_base::peer;
use workshop_base::process;
use workshop_base::target::Target;
use workshop_base::wait;
use workshop_base::workspace::Workspace;
use workshop_carddav::client::AddressBook;
use workshop_carddav::worst;
use workshop_harness::build::{self, Profile};
use workshop_harness::contract::{Answer, Client};
use workshop_harness::service::{Service, Settings};
use workshop_postgres::Server;
use workshop_postgres::datasets::RunDatabase;

/// The most that a request may add to the memory, in kB, and the most CPU time that it may take.
const MAX_MEMORY: u64 = 64 << 10;
const MAX_CPU: Duration = Duration::from_secs(1);
/// How often each request is measured.
const TIMES: usize = 2;
/// How long a service may need for its tables.
const START: Duration = Duration::from_secs(20);

#[tokio::test]
#[ignore = "builds the reference as it would be shipped"]
async fn no_request_costs_the_reference_more_than_it_may() {
    costs_no_more(Target::Solution(22), Some(MAX_MEMORY), &[], 1).await;
}

/// A JVM takes what memory it is given. So it is given the bound, next to what an idle one needs, and has to do with it.
#[tokio::test]
#[ignore = "builds a service beside the port: CI asks for it where it checks those"]
async fn no_request_costs_the_kotlin_service_more_than_it_may() {
    let Some((name, ..)) = peer::named("kotlin-contacts") else {
        panic!("kotlin-contacts is a peer");
    };
    let heap = [("JAVA_TOOL_OPTIONS".to_owned(), "-Xmx96m".to_owned())];
    costs_no_more(Target::Peer(name), None, &heap, 5).await;
}

/// Sends the worst request of each kind a few times before it is measured: meanwhile, a JVM compiles.
async fn costs_no_more(
    target: Target,
    most: Option<u64>,
    environment: &[(String, String)],
    warm_up: usize,
) {
    let workspace = Workspace::find().unwrap();
    let server = Server::ensure(&workspace).await.unwrap();
    let database = RunDatabase::empty(&server).await.unwrap();
    let mut launch = build::build(&workspace, target, Profile::Measure)
        .await
        .unwrap();
    launch.env.extend_from_slice(environment);
    let settings = Settings::new(database.url());
    let service = Service::start(&workspace, &launch, &settings)
        .await
        .unwrap_or_else(|error| panic!("{error}"));
    // A service that has just been started may not have its tables yet.
    let ready = async || {
        Client::new(service.base_url(), None)
            .unwrap()
            .get("/ready")
            .await
    };
    let is_ready =
        |answer: &Result<Answer, _>| answer.as_ref().is_ok_and(|got| got.status() == 200);
    wait::last_within(START, ready, is_ready).await.unwrap();
    let client = Client::new(service.base_url(), None).unwrap();
    let ada = AddressBook::of(&client);
    worst::prepare(&ada).await.expect("contacts to ask for");

    for request in worst::requests() {
        for _ in 0..warm_up {
            request.send(&ada).await.expect("an answer");
        }
        // A JVM may collect or compile at just this moment: the least of a few is the request's own.
        let mut least = (u64::MAX, Duration::MAX);
        for _ in 0..TIMES {
            let (before, cpu) = (reset_peak(service.pid()), cpu_of(&service));
            request.send(&ada).await.expect("an answer");
            let peak = process::peak_kb(service.pid()).unwrap();
            let memory = peak.saturating_sub(before);
            least = (least.0.min(memory), least.1.min(cpu_of(&service) - cpu));
        }
        let (memory, cpu) = least;
        println!(
            "{:>6} kB {:>6} ms  {}",
            memory,
            cpu.as_millis(),
            request.kind
        );
        assert!(
            most.is_none_or(|most| memory <= most),
            "{}: {memory} kB",
            request.kind
        );
        assert!(cpu <= MAX_CPU, "{}: {cpu:?}", request.kind);
    }
    service.stop().await;
    database.remove().await.unwrap();
}

fn cpu_of(service: &Service) -> Duration {
    process::cpu(&[service.pid()]).expect("a service that runs")
}

/// Has the kernel count the peak anew, and gives what is resident now, in kB.
fn reset_peak(pid: u32) -> u64 {
    fs::write(format!("/proc/{pid}/clear_refs"), "5").expect("a kernel that counts anew");
    process::peak_kb(pid).expect("a service that runs")
}
