!ranks: 2
!: MPI_Init 1
!: MPI_Finalize 1
!: MPI_Comm_rank 1
!: MPI_Send 1 0
!: MPI_Recv 0 1
!: MPI_Irecv 1
!: MPI_Isend 1
!: MPI_Waitall 1
!: MPI_Allreduce 2
!: MPI_Bcast 1
!: MPI_Reduce 1
!: MPI_Barrier 1
!: MPI_Comm_split 1
!: MPI_Comm_free 1
!: MPI_Wtime 2
!: unpaired 0
!: uncovered 0
! The oldest binding.
program old
  implicit none
  include 'mpif.h'
  integer :: rank, other, got, error, comm
  integer :: requests(2), status(MPI_STATUS_SIZE)
  double precision :: started, x, y
  call MPI_INIT(error)
  call MPI_COMM_RANK(MPI_COMM_WORLD, rank, error)
  started = MPI_WTIME()
  other = 1 - rank
  got = -1
  if (rank == 0) then
    call MPI_SEND(rank, 1, MPI_INTEGER, 1, 3, MPI_COMM_WORLD, error)
  else
    call MPI_RECV(got, 1, MPI_INTEGER, 0, 3, MPI_COMM_WORLD, status, error)
  end if
  call MPI_IRECV(got, 1, MPI_INTEGER, other, 4, MPI_COMM_WORLD, requests(1), error)
  call MPI_ISEND(rank, 1, MPI_INTEGER, other, 4, MPI_COMM_WORLD, requests(2), error)
  call MPI_WAITALL(2, requests, MPI_STATUSES_IGNORE, error)
  x = rank + 0.5d0
  call MPI_ALLREDUCE(x, y, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, error)
  call MPI_ALLREDUCE(MPI_IN_PLACE, x, 1, MPI_DOUBLE_PRECISION, MPI_MAX, MPI_COMM_WORLD, error)
  call MPI_BCAST(y, 1, MPI_DOUBLE_PRECISION, 0, MPI_COMM_WORLD, error)
  call MPI_REDUCE(rank, got, 1, MPI_INTEGER, MPI_SUM, 1, MPI_COMM_WORLD, error)
  call MPI_COMM_SPLIT(MPI_COMM_WORLD, rank, 0, comm, error)
  call MPI_COMM_FREE(comm, error)
  call MPI_BARRIER(MPI_COMM_WORLD, error)
  print *, rank, got, x, y, MPI_WTIME() >= started
  call MPI_FINALIZE(error)
end program
