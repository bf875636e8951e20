//! What is known of something inside of a function by where it begins.

use tare_format::description::{Region, RegionKind};
use tare_image::lines::Inside;

use crate::insertion::Scope;

/// Where something inside of a function begins, by its link address: a loop may do so with a call.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Begin {
    /// A call.
    Call(u64),
    /// A loop and its iterations, at the loop's header.
    Loop(u64),
}

impl Begin {
    /// Of what a source place is asked for.
    pub(crate) const fn of(inside: Inside<'_>) -> Self {
        match inside {
            Inside::Call(address) => Self::Call(address),
            Inside::Loop { header, .. } => Self::Loop(header),
        }
    }

    /// Of a region of a description, where it is a loop or a call.
    pub(crate) const fn of_region(region: &Region) -> Option<Self> {
        match region.kind {
            RegionKind::Loop | RegionKind::Iteration => Some(Self::Loop(region.address)),
            RegionKind::CallSite => Some(Self::Call(region.address)),
            _ => None,
        }
    }

    /// Of the region with this scope and link address, unless it is a function.
    pub(crate) const fn at(scope: Scope, address: u64) -> Option<Self> {
        match scope {
            Scope::Function => None,
            Scope::Loop(_) | Scope::Iteration(_) => Some(Self::Loop(address)),
            Scope::CallSite(_) => Some(Self::Call(address)),
        }
    }
}
