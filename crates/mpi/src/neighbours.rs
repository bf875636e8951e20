//! Who the neighbours of a process are in the topology of a communicator.

use crate::among::Members;
use crate::memory::word;
use crate::session::Session;
use crate::table::Id;

impl Members {
    /// Asks the library; `None` where there is no topology.
    pub(crate) fn of_topology(session: &Session, comm: usize, rank: i32) -> Option<Self> {
        let abi = session.abi;
        let mut kind = 0_i32;
        session.ask(Id::MPI_Topo_test, [comm, &raw mut kind as usize])?;
        let mut found = match kind {
            kind if kind == abi.cartesian => Self::cartesian(session, comm)?,
            kind if kind == abi.graph => Self::graph(session, comm, rank)?,
            kind if kind == abi.distributed_graph => Self::distributed(session, comm)?,
            _ => return None,
        };
        found.from.retain(|&peer| peer != abi.proc_null);
        found.to.retain(|&peer| peer != abi.proc_null);
        Some(found)
    }

    fn cartesian(session: &Session, comm: usize) -> Option<Self> {
        let mut dimensions = 0_i32;
        session.ask(Id::MPI_Cartdim_get, [comm, &raw mut dimensions as usize])?;
        let mut all = Vec::new();
        for dimension in 0..dimensions {
            let (mut before, mut behind) = (0_i32, 0_i32);
            session.ask(Id::MPI_Cart_shift, [comm, word(dimension), 1, &raw mut before as usize, &raw mut behind as usize])?;
            all.extend([before, behind]);
        }
        Some(Self { from: all.clone(), to: all })
    }

    fn graph(session: &Session, comm: usize, rank: i32) -> Option<Self> {
        let mut number = 0_i32;
        session.ask(Id::MPI_Graph_neighbors_count, [comm, word(rank), &raw mut number as usize])?;
        let mut all = vec![0_i32; usize::try_from(number).ok()?];
        session.ask(Id::MPI_Graph_neighbors, [comm, word(rank), word(number), all.as_mut_ptr() as usize])?;
        Some(Self { from: all.clone(), to: all })
    }

    fn distributed(session: &Session, comm: usize) -> Option<Self> {
        let (mut inward, mut outward, mut weighted) = (0_i32, 0_i32, 0_i32);
        let places = [&raw mut inward, &raw mut outward, &raw mut weighted].map(|place| place as usize);
        session.ask(Id::MPI_Dist_graph_neighbors_count, [comm, places[0], places[1], places[2]])?;
        let (inwards, outwards) = (usize::try_from(inward).ok()?, usize::try_from(outward).ok()?);
        let (mut from, mut to) = (vec![0_i32; inwards], vec![0_i32; outwards]);
        let (mut weights_from, mut weights_to) = (vec![0_i32; inwards], vec![0_i32; outwards]);
        let [from_at, to_at, weights_from, weights_to] =
            [&mut from, &mut to, &mut weights_from, &mut weights_to].map(|list| list.as_mut_ptr() as usize);
        let arguments = [comm, word(inward), from_at, weights_from, word(outward), to_at, weights_to];
        session.ask(Id::MPI_Dist_graph_neighbors, arguments)?;
        Some(Self { from, to })
    }
}
