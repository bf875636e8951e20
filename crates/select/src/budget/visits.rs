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

/// What is known of one function, under each of `N` assumptions.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Node<const N: usize> {
    /// Work of its own in one visit.
    pub(super) own: [f64; N],
    /// Calls of functions of the image.
    pub(super) calls: Vec<Call<N>>,
    /// Calls through pointers in one visit.
    pub(super) through_pointers: [f64; N],
    /// What they may reach: numbers of sets of functions.
    pub(super) sets: Vec<usize>,
    /// Whether it may be called through a pointer, or from elsewhere.
    pub(super) is_pointed_at: bool,
    /// Functions whose addresses it takes: who gets them calls them, as those who start threads do.
    pub(super) hands_on: Vec<usize>,
}

/// A call site, or several of one callee.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Call<const N: usize> {
    pub(super) to: usize,
    /// How often in one visit, as expected.
    pub(super) times: [f64; N],
    /// How often at most, where loops bound it.
    pub(super) most: Option<f64>,
}

/// What follows for one function.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Flowed<const N: usize> {
    /// Expected visits in a run.
    pub(super) visits: [f64; N],
    /// Visits at most, where structure bounds them.
    pub(super) most: Option<f64>,
    /// Part of the visits that come by a way through a pointer.
    pub(super) by_pointer: [f64; N],
    /// Work in one visit, its callees' included, but not that of further visits of itself and of the circle that it is in.
    pub(super) work: [f64; N],
    /// It calls itself, if through others.
    pub(super) is_recursive: bool,
}

/// The flow of visits and work, if a run visits `root` once; without one, all that is pointed at is visited once. `sets`
/// are the functions that calls through pointers may reach.
pub(super) fn flow<const N: usize>(nodes: &[Node<N>], root: Option<usize>, sets: &[&[usize]]) -> Vec<Flowed<N>> {
    let circles = Circles::of(nodes);
    let nothing = Flowed { visits: [0.0; N], most: None, by_pointer: [0.0; N], work: [0.0; N], is_recursive: false };
    let mut flowed = vec![nothing; nodes.len()];
    circles.gather_work(&mut flowed);
    let mut sources = vec![[0.0; N]; nodes.len()];
    match root {
        Some(root) => set(&mut sources, root, [1.0; N]),
        None => nodes.iter().enumerate().filter(|(_, node)| node.is_pointed_at).for_each(|(index, _)| set(&mut sources, index, [1.0; N])),
    }
    let direct = circles.spread(sources);
    let all = with_pointers(&circles, sets, direct.clone());
    for ((place, visits), direct) in flowed.iter_mut().zip(&all).zip(&direct) {
        place.visits = *visits;
        let parts = place.by_pointer.iter_mut().zip(visits.iter().zip(direct));
        parts.for_each(|(part, (visits, direct))| *part = if *visits > 0.0 { 1.0 - direct / visits } else { 0.0 });
    }
    circles.bound(root, &mut flowed);
    flowed
}

/// Visits with those that come through pointers.
fn with_pointers<const N: usize>(circles: &Circles<'_, N>, sets: &[&[usize]], direct: Vec<[f64; N]>) -> Vec<[f64; N]> {
    let mut all = direct.clone();
    let mut latest = direct;
    for _ in 0..POINTER_ROUNDS {
        let sources = through_pointers(circles.nodes, sets, &latest);
        if sources.iter().all(|visits| *visits == [0.0; N]) {
            break;
        }
        latest = circles.spread(sources);
        all.iter_mut().zip(&latest).for_each(|(all, more)| grow(all, more));
    }
    all
}

/// Calls through pointers go to all that they may reach, in equal parts; what is handed on is called once for that.
fn through_pointers<const N: usize>(nodes: &[Node<N>], sets: &[&[usize]], visits: &[[f64; N]]) -> Vec<[f64; N]> {
    let mut of_each_member = vec![[0.0; N]; sets.len()];
    for (node, visits) in nodes.iter().zip(visits) {
        let reached: usize = node.sets.iter().filter_map(|&set| sets.get(set)).map(|members| members.len()).sum();
        if reached == 0 {
            continue;
        }
        let calls = product(&node.through_pointers, visits).map(|calls| calls / reached as f64);
        node.sets.iter().for_each(|&one| add(&mut of_each_member, one, &calls));
    }
    let mut sources = vec![[0.0; N]; nodes.len()];
    for (node, visits) in nodes.iter().zip(visits) {
        node.hands_on.iter().for_each(|&function| add(&mut sources, function, visits));
    }
    for (members, calls) in sets.iter().zip(&of_each_member).filter(|(_, calls)| **calls != [0.0; N]) {
        for &member in members.iter().filter(|&&member| nodes.get(member).is_some_and(|node| node.is_pointed_at)) {
            add(&mut sources, member, calls);
        }
    }
    sources
}

/// Functions that call each other, or one alone.
struct Circle<const N: usize> {
    members: Vec<usize>,
    /// The calls within: caller and callee, by their positions among the members, and how often; scaled so that a visit
    /// from outside brings [`RECURSION`] visits at most.
    within: Vec<(usize, usize, [f64; N])>,
}

