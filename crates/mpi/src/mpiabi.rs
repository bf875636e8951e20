//! The ABI that MPI 5.0 defines for all libraries (`libmpi_abi.so`): handles are pointers whose predefined values are small numbers.
//!
//! What a status holds beyond its three fields is each library's own business.

use crate::abi::{Abi, Constant, StatusLayout, StatusRest};
use tare_format::graph::MpiLibrary;

/// Version 1 of the standard's ABI; drafts of it were numbered 0.
pub static ABI: Abi = Abi {
    library: MpiLibrary::Standard,
    names: &[c"libmpi_abi.so.1", c"libmpi_abi.so.0"],
    handle: 8,
    status: StatusLayout { size: 32, source: 0, tag: 4, error: 8, rest: StatusRest::Asked },
    makes_several: true,
    most_shadows: 256,
    proc_null: -3,
    root: -4,
    any_source: -1,
    any_tag: -2,
    status_ignore: 0,
    in_place: 1,
    truncated: 15,
    in_status: 19,
    pending: 18,
    other_error: 16,
    thread_multiple: 4096,
    no_precede: 2048,
    exclusive: 301,
    cartesian: 211,
    graph: 212,
    distributed_graph: 213,
    comm_world: Constant::Value(0x101),
    comm_self: Constant::Value(0x102),
    comm_null: Constant::Value(0x100),
    request_null: Constant::Value(0x180),
    datatype_null: Constant::Value(0x200),
    file_null: Constant::Value(0x118),
    win_null: Constant::Value(0x110),
    info_null: Constant::Value(0x130),
    byte: Constant::Value(0x247),
    int64: Constant::Value(0x258),
    max: Constant::Value(0x23),
    errors_return: Constant::Value(0x143),
};
