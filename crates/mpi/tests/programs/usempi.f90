!ranks: 2
!: MPI_Init_thread 1
!: MPI_Finalize 1
!: MPI_Comm_rank 1
!: MPI_Send_init 1
!: MPI_Recv_init 1
!: MPI_Startall 2
!: MPI_Waitall 2
!: MPI_Request_free 2
!: MPI_Sendrecv_replace 1
!: MPI_Win_create 1
!: MPI_Win_fence 2
!: MPI_Put 1
!: MPI_Win_free 1
!: MPI_Dist_graph_create_adjacent 1
!: MPI_Neighbor_allgather 1
!: MPI_Iallreduce 1
!: MPI_Wait 1
!: MPI_File_open 1
!: MPI_File_write_at_all 1
!: MPI_File_close 1
!: MPI_Comm_free 1
!: unpaired 0
!: uncovered 0
! The binding between: a module, with handles that are numbers.
program between
  use mpi
  implicit none
  integer, parameter :: one = 1
  integer :: rank, other, level, error, turn, requests(2), status(MPI_STATUS_SIZE), window, graph, file, request
  integer :: sent, got, turned, total, from(1)
  integer, volatile :: part
  integer(MPI_ADDRESS_KIND) :: bytes, there
  integer(MPI_OFFSET_KIND) :: place
  call MPI_Init_thread(MPI_THREAD_SINGLE, level, error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  other = 1 - rank
  call MPI_Send_init(sent, one, MPI_INTEGER, other, 3, MPI_COMM_WORLD, requests(1), error)
  call MPI_Recv_init(got, one, MPI_INTEGER, other, 3, MPI_COMM_WORLD, requests(2), error)
  do turn = 1, 2
    sent = 10 * turn + rank
    call MPI_Startall(2, requests, error)
    call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, error)
  end do
  call MPI_Request_free(requests(1), error)
  call MPI_Request_free(requests(2), error)
  turned = rank
  call MPI_Sendrecv_replace(turned, one, MPI_INTEGER, other, 4, other, 4, MPI_COMM_WORLD, status, error)
  bytes = 4
  there = 0
  part = -1
  call MPI_Win_create(part, bytes, 4, MPI_INFO_NULL, MPI_COMM_WORLD, window, error)
  call MPI_Win_fence(0, window, error)
  call MPI_Put(sent, one, MPI_INTEGER, other, there, one, MPI_INTEGER, window, error)
  call MPI_Win_fence(0, window, error)
  level = part
  call MPI_Win_free(window, error)
  call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, [other], MPI_UNWEIGHTED, 1, [other], MPI_UNWEIGHTED, &
    MPI_INFO_NULL, .false., graph, error)
  call MPI_Neighbor_allgather(turned, one, MPI_INTEGER, from, one, MPI_INTEGER, graph, error)
  call MPI_Comm_free(graph, error)
  call MPI_Iallreduce(rank, total, one, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, request, error)
  call MPI_Wait(request, MPI_STATUS_IGNORE, error)
  call MPI_File_open(MPI_COMM_WORLD, 'written', MPI_MODE_CREATE + MPI_MODE_WRONLY, MPI_INFO_NULL, file, error)
  place = 4 * rank
  call MPI_File_write_at_all(file, place, rank, one, MPI_INTEGER, MPI_STATUS_IGNORE, error)
  call MPI_File_close(file, error)
  print *, rank, got, turned, level, from, total
  call MPI_Finalize(error)
end program
