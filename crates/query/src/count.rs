//! What the subtrees of a region graph have altogether.

use tare_compensate::{CompensatedLocation, Figure, Mode};
use tare_profile::{Location, Node, Peer, Profile};

use crate::question::Measure;

/// A measure of every node of a location.
pub(crate) struct Column<'a> {
    of_node: Box<dyn Fn(usize) -> Figure + 'a>,
    /// Whether a hit within a hit is part of it.
    pub(crate) is_inclusive: bool,
    /// Of each node whether anything says it; all are known where `None`.
    known: Option<Vec<bool>>,
}

impl<'a> Column<'a> {
    pub(crate) fn of(measure: Measure, profile: &Profile, location: &'a Location, figures: &'a CompensatedLocation, mode: Mode) -> Self {
        let clock = profile.process_of(location).clock;
        let seconds = |ticks: u64| clock.seconds(ticks as f64);
        let summed = |value: &dyn Fn(&Node) -> f64| summed(location, location.nodes.iter().map(value).collect());
        let of_sums = |sums: Vec<f64>| -> Box<dyn Fn(usize) -> Figure + 'a> { Box::new(move |node| Figure::exact(sums[node])) };
        let nodes = &figures.nodes;
        let of_node: Box<dyn Fn(usize) -> Figure + 'a> = match measure {
            Measure::Time => Box::new(|node| nodes[node].inclusive),
            Measure::Own => Box::new(|node| nodes[node].exclusive),
            Measure::Count => Box::new(|node| Figure::exact(location.nodes[node].calls() as f64)),
            Measure::Measured => Box::new(|node| Figure::exact(nodes[node].measured_inclusive_s)),
            Measure::Correction => Box::new(|node| correction(nodes[node].measured_inclusive_s, &nodes[node].inclusive)),
            Measure::Waiting => of_sums(summed(&|node| {
                let exchanged = node.exchanged();
                seconds(if mode == Mode::Parallel { exchanged.virtual_wait_ticks } else { exchanged.wait_ticks })
            })),
            Measure::Transmission => of_sums(summed(&|node| node.exchanged().peers.iter().map(|peer| seconds(peer.transmission)).sum())),
            Measure::Messages => of_sums(summed(&|node| node.exchanged().messages.count as f64)),
            Measure::Bytes => of_sums(summed(&|node| node.exchanged().messages.bytes as f64)),
        };
        // Only messages that were received from a partner have a time of transmission.
        let known = (measure == Measure::Transmission).then(|| {
            let received = summed(&|node| node.exchanged().peers.iter().map(|peer| peer.received as f64).sum());
            received.iter().map(|received| *received > 0.0).collect()
        });
        Self { of_node, is_inclusive: measure.is_inclusive(), known }
    }

    /// The figure of a node; `None` where nothing says it.
    pub(crate) fn figure(&self, node: usize) -> Option<Figure> {
        self.known.as_ref().is_none_or(|known| known[node]).then(|| (self.of_node)(node))
    }
}

/// What was taken off, with the interval of what is left.
pub(crate) fn correction(measured: f64, left: &Figure) -> Figure {
    Figure { value: measured - left.value, low: measured - left.high, high: measured - left.low, mark: left.mark }
}

fn summed(location: &Location, mut own: Vec<f64>) -> Vec<f64> {
    for (index, node) in location.nodes.iter().enumerate().rev() {
        if let Some(parent) = node.parent {
            own[parent] += own[index];
        }
    }
    own
}

/// A measure of what was exchanged with one partner; `None` where nothing says it.
pub(crate) fn of_peer(measure: Measure, peer: &Peer, seconds: impl Fn(u64) -> f64, mode: Mode) -> Option<f64> {
    match measure {
        Measure::Waiting if mode == Mode::Parallel => Some(seconds(peer.virtual_wait.saturating_add(peer.virtual_held))),
        Measure::Waiting => Some(seconds(peer.wait.saturating_add(peer.held))),
        Measure::Transmission => (peer.received > 0).then(|| seconds(peer.transmission)),
        Measure::Messages => Some((peer.sent + peer.received) as f64),
        Measure::Bytes => Some(peer.bytes as f64),
        _ => None,
    }
}
