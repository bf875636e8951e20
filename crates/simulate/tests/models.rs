//! The models against thousands of random programs.

mod support;

use support::{Collectives, Messages, Recipe, executed, text};
use tare_simulate::{Lane, RankOutcome};

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

/// The part of random programs of which all ranks' intervals hold the truth, and the mean half-width of intervals in parts of the
/// unmeasured time.
fn held(recipe: Recipe, programs: u64) -> (f64, f64) {
    let (mut held, mut width) = (0_u64, 0.0);
    for seed in 0..programs {
        let ranks = executed(&text(Recipe { ranks: recipe.ranks + seed % 3, ..recipe }, seed)).ranks;
        held += u64::from(ranks.iter().all(RankOutcome::is_covered));
        for rank in &ranks {
            let [low, value, high] = [Lane::Most, Lane::Virtual, Lane::Least].map(|lane| rank.compensated(lane));
            assert!(low <= value && value <= high, "seed {seed}: {value} outside of {low} to {high}");
            width += (high - low) as f64 / 2.0 / rank.unmeasured.max(1) as f64 / ranks.len() as f64;
        }
    }
    (held as f64 / programs as f64, width / programs as f64)
}

#[test]
fn intervals_hold_what_the_closed_form_is_off() {
    // Messages that take longer than receives cost, receives that cost more than messages take; nothing else is unknown.
    let slow = "network latency 5us byte 0ns\ncost send 0ns receive 0.3us\nprobes cost 250ns";
    let dear = "network latency 0.3us byte 0ns\ncost send 0ns receive 5us\nprobes cost 250ns";
    for (recipe, programs) in [(EVERYTHING, 3000), (study(slow), 100), (study(dear), 100)] {
        let (held, width) = held(recipe, programs);
        assert!(held == 1.0, "{held}, ± {width}");
    }
}

#[test]
fn intervals_of_uncertain_costs_hold_the_truth_as_often_as_they_claim() {
    let settings = "network latency 5us byte 0ns rendezvous 20kB\ncost send 0.2us receive 0.3us wrapper 0.1us\nprobes cost 250ns within 5%";
    for (recipe, programs) in [(Recipe { settings, ..EVERYTHING }, 3000), (Recipe { steps: 300, ..study(settings) }, 1000)] {
        let (held, width) = held(recipe, programs);
        assert!(held >= 0.95 && width < 0.15, "{held}, ± {width}");
    }
}

#[test]
fn intervals_claim_no_more_than_they_hold_and_no_less() {
    let held = |program: &str| {
        let holds = |seed: &u64| executed(&format!("seed {seed}\n{program}")).ranks.iter().all(RankOutcome::is_covered);
        (0..2000).filter(holds).count() as f64 / 2000.0
    };
    let probes = "probes cost 50ns within 20%\ncall f times 1000 each 100ns";
    let alone = held(&format!("ranks 1\n{probes}"));
    assert!((0.94..0.96).contains(&alone), "{alone}");
    // All wait for the one of whose costs the tool believes too little by most.
    let together = held(&format!("ranks 64\nnetwork latency 0.3us byte 0ns\n{probes}\nallreduce"));
    assert!(together >= 0.95, "{together}");
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
