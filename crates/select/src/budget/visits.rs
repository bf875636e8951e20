//! From what happens in one visit of each function to visits of a whole run, and to work below a visit.
//!
//! Visits flow from main over the calls, work flows back. Functions that call each other in a circle are taken
//! together: how deep a recursion goes is not in the code, so it is given a depth ([`RECURSION`]) and marked.

use tare_code::components;

/// Visits of recursive functions for each visit from outside.
pub(super) const RECURSION: f64 = 10.0;
/// Rounds in which the flow within a circle settles.
const ROUNDS: usize = 60;
/// How often what is called through pointers is followed.
const POINTER_ROUNDS: usize = 3;
/// No count is higher.
const MOST: f64 = 1e18;

/// What is known of one function.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct Node {
    /// Work of its own in one visit.
    pub(super) own: f64,
    /// Calls of functions of the image.
    pub(super) calls: Vec<Call>,
    /// Calls through pointers in one visit.
    pub(super) through_pointers: f64,
    /// What they may reach: numbers of sets of functions.
    pub(super) sets: Vec<usize>,
    /// Whether it may be called through a pointer, or from elsewhere.
    pub(super) is_pointed_at: bool,
}

/// A call site, or several of one callee.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Call {
    pub(super) to: usize,
    /// How often in one visit, as expected.
    pub(super) times: f64,
    /// How often at most, where loops bound it.
    pub(super) most: Option<f64>,
}

/// What follows for one function.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(super) struct Flowed {
    /// Expected visits in a run.
    pub(super) visits: f64,
    /// Visits at most, where structure bounds them.
    pub(super) most: Option<f64>,
    /// Part of the visits that come by a way through a pointer.
    pub(super) by_pointer: f64,
    /// Work in one visit, its callees' included, but not that of further visits of itself and of the circle that it is in.
    pub(super) work: f64,
    /// It calls itself, if through others.
    pub(super) is_recursive: bool,
}

/// The flow of visits and work, if a run visits `root` once; without one, all that is pointed at is visited once. `sets`
/// are the functions that calls through pointers may reach.
pub(super) fn flow(nodes: &[Node], root: Option<usize>, sets: &[&[usize]]) -> Vec<Flowed> {
    let order = components(nodes.len(), |node| nodes.get(node).into_iter().flat_map(|node| node.calls.iter().map(|call| call.to)));
    let circles: Vec<Circle> = order.into_iter().map(|members| Circle::of(nodes, members)).collect();
    let mut flowed = vec![Flowed::default(); nodes.len()];
    for circle in &circles {
        circle.gather_work(nodes, &mut flowed);
    }
    let mut sources = vec![0.0; nodes.len()];
    match root {
        Some(root) => set(&mut sources, root, 1.0),
        None => nodes.iter().enumerate().filter(|(_, node)| node.is_pointed_at).for_each(|(index, _)| set(&mut sources, index, 1.0)),
    }
    let direct = spread(nodes, &circles, sources);
    let all = with_pointers(nodes, &circles, sets, direct.clone());
    for ((place, visits), direct) in flowed.iter_mut().zip(&all).zip(&direct) {
        place.visits = *visits;
        place.by_pointer = if *visits > 0.0 { 1.0 - direct / visits } else { 0.0 };
    }
    bound(nodes, &circles, root, &mut flowed);
    flowed
}

/// Visits with those that come through pointers.
fn with_pointers(nodes: &[Node], circles: &[Circle], sets: &[&[usize]], direct: Vec<f64>) -> Vec<f64> {
    let mut all = direct.clone();
    let mut latest = direct;
    for _ in 0..POINTER_ROUNDS {
        let sources = through_pointers(nodes, sets, &latest);
        if sources.iter().all(|&visits| visits == 0.0) {
            break;
        }
        latest = spread(nodes, circles, sources);
        for (all, more) in all.iter_mut().zip(&latest) {
            *all = (*all + more).min(MOST);
        }
    }
    all
}

/// Calls through pointers go to all that they may reach, in equal parts.
fn through_pointers(nodes: &[Node], sets: &[&[usize]], visits: &[f64]) -> Vec<f64> {
    let mut of_each_member = vec![0.0; sets.len()];
    for (node, visits) in nodes.iter().zip(visits) {
        let reached: usize = node.sets.iter().filter_map(|&set| sets.get(set)).map(|members| members.len()).sum();
        if reached == 0 {
            continue;
        }
        for &one in &node.sets {
            let more = at(&of_each_member, one) + node.through_pointers * visits / reached as f64;
            set(&mut of_each_member, one, more);
        }
    }
    let mut sources = vec![0.0; nodes.len()];
    for (members, calls) in sets.iter().zip(of_each_member) {
        for &member in members.iter().filter(|&&member| nodes.get(member).is_some_and(|node| node.is_pointed_at)) {
            let more = (at(&sources, member) + calls).min(MOST);
            set(&mut sources, member, more);
        }
    }
    sources
}

