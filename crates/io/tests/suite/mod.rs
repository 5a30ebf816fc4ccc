//! One suite for all drivers: each scenario is generic over the [`World`] it runs in.
#![allow(dead_code, unreachable_pub, missing_docs)]

pub mod closing;
pub mod coding;
pub mod flow;
pub mod masked;
pub mod pacing;
pub mod recorder;
pub mod talking;
pub mod waking;
pub mod world;

/// Makes a test of each scenario for one world.
#[macro_export]
macro_rules! suite {
    ($world:expr => $($group:ident :: $scenario:ident),* $(,)?) => {$(
        #[test]
        fn $scenario() {
            if let Some(world) = $world {
                $crate::suite::$group::$scenario(&world);
            }
        }
    )*};
}

/// Every scenario that runs in all worlds.
#[macro_export]
macro_rules! every_scenario {
    ($world:expr) => {
        $crate::suite! { $world =>
            talking::what_is_sent_comes_back,
            talking::frames_cut_anywhere_are_offered_until_whole,
            talking::many_sockets_talk_at_once,
            talking::parts_and_queued_bytes_keep_their_order,
            talking::what_is_queued_in_a_turn_is_one_send,
            talking::sends_before_the_connect_completes_are_kept,
            flow::a_slow_reader_bounds_what_the_relay_holds,
            flow::a_paused_socket_delivers_only_after_resume,
            flow::kept_bytes_are_offered_on_redeliver_even_when_paused,
            flow::a_paused_and_flooded_socket_does_not_spin,
            closing::everything_sent_before_close_drained_arrives,
            closing::a_drained_close_survives_unread_bytes,
            closing::a_refused_connect_is_reported_once,
            closing::bytes_before_the_end_come_before_the_end,
            closing::what_is_queued_arrives_before_the_end,
            closing::who_has_ended_sending_still_hears,
            closing::who_has_ended_sending_is_answered_all_it_asked,
            closing::a_closed_socket_reports_nothing_more,
            closing::the_end_of_a_paused_socket_waits_for_its_bytes,
            closing::whoever_is_not_read_is_heard_to_hang_up,
            closing::a_socket_that_fails_to_send_is_reported_gone_once,
            closing::names_of_closed_sockets_are_never_reused,
            pacing::an_accepted_socket_is_sent_no_more_than_its_rate,
            pacing::a_socket_that_closes_has_no_time_to_lose,
            pacing::a_limit_that_is_lifted_holds_for_what_waits,
            waking::timers_fire_in_order_and_not_early,
            waking::mail_is_delivered_in_order,
            waking::paused_accepting_leaves_connections_waiting,
            waking::a_stopped_loop_says_so,
        }
    };
}

/// Every scenario about codecs that come, go and fail.
#[macro_export]
macro_rules! every_coding_scenario {
    ($world:expr) => {
        $crate::suite! { $world =>
            coding::a_codec_put_on_in_the_middle_gets_what_is_behind,
            coding::a_stream_without_a_farewell_is_cut_off,
            coding::who_takes_slowly_gets_all_of_a_stream_that_was_cut_off,
            coding::bytes_that_no_codec_knows_end_the_socket_behind_those_it_knew,
            coding::who_is_not_understood_is_told_so,
            coding::what_a_codec_holds_back_is_a_backlog,
            coding::a_socket_takes_its_codecs_along,
            coding::what_makes_much_of_little_has_a_share_of_each_turn,
            coding::an_end_amid_decoding_is_heard_by_who_stops_reading,
            coding::steps_that_take_long_have_turns,
            coding::handshakes_wait_for_no_other_steps,
            coding::an_end_waits_for_what_a_codec_has_yet_to_give,
        }
    };
}
