//! Suite `hang` (a debugging case): counting the reads of tags holds up no read, whatever happens to the counting.

use workshop_harness::contract::{TestResult, contract_tests, expect, has_status};
use workshop_harness::hang::Hang;

contract_tests! {
    hang: [
        reads_are_answered_while_a_batch_waits_for_its_table,
        the_service_is_alive_when_the_table_is_free_again,
        the_batch_is_written_when_the_table_is_free_again,
    ],
}

fn reads_are_answered_while_a_batch_waits_for_its_table(hang: &Hang) -> TestResult {
    for read in &hang.reads {
        has_status(200)(read.as_ref().map_err(Clone::clone)?)?;
    }
    expect(
        hang.waiting > 0,
        "a batch of sightings that is written after a number of reads",
        "no statement that waits for the table sightings",
    )
}

fn the_service_is_alive_when_the_table_is_free_again(hang: &Hang) -> TestResult {
    has_status(200)(hang.health.as_ref().map_err(Clone::clone)?)?;
    Ok(())
}

fn the_batch_is_written_when_the_table_is_free_again(hang: &Hang) -> TestResult {
    expect(
        hang.written > 0,
        "sightings in their table",
        "no sightings there",
    )
}
