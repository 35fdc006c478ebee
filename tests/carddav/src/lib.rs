//! The contract of the address book: the suite `contacts` of exercise 22. It is the largest, so it has a crate of its own.
//!
//! Clients find, read, write and sync it. No change is lost, even if two clients write at once or a client syncs in
//! between; and no request does harm.

#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "the numbers of a test run are small, and figures are rounded for people"
)]

pub mod book;
pub mod cards;
pub mod client;
mod discovery;
mod faults;
mod harm;
pub mod multistatus;
mod reading;
mod replays;
mod reports;
mod syncing;
pub mod worst;
mod writing;

use workshop_harness::contract::contract_tests;

use discovery::*;
use faults::*;
use harm::*;
use reading::*;
use replays::*;
use reports::*;
use syncing::*;
use worst::{
    no_request_costs_more_than_it_may, slow_readers_keep_nobody_waiting,
    who_computes_silences_nobody,
};
use writing::*;

contract_tests! {
    contacts: [
        health_and_ready_need_no_password,
        a_password_is_asked_for_before_all_else,
        the_paths_of_another_user_are_forbidden,
        a_path_that_is_not_there_answers_404,
        a_wrong_method_is_told_the_right_ones,
        options_tell_what_the_service_can,
        a_client_finds_its_address_book,
        a_propfind_needs_a_finite_depth,
        xml_that_could_do_harm_is_refused,
        another_type_than_a_vcard_answers_415,
        what_is_no_vcard_is_refused,
        a_contact_needs_a_usable_name,
        a_put_creates_and_replaces,
        a_contact_comes_back_byte_for_byte,
        a_card_is_kept_as_programs_write_it,
        a_line_may_be_folded_within_a_character,
        a_body_is_what_it_is_whatever_it_is_called,
        an_encoding_has_many_names,
        a_get_can_name_a_condition,
        a_client_that_has_it_already_is_told_so,
        a_put_can_name_the_tag,
        a_put_can_name_the_tag_as_webdav_does,
        a_put_can_name_a_date,
        a_date_names_one_version,
        of_two_writers_with_the_same_tag_one_wins,
        two_writers_that_wait_for_each_other_lose_nothing,
        of_two_that_create_one_does,
        a_delete_can_name_the_tag,
        a_deleted_contact_can_be_created_again,
        a_uid_belongs_to_one_contact,
        a_vcard_that_is_too_large_answers_413,
        a_full_disk_answers_507,
        a_propfind_answers_what_it_asks_for,
        all_properties_can_be_asked_for,
        a_property_cannot_be_changed,
        a_multiget_answers_every_path,
        a_contact_comes_in_its_own_version,
        a_whole_book_is_answered_at_once,
        a_large_book_is_listed_and_synced,
        a_query_finds_by_text,
        a_query_says_when_there_is_more,
        an_unknown_report_or_filter_is_refused,
        a_sync_tells_what_has_changed,
        a_sync_in_pages_tells_everything_once,
        a_token_that_was_never_given_is_refused,
        a_change_that_is_committed_late_is_not_missed,
        a_client_that_syncs_all_the_time_misses_nothing,
        what_known_clients_send_is_understood,
        no_request_costs_more_than_it_may,
        who_computes_silences_nobody,
        slow_readers_keep_nobody_waiting,
    ],
    contacts_faults: [
        without_a_database_it_answers_503,
        a_kill_loses_neither_contacts_nor_tokens,
        a_later_release_does_no_harm,
        few_connections_serve_all_who_wait,
        strangers_are_not_waited_for,
        a_refused_upload_gets_its_answer,
    ],
}
