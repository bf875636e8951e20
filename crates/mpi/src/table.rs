//! The table of the functions of MPI (1 to 5.0, with those that 3.0 and 5.0 removed): each with what a call means.
//!
//! Everything follows from this table: the exported wrappers, the regions of the description, and what is done
//! for a call. `word` functions return what fits a general register (`int`, `MPI_Aint`, handles), `real`
//! ones a `double`. Positions are those of the standard's C bindings, counted from 0.
//!
//! Every function of the standard has a row, also where a call means nothing to us: libraries implement some of their
//! functions with others, and inside a function without a wrapper those calls would look like the program's.

use crate::meaning::{
    ABORT, ACCUMULATE, ASK_MATCH, ASK_PROBE, CANCEL, END_JOINT, EXCHANGE, EXCHANGE_REPLACE, FETCH, FINALIZE, FREE_COMM, FREE_REQUEST, GET,
    GET_ACCUMULATE, INIT, JOINT, MATCH, Meaning, PREPARE_RECEIVE, PREPARE_RECEIVE_PARTS, PREPARE_SEND, PREPARE_SEND_BUFFERED, PREPARE_SEND_PARTS,
    PREPARE_SEND_SYNCHRONOUS, PROBE, PUT, RECEIVE, RELEASE, RELEASE_LIST, RELEASE_RANGE, SEND, SEND_BUFFERED, SEND_SYNCHRONOUS, START, START_ALL,
    START_EXCHANGE, START_EXCHANGE_REPLACE, START_RECEIVE, START_SEND, START_SEND_BUFFERED, START_SEND_SYNCHRONOUS, SWAP, TEST, TEST_ALL, TEST_ANY,
    TEST_SOME, WAIT, WAIT_ALL, WAIT_ANY, WAIT_SOME, all_to_all, begin_joint, create, create_apart, create_of_groups, data, from_root, joint,
    neighbours, prefix, prepare_all_to_all, prepare_from_root, prepare_neighbours, prepare_prefix, prepare_to_root, start_access, start_all_to_all,
    start_from_root, start_joint, start_neighbours, start_prefix, start_to_root, to_root, transfer,
};
use crate::spawning::Spawn;
use Meaning::{Plain, Silent, Uncovered};
use core::ffi::CStr;

