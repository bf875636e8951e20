//! The ABI that MPICH and its relatives share (`libmpich.so.12`, `libmpi.so.12`): handles are `int`s.

use crate::abi::{Abi, Constant, StatusLayout, StatusRest, word};
use tare_format::graph::MpiLibrary;

/// MPICH 3.1 and later, Intel MPI, MVAPICH2, Cray MPICH.
pub static ABI: Abi = Abi {
    library: MpiLibrary::Mpich,
    names: &[c"libmpi.so.12", c"libmpich.so.12"],
    handle: 4,
    status: StatusLayout {
        size: 20,
        source: 8,
        tag: 12,
        error: 16,
        rest: StatusRest::Known {
            bytes: |status| u64::from(word(status, 0).cast_unsigned()) | u64::from(word(status, 4).cast_unsigned() >> 1) << 32,
            cancelled: |status| word(status, 4) & 1 != 0,
        },
    },
    makes_several: true,
    most_shadows: 256,
    proc_null: -1,
    root: -3,
    any_source: -2,
    any_tag: -1,
    status_ignore: 1,
    in_place: usize::MAX,
    truncated: 14,
    in_status: 17,
    pending: 18,
    other_error: 15,
    thread_multiple: 3,
    no_precede: 8192,
    exclusive: 234,
    cartesian: 2,
    graph: 1,
    distributed_graph: 3,
    comm_world: Constant::Value(0x4400_0000),
    comm_self: Constant::Value(0x4400_0001),
    comm_null: Constant::Value(0x0400_0000),
    request_null: Constant::Value(0x2c00_0000),
    datatype_null: Constant::Value(0x0c00_0000),
    file_null: Constant::Value(0),
    win_null: Constant::Value(0x2000_0000),
    info_null: Constant::Value(0x1c00_0000),
    byte: Constant::Value(0x4c00_010d),
    int64: Constant::Value(0x4c00_083a),
    max: Constant::Value(0x5800_0001),
    errors_return: Constant::Value(0x5400_0001),
};
