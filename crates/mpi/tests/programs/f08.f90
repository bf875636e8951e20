!ranks: 2
!: MPI_Init 1
!: MPI_Finalize 1
!: MPI_Comm_rank 1
!: MPI_Comm_size 1
!: MPI_Send 1 0
!: MPI_Recv 0 1
!: MPI_Isend 1
!: MPI_Irecv 1
!: MPI_Waitall 1
!: MPI_Wait 1
!: MPI_Allreduce 2
!: MPI_Bcast 1
!: MPI_Barrier 1
!: MPI_Sendrecv 1
!: MPI_Gather 1
!: MPI_Comm_dup 1
!: MPI_Comm_free 1
!: MPI_Wtime 1
!: MPI_Get_count 0 1
!: mpich: MPI_Type_create_hvector 1
!: mpich: MPI_Type_commit 1
!: mpich: MPI_Type_free 1
!: unpaired 0
!: uncovered 0
! Every call of the program is seen once, array sections and special constants included. (The binding of MPICH makes a
! datatype of its own for a section that is not contiguous.)
program sections
  use mpi_f08
  implicit none
  integer :: rank, size, other, got, count
  integer :: a(3, 4), b(4), sums(4), all(2)
  double precision :: now
  type(MPI_Request) :: requests(2), single
  type(MPI_Status) :: status
  type(MPI_Comm) :: comm
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, size)
  other = 1 - rank
  a = 0
  a(2, :) = [1, 2, 3, 4] + 10 * rank
  b = 0
  if (rank == 0) then
    call MPI_Send(a(2, 1), 1, MPI_INTEGER, 1, 7, MPI_COMM_WORLD)
  else
    call MPI_Recv(got, 1, MPI_INTEGER, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, status)
    call MPI_Get_count(status, MPI_INTEGER, count)
    print *, 'received', got, status%MPI_SOURCE, status%MPI_TAG, count
  end if
  call MPI_Irecv(b, 4, MPI_INTEGER, other, 8, MPI_COMM_WORLD, requests(1))
  call MPI_Isend(a(2, :), 4, MPI_INTEGER, other, 8, MPI_COMM_WORLD, requests(2))
  call MPI_Waitall(1, requests, MPI_STATUSES_IGNORE)
  single = requests(2)
  call MPI_Wait(single, MPI_STATUS_IGNORE)
  call MPI_Allreduce(b, sums, 4, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  call MPI_Allreduce(MPI_IN_PLACE, b, 4, MPI_INTEGER, MPI_MAX, MPI_COMM_WORLD)
  call MPI_Bcast(got, 1, MPI_INTEGER, 1, MPI_COMM_WORLD)
  call MPI_Comm_dup(MPI_COMM_WORLD, comm)
  call MPI_Sendrecv(rank, 1, MPI_INTEGER, other, 1, got, 1, MPI_INTEGER, other, 1, comm, MPI_STATUS_IGNORE)
  call MPI_Gather(rank, 1, MPI_INTEGER, all, 1, MPI_INTEGER, 0, comm)
  call MPI_Comm_free(comm)
  now = MPI_Wtime()
  call MPI_Barrier(MPI_COMM_WORLD)
  print *, rank, size, got, sums, b
  call MPI_Finalize()
end program