/// All of them, callees in front of callers.
struct Circles<'a, const N: usize> {
    nodes: &'a [Node<N>],
    list: Vec<Circle<N>>,
    /// By function its circle.
    of: Vec<usize>,
}

impl<'a, const N: usize> Circles<'a, N> {
    fn of(nodes: &'a [Node<N>]) -> Self {
        let order = components(nodes.len(), |node| nodes.get(node).into_iter().flat_map(|node| node.calls.iter().map(|call| call.to)));
        let (mut of, mut positions) = (vec![0; nodes.len()], vec![0; nodes.len()]);
        for (number, members) in order.iter().enumerate() {
            for (position, &member) in members.iter().enumerate() {
                set(&mut of, member, number);
                set(&mut positions, member, position);
            }
        }
        let mut circles = Self { nodes, list: Vec::with_capacity(order.len()), of };
        for (number, members) in order.into_iter().enumerate() {
            let within = circles.within(number, &members, &positions);
            circles.list.push(Circle { members, within });
        }
        circles
    }

    fn within(&self, number: usize, members: &[usize], positions: &[usize]) -> Vec<(usize, usize, [f64; N])> {
        let mut within = Vec::new();
        let mut strongest = [0.0; N];
        for (from, &member) in members.iter().enumerate() {
            let mut all = [0.0; N];
            for call in self.calls(member).filter(|call| self.of.get(call.to) == Some(&number)) {
                all.iter_mut().zip(call.times).for_each(|(all, times)| *all += times);
                within.push((from, positions.get(call.to).copied().unwrap_or(0), call.times));
            }
            strongest.iter_mut().zip(all).for_each(|(strongest, all)| *strongest = f64::max(*strongest, all));
        }
        let damping = strongest.map(|strongest| if strongest > 0.0 { ((1.0 - 1.0 / RECURSION) / strongest).min(1.0) } else { 1.0 });
        within.iter_mut().for_each(|(_, _, times)| *times = product(times, &damping));
        within
    }

