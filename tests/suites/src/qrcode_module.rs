//! Suite `qrcode-module` (exercise 10): the service whose codes are drawn by a WebAssembly module, whatever that module does.

use std::sync::Arc;

use futures_util::future::try_join_all;

use crate::faulty::{self, ALONE, CALLS, HANG, HELD, IMAGE, MUCH, PANIC, number};
use crate::qrcode::{expect_unavailable, path};
use workshop_harness::contract::TestResult;
use workshop_harness::contract_tests;
use workshop_harness::failure::{Failure, TestError};
use workshop_harness::workbench::{OwnService, Workbench};

contract_tests! {
    own: [
        a_panic_answers_503_and_ends_the_instance,
        a_module_that_hangs_is_ended_in_time,
        a_module_that_wants_much_memory_answers_503,
        no_instance_serves_two_at_once,
        an_instance_is_used_again,
        every_byte_is_given_back,
    ]
}

/// With one instance at a time, a test knows which one answers.
async fn one_instance(bench: &Workbench) -> Result<Arc<OwnService>, TestError> {
    let env = [("QRCODE_AT_ONCE", "1"), ("QRCODE_TIMEOUT_MS", "1500")];
    bench.service_with_drawing(faulty::DRAWING, &env).await
}

async fn a_panic_answers_503_and_ends_the_instance(bench: &Workbench) -> TestResult {
    let service = one_instance(bench).await?;
    for _ in 0..3 {
        expect_unavailable(&service.client, PANIC).await?;
    }
    let calls = number(&service.client, CALLS).await?;
    if calls == 1 {
        return Ok(());
    }
    let expected = "a fresh instance after a panic: the code after it is its first";
    let got = format!("the instance had seen {calls} calls, those with the panic among them");
    Err(Failure::new(expected, got).into())
}

async fn a_module_that_hangs_is_ended_in_time(bench: &Workbench) -> TestResult {
    let service = one_instance(bench).await?;
    expect_unavailable(&service.client, HANG).await?;
    // There is one place: it is free again, or this is not answered.
    let after = service.client.get(&path("text")).await?;
    after.expect_status(200)?;
    Ok(())
}

async fn a_module_that_wants_much_memory_answers_503(bench: &Workbench) -> TestResult {
    let service = one_instance(bench).await?;
    expect_unavailable(&service.client, MUCH).await
}

async fn no_instance_serves_two_at_once(bench: &Workbench) -> TestResult {
    let service = bench
        .service_with_drawing(faulty::DRAWING, &[("QRCODE_AT_ONCE", "4")])
        .await?;
    let path = path(ALONE);
    let answers = try_join_all((0..40).map(|_| service.client.get(&path))).await?;
    for answer in answers {
        answer.expect_status(200)?;
        if answer.body() != b"true" {
            let expected = "an instance for each of the calls at the same time";
            let got = "two calls in one instance, each in the other's memory";
            return Err(answer.failure(expected, got).into());
        }
    }
    Ok(())
}

async fn an_instance_is_used_again(bench: &Workbench) -> TestResult {
    let service = one_instance(bench).await?;
    let before = number(&service.client, CALLS).await?;
    let after = number(&service.client, CALLS).await?;
    if after == before + 1 {
        return Ok(());
    }
    let expected = format!("the instance that has seen {before} calls, for one more");
    let got = format!("an instance that has seen {after}, this one included");
    Err(Failure::new(expected, got).into())
}

async fn every_byte_is_given_back(bench: &Workbench) -> TestResult {
    const CODES: usize = 20;
    let service = one_instance(bench).await?;
    let text = "t".repeat(500);
    let before = number(&service.client, HELD).await?;
    for _ in 0..CODES {
        let image = service.client.get(&path(&text)).await?;
        image.expect_status(200)?;
    }
    let more = number(&service.client, HELD).await? - before;
    // Neither is an image or a text kept, nor is one given back that was never handed over.
    if more == 0 {
        return Ok(());
    }
    let expected = format!(
        "as many bytes held by the module as before {CODES} images of {IMAGE} bytes, of a text of {}",
        text.len()
    );
    Err(Failure::new(expected, format!("{more} bytes more")).into())
}
