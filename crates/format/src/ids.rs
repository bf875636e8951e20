//! Numbers that mean something, each with a type: addresses of three spaces, regions, nodes, time.

macro_rules! number {
    ($(#[$doc:meta])* $name:ident($inner:ty)) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
        #[repr(transparent)]
        pub struct $name(pub $inner);
    };
}

number!(
    /// An address as the linker laid it out (the address space of symbols and unwind tables).
    LinkAddress(u64)
);
number!(
    /// An address in a running process: a link address plus the load bias of its image.
    LoadAddress(u64)
);
number!(
    /// A position in an image file.
    FileOffset(u64)
);
number!(
    /// A region within one process: unique over all images that are loaded in it. 0 is no region.
    RegionId(u32)
);
number!(
    /// The index of a node in the region graph of one location. 0 is the root.
    NodeIndex(u32)
);
number!(
    /// Time-stamp counter ticks: a moment or a length.
    Ticks(u64)
);
number!(
    /// A rank in `MPI_COMM_WORLD`.
    Rank(u32)
);

impl LinkAddress {
    /// The address `bytes` further on, in the same space.
    #[must_use]
    pub const fn offset(self, bytes: u64) -> Self {
        Self(self.0.wrapping_add(bytes))
    }

    /// The load address under a load bias.
    #[must_use]
    pub const fn loaded_at(self, bias: u64) -> LoadAddress {
        LoadAddress(self.0.wrapping_add(bias))
    }
}

impl core::fmt::LowerHex for LinkAddress {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        core::fmt::LowerHex::fmt(&self.0, f)
    }
}