/// Visits that follow from visits from outside, callers in front of callees.
fn spread(nodes: &[Node], circles: &[Circle], sources: Vec<f64>) -> Vec<f64> {
    let mut visits = sources;
    for circle in circles.iter().rev() {
        circle.settle(nodes, &mut visits);
        for &member in &circle.members {
            let own = at(&visits, member);
            for call in nodes.get(member).into_iter().flat_map(|node| &node.calls) {
                if !circle.holds(call.to)
                    && let Some(place) = visits.get_mut(call.to)
                {
                    *place = (*place + own * call.times).min(MOST);
                }
            }
        }
    }
    visits
}

/// Visits at most: sums and products of constants, where nothing on the way is unknown.
fn bound(nodes: &[Node], circles: &[Circle], root: Option<usize>, flowed: &mut [Flowed]) {
    let mut most: Vec<Option<f64>> = nodes.iter().map(|node| if node.is_pointed_at { None } else { Some(0.0) }).collect();
    if let Some(place) = root.and_then(|root| most.get_mut(root)) {
        *place = Some(1.0);
    }
    for circle in circles.iter().rev() {
        for &member in &circle.members {
            if circle.is_recursive
                && let Some(place) = most.get_mut(member)
            {
                *place = None;
            }
            let own = most.get(member).copied().flatten();
            for call in nodes.get(member).into_iter().flat_map(|node| &node.calls).filter(|call| !circle.holds(call.to)) {
                let Some(place) = most.get_mut(call.to) else { continue };
                let more = match (own, call.most) {
                    (Some(0.0), _) => Some(0.0),
                    (Some(own), Some(times)) => Some(own * times),
                    _ => None,
                };
                *place = place.zip(more).map(|(sum, more)| (sum + more).min(MOST));
            }
        }
    }
    for (place, most) in flowed.iter_mut().zip(most) {
        place.most = most;
    }
}

/// Functions that call each other, or one alone.
struct Circle {
    members: Vec<usize>,
    is_recursive: bool,
    /// What the calls within are scaled by, so that a visit from outside brings [`RECURSION`] visits at most.
    damping: f64,
}

impl Circle {
    fn of(nodes: &[Node], mut members: Vec<usize>) -> Self {
        members.sort_unstable();
        let holds = |to: usize| members.binary_search(&to).is_ok();
        let within = |&member: &usize| -> f64 {
            nodes.get(member).into_iter().flat_map(|node| &node.calls).filter(|call| holds(call.to)).map(|call| call.times).sum()
        };
        let strongest = members.iter().map(within).fold(0.0, f64::max);
        let calls_itself = |&member: &usize| nodes.get(member).is_some_and(|node| node.calls.iter().any(|call| holds(call.to)));
        let is_recursive = members.iter().any(calls_itself);
        let damping = if strongest > 0.0 { ((1.0 - 1.0 / RECURSION) / strongest).min(1.0) } else { 1.0 };
        Self { is_recursive, damping, members }
    }

    fn holds(&self, node: usize) -> bool {
        self.members.binary_search(&node).is_ok()
    }

    /// Work of one visit of each member, from that of callees outside of the circle.
    fn gather_work(&self, nodes: &[Node], flowed: &mut [Flowed]) {
        for &member in &self.members {
            let Some(node) = nodes.get(member) else { continue };
            let outside = node.calls.iter().filter(|call| !self.holds(call.to));
            let below: f64 = outside.map(|call| call.times * flowed.get(call.to).map_or(0.0, |callee| callee.work)).sum();
            if let Some(place) = flowed.get_mut(member) {
                place.work = (node.own + below).min(MOST);
                place.is_recursive = self.is_recursive;
            }
        }
    }

    /// Lets visits that came from outside go round.
    fn settle(&self, nodes: &[Node], visits: &mut [f64]) {
        if !self.is_recursive {
            return;
        }
        let mut latest: Vec<f64> = self.members.iter().map(|&member| at(visits, member)).collect();
        for _ in 0..ROUNDS {
            let mut next = vec![0.0; latest.len()];
            for (&member, own) in self.members.iter().zip(&latest) {
                for call in nodes.get(member).into_iter().flat_map(|node| &node.calls) {
                    let Ok(position) = self.members.binary_search(&call.to) else { continue };
                    if let Some(place) = next.get_mut(position) {
                        *place += own * call.times * self.damping;
                    }
                }
            }
            for (&member, more) in self.members.iter().zip(&next) {
                if let Some(place) = visits.get_mut(member) {
                    *place = (*place + more).min(MOST);
                }
            }
            latest = next;
        }
    }
}

