//! `just upstream`: a service of prices for exercise 12, as slow and as broken as you like.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use crate::cli::UpstreamArgs;
use crate::signals::interrupted;
use workshop_base::outcome::Outcome;
use workshop_harness::upstream::{Conduct, PriceFault, Upstream};

/// Serves prices until Ctrl-C, and says then what it was asked.
pub async fn run(args: &UpstreamArgs) -> anyhow::Result<Outcome> {
    let share = |percent: u8| f64::from(percent) / 100.0;
    let trouble = PriceFault {
        delay: Duration::from_millis(args.delay),
        jitter: Duration::from_millis(args.jitter),
        failures: share(args.failures),
        hang_ups: share(args.hang_ups),
    };
    // From here on no signal is lost, whatever it comes in.
    let interrupted = interrupted();
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, args.port));
    let upstream = Upstream::start_at(address, Conduct::Prices(trouble)).await?;
    let url = upstream.url();
    println!("prices on {url}, each after {} ms", args.delay);
    println!("try:     curl -i {url}/prices/1");
    println!("use it:  UPSTREAM_URL={url} just run exercise-12");
    println!("Ctrl-C stops it");
    interrupted.await;
    let counts = upstream.counts();
    println!(
        "{} calls on {} connections, {} at the same time at most, {} given up",
        counts.calls, counts.opened, counts.most_under_way, counts.given_up
    );
    Ok(Outcome::Passed)
}
