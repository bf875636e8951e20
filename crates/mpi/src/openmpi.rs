//! The ABI of Open MPI (`libmpi.so.40`): handles are pointers to data symbols of the library.

use crate::abi::{Abi, Constant, StatusLayout, StatusRest, word};
use tare_format::graph::MpiLibrary;

/// Open MPI 4 and 5.
pub static ABI: Abi = Abi {
    library: MpiLibrary::OpenMpi,
    names: &[c"libmpi.so.40"],
    handle: 8,
    status: StatusLayout {
        size: 24,
        source: 0,
        tag: 4,
        error: 8,
        rest: StatusRest::Known {
            bytes: |status| u64::from(word(status, 16).cast_unsigned()) | u64::from(word(status, 20).cast_unsigned()) << 32,
            cancelled: |status| word(status, 12) != 0,
        },
    },
    makes_several: false,
    most_shadows: 8192,
    proc_null: -2,
    root: -4,
    any_source: -1,
    any_tag: -1,
    status_ignore: 0,
    in_place: 1,
    truncated: 15,
    in_status: 18,
    pending: 19,
    other_error: 16,
    thread_multiple: 3,
    no_precede: 2,
    exclusive: 1,
    cartesian: 1,
    graph: 2,
    distributed_graph: 3,
    comm_world: Constant::Symbol(c"ompi_mpi_comm_world"),
    comm_self: Constant::Symbol(c"ompi_mpi_comm_self"),
    comm_null: Constant::Symbol(c"ompi_mpi_comm_null"),
    request_null: Constant::Symbol(c"ompi_request_null"),
    datatype_null: Constant::Symbol(c"ompi_mpi_datatype_null"),
    file_null: Constant::Symbol(c"ompi_mpi_file_null"),
    win_null: Constant::Symbol(c"ompi_mpi_win_null"),
    info_null: Constant::Symbol(c"ompi_mpi_info_null"),
    byte: Constant::Symbol(c"ompi_mpi_byte"),
    int64: Constant::Symbol(c"ompi_mpi_int64_t"),
    max: Constant::Symbol(c"ompi_mpi_op_max"),
    errors_return: Constant::Symbol(c"ompi_mpi_errors_return"),
};
