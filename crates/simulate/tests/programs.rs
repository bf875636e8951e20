//! Small programs whose times can be told by hand, and descriptions that are wrong.

mod support;

use support::executed;
use tare_simulate::{Lane, Program, RankOutcome, simulate};

const COSTS: &str = "network latency 1us byte 0ns rendezvous 64kB\ncost send 0ns receive 0.5us\nprobes cost 100ns\n";

const MICROSECOND: u64 = 1_000_000;

fn ends(text: &str) -> Vec<RankOutcome> {
    executed(&format!("{COSTS}{text}")).ranks
}

fn unmeasured(text: &str) -> Vec<f64> {
    ends(text).iter().map(|rank| rank.unmeasured as f64 / MICROSECOND as f64).collect()
}

#[test]
fn a_receive_ends_when_its_message_is_there_or_after_its_own_cost() {
    assert_eq!(unmeasured("if rank == 0 { compute 10us; send to 1 } else { recv from 0 }"), [10.0, 11.0]);
    assert_eq!(unmeasured("if rank == 0 { send to 1 } else { compute 10us; recv from 0 }"), [0.0, 10.5]);
}

#[test]
fn large_messages_wait_for_their_receiver() {
    let text = "if rank == 0 { send to 1 bytes 100kB } else { compute 10us; recv from 0 }";
    assert_eq!(unmeasured(text), [11.0, 12.0], "the permission takes a latency, the data another");
    let text = "if rank == 0 { bsend to 1 bytes 100kB } else { compute 10us; recv from 0 }";
    assert_eq!(unmeasured(text), [0.0, 10.5]);
}

#[test]
fn a_wildcard_takes_what_arrives_first_and_waitany_completes_it() {
    let text = "ranks 3
        if rank == 0 { recv from any tag any; compute 5us; recv from any }
        if rank == 1 { compute 20us; send to 0 }
        if rank == 2 { compute 1us; send to 0 }";
    assert_eq!(unmeasured(text)[0], 21.0);
    let text = "ranks 3
        if rank == 0 { irecv from 1 as r; irecv from 2 as r; waitany r; compute 5us; waitany r }
        if rank == 1 { compute 20us; send to 0 }
        if rank == 2 { compute 1us; send to 0 }";
    assert_eq!(unmeasured(text)[0], 21.0);
    let text = "ranks 3
        if rank == 0 { irecv from 1 as r; irecv from 2 as r; compute 5us; waitsome r }
        if rank == 1 { compute 2us; send to 0 }
        if rank == 2 { compute 1us; send to 0 }";
    assert_eq!(unmeasured(text)[0], 5.5);
}

#[test]
fn questions_are_asked_at_their_own_pace() {
    let text = "if rank == 0 { compute 10us; send to 1 } else { irecv from 0 as r; test r every 1.5us }";
    assert_eq!(unmeasured(text)[1], 12.5, "asked every 2 us, and answered at 12");
}

#[test]
fn a_wildcard_order_that_virtual_times_contradict_is_counted() {
    let text = |calls: u32| {
        format!(
            "ranks 3
            if rank == 0 {{ recv from any; recv from any }}
            if rank == 1 {{ compute 20us; send to 0 }}
            if rank == 2 {{ call f times {calls} each 10ns; send to 0 }}"
        )
    };
    let counted = |calls| executed(&format!("{COSTS}{}", text(calls))).contradicted;
    assert_eq!((counted(100), counted(1000)), (0, 1), "1000 calls take 10 us unmeasured and 110 us measured");
}

#[test]
fn a_broadcast_is_held_up_by_a_late_rank_between() {
    let text = "ranks 4; if rank == 2 { compute 50us }; bcast root 0";
    let ends = unmeasured(text);
    assert!(ends[1] < 3.0 && ends[3] > 50.0, "{ends:?}");
    assert_eq!(unmeasured("ranks 4; if rank == 2 { compute 50us }; barrier")[0], 52.0);
}

#[test]
fn the_interval_of_a_broadcast_holds_the_truth_that_its_meaning_does_not_tell() {
    let ranks = ends("ranks 4; if rank == 2 { call f times 1000 each 10ns }; bcast root 0");
    let held_up = ranks[3];
    assert!(held_up.compensated(Lane::Virtual) > held_up.unmeasured.cast_signed() + 90 * MICROSECOND.cast_signed());
    assert!(held_up.compensated(Lane::Most) <= held_up.unmeasured.cast_signed());
    assert!(held_up.compensated(Lane::Least) >= held_up.unmeasured.cast_signed());
}

