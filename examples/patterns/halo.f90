! Neighbours exchange their borders, in Fortran 2008: tare validate --preset all -- mpirun -n 2 ./halo
module kernel
  implicit none
  abstract interface
    subroutine action(x)
      double precision, intent(inout) :: x
    end subroutine action
  end interface
  ! Through a pointer, so that it stays a function of its own.
  procedure(action), pointer :: act => step
contains
  subroutine step(x)
    double precision, intent(inout) :: x
    integer :: i
    do i = 1, 6
      x = 1d0 / (1d0 + x)
    end do
  end subroutine step

  subroutine work(steps, x)
    integer, intent(in) :: steps
    double precision, intent(inout) :: x
    integer :: i
    do i = 1, steps
      call act(x)
    end do
  end subroutine work
end module kernel

program halo
  use mpi_f08
  use kernel
  implicit none
  integer :: rank, size, next, last, round
  double precision :: field(0:101), change, total
  type(MPI_Request) :: requests(4)

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, size)
  next = modulo(rank + 1, size)
  last = modulo(rank - 1, size)
  field = rank
  do round = 0, 1999
    call MPI_Irecv(field(0), 1, MPI_DOUBLE_PRECISION, last, 1, MPI_COMM_WORLD, requests(1))
    call MPI_Irecv(field(101), 1, MPI_DOUBLE_PRECISION, next, 2, MPI_COMM_WORLD, requests(2))
    call MPI_Isend(field(100), 1, MPI_DOUBLE_PRECISION, next, 1, MPI_COMM_WORLD, requests(3))
    call MPI_Isend(field(1), 1, MPI_DOUBLE_PRECISION, last, 2, MPI_COMM_WORLD, requests(4))
    change = field(50)
    call work(1000 + 1500 * modulo(rank + round / 16, 2), change)
    call MPI_Waitall(4, requests, MPI_STATUSES_IGNORE)
    call MPI_Allreduce(change, total, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD)
  end do
  call MPI_Finalize()
end program halo
