//! What the subtrees of a region graph have altogether.

use tare_compensate::{CompensatedLocation, Figure, Mode};
use tare_profile::{Location, Node, Peer, Profile};

use crate::question::Measure;

/// A measure of every node of a location.
pub(crate) enum Column {
    /// Of a node and all below it: nested hits count once.
    Inclusive(Vec<Figure>),
    /// Of a node alone.
    Own(Vec<Figure>),
}

impl Column {
    pub(crate) fn of(measure: Measure, profile: &Profile, location: &Location, figures: &CompensatedLocation, mode: Mode) -> Self {
        let seconds = |ticks: u64| profile.process_of(location).clock.seconds(ticks as f64);
        let nodes = || location.nodes.iter().zip(&figures.nodes);
        let summed = |value: &dyn Fn(&Node) -> f64| summed(location, location.nodes.iter().map(value).collect());
        match measure {
            Measure::Time => Self::Inclusive(nodes().map(|(_, figures)| figures.inclusive).collect()),
            Measure::Own => Self::Own(nodes().map(|(_, figures)| figures.exclusive).collect()),
            Measure::Count => Self::Own(nodes().map(|(node, _)| Figure::exact(node.calls() as f64)).collect()),
            Measure::Measured => Self::Inclusive(nodes().map(|(_, figures)| Figure::exact(figures.measured_inclusive_s)).collect()),
            Measure::Correction => {
                Self::Inclusive(nodes().map(|(_, figures)| correction(figures.measured_inclusive_s, &figures.inclusive)).collect())
            }
            Measure::Waiting => {
                Self::Inclusive(summed(&|node| seconds(if mode == Mode::Parallel { node.virtual_wait_ticks } else { node.wait_ticks })))
            }
            Measure::Transmission => Self::Inclusive(summed(&|node| node.peers.iter().map(|peer| seconds(peer.transmission)).sum())),
            Measure::Messages => Self::Inclusive(summed(&|node| node.messages.count as f64)),
            Measure::Bytes => Self::Inclusive(summed(&|node| node.messages.bytes as f64)),
        }
    }

    /// The figures of all nodes.
    pub(crate) fn figures(&self) -> &[Figure] {
        match self {
            Self::Inclusive(figures) | Self::Own(figures) => figures,
        }
    }

    /// Whether a hit within a hit is part of it.
    pub(crate) fn is_inclusive(&self) -> bool {
        matches!(self, Self::Inclusive(_))
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

/// A measure of what was exchanged with one partner.
pub(crate) fn of_peer(measure: Measure, peer: &Peer, seconds: impl Fn(u64) -> f64, mode: Mode) -> f64 {
    match measure {
        Measure::Waiting => seconds(if mode == Mode::Parallel { peer.virtual_wait } else { peer.wait }),
        Measure::Transmission => seconds(peer.transmission),
        Measure::Messages => (peer.sent + peer.received) as f64,
        Measure::Bytes => peer.bytes as f64,
        _ => 0.0,
    }
}
