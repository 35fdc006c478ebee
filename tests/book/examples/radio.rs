//! For the page "Two halves of a socket": `cargo run -p workshop-book --example radio`.

use std::{io, time::Duration};

use tokio::{
    io::{
        AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, ReadHalf, WriteHalf, duplex, split,
    },
    select,
    time::{Instant, interval_at, sleep, timeout},
};

// ANCHOR: radio
/// Talks with a hut by radio until one of the two sides has had enough, and says why.
async fn call(radio: DuplexStream) -> &'static str {
    let (incoming, mut outgoing) = split(radio);
    let mut incoming = BufReader::new(incoming);
    select! {
        why = hear(&mut incoming) => why,
        why = report(&mut outgoing) => why,
    }
}

/// Prints what the hut says, until it says nothing for too long.
async fn hear(incoming: &mut BufReader<ReadHalf<DuplexStream>>) -> &'static str {
    loop {
        let mut line = String::new();
        match timeout(Duration::from_millis(300), incoming.read_line(&mut line)).await {
            Ok(Ok(1..)) => println!("hut: {}", line.trim_end()),
            Ok(Ok(0)) => return "the hut has switched off",
            Ok(Err(_)) => return "the line is broken",
            Err(_elapsed) => return "the hut is silent",
        }
    }
}

/// Sends the time now and then, until the line takes no more.
async fn report(outgoing: &mut WriteHalf<DuplexStream>) -> &'static str {
    let period = Duration::from_millis(100);
    let mut clock = interval_at(Instant::now() + period, period);
    loop {
        clock.tick().await;
        if outgoing.write_all(b"time\n").await.is_err() {
            return "the line takes no more";
        }
    }
}
// ANCHOR_END: radio

#[tokio::main]
async fn main() -> io::Result<()> {
    let (valley, mut hut) = duplex(64);
    let hut = async move {
        hut.write_all(b"two guests\n").await?;
        sleep(Duration::from_millis(200)).await;
        hut.write_all(b"snow\n").await?;
        // It stays on, and says nothing more.
        sleep(Duration::from_secs(2)).await;
        io::Result::Ok(())
    };
    select! {
        why = call(valley) => println!("over: {why}"),
        _ = hut => println!("the hut was first"),
    }
    Ok(())
}