fn at(values: &[f64], index: usize) -> f64 {
    values.get(index).copied().unwrap_or(0.0)
}

fn set(values: &mut [f64], index: usize, to: f64) {
    if let Some(place) = values.get_mut(index) {
        *place = to;
    }
}

#[cfg(test)]
mod tests {
    use super::{Call, Flowed, Node, RECURSION, flow};

    fn node(own: f64, calls: &[(usize, f64)]) -> Node {
        let calls = calls.iter().map(|&(to, times)| Call { to, times, most: Some(times) }).collect();
        Node { own, calls, ..Node::default() }
    }

    #[test]
    fn visits_multiply_along_calls_and_work_adds_up() {
        // main calls a once and b ten times; both call leaf: a five times, b twice.
        let nodes = [node(100.0, &[(1, 1.0), (2, 10.0)]), node(50.0, &[(3, 5.0)]), node(7.0, &[(3, 2.0)]), node(3.0, &[])];
        let flowed = flow(&nodes, Some(0), &[]);
        let visits: Vec<f64> = flowed.iter().map(|one| one.visits).collect();
        assert_eq!(visits, [1.0, 1.0, 10.0, 25.0]);
        let work: Vec<f64> = flowed.iter().map(|one| one.work).collect();
        assert_eq!(work, [100.0 + 65.0 + 130.0, 65.0, 13.0, 3.0]);
        assert_eq!(flowed.iter().map(|one| one.most).collect::<Vec<_>>(), [Some(1.0), Some(1.0), Some(10.0), Some(25.0)]);
    }

    #[test]
    fn the_work_of_all_visits_is_the_work_below_main_in_any_tree_of_calls() {
        // A few hundred graphs without circles, made by a simple generator of numbers.
        let mut state = 12345_u64;
        let mut random = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        for _ in 0..300 {
            let count = 2 + random(30) as usize;
            let nodes: Vec<Node> = (0..count)
                .map(|index| {
                    let draws = (index + 1..count).map(|to| (to, random(160))).filter(|(_, one)| one % 3 == 0);
                    let calls: Vec<(usize, f64)> = draws.map(|(to, one)| (to, (1 + one) as f64 / 16.0)).collect();
                    node((1 + random(100)) as f64, &calls)
                })
                .collect();
            let flowed = flow(&nodes, Some(0), &[]);
            let total: f64 = nodes.iter().zip(&flowed).map(|(node, flowed)| node.own * flowed.visits).sum();
            assert!((total / flowed[0].work - 1.0).abs() < 1e-9);
            assert!(flowed.iter().all(|one| one.most.is_some_and(|most| most >= one.visits * 0.999)));
        }
    }

    #[test]
    fn recursion_is_given_a_depth_and_has_no_bound() {
        // main calls f, f calls itself twice and g; g and h call each other.
        let nodes = [node(1.0, &[(1, 1.0)]), node(10.0, &[(1, 2.0), (2, 1.0)]), node(4.0, &[(3, 1.0)]), node(6.0, &[(2, 1.0)])];
        let flowed = flow(&nodes, Some(0), &[]);
        assert!((flowed[1].visits / RECURSION - 1.0).abs() < 0.01);
        assert!(flowed[1].is_recursive && flowed[2].is_recursive && flowed[3].is_recursive && !flowed[0].is_recursive);
        assert!(flowed[1].most.is_none() && flowed[2].most.is_none());
        assert_eq!(flowed[1].work, 10.0 + 4.0);
        assert!(flowed.iter().all(|one: &Flowed| one.visits.is_finite()));
    }

    #[test]
    fn what_is_pointed_at_shares_the_calls_through_pointers() {
        let mut nodes = vec![node(1.0, &[(1, 1.0)]), node(1.0, &[]), node(1.0, &[]), node(1.0, &[]), node(1.0, &[])];
        nodes[1].through_pointers = 8.0;
        nodes[1].sets = vec![1];
        nodes[2..].iter_mut().for_each(|node| node.is_pointed_at = true);
        let flowed = flow(&nodes, Some(0), &[&[2, 3, 4], &[2, 3]]);
        assert_eq!((flowed[2].visits, flowed[3].visits, flowed[4].visits), (4.0, 4.0, 0.0));
        assert_eq!((flowed[2].by_pointer, flowed[1].by_pointer), (1.0, 0.0));
        assert!(flowed[2].most.is_none() && flowed[1].most == Some(1.0));
        let library = flow(&nodes, None, &[]);
        assert_eq!((library[2].visits, library[0].visits), (1.0, 0.0));
    }
}
