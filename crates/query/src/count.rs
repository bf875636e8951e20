//! What the subtrees of a region graph have altogether.

use tare_compensate::{CompensatedLocation, Figure, Mode};
use tare_profile::{Location, Node, Peer, Profile};

use crate::question::Measure;

/// A measure of every node of a location.
pub(crate) struct Column {
    figures: Vec<Figure>,
    /// Whether a hit within a hit is part of it.
    pub(crate) is_inclusive: bool,
    /// Of each node whether anything says it; all are known where `None`.
    known: Option<Vec<bool>>,
}

impl Column {
    pub(crate) fn of(measure: Measure, profile: &Profile, location: &Location, figures: &CompensatedLocation, mode: Mode) -> Self {
        let seconds = |ticks: u64| profile.process_of(location).clock.seconds(ticks as f64);
        let nodes = || location.nodes.iter().zip(&figures.nodes);
        let summed = |value: &dyn Fn(&Node) -> f64| summed(location, location.nodes.iter().map(value).collect());
        let figures: Vec<Figure> = match measure {
            Measure::Time => nodes().map(|(_, figures)| figures.inclusive).collect(),
            Measure::Own => nodes().map(|(_, figures)| figures.exclusive).collect(),
            Measure::Count => nodes().map(|(node, _)| Figure::exact(node.calls() as f64)).collect(),
            Measure::Measured => nodes().map(|(_, figures)| Figure::exact(figures.measured_inclusive_s)).collect(),
            Measure::Correction => nodes().map(|(_, figures)| correction(figures.measured_inclusive_s, &figures.inclusive)).collect(),
            Measure::Waiting => summed(&|node| seconds(if mode == Mode::Parallel { node.virtual_wait_ticks } else { node.wait_ticks })),
            Measure::Transmission => summed(&|node| node.peers.iter().map(|peer| seconds(peer.transmission)).sum()),
            Measure::Messages => summed(&|node| node.messages.count as f64),
            Measure::Bytes => summed(&|node| node.messages.bytes as f64),
        };
        // Only messages that were received from a partner have a time of transmission.
        let known = (measure == Measure::Transmission).then(|| {
            let received = summed(&|node| node.peers.iter().map(|peer| peer.received as f64).sum());
            received.iter().map(|received| received.value > 0.0).collect()
        });
        Self { figures, is_inclusive: measure.is_inclusive(), known }
    }

    /// The figure of a node; `None` where nothing says it.
    pub(crate) fn figure(&self, node: usize) -> Option<Figure> {
        self.known.as_ref().is_none_or(|known| known[node]).then(|| self.figures[node])
    }
}

/// What was taken off, with the interval of what is left.
pub(crate) fn correction(measured: f64, left: &Figure) -> Figure {
    Figure { value: measured - left.value, low: measured - left.high, high: measured - left.low, mark: left.mark }
}

fn summed(location: &Location, mut own: Vec<f64>) -> Vec<Figure> {
    for (index, node) in location.nodes.iter().enumerate().rev() {
        if let Some(parent) = node.parent {
            own[parent] += own[index];
        }
    }
    own.into_iter().map(Figure::exact).collect()
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
