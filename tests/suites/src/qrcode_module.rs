//! Suite `qrcode-module` (exercise 18): the service whose codes are drawn by a WebAssembly module, whatever that module does.

use std::sync::Arc;

use crate::faulty::{self, ALONE, CALLS, HANG, IMAGE, IMAGES, MUCH, PANIC, held_by_images, number};
use crate::qrcode::{expect_unavailable, path};
use workshop_harness::contract::{TestError, TestResult, contract_tests, expect_each, expect_eq, has_status};
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
    expect_eq("calls of the fresh instance after a panic", calls, 1)
}

async fn a_module_that_hangs_is_ended_in_time(bench: &Workbench) -> TestResult {
    let service = one_instance(bench).await?;
    expect_unavailable(&service.client, HANG).await?;
    // There is one place: it is free again, or this is not answered.
    service.client.each([path("text")], has_status(200)).await
}

async fn a_module_that_wants_much_memory_answers_503(bench: &Workbench) -> TestResult {
    let service = one_instance(bench).await?;
    expect_unavailable(&service.client, MUCH).await
}

async fn no_instance_serves_two_at_once(bench: &Workbench) -> TestResult {
    let four = [("QRCODE_AT_ONCE", "4")];
    let service = bench.service_with_drawing(faulty::DRAWING, &four).await?;
    let answers = service.client.get_all(&vec![path(ALONE); 40]).await;
    expect_each(&answers, |answer| {
        answer.expect_status(200)?.expect(
            answer.body() == b"true",
            "an instance for each of the calls at the same time",
            "two calls in one instance, each in the other's memory",
        )
    })
}

async fn an_instance_is_used_again(bench: &Workbench) -> TestResult {
    let service = one_instance(bench).await?;
    let before = number(&service.client, CALLS).await?;
    let after = number(&service.client, CALLS).await?;
    let what = "calls of the same instance, including this one";
    expect_eq(what, after, before + 1)
}

async fn every_byte_is_given_back(bench: &Workbench) -> TestResult {
    let service = one_instance(bench).await?;
    let text = "t".repeat(500);
    let more = held_by_images(&service.client, &text).await?;
    // No image or text is kept, and none is freed that was never handed over.
    let what = format!(
        "bytes held by the module beyond those before {IMAGES} images of {IMAGE} bytes, of a text of 500"
    );
    expect_eq(&what, more, 0)
}
