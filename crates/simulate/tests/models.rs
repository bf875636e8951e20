//! The models against thousands of random programs.

mod support;

use support::{Collectives, Messages, Recipe, executed, text};
use tare_simulate::Lane;

const EVERYTHING: Recipe = Recipe {
    ranks: 5,
    steps: 60,
    settings: "network latency 2us byte 0.1ns rendezvous 20kB\ncost send 0.2us receive 0.3us wrapper 0.1us\nprobes cost 60ns",
    work: 3000,
    messages: Messages::AllKinds,
    collectives: Collectives::AllKinds,
};

#[test]
fn the_exact_form_is_the_unmeasured_execution() {
    for seed in 0..4000 {
        let text = text(Recipe { ranks: 2 + seed % 7, ..EVERYTHING }, seed);
        for (number, rank) in executed(&text).ranks.iter().enumerate() {
            assert_eq!(rank.compensated(Lane::Exact), rank.unmeasured.cast_signed(), "seed {seed}, rank {number}\n{text}");
        }
    }
}

/// The settings of the study: six processes, 1500 steps of 10 on the mean, a dilation of some 40 %.
fn study(settings: &'static str) -> Recipe {
    Recipe { ranks: 6, steps: 1500, settings, work: 10_000, messages: Messages::Blocking, collectives: Collectives::None }
}

/// Mean and worst error of the rank ends over some programs, and the mean dilation.
fn errors(recipe: Recipe, lane: Lane, programs: u64) -> (f64, f64, f64) {
    let (mut mean, mut worst, mut dilation) = (0.0, 0.0_f64, 0.0);
    for seed in 0..programs {
        let result = executed(&text(recipe, seed));
        let errors = result.errors(lane);
        mean += errors.0 / programs as f64;
        worst = worst.max(errors.1);
        dilation += result.dilation() / programs as f64;
    }
    (mean, worst, dilation)
}

#[test]
fn the_closed_form_is_exact_where_messages_cost_what_receives_cost() {
    let recipe = study("network latency 0.3us byte 0ns\ncost send 0ns receive 0.3us\nprobes cost 250ns");
    for recipe in [recipe, Recipe { collectives: Collectives::AllForAll, ..recipe }] {
        let (_, worst, dilation) = errors(recipe, Lane::Virtual, 40);
        assert!(worst < 1e-12 && dilation > 0.2, "{worst} {dilation}");
    }
}

#[test]
fn the_closed_form_errs_little_where_messages_cost_more() {
    let recipe = study("network latency 5us byte 0ns\ncost send 0ns receive 0.3us\nprobes cost 250ns");
    let (mean, worst, dilation) = errors(recipe, Lane::Virtual, 40);
    assert!(mean < 0.005 && worst < 0.02 && dilation > 0.2, "{mean} {worst} {dilation}");
}

#[test]
fn the_delay_model_errs_much_where_there_is_slack() {
    let recipe = study("network latency 0.3us byte 0ns\ncost send 0ns receive 0.3us\nprobes cost 250ns");
    let (mean, worst, _) = errors(recipe, Lane::Delay, 40);
    assert!(mean > 0.05 && worst > 0.1, "{mean} {worst}");
}

#[test]
fn intervals_hold_the_truth_as_often_as_they_claim() {
    let settings = "network latency 0.3us byte 0ns\ncost send 0ns receive 0.3us\nprobes cost 250ns within 20%";
    let (mut held, mut all) = (0, 0);
    for seed in 0..300 {
        let result = executed(&text(Recipe { steps: 300, ..study(settings) }, seed));
        held += result.ranks.iter().filter(|rank| rank.is_covered()).count();
        all += result.ranks.len();
    }
    assert!(held as f64 >= 0.95 * all as f64, "{held} of {all}");
}

#[test]
fn without_overhead_nothing_is_taken_off() {
    for seed in 0..300 {
        let text = text(Recipe { settings: "cost wrapper 0ns\nprobes cost 0ns", ..EVERYTHING }, seed);
        for rank in executed(&text).ranks {
            assert_eq!(rank.unmeasured, rank.measured);
            for lane in [Lane::Local, Lane::Delay, Lane::Virtual, Lane::Exact] {
                assert_eq!(rank.compensated(lane), rank.measured.cast_signed(), "seed {seed}\n{text}");
            }
        }
    }
}
