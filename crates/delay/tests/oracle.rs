//! The virtual-time model against a discrete simulation that shares no code with it.
//!
//! A random program of computations, messages and collectives is executed twice: without overhead, which
//! gives the truth, and with overhead and the model at work. A message takes as long to arrive as a receive
//! needs that finds it there (ℓ = c), which is where the closed form is exact: the measured end minus the delay must be
//! the unmeasured end, of every process.

use proptest::prelude::{Just, ProptestConfig, Strategy, prop_assert_eq, prop_oneof, proptest};
use std::collections::{HashMap, VecDeque};
use tare_delay::completion::{Arrivals, Moment, complete};
use tare_format::graph::DelayModel;
use tare_format::ids::Ticks;

const PROCESSES: usize = 5;

#[derive(Clone, Debug)]
enum Step {
    Compute {
        who: usize,
        work: u64,
        overhead: u64,
    },
    Send {
        from: usize,
        to: usize,
    },
    /// Receives the next message of each of these, all at once.
    Receive {
        who: usize,
        from: Vec<usize>,
    },
    All,
    FromRoot(usize),
    ToRoot(usize),
    Scan,
}

/// Simulated processes; `x` is what the model says while `time` runs.
struct Machine {
    time: [u64; PROCESSES],
    x: [i64; PROCESSES],
    cost: u64,
    measured: bool,
    flying: HashMap<(usize, usize), VecDeque<Moment>>,
}

impl Machine {
    fn now(&self, who: usize) -> Moment {
        Moment { at: Ticks(self.time[who]), delay: self.x[who] }
    }

    /// `who` waits for `sent`: real time by the rules of the machine, delay by the model.
    fn wait(&mut self, who: usize, begin: Moment, sent: &[Moment]) {
        let last = sent.iter().map(|moment| moment.at.0).max().unwrap_or(0);
        self.time[who] = begin.at.0.max(last) + self.cost;
        let arrivals: Arrivals = sent.iter().copied().collect();
        self.x[who] = complete(DelayModel::Virtual, begin, Ticks(self.time[who]), &arrivals).delay;
    }

    fn step(&mut self, step: &Step) {
        match step {
            Step::Compute { who, work, overhead } => {
                let overhead = if self.measured { *overhead } else { 0 };
                self.time[*who] += work + overhead;
                self.x[*who] += overhead.cast_signed();
            }
            Step::Send { from, to } => {
                let now = self.now(*from);
                self.flying.entry((*from, *to)).or_default().push_back(now);
            }
            Step::Receive { who, from } => {
                let mut sent = Vec::new();
                for &sender in from {
                    sent.extend(self.flying.get_mut(&(sender, *who)).and_then(VecDeque::pop_front));
                }
                if !sent.is_empty() {
                    self.wait(*who, self.now(*who), &sent);
                }
            }
            Step::All => self.collective(|_| 0..PROCESSES),
            Step::FromRoot(root) => self.collective(|who| if who == *root { 0..0 } else { *root..*root + 1 }),
            Step::ToRoot(root) => self.collective(|who| if who == *root { 0..PROCESSES } else { 0..0 }),
            Step::Scan => self.collective(|who| 0..who),
        }
    }

    fn collective(&mut self, needs: impl Fn(usize) -> std::ops::Range<usize>) {
        let entries: Vec<Moment> = (0..PROCESSES).map(|who| self.now(who)).collect();
        for who in 0..PROCESSES {
            self.wait(who, entries[who], &entries[needs(who)]);
        }
    }
}

fn run(program: &[Step], cost: u64, measured: bool) -> Machine {
    let mut machine = Machine { time: [1; PROCESSES], x: [0; PROCESSES], cost, measured, flying: HashMap::new() };
    program.iter().for_each(|step| machine.step(step));
    machine
}

fn step() -> impl Strategy<Value = Step> {
    let who = 0..PROCESSES;
    prop_oneof![
        6 => (who.clone(), 0_u64..1000, prop_oneof![Just(0_u64), 0_u64..2000])
            .prop_map(|(who, work, overhead)| Step::Compute { who, work, overhead }),
        4 => (who.clone(), who.clone()).prop_map(|(from, to)| Step::Send { from, to }),
        4 => (who.clone(), proptest::collection::vec(who.clone(), 1..4)).prop_map(|(who, from)| Step::Receive { who, from }),
        1 => Just(Step::All),
        1 => who.clone().prop_map(Step::FromRoot),
        1 => who.prop_map(Step::ToRoot),
        1 => Just(Step::Scan),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(512) })]

    #[test]
    fn the_model_recovers_the_unmeasured_end(program in proptest::collection::vec(step(), 1..200), cost in 0_u64..100) {
        let (truth, measured) = (run(&program, cost, false), run(&program, cost, true));
        for who in 0..PROCESSES {
            prop_assert_eq!(measured.time[who].cast_signed() - measured.x[who], truth.time[who].cast_signed(), "process {}", who);
        }
    }

    #[test]
    fn a_program_without_overhead_has_no_delay(program in proptest::collection::vec(step(), 1..200), cost in 0_u64..100) {
        prop_assert_eq!(run(&program, cost, false).x, [0; PROCESSES]);
    }
}
