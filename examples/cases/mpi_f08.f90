! A ring of ranks in modern Fortran: every rank smooths its part of a line and exchanges its ends with its neighbours.
module smoothing
  implicit none
contains
  pure real(8) function smoothed(left, middle, right)
    real(8), intent(in) :: left, middle, right
    smoothed = 0.25d0 * left + 0.5d0 * middle + 0.25d0 * right
  end function

  subroutine sweep(line)
    real(8), intent(inout) :: line(0:)
    real(8) :: before(0:ubound(line, 1))
    integer :: i
    before = line
    do i = 1, ubound(line, 1) - 1
      line(i) = smoothed(before(i - 1), before(i), before(i + 1))
    end do
  end subroutine
end module

program ring
  use mpi_f08
  use smoothing
  implicit none
  integer, parameter :: cells = 2000, sweeps = 400
  integer :: rank, size, left, right, step, i
  real(8) :: line(0:cells + 1), total
  type(MPI_Request) :: requests(4)

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, size)
  left = modulo(rank - 1, size)
  right = modulo(rank + 1, size)
  line = [(merge(1d0, 0d0, mod(i + rank, 7) == 0), i = 0, cells + 1)]
  do step = 1, sweeps
    call MPI_Irecv(line(0:0), 1, MPI_REAL8, left, 1, MPI_COMM_WORLD, requests(1))
    call MPI_Irecv(line(cells + 1:cells + 1), 1, MPI_REAL8, right, 2, MPI_COMM_WORLD, requests(2))
    call MPI_Isend(line(cells:cells), 1, MPI_REAL8, right, 1, MPI_COMM_WORLD, requests(3))
    call MPI_Isend(line(1:1), 1, MPI_REAL8, left, 2, MPI_COMM_WORLD, requests(4))
    call MPI_Waitall(4, requests, MPI_STATUSES_IGNORE)
    call sweep(line)
  end do
  total = sum(line(1:cells))
  call MPI_Allreduce(MPI_IN_PLACE, total, 1, MPI_REAL8, MPI_SUM, MPI_COMM_WORLD)
  if (rank == 0) print '(a, f12.4)', 'sum of the line ', total
  call MPI_Finalize()
end program
