//! Suite `an-empty-folder` (exercise 18): reports about the trail, each made once, read in pages, changed by those who know it,
//! also in bad days. It knows nothing of the service but HTTP, so any framework passes it.
//!
//! A file for each stage of the exercise. Every test makes reports of a tag of its own, so none sees another one's.

mod asking;
mod bad_days;
mod pages_and_edits;
mod reports_once;
mod start_and_stop;
mod the_frame;

use workshop_harness::contract::contract_tests;

use bad_days::*;
use pages_and_edits::*;
use reports_once::*;
use start_and_stop::*;
use the_frame::*;

contract_tests! {
    reports: [
        health_is_answered,

        a_service_with_its_tables_is_ready,
        an_unknown_path_answers_404,
        a_wrong_method_is_refused,
        every_answer_has_a_request_id,
        a_request_id_of_the_client_is_kept,
        an_unusable_request_id_is_replaced,
        a_request_without_a_key_answers_401,
        a_wrong_key_answers_401,
        every_key_of_the_list_counts,
        the_key_is_judged_before_the_request,
        a_head_is_a_get_without_its_body,

        a_report_is_made,
        a_report_can_be_read,
        an_unknown_id_answers_404,
        an_id_that_is_none_is_refused,
        the_same_key_again_gives_the_same_answer,
        the_same_report_in_other_bytes_gives_the_same_answer,
        the_same_key_with_another_report_answers_422,
        the_first_answer_stays_when_the_report_has_changed,
        of_many_at_once_with_one_key_all_get_one_answer,
        of_two_reports_at_once_with_one_key_one_is_made,
        keys_belong_to_an_api_key,
        many_keys_at_once_make_a_report_each,
        a_missing_idempotency_key_answers_400,
        a_malformed_idempotency_key_answers_400,
        a_refused_report_uses_up_no_key,
        a_body_that_is_not_said_to_be_json_answers_415,
        a_body_that_is_no_json_answers_400,
        an_unknown_member_answers_422_and_is_named,
        a_missing_member_answers_422_and_is_named,
        a_wrong_value_answers_422_and_its_member_is_named,
        a_text_is_counted_in_characters,
        a_text_is_kept_without_the_blanks_at_its_ends,
        a_body_over_the_limit_answers_413,
        a_version_that_the_client_has_answers_304,
        another_version_answers_the_report,

        open_reports_come_in_pages,
        a_page_of_a_tag_holds_no_others,
        closed_reports_are_left_out,
        twenty_come_when_nobody_says_how_many,
        up_to_a_hundred_may_be_asked_for,
        a_malformed_parameter_answers_400,
        who_follows_next_misses_nothing_while_others_close,
        who_follows_next_misses_nothing_while_others_write,
        a_change_without_if_match_answers_428,
        a_change_of_the_known_version_is_made,
        a_change_of_another_version_answers_412,
        a_weak_tag_never_matches,
        a_list_matches_when_one_of_its_tags_does,
        a_star_matches_any_report_there_is,
        an_unknown_report_cannot_be_changed,
        a_change_that_says_nothing_of_use_answers_422,
        a_closed_report_can_be_opened_again,
        of_many_changes_at_once_one_is_made,
        no_edit_is_lost_in_a_hundred_rounds_of_two_writers,
    ],
    reports_faults: [
        a_pool_has_no_more_connections_than_are_set,

        a_wrong_setting_is_named_and_the_service_ends,
        a_complaint_repeats_no_secret,
        a_service_that_is_told_to_stop_ends_with_0,
        idle_connections_do_not_hold_up_a_stop,
        a_request_under_way_is_answered_before_the_end,

        a_service_without_a_database_is_alive_and_not_ready,
        a_service_starts_without_a_database_and_gets_ready,
        the_log_says_why_an_answer_was_503,
        a_mistake_of_a_client_is_no_line_of_the_log,
        the_log_holds_no_key_and_no_text,

        reports_and_keys_survive_a_killed_service,
        a_service_killed_in_the_middle_has_made_each_report_once_or_not,
        an_answer_503_uses_up_no_key,
        a_client_that_hangs_up_leaves_a_report_or_none,

        without_a_database_every_call_answers_503_in_time,
        a_silent_database_answers_503_in_time,
        lost_connections_are_replaced,
        a_held_lock_answers_503_and_the_pool_is_whole_afterwards,
        clients_that_hang_up_cost_no_connection,
        a_body_that_comes_too_slowly_is_not_waited_for,
        a_body_without_an_end_is_not_read_to_it,
        a_thousand_clients_at_once_get_answers,
    ]
}