/// Hands the table to a macro: `word|real NAME meaning;` for each function.
#[macro_export]
#[rustfmt::skip]
macro_rules! for_each_function {
    ($($callback:tt)*) => {
        $($callback)* ! {
            word MPI_Abi_get_fortran_booleans Plain;
            word MPI_Abi_get_fortran_info Plain;
            word MPI_Abi_get_info Plain;
            word MPI_Abi_get_version Meaning::AbiVersion;
            word MPI_Abi_set_fortran_booleans Plain;
            word MPI_Abi_set_fortran_info Plain;
            word MPI_Abort ABORT;
            word MPI_Accumulate Meaning::Access(ACCUMULATE);
            word MPI_Accumulate_c Meaning::Access(ACCUMULATE);
            word MPI_Add_error_class Plain;
            word MPI_Add_error_code Plain;
            word MPI_Add_error_string Plain;
            word MPI_Address Plain;
            word MPI_Aint_add Plain;
            word MPI_Aint_diff Plain;
            word MPI_Allgather all_to_all(6, data(0, 1, 2));
            word MPI_Allgather_c all_to_all(6, data(0, 1, 2));
            word MPI_Allgather_init prepare_all_to_all(6, data(0, 1, 2));
            word MPI_Allgather_init_c prepare_all_to_all(6, data(0, 1, 2));
            word MPI_Allgatherv all_to_all(7, data(0, 1, 2));
            word MPI_Allgatherv_c all_to_all(7, data(0, 1, 2));
            word MPI_Allgatherv_init prepare_all_to_all(7, data(0, 1, 2));
            word MPI_Allgatherv_init_c prepare_all_to_all(7, data(0, 1, 2));
            word MPI_Alloc_mem Plain;
            word MPI_Allreduce all_to_all(5, data(0, 2, 3));
            word MPI_Allreduce_c all_to_all(5, data(0, 2, 3));
            word MPI_Allreduce_init prepare_all_to_all(5, data(0, 2, 3));
            word MPI_Allreduce_init_c prepare_all_to_all(5, data(0, 2, 3));
            word MPI_Alltoall all_to_all(6, data(0, 1, 2));
            word MPI_Alltoall_c all_to_all(6, data(0, 1, 2));
            word MPI_Alltoall_init prepare_all_to_all(6, data(0, 1, 2));
            word MPI_Alltoall_init_c prepare_all_to_all(6, data(0, 1, 2));
            word MPI_Alltoallv all_to_all(8, None);
            word MPI_Alltoallv_c all_to_all(8, None);
            word MPI_Alltoallv_init prepare_all_to_all(8, None);
            word MPI_Alltoallv_init_c prepare_all_to_all(8, None);
            word MPI_Alltoallw all_to_all(8, None);
            word MPI_Alltoallw_c all_to_all(8, None);
            word MPI_Alltoallw_init prepare_all_to_all(8, None);
            word MPI_Alltoallw_init_c prepare_all_to_all(8, None);
            word MPI_Attr_delete Plain;
            word MPI_Attr_get Plain;
            word MPI_Attr_put Plain;
            word MPI_Barrier all_to_all(0, None);
            word MPI_Barrier_init prepare_all_to_all(0, None);
            word MPI_Bcast from_root(3, 4, data(0, 1, 2));
            word MPI_Bcast_c from_root(3, 4, data(0, 1, 2));
            word MPI_Bcast_init prepare_from_root(3, 4, data(0, 1, 2));
            word MPI_Bcast_init_c prepare_from_root(3, 4, data(0, 1, 2));
            word MPI_Bsend SEND_BUFFERED;
            word MPI_Bsend_c SEND_BUFFERED;
            word MPI_Bsend_init PREPARE_SEND_BUFFERED;
            word MPI_Bsend_init_c PREPARE_SEND_BUFFERED;
            word MPI_Buffer_attach Plain;
            word MPI_Buffer_attach_c Plain;
            word MPI_Buffer_detach Uncovered;
            word MPI_Buffer_detach_c Uncovered;
            word MPI_Buffer_flush Uncovered;
            word MPI_Buffer_iflush Uncovered;
            word MPI_Cancel CANCEL;
            word MPI_Cart_coords Plain;
            word MPI_Cart_create create(5);
            word MPI_Cart_get Plain;
            word MPI_Cart_map Plain;
            word MPI_Cart_rank Plain;
            word MPI_Cart_shift Plain;
            word MPI_Cart_sub create(2);
            word MPI_Cartdim_get Plain;
            word MPI_Close_port Plain;
            word MPI_Comm_accept Meaning::Meet(4);
            word MPI_Comm_attach_buffer Plain;
            word MPI_Comm_attach_buffer_c Plain;
            word MPI_Comm_c2f Silent;
            word MPI_Comm_call_errhandler Plain;
            word MPI_Comm_compare Plain;
            word MPI_Comm_connect Meaning::Meet(4);
            word MPI_Comm_create create(2);
            word MPI_Comm_create_errhandler Plain;
            word MPI_Comm_create_from_group create_of_groups(4);
            word MPI_Comm_create_group create_apart(3);
            word MPI_Comm_create_keyval Plain;
            word MPI_Comm_delete_attr Plain;
            word MPI_Comm_detach_buffer Uncovered;
            word MPI_Comm_detach_buffer_c Uncovered;
            word MPI_Comm_disconnect FREE_COMM;
            word MPI_Comm_dup create(1);
            word MPI_Comm_dup_with_info create(2);
            word MPI_Comm_f2c Silent;
            word MPI_Comm_flush_buffer Uncovered;
            word MPI_Comm_free FREE_COMM;
            word MPI_Comm_free_keyval Plain;
            word MPI_Comm_fromint Silent;
            word MPI_Comm_get_attr Plain;
            word MPI_Comm_get_errhandler Plain;
            word MPI_Comm_get_info Plain;
            word MPI_Comm_get_name Plain;
            word MPI_Comm_get_parent Plain;
            word MPI_Comm_group Plain;
            word MPI_Comm_idup Meaning::CreateLater(1, 2);
            word MPI_Comm_idup_with_info Meaning::CreateLater(2, 3);
            word MPI_Comm_iflush_buffer Uncovered;
            word MPI_Comm_join Meaning::Meet(1);
            word MPI_Comm_rank Plain;
            word MPI_Comm_remote_group Plain;
            word MPI_Comm_remote_size Plain;
            word MPI_Comm_set_attr Plain;
            word MPI_Comm_set_errhandler Plain;
            word MPI_Comm_set_info Plain;
            word MPI_Comm_set_name Plain;
            word MPI_Comm_size Plain;
            word MPI_Comm_spawn Meaning::Spawn(Spawn { count: None, command: 0 });
            word MPI_Comm_spawn_multiple Meaning::Spawn(Spawn { count: Some(0), command: 1 });
            word MPI_Comm_split create(3);
            word MPI_Comm_split_type create(4);
            word MPI_Comm_test_inter Plain;
            word MPI_Comm_toint Silent;
            word MPI_Compare_and_swap Meaning::Access(SWAP);
            word MPI_Dims_create Plain;
            word MPI_Dist_graph_create create(8);
            word MPI_Dist_graph_create_adjacent create(9);
            word MPI_Dist_graph_neighbors Plain;
            word MPI_Dist_graph_neighbors_count Plain;
            word MPI_Errhandler_c2f Silent;
            word MPI_Errhandler_create Plain;
            word MPI_Errhandler_f2c Silent;
            word MPI_Errhandler_free Plain;
            word MPI_Errhandler_fromint Silent;
            word MPI_Errhandler_get Plain;
            word MPI_Errhandler_set Plain;
            word MPI_Errhandler_toint Silent;
            word MPI_Error_class Plain;
            word MPI_Error_string Plain;
            word MPI_Exscan prefix(5, data(0, 2, 3));
            word MPI_Exscan_c prefix(5, data(0, 2, 3));
            word MPI_Exscan_init prepare_prefix(5, data(0, 2, 3));
            word MPI_Exscan_init_c prepare_prefix(5, data(0, 2, 3));
            word MPI_Fetch_and_op Meaning::Access(FETCH);
            word MPI_File_c2f Silent;
            word MPI_File_call_errhandler Plain;
            word MPI_File_close Meaning::CloseFile;
            word MPI_File_create_errhandler Plain;
            word MPI_File_delete Plain;
            word MPI_File_f2c Silent;
            word MPI_File_fromint Silent;
            word MPI_File_get_amode Plain;
            word MPI_File_get_atomicity Plain;
            word MPI_File_get_byte_offset Plain;
            word MPI_File_get_errhandler Plain;
            word MPI_File_get_group Plain;
            word MPI_File_get_info Plain;
            word MPI_File_get_position Plain;
            word MPI_File_get_position_shared Plain;
            word MPI_File_get_size Plain;
            word MPI_File_get_type_extent Plain;
            word MPI_File_get_type_extent_c Plain;
            word MPI_File_get_view Plain;
            word MPI_File_iread transfer(1);
            word MPI_File_iread_all start_joint(1);
            word MPI_File_iread_all_c start_joint(1);
            word MPI_File_iread_at transfer(2);
            word MPI_File_iread_at_all start_joint(2);
            word MPI_File_iread_at_all_c start_joint(2);
            word MPI_File_iread_at_c transfer(2);
            word MPI_File_iread_c transfer(1);
            word MPI_File_iread_shared transfer(1);
            word MPI_File_iread_shared_c transfer(1);
            word MPI_File_iwrite transfer(1);
            word MPI_File_iwrite_all start_joint(1);
            word MPI_File_iwrite_all_c start_joint(1);
            word MPI_File_iwrite_at transfer(2);
            word MPI_File_iwrite_at_all start_joint(2);
            word MPI_File_iwrite_at_all_c start_joint(2);
            word MPI_File_iwrite_at_c transfer(2);
            word MPI_File_iwrite_c transfer(1);
            word MPI_File_iwrite_shared transfer(1);
            word MPI_File_iwrite_shared_c transfer(1);
            word MPI_File_open Meaning::OpenFile(0, 4);
            word MPI_File_preallocate JOINT;
            word MPI_File_read transfer(1);
            word MPI_File_read_all joint(1);
            word MPI_File_read_all_begin begin_joint(1);
            word MPI_File_read_all_begin_c begin_joint(1);
            word MPI_File_read_all_c joint(1);
            word MPI_File_read_all_end END_JOINT;
            word MPI_File_read_at transfer(2);
            word MPI_File_read_at_all joint(2);
            word MPI_File_read_at_all_begin begin_joint(2);
            word MPI_File_read_at_all_begin_c begin_joint(2);
            word MPI_File_read_at_all_c joint(2);
            word MPI_File_read_at_all_end END_JOINT;
            word MPI_File_read_at_c transfer(2);
            word MPI_File_read_c transfer(1);
            word MPI_File_read_ordered joint(1);
            word MPI_File_read_ordered_begin begin_joint(1);
            word MPI_File_read_ordered_begin_c begin_joint(1);
            word MPI_File_read_ordered_c joint(1);
            word MPI_File_read_ordered_end END_JOINT;
            word MPI_File_read_shared transfer(1);
            word MPI_File_read_shared_c transfer(1);
            word MPI_File_seek Plain;
            word MPI_File_seek_shared JOINT;
            word MPI_File_set_atomicity JOINT;
            word MPI_File_set_errhandler Plain;
            word MPI_File_set_info JOINT;
            word MPI_File_set_size JOINT;
            word MPI_File_set_view JOINT;
            word MPI_File_sync JOINT;
            word MPI_File_toint Silent;
            word MPI_File_write transfer(1);
            word MPI_File_write_all joint(1);
            word MPI_File_write_all_begin begin_joint(1);
            word MPI_File_write_all_begin_c begin_joint(1);
            word MPI_File_write_all_c joint(1);
            word MPI_File_write_all_end END_JOINT;
            word MPI_File_write_at transfer(2);
            word MPI_File_write_at_all joint(2);
            word MPI_File_write_at_all_begin begin_joint(2);
            word MPI_File_write_at_all_begin_c begin_joint(2);
            word MPI_File_write_at_all_c joint(2);
            word MPI_File_write_at_all_end END_JOINT;
            word MPI_File_write_at_c transfer(2);
            word MPI_File_write_c transfer(1);
            word MPI_File_write_ordered joint(1);
            word MPI_File_write_ordered_begin begin_joint(1);
            word MPI_File_write_ordered_begin_c begin_joint(1);
            word MPI_File_write_ordered_c joint(1);
            word MPI_File_write_ordered_end END_JOINT;
            word MPI_File_write_shared transfer(1);
            word MPI_File_write_shared_c transfer(1);
            word MPI_Finalize FINALIZE;
            word MPI_Finalized Plain;
            word MPI_Free_mem Plain;
            word MPI_Gather to_root(6, 7, data(0, 1, 2));
            word MPI_Gather_c to_root(6, 7, data(0, 1, 2));
            word MPI_Gather_init prepare_to_root(6, 7, data(0, 1, 2));
            word MPI_Gather_init_c prepare_to_root(6, 7, data(0, 1, 2));
            word MPI_Gatherv to_root(7, 8, data(0, 1, 2));
            word MPI_Gatherv_c to_root(7, 8, data(0, 1, 2));
            word MPI_Gatherv_init prepare_to_root(7, 8, data(0, 1, 2));
            word MPI_Gatherv_init_c prepare_to_root(7, 8, data(0, 1, 2));
            word MPI_Get Meaning::Access(GET);
            word MPI_Get_accumulate Meaning::Access(GET_ACCUMULATE);
            word MPI_Get_accumulate_c Meaning::Access(GET_ACCUMULATE);
            word MPI_Get_address Plain;
            word MPI_Get_c Meaning::Access(GET);
            word MPI_Get_count Plain;
            word MPI_Get_count_c Plain;
            word MPI_Get_elements Plain;
            word MPI_Get_elements_c Plain;
            word MPI_Get_elements_x Plain;
            word MPI_Get_hw_resource_info Plain;
            word MPI_Get_library_version Plain;
            word MPI_Get_processor_name Plain;
            word MPI_Get_version Plain;
            word MPI_Graph_create create(5);
            word MPI_Graph_get Plain;
            word MPI_Graph_map Plain;
            word MPI_Graph_neighbors Plain;
            word MPI_Graph_neighbors_count Plain;
            word MPI_Graphdims_get Plain;
            word MPI_Grequest_complete Plain;
            word MPI_Grequest_start Plain;
            word MPI_Group_c2f Silent;
            word MPI_Group_compare Plain;
            word MPI_Group_difference Plain;
            word MPI_Group_excl Plain;
            word MPI_Group_f2c Silent;
            word MPI_Group_free Plain;
            word MPI_Group_from_session_pset Plain;
            word MPI_Group_fromint Silent;
            word MPI_Group_incl Plain;
            word MPI_Group_intersection Plain;
            word MPI_Group_range_excl Plain;
            word MPI_Group_range_incl Plain;
            word MPI_Group_rank Plain;
            word MPI_Group_size Plain;
            word MPI_Group_toint Silent;
            word MPI_Group_translate_ranks Plain;
            word MPI_Group_union Plain;
            word MPI_Iallgather start_all_to_all(6, data(0, 1, 2));
            word MPI_Iallgather_c start_all_to_all(6, data(0, 1, 2));
            word MPI_Iallgatherv start_all_to_all(7, data(0, 1, 2));
            word MPI_Iallgatherv_c start_all_to_all(7, data(0, 1, 2));
            word MPI_Iallreduce start_all_to_all(5, data(0, 2, 3));
            word MPI_Iallreduce_c start_all_to_all(5, data(0, 2, 3));
            word MPI_Ialltoall start_all_to_all(6, data(0, 1, 2));
            word MPI_Ialltoall_c start_all_to_all(6, data(0, 1, 2));
            word MPI_Ialltoallv start_all_to_all(8, None);
            word MPI_Ialltoallv_c start_all_to_all(8, None);
            word MPI_Ialltoallw start_all_to_all(8, None);
            word MPI_Ialltoallw_c start_all_to_all(8, None);
            word MPI_Ibarrier start_all_to_all(0, None);
            word MPI_Ibcast start_from_root(3, 4, data(0, 1, 2));
            word MPI_Ibcast_c start_from_root(3, 4, data(0, 1, 2));
            word MPI_Ibsend START_SEND_BUFFERED;
            word MPI_Ibsend_c START_SEND_BUFFERED;
            word MPI_Iexscan start_prefix(5, data(0, 2, 3));
            word MPI_Iexscan_c start_prefix(5, data(0, 2, 3));
            word MPI_Igather start_to_root(6, 7, data(0, 1, 2));
            word MPI_Igather_c start_to_root(6, 7, data(0, 1, 2));
            word MPI_Igatherv start_to_root(7, 8, data(0, 1, 2));
            word MPI_Igatherv_c start_to_root(7, 8, data(0, 1, 2));
            word MPI_Improbe ASK_MATCH;
            word MPI_Imrecv Plain;
            word MPI_Imrecv_c Plain;
            word MPI_Ineighbor_allgather start_neighbours(6);
            word MPI_Ineighbor_allgather_c start_neighbours(6);
            word MPI_Ineighbor_allgatherv start_neighbours(7);
            word MPI_Ineighbor_allgatherv_c start_neighbours(7);
            word MPI_Ineighbor_alltoall start_neighbours(6);
            word MPI_Ineighbor_alltoall_c start_neighbours(6);
            word MPI_Ineighbor_alltoallv start_neighbours(8);
            word MPI_Ineighbor_alltoallv_c start_neighbours(8);
            word MPI_Ineighbor_alltoallw start_neighbours(8);
            word MPI_Ineighbor_alltoallw_c start_neighbours(8);
            word MPI_Info_c2f Silent;
            word MPI_Info_create Plain;
            word MPI_Info_create_env Plain;
            word MPI_Info_delete Plain;
            word MPI_Info_dup Plain;
            word MPI_Info_f2c Silent;
            word MPI_Info_free Plain;
            word MPI_Info_fromint Silent;
            word MPI_Info_get Plain;
            word MPI_Info_get_nkeys Plain;
            word MPI_Info_get_nthkey Plain;
            word MPI_Info_get_string Plain;
            word MPI_Info_get_valuelen Plain;
            word MPI_Info_set Plain;
            word MPI_Info_toint Silent;
            word MPI_Init INIT;
            word MPI_Init_thread INIT;
            word MPI_Initialized Plain;
            word MPI_Intercomm_create create_apart(5);
            word MPI_Intercomm_create_from_groups create_of_groups(7);
            word MPI_Intercomm_merge create_apart(2);
            word MPI_Iprobe ASK_PROBE;
            word MPI_Irecv START_RECEIVE;
            word MPI_Irecv_c START_RECEIVE;
            word MPI_Ireduce start_to_root(5, 6, data(0, 2, 3));
            word MPI_Ireduce_c start_to_root(5, 6, data(0, 2, 3));
            word MPI_Ireduce_scatter start_all_to_all(5, None);
            word MPI_Ireduce_scatter_block start_all_to_all(5, data(0, 2, 3));
            word MPI_Ireduce_scatter_block_c start_all_to_all(5, data(0, 2, 3));
            word MPI_Ireduce_scatter_c start_all_to_all(5, None);
            word MPI_Irsend START_SEND;
            word MPI_Irsend_c START_SEND;
            word MPI_Is_thread_main Plain;
            word MPI_Iscan start_prefix(5, data(0, 2, 3));
            word MPI_Iscan_c start_prefix(5, data(0, 2, 3));
            word MPI_Iscatter start_from_root(6, 7, data(3, 4, 5));
            word MPI_Iscatter_c start_from_root(6, 7, data(3, 4, 5));
            word MPI_Iscatterv start_from_root(7, 8, data(4, 5, 6));
            word MPI_Iscatterv_c start_from_root(7, 8, data(4, 5, 6));
            word MPI_Isend START_SEND;
            word MPI_Isend_c START_SEND;
            word MPI_Isendrecv START_EXCHANGE;
            word MPI_Isendrecv_c START_EXCHANGE;
            word MPI_Isendrecv_replace START_EXCHANGE_REPLACE;
            word MPI_Isendrecv_replace_c START_EXCHANGE_REPLACE;
            word MPI_Issend START_SEND_SYNCHRONOUS;
            word MPI_Issend_c START_SEND_SYNCHRONOUS;
            word MPI_Keyval_create Plain;
            word MPI_Keyval_free Plain;
            word MPI_Lookup_name Plain;
            word MPI_Message_c2f Silent;
            word MPI_Message_f2c Silent;
            word MPI_Message_fromint Silent;
            word MPI_Message_toint Silent;
            word MPI_Mprobe MATCH;
            word MPI_Mrecv Plain;
            word MPI_Mrecv_c Plain;
            word MPI_Neighbor_allgather neighbours(6);
            word MPI_Neighbor_allgather_c neighbours(6);
            word MPI_Neighbor_allgather_init prepare_neighbours(6);
            word MPI_Neighbor_allgather_init_c prepare_neighbours(6);
            word MPI_Neighbor_allgatherv neighbours(7);
            word MPI_Neighbor_allgatherv_c neighbours(7);
            word MPI_Neighbor_allgatherv_init prepare_neighbours(7);
            word MPI_Neighbor_allgatherv_init_c prepare_neighbours(7);
            word MPI_Neighbor_alltoall neighbours(6);
            word MPI_Neighbor_alltoall_c neighbours(6);
            word MPI_Neighbor_alltoall_init prepare_neighbours(6);
            word MPI_Neighbor_alltoall_init_c prepare_neighbours(6);
            word MPI_Neighbor_alltoallv neighbours(8);
            word MPI_Neighbor_alltoallv_c neighbours(8);
            word MPI_Neighbor_alltoallv_init prepare_neighbours(8);
            word MPI_Neighbor_alltoallv_init_c prepare_neighbours(8);
            word MPI_Neighbor_alltoallw neighbours(8);
            word MPI_Neighbor_alltoallw_c neighbours(8);
            word MPI_Neighbor_alltoallw_init prepare_neighbours(8);
            word MPI_Neighbor_alltoallw_init_c prepare_neighbours(8);
            word MPI_Op_c2f Silent;
            word MPI_Op_commutative Plain;
            word MPI_Op_create Plain;
            word MPI_Op_create_c Plain;
            word MPI_Op_f2c Silent;
            word MPI_Op_free Plain;
            word MPI_Op_fromint Silent;
            word MPI_Op_toint Silent;
            word MPI_Open_port Plain;
            word MPI_Pack Plain;
            word MPI_Pack_c Plain;
            word MPI_Pack_external Plain;
            word MPI_Pack_external_c Plain;
            word MPI_Pack_external_size Plain;
            word MPI_Pack_external_size_c Plain;
            word MPI_Pack_size Plain;
            word MPI_Pack_size_c Plain;
            word MPI_Parrived Plain;
            word MPI_Pcontrol Meaning::Control;
            word MPI_Pready RELEASE;
            word MPI_Pready_list RELEASE_LIST;
            word MPI_Pready_range RELEASE_RANGE;
            word MPI_Precv_init PREPARE_RECEIVE_PARTS;
            word MPI_Precv_init_c PREPARE_RECEIVE_PARTS;
            word MPI_Probe PROBE;
            word MPI_Psend_init PREPARE_SEND_PARTS;
            word MPI_Psend_init_c PREPARE_SEND_PARTS;
            word MPI_Publish_name Plain;
            word MPI_Put Meaning::Access(PUT);
            word MPI_Put_c Meaning::Access(PUT);
            word MPI_Query_thread Plain;
            word MPI_Raccumulate start_access(ACCUMULATE);
            word MPI_Raccumulate_c start_access(ACCUMULATE);
            word MPI_Recv RECEIVE;
            word MPI_Recv_c RECEIVE;
            word MPI_Recv_init PREPARE_RECEIVE;
            word MPI_Recv_init_c PREPARE_RECEIVE;
            word MPI_Reduce to_root(5, 6, data(0, 2, 3));
            word MPI_Reduce_c to_root(5, 6, data(0, 2, 3));
            word MPI_Reduce_init prepare_to_root(5, 6, data(0, 2, 3));
            word MPI_Reduce_init_c prepare_to_root(5, 6, data(0, 2, 3));
            word MPI_Reduce_local Plain;
            word MPI_Reduce_local_c Plain;
            word MPI_Reduce_scatter all_to_all(5, None);
            word MPI_Reduce_scatter_block all_to_all(5, data(0, 2, 3));
            word MPI_Reduce_scatter_block_c all_to_all(5, data(0, 2, 3));
            word MPI_Reduce_scatter_block_init prepare_all_to_all(5, data(0, 2, 3));
            word MPI_Reduce_scatter_block_init_c prepare_all_to_all(5, data(0, 2, 3));
            word MPI_Reduce_scatter_c all_to_all(5, None);
            word MPI_Reduce_scatter_init prepare_all_to_all(5, None);
            word MPI_Reduce_scatter_init_c prepare_all_to_all(5, None);
            word MPI_Register_datarep Plain;
            word MPI_Register_datarep_c Plain;
            word MPI_Remove_error_class Plain;
            word MPI_Remove_error_code Plain;
            word MPI_Remove_error_string Plain;
            word MPI_Request_c2f Silent;
            word MPI_Request_f2c Silent;
            word MPI_Request_free FREE_REQUEST;
            word MPI_Request_fromint Silent;
            word MPI_Request_get_status Meaning::Ask(None, 0, 1);
            word MPI_Request_get_status_all Meaning::Ask(Some(0), 1, 2);
            word MPI_Request_get_status_any Meaning::Ask(Some(0), 1, 3);
            word MPI_Request_get_status_some Meaning::Ask(Some(0), 1, 2);
            word MPI_Request_toint Silent;
            word MPI_Rget start_access(GET);
            word MPI_Rget_accumulate start_access(GET_ACCUMULATE);
            word MPI_Rget_accumulate_c start_access(GET_ACCUMULATE);
            word MPI_Rget_c start_access(GET);
            word MPI_Rput start_access(PUT);
            word MPI_Rput_c start_access(PUT);
            word MPI_Rsend SEND;
            word MPI_Rsend_c SEND;
            word MPI_Rsend_init PREPARE_SEND;
            word MPI_Rsend_init_c PREPARE_SEND;
            word MPI_Scan prefix(5, data(0, 2, 3));
            word MPI_Scan_c prefix(5, data(0, 2, 3));
            word MPI_Scan_init prepare_prefix(5, data(0, 2, 3));
            word MPI_Scan_init_c prepare_prefix(5, data(0, 2, 3));
            word MPI_Scatter from_root(6, 7, data(3, 4, 5));
            word MPI_Scatter_c from_root(6, 7, data(3, 4, 5));
            word MPI_Scatter_init prepare_from_root(6, 7, data(3, 4, 5));
            word MPI_Scatter_init_c prepare_from_root(6, 7, data(3, 4, 5));
            word MPI_Scatterv from_root(7, 8, data(4, 5, 6));
            word MPI_Scatterv_c from_root(7, 8, data(4, 5, 6));
            word MPI_Scatterv_init prepare_from_root(7, 8, data(4, 5, 6));
            word MPI_Scatterv_init_c prepare_from_root(7, 8, data(4, 5, 6));
            word MPI_Send SEND;
            word MPI_Send_c SEND;
            word MPI_Send_init PREPARE_SEND;
            word MPI_Send_init_c PREPARE_SEND;
            word MPI_Sendrecv EXCHANGE;
            word MPI_Sendrecv_c EXCHANGE;
            word MPI_Sendrecv_replace EXCHANGE_REPLACE;
            word MPI_Sendrecv_replace_c EXCHANGE_REPLACE;
            word MPI_Session_attach_buffer Plain;
            word MPI_Session_attach_buffer_c Plain;
            word MPI_Session_c2f Silent;
            word MPI_Session_call_errhandler Plain;
            word MPI_Session_create_errhandler Plain;
            word MPI_Session_detach_buffer Uncovered;
            word MPI_Session_detach_buffer_c Uncovered;
            word MPI_Session_f2c Silent;
            word MPI_Session_finalize Meaning::CloseSession;
            word MPI_Session_flush_buffer Uncovered;
            word MPI_Session_fromint Silent;
            word MPI_Session_get_errhandler Plain;
            word MPI_Session_get_info Plain;
            word MPI_Session_get_nth_pset Plain;
            word MPI_Session_get_num_psets Plain;
            word MPI_Session_get_pset_info Plain;
            word MPI_Session_iflush_buffer Uncovered;
            word MPI_Session_init Meaning::OpenSession;
            word MPI_Session_set_errhandler Plain;
            word MPI_Session_set_info Plain;
            word MPI_Session_toint Silent;
            word MPI_Ssend SEND_SYNCHRONOUS;
            word MPI_Ssend_c SEND_SYNCHRONOUS;
            word MPI_Ssend_init PREPARE_SEND_SYNCHRONOUS;
            word MPI_Ssend_init_c PREPARE_SEND_SYNCHRONOUS;
            word MPI_Start START;
            word MPI_Startall START_ALL;
            word MPI_Status_c2f Silent;
            word MPI_Status_c2f08 Silent;
            word MPI_Status_f082c Silent;
            word MPI_Status_f082f Silent;
            word MPI_Status_f2c Silent;
            word MPI_Status_f2f08 Silent;
            word MPI_Status_get_error Plain;
            word MPI_Status_get_source Plain;
            word MPI_Status_get_tag Plain;
            word MPI_Status_set_cancelled Plain;
            word MPI_Status_set_elements Plain;
            word MPI_Status_set_elements_c Plain;
            word MPI_Status_set_elements_x Plain;
            word MPI_Status_set_error Plain;
            word MPI_Status_set_source Plain;
            word MPI_Status_set_tag Plain;
            word MPI_T_category_changed Silent;
            word MPI_T_category_get_categories Silent;
            word MPI_T_category_get_cvars Silent;
            word MPI_T_category_get_events Silent;
            word MPI_T_category_get_index Silent;
            word MPI_T_category_get_info Silent;
            word MPI_T_category_get_num Silent;
            word MPI_T_category_get_num_events Silent;
            word MPI_T_category_get_pvars Silent;
            word MPI_T_cvar_get_index Silent;
            word MPI_T_cvar_get_info Silent;
            word MPI_T_cvar_get_num Silent;
            word MPI_T_cvar_handle_alloc Silent;
            word MPI_T_cvar_handle_free Silent;
            word MPI_T_cvar_read Silent;
            word MPI_T_cvar_write Silent;
            word MPI_T_enum_get_info Silent;
            word MPI_T_enum_get_item Silent;
            word MPI_T_event_callback_get_info Silent;
            word MPI_T_event_callback_set_info Silent;
            word MPI_T_event_copy Silent;
            word MPI_T_event_get_index Silent;
            word MPI_T_event_get_info Silent;
            word MPI_T_event_get_num Silent;
            word MPI_T_event_get_source Silent;
            word MPI_T_event_get_timestamp Silent;
            word MPI_T_event_handle_alloc Silent;
            word MPI_T_event_handle_free Silent;
            word MPI_T_event_handle_get_info Silent;
            word MPI_T_event_handle_set_info Silent;
            word MPI_T_event_read Silent;
            word MPI_T_event_register_callback Silent;
            word MPI_T_event_set_dropped_handler Silent;
            word MPI_T_finalize Silent;
            word MPI_T_init_thread Silent;
            word MPI_T_pvar_get_index Silent;
            word MPI_T_pvar_get_info Silent;
            word MPI_T_pvar_get_num Silent;
            word MPI_T_pvar_handle_alloc Silent;
            word MPI_T_pvar_handle_free Silent;
            word MPI_T_pvar_read Silent;
            word MPI_T_pvar_readreset Silent;
            word MPI_T_pvar_reset Silent;
            word MPI_T_pvar_session_create Silent;
            word MPI_T_pvar_session_free Silent;
            word MPI_T_pvar_start Silent;
            word MPI_T_pvar_stop Silent;
            word MPI_T_pvar_write Silent;
            word MPI_T_source_get_info Silent;
            word MPI_T_source_get_num Silent;
            word MPI_T_source_get_timestamp Silent;
            word MPI_Test TEST;
            word MPI_Test_cancelled Plain;
            word MPI_Testall TEST_ALL;
            word MPI_Testany TEST_ANY;
            word MPI_Testsome TEST_SOME;
            word MPI_Topo_test Plain;
            word MPI_Type_c2f Silent;
            word MPI_Type_commit Plain;
            word MPI_Type_contiguous Plain;
            word MPI_Type_contiguous_c Plain;
            word MPI_Type_create_darray Plain;
            word MPI_Type_create_darray_c Plain;
            word MPI_Type_create_f90_complex Plain;
            word MPI_Type_create_f90_integer Plain;
            word MPI_Type_create_f90_real Plain;
            word MPI_Type_create_hindexed Plain;
            word MPI_Type_create_hindexed_block Plain;
            word MPI_Type_create_hindexed_block_c Plain;
            word MPI_Type_create_hindexed_c Plain;
            word MPI_Type_create_hvector Plain;
            word MPI_Type_create_hvector_c Plain;
            word MPI_Type_create_indexed_block Plain;
            word MPI_Type_create_indexed_block_c Plain;
            word MPI_Type_create_keyval Plain;
            word MPI_Type_create_resized Plain;
            word MPI_Type_create_resized_c Plain;
            word MPI_Type_create_struct Plain;
            word MPI_Type_create_struct_c Plain;
            word MPI_Type_create_subarray Plain;
            word MPI_Type_create_subarray_c Plain;
            word MPI_Type_delete_attr Plain;
            word MPI_Type_dup Plain;
            word MPI_Type_extent Plain;
            word MPI_Type_f2c Silent;
            word MPI_Type_free Plain;
            word MPI_Type_free_keyval Plain;
            word MPI_Type_fromint Silent;
            word MPI_Type_get_attr Plain;
            word MPI_Type_get_contents Plain;
            word MPI_Type_get_contents_c Plain;
            word MPI_Type_get_envelope Plain;
            word MPI_Type_get_envelope_c Plain;
            word MPI_Type_get_extent Plain;
            word MPI_Type_get_extent_c Plain;
            word MPI_Type_get_extent_x Plain;
            word MPI_Type_get_name Plain;
            word MPI_Type_get_true_extent Plain;
            word MPI_Type_get_true_extent_c Plain;
            word MPI_Type_get_true_extent_x Plain;
            word MPI_Type_get_value_index Plain;
            word MPI_Type_hindexed Plain;
            word MPI_Type_hvector Plain;
            word MPI_Type_indexed Plain;
            word MPI_Type_indexed_c Plain;
            word MPI_Type_lb Plain;
            word MPI_Type_match_size Plain;
            word MPI_Type_set_attr Plain;
            word MPI_Type_set_name Plain;
            word MPI_Type_size Plain;
            word MPI_Type_size_c Plain;
            word MPI_Type_size_x Plain;
            word MPI_Type_struct Plain;
            word MPI_Type_toint Silent;
            word MPI_Type_ub Plain;
            word MPI_Type_vector Plain;
            word MPI_Type_vector_c Plain;
            word MPI_Unpack Plain;
            word MPI_Unpack_c Plain;
            word MPI_Unpack_external Plain;
            word MPI_Unpack_external_c Plain;
            word MPI_Unpublish_name Plain;
            word MPI_Wait WAIT;
            word MPI_Waitall WAIT_ALL;
            word MPI_Waitany WAIT_ANY;
            word MPI_Waitsome WAIT_SOME;
            word MPI_Win_allocate Meaning::CreateWindow(3, 5);
            word MPI_Win_allocate_c Meaning::CreateWindow(3, 5);
            word MPI_Win_allocate_shared Meaning::CreateWindow(3, 5);
            word MPI_Win_allocate_shared_c Meaning::CreateWindow(3, 5);
            word MPI_Win_attach Plain;
            word MPI_Win_c2f Silent;
            word MPI_Win_call_errhandler Plain;
            word MPI_Win_complete Meaning::EndReach(0);
            word MPI_Win_create Meaning::CreateWindow(4, 5);
            word MPI_Win_create_c Meaning::CreateWindow(4, 5);
            word MPI_Win_create_dynamic Meaning::CreateWindow(1, 2);
            word MPI_Win_create_errhandler Plain;
            word MPI_Win_create_keyval Plain;
            word MPI_Win_delete_attr Plain;
            word MPI_Win_detach Plain;
            word MPI_Win_f2c Silent;
            word MPI_Win_fence Meaning::Fence(1, 0);
            word MPI_Win_flush Meaning::Flush(Some(0), 1);
            word MPI_Win_flush_all Meaning::Flush(None, 0);
            word MPI_Win_flush_local Meaning::Flush(Some(0), 1);
            word MPI_Win_flush_local_all Meaning::Flush(None, 0);
            word MPI_Win_free Meaning::FreeWindow;
            word MPI_Win_free_keyval Plain;
            word MPI_Win_fromint Silent;
            word MPI_Win_get_attr Plain;
            word MPI_Win_get_errhandler Plain;
            word MPI_Win_get_group Plain;
            word MPI_Win_get_info Plain;
            word MPI_Win_get_name Plain;
            word MPI_Win_lock Meaning::Lock(Some(1), Some(0), 3);
            word MPI_Win_lock_all Meaning::Lock(None, None, 1);
            word MPI_Win_post Meaning::Expose(0, 2);
            word MPI_Win_set_attr Plain;
            word MPI_Win_set_errhandler Plain;
            word MPI_Win_set_info Plain;
            word MPI_Win_set_name Plain;
            word MPI_Win_shared_query Plain;
            word MPI_Win_shared_query_c Plain;
            word MPI_Win_start Meaning::Reach(0, 2);
            word MPI_Win_sync Plain;
            word MPI_Win_test Meaning::EndExposure(0, Some(1));
            word MPI_Win_toint Silent;
            word MPI_Win_unlock Meaning::Unlock(Some(0), 1);
            word MPI_Win_unlock_all Meaning::Unlock(None, 0);
            word MPI_Win_wait Meaning::EndExposure(0, None);
            real MPI_Wtick Plain;
            real MPI_Wtime Plain;
        }
    };
}