    fn calls(&self, function: usize) -> impl Iterator<Item = &'a Call<N>> {
        self.nodes.get(function).into_iter().flat_map(|node| &node.calls)
    }

    /// Calls out of a circle, by a member.
    fn calls_outward(&self, number: usize, member: usize) -> impl Iterator<Item = &'a Call<N>> {
        self.calls(member).filter(move |call| self.of.get(call.to) != Some(&number))
    }

    /// Work of one visit of each function, from that of callees outside of its circle.
    fn gather_work(&self, flowed: &mut [Flowed<N>]) {
        for (number, circle) in self.list.iter().enumerate() {
            for &member in &circle.members {
                let mut work = self.nodes.get(member).map_or([0.0; N], |node| node.own);
                for call in self.calls_outward(number, member) {
                    let below = flowed.get(call.to).map_or([0.0; N], |callee| callee.work);
                    work.iter_mut().zip(product(&call.times, &below)).for_each(|(work, below)| *work += below);
                }
                if let Some(place) = flowed.get_mut(member) {
                    place.work = work.map(|work| work.min(MOST));
                    place.is_recursive = circle.is_recursive();
                }
            }
        }
    }

    /// Visits that follow from visits from outside, callers in front of callees.
    fn spread(&self, sources: Vec<[f64; N]>) -> Vec<[f64; N]> {
        let mut visits = sources;
        for (number, circle) in self.list.iter().enumerate().rev() {
            circle.settle(&mut visits);
            for &member in &circle.members {
                let own = at(&visits, member);
                if own != [0.0; N] {
                    self.calls_outward(number, member).for_each(|call| add(&mut visits, call.to, &product(&own, &call.times)));
                }
            }
        }
        visits
    }

    /// Visits at most: sums and products of constants, where nothing on the way is unknown.
    fn bound(&self, root: Option<usize>, flowed: &mut [Flowed<N>]) {
        let mut most: Vec<Option<f64>> = self.nodes.iter().map(|node| if node.is_pointed_at { None } else { Some(0.0) }).collect();
        if let Some(root) = root {
            set(&mut most, root, Some(1.0));
        }
        for (number, circle) in self.list.iter().enumerate().rev() {
            for &member in &circle.members {
                if circle.is_recursive() {
                    set(&mut most, member, None);
                }
                let own = most.get(member).copied().flatten();
                for call in self.calls_outward(number, member) {
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
}

impl<const N: usize> Circle<N> {
    const fn is_recursive(&self) -> bool {
        !self.within.is_empty()
    }

    /// Lets visits that came from outside go round.
    fn settle(&self, visits: &mut [[f64; N]]) {
        if !self.is_recursive() {
            return;
        }
        let mut latest: Vec<[f64; N]> = self.members.iter().map(|&member| at(visits, member)).collect();
        let mut next = vec![[0.0; N]; latest.len()];
        for _ in 0..ROUNDS {
            if latest.iter().all(|visits| *visits == [0.0; N]) {
                return;
            }
            next.fill([0.0; N]);
            for &(from, to, times) in &self.within {
                add(&mut next, to, &product(&at(&latest, from), &times));
            }
            self.members.iter().zip(&next).for_each(|(&member, more)| add(visits, member, more));
            std::mem::swap(&mut latest, &mut next);
        }
    }
}

fn at<const N: usize>(values: &[[f64; N]], index: usize) -> [f64; N] {
    values.get(index).copied().unwrap_or([0.0; N])
}

fn set<T>(values: &mut [T], index: usize, to: T) {
    if let Some(place) = values.get_mut(index) {
        *place = to;
    }
}

fn add<const N: usize>(values: &mut [[f64; N]], index: usize, more: &[f64; N]) {
    if let Some(place) = values.get_mut(index) {
        grow(place, more);
    }
}

fn grow<const N: usize>(value: &mut [f64; N], more: &[f64; N]) {
    value.iter_mut().zip(more).for_each(|(value, more)| *value = (*value + more).min(MOST));
}

fn product<const N: usize>(one: &[f64; N], other: &[f64; N]) -> [f64; N] {
    let mut product = *one;
    product.iter_mut().zip(other).for_each(|(one, other)| *one *= other);
    product
}

#[cfg(test)]
mod tests {
    use super::{Call, Flowed, Node, RECURSION, flow};

    fn node(own: f64, calls: &[(usize, f64)]) -> Node<1> {
        let calls = calls.iter().map(|&(to, times)| Call { to, times: [times], most: Some(times) }).collect();
        Node { own: [own], calls, through_pointers: [0.0], sets: Vec::new(), is_pointed_at: false, hands_on: Vec::new() }
    }

    #[test]
    fn visits_multiply_along_calls_and_work_adds_up() {
        // main calls a once and b ten times; both call leaf: a five times, b twice.
        let nodes = [node(100.0, &[(1, 1.0), (2, 10.0)]), node(50.0, &[(3, 5.0)]), node(7.0, &[(3, 2.0)]), node(3.0, &[])];
        let flowed = flow(&nodes, Some(0), &[]);
        let visits: Vec<f64> = flowed.iter().map(|one| one.visits[0]).collect();
        assert_eq!(visits, [1.0, 1.0, 10.0, 25.0]);
        let work: Vec<f64> = flowed.iter().map(|one| one.work[0]).collect();
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
            let nodes: Vec<Node<1>> = (0..count)
                .map(|index| {
                    let draws = (index + 1..count).map(|to| (to, random(160))).filter(|(_, one)| one % 3 == 0);
                    let calls: Vec<(usize, f64)> = draws.map(|(to, one)| (to, (1 + one) as f64 / 16.0)).collect();
                    node((1 + random(100)) as f64, &calls)
                })
                .collect();
            let flowed = flow(&nodes, Some(0), &[]);
            let total: f64 = nodes.iter().zip(&flowed).map(|(node, flowed)| node.own[0] * flowed.visits[0]).sum();
            assert!((total / flowed[0].work[0] - 1.0).abs() < 1e-9);
            assert!(flowed.iter().all(|one| one.most.is_some_and(|most| most >= one.visits[0] * 0.999)));
        }
    }

    #[test]
    fn recursion_is_given_a_depth_and_has_no_bound() {
        // main calls f, f calls itself twice and g; g and h call each other.
        let nodes = [node(1.0, &[(1, 1.0)]), node(10.0, &[(1, 2.0), (2, 1.0)]), node(4.0, &[(3, 1.0)]), node(6.0, &[(2, 1.0)])];
        let flowed = flow(&nodes, Some(0), &[]);
        assert!((flowed[1].visits[0] / RECURSION - 1.0).abs() < 0.01);
        assert!(flowed[1].is_recursive && flowed[2].is_recursive && flowed[3].is_recursive && !flowed[0].is_recursive);
        assert!(flowed[1].most.is_none() && flowed[2].most.is_none());
        assert_eq!(flowed[1].work, [10.0 + 4.0]);
        assert!(flowed.iter().all(|one: &Flowed<1>| one.visits[0].is_finite()));
    }

    #[test]
    fn what_is_pointed_at_shares_the_calls_through_pointers() {
        let mut nodes = vec![node(1.0, &[(1, 1.0)]), node(1.0, &[]), node(1.0, &[]), node(1.0, &[]), node(1.0, &[])];
        nodes[1].through_pointers = [8.0];
        nodes[1].sets = vec![1];
        nodes[2..].iter_mut().for_each(|node| node.is_pointed_at = true);
        let flowed = flow(&nodes, Some(0), &[&[2, 3, 4], &[2, 3]]);
        assert_eq!((flowed[2].visits, flowed[3].visits, flowed[4].visits), ([4.0], [4.0], [0.0]));
        assert_eq!((flowed[2].by_pointer, flowed[1].by_pointer), ([1.0], [0.0]));
        assert!(flowed[2].most.is_none() && flowed[1].most == Some(1.0));
        let library = flow(&nodes, None, &[]);
        assert_eq!((library[2].visits, library[0].visits), ([1.0], [0.0]));
    }
}
