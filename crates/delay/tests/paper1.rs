//! The cases of paper 1, section 3, each with the equations of its figure.
//!
//! Every test runs both models: where the sender is late in the measured execution, as in all figures, they agree.

use tare_delay::completion::{Arrivals, Completion, Moment, complete};
use tare_format::graph::DelayModel;
use tare_format::ids::Ticks;

/// A receive that began at 10 000 with the delay `x2` and waited `w` for a message sent with the delay `x1`.
fn receive(x1: i64, x2: i64, w: u64) -> Completion {
    let begin = Moment { at: Ticks(10_000), delay: x2 };
    let sent = Moment { at: Ticks(10_000 + w), delay: x1 };
    let [paper, virtual_time] = [DelayModel::Delay, DelayModel::Virtual].map(|model| complete(model, begin, sent.at, &Arrivals::one(sent)));
    assert_eq!(
        (paper.delay, paper.wait, paper.virtual_wait),
        (virtual_time.delay, virtual_time.wait, virtual_time.virtual_wait),
        "the models agree where the sender is late"
    );
    paper
}

fn check(end: Completion, delay: i64, wait: u64) {
    assert_eq!((end.delay, end.virtual_wait), (delay, wait));
}

/// Figure 2, case 1: o1 ≥ o2 + w.
#[test]
fn one_send_case_1() {
    check(receive(90, 20, 50), 20 + 50, 0);
    check(receive(70, 20, 50), 70, 0);
}

/// Figure 2, case 2: o1 < o2 + w. The wait may grow or shrink.
#[test]
fn one_send_case_2() {
    check(receive(60, 20, 50), 60, 50 + 20 - 60);
    check(receive(10, 20, 50), 10, 50 + 20 - 10);
}

/// The four combinations of figures 3 and 4: the first message as in one send, the second with
/// O1 = o1 + o1a, O2 = x2 + o2a and the wait y.
fn two_sends(o1: i64, o2: i64, w: u64, o1a: i64, o2a: i64, y: u64) -> (Completion, Completion) {
    let first = receive(o1, o2, w);
    (first, receive(o1 + o1a, first.delay + o2a, y))
}

/// Figure 3, case 1: no wait for either message.
#[test]
fn two_sends_case_1() {
    let (first, second) = two_sends(90, 20, 50, 80, 30, 40);
    check(first, 70, 0);
    check(second, 70 + 30 + 40, 0);
}

/// Figure 3, case 2: a wait for the first message only.
#[test]
fn two_sends_case_2() {
    let (first, second) = two_sends(30, 20, 50, 95, 25, 60);
    check(first, 30, 40);
    check(second, 30 + 25 + 60, 0);
}

/// Figure 4, case 3: a wait for the second message only; x2' = O1.
#[test]
fn two_sends_case_3() {
    let (first, second) = two_sends(90, 20, 50, 10, 30, 40);
    check(first, 70, 0);
    check(second, 100, 40);
}

/// Figure 4, case 4: a wait for both; x2' = O1.
#[test]
fn two_sends_case_4() {
    let (first, second) = two_sends(30, 20, 50, 5, 25, 40);
    check(first, 30, 40);
    check(second, 35, 40 + 55 - 35);
}

/// Figures 5 and 6: P1 sends to P2, then P2 to P1, with O1 = o1 + o1a, O2 = x2 + o2a.
/// Returns P2 after the first message, P1 after the second, and O2.
fn handshake(o1: i64, o2: i64, w2: u64, o1a: i64, o2a: i64, w1: u64) -> (Completion, Completion, i64) {
    let first = receive(o1, o2, w2);
    let sent_back = first.delay + o2a;
    (first, receive(sent_back, o1 + o1a, w1), sent_back)
}

/// Figure 5, case 1: o1 ≥ o2 + w2, O2 < O1 + w1; P1 ends with x1' = O2.
#[test]
fn handshake_case_1() {
    let (first, second, o2) = handshake(90, 20, 50, 15, 30, 40);
    check(first, 70, 0);
    check(second, o2, (40 + 105 - o2).unsigned_abs());
}

/// Figure 5, case 2: o1 < o2 + w2, O2 < O1 + w1.
#[test]
fn handshake_case_2() {
    let (first, second, o2) = handshake(30, 20, 50, 15, 10, 40);
    check(first, 30, 40);
    check(second, o2, (40 + 45 - o2).unsigned_abs());
}

/// Figure 6, case 3: o1 ≥ o2 + w2, O2 ≥ O1 + w1; P1 would not have waited.
#[test]
fn handshake_case_3() {
    let (first, second, o2) = handshake(90, 20, 50, 5, 200, 40);
    check(first, 70, 0);
    assert!(o2 >= 95 + 40);
    check(second, 95 + 40, 0);
}

/// Figure 6, case 4: o1 < o2 + w2, O2 ≥ O1 + w1.
#[test]
fn handshake_case_4() {
    let (first, second, o2) = handshake(30, 20, 50, 5, 120, 40);
    check(first, 30, 40);
    assert!(o2 >= 35 + 40);
    check(second, 35 + 40, 0);
}

/// Figure 7: the same with delays for overheads, which may be negative.
#[test]
fn general_cases() {
    check(receive(500, 100, 300), 400, 0);
    check(receive(-20, 100, 300), -20, 420);
    check(receive(100, -50, 300), 100, 150);
}

/// Figure 8, case 1: nobody would have waited along the pipeline.
#[test]
fn pipeline_case_1() {
    let first = receive(900, 200, 300);
    check(first, 500, 0);
    check(receive(first.delay, 100, 250), 350, 0);
}

/// Figure 8, case 2: the delay of P1 travels through P2 to P3.
#[test]
fn pipeline_case_2() {
    let first = receive(100, 200, 300);
    check(first, 100, 400);
    check(receive(first.delay, 300, 250), 100, 450);
}

/// Figures 9 to 12: P2 receives from P1 (wait w), then from P3 (wait y).
fn two_receives(o1: i64, o2: i64, w: u64, o3: i64, y: u64) -> (Completion, Completion) {
    let first = receive(o1, o2, w);
    (first, receive(o3, first.delay, y))
}

/// Figure 9: no waits in the approximated execution.
#[test]
fn two_receives_case_1() {
    let (first, second) = two_receives(90, 20, 50, 150, 60);
    check(first, 70, 0);
    check(second, 130, 0);
}

/// Figure 10: a wait for the second message.
#[test]
fn two_receives_case_2() {
    let (first, second) = two_receives(90, 20, 50, 100, 60);
    check(first, 70, 0);
    check(second, 100, 30);
}

/// Figure 11: waits for both.
#[test]
fn two_receives_case_3() {
    let (first, second) = two_receives(40, 20, 50, 30, 60);
    check(first, 40, 30);
    check(second, 30, 70);
}

/// Figure 12: the sends change their order in virtual time; the order of the receives stays, so that the
/// second message is there when its receive begins.
#[test]
fn two_receives_case_4() {
    let (first, second) = two_receives(40, 20, 50, 400, 60);
    check(first, 40, 30);
    check(second, 100, 0);
    let virtual_sends = (10_050 - 40, 10_000 + 50 + 60 - 400);
    assert!(virtual_sends.1 < virtual_sends.0);
}