/// What is known of one function.
#[derive(Clone, Copy, Debug)]
pub struct Function {
    /// `MPI_Send`.
    pub name: &'static str,
    /// `PMPI_Send`.
    pub profiling_name: &'static CStr,
    /// What a call means.
    pub meaning: Meaning,
    /// Whether it returns a `double`.
    pub real: bool,
    /// Whether counts are `MPI_Count` rather than `int`.
    pub large: bool,
}

const fn is_large(name: &str) -> bool {
    let name = name.as_bytes();
    name[name.len() - 2] == b'_' && name[name.len() - 1] == b'c'
}

const fn terminated(name: &'static str) -> &'static CStr {
    match CStr::from_bytes_with_nul(name.as_bytes()) {
        Ok(name) => name,
        Err(_) => panic!("names in the table have no zeros"),
    }
}

macro_rules! make_table {
    ($($kind:ident $name:ident $meaning:expr;)*) => {
        /// A function by its name.
        #[allow(non_camel_case_types, missing_docs, reason = "the names are the standard's")]
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        #[repr(usize)]
        pub enum Id { $($name),* }

        /// The functions in the order of [`Id`].
        pub static FUNCTIONS: &[Function] = &[$(Function {
            name: stringify!($name),
            profiling_name: terminated(concat!("P", stringify!($name), "\0")),
            meaning: $meaning,
            real: make_table!(@ $kind),
            large: is_large(stringify!($name)),
        }),*];
    };
    (@ word) => { false };
    (@ real) => { true };
}
for_each_function!(make_table);

/// What the table says of a function.
#[must_use]
pub fn function(id: Id) -> &'static Function {
    &FUNCTIONS[id as usize]
}

#[cfg(test)]
mod tests {
    use super::{FUNCTIONS, Id, function};

    #[test]
    fn names_are_sorted_and_unique() {
        let names: Vec<String> = FUNCTIONS.iter().map(|function| function.name.to_lowercase()).collect();
        assert!(names.is_sorted_by(|a, b| a < b));
    }

    #[test]
    fn ids_are_indices_and_large_counts_are_known_by_name() {
        assert_eq!(function(Id::MPI_Waitall).name, "MPI_Waitall");
        assert!(function(Id::MPI_Send_c).large && !function(Id::MPI_Send).large);
        assert!(!function(Id::MPI_Comm_f2c).large);
    }
}