#[test]
fn groups_have_their_own_collectives() {
    let text = "ranks 4; group row by rank / 2; compute rank * 10us; allreduce on row";
    assert_eq!(unmeasured(text), [11.0, 11.0, 31.0, 31.0]);
}

#[test]
fn one_sided_epochs_wait_for_their_partners() {
    let text = "if rank == 0 { compute 10us; win_post 1; win_wait 1 } else { win_start 0; compute 5us; win_complete 0 }";
    assert_eq!(unmeasured(text), [17.0, 16.0]);
}

#[test]
fn a_hundred_thousand_ranks_are_simulated() {
    let text = "ranks 100000
        repeat 3 {
            call f times 100 each 50ns
            neighbours (rank + 1) % size, (rank - 1) % size
            if rank % 1000 == 7 { call f times 1000 each 50ns }
            bcast root 5
            allreduce
        }";
    let result = executed(text);
    assert_eq!(result.ranks.len(), 100_000);
    assert!(result.ranks.iter().all(|rank| rank.compensated(Lane::Exact) == rank.unmeasured.cast_signed()));
}

#[test]
fn a_rank_with_which_a_hundred_thousand_talk_is_simulated() {
    let costs = "network latency 1us byte 0ns\ncost send 0.2us receive 0.3us\nprobes cost 20ns\nranks 100000\n";
    let patterns = [
        "if rank == 0 { repeat (size - 1) * 5 { recv from any tag 1 } } else { repeat 5 { call f times 1000 each 20ns; send to 0 tag 1 } }",
        "if rank == 0 { repeat size - 1 as i { irecv from i + 1 as all }; wait all } else { call f times 1000 each 20ns; send to 0 }",
        "if rank == 0 { compute 1s; repeat size - 1 as i { recv from i + 1 } } else { call f times 1000 each 20ns; send to 0 }",
    ];
    for pattern in patterns {
        let result = executed(&format!("{costs}{pattern}"));
        assert!(result.ranks.iter().all(|rank| rank.compensated(Lane::Exact) == rank.unmeasured.cast_signed()));
    }
}

#[test]
fn what_is_wrong_is_named_with_its_line() {
    let cases = [
        ("ranks 2\nsned to 1", "line 2: no statement begins with `sned`"),
        ("send 1", "line 1: `to` expected, not `1`"),
        ("compute 3 parsecs", "line 1: no statement begins with `parsecs`"),
        ("compute 3ly", "line 1: `3ly` is no number with a known unit"),
        ("if rank {\ncompute 1us", "braces do not match"),
        ("}", "line 1: braces do not match"),
        ("compute work", "line 1: no variable is called `work`"),
        ("wait r", "line 1: no request is called `r`"),
        ("ranks 0", "line 1: the number of ranks must be between 1 and"),
        ("compute 1us @", "line 1: `@` means nothing here"),
    ];
    for (text, message) in cases {
        let wrong = Program::parse(text).expect_err(text).to_string();
        assert!(wrong.contains(message), "{text}: {wrong}");
    }
    let deep = "(".repeat(100_000);
    assert!(Program::parse(&format!("compute {deep}")).is_err());
}

#[test]
fn programs_that_cannot_go_on_are_refused_with_their_line() {
    let cases = [
        ("if rank == 0 {\nrecv from 1\n}", "line 2, rank 0: waits for something that never comes"),
        ("send to 9", "line 1, rank 0: there is no rank 9"),
        ("compute 0 - 5", "line 1, rank 0: a time is negative: -5"),
        ("compute 1 / 0", "division by zero"),
        ("if rank == 0 { barrier } else { bcast }", "the others call another collective"),
        ("repeat 1000000000 { compute 1s * 1000000 }", "hundred days"),
    ];
    for (text, message) in cases {
        let program = Program::parse(text).expect("a description");
        let failure = simulate(&program).expect_err(text).to_string();
        assert!(failure.contains(message), "{text}: {failure}");
    }
}
