module work
contains
  subroutine grows(n)
    integer, intent(in) :: n
    real(8), allocatable :: values(:)
    integer :: i
    do i = 1, n
      allocate(values(1000))
      values(1) = i
      if (values(1) < 0) print *, values(1)
      deallocate(values)
    end do
  end subroutine grows
  subroutine writes(n)
    integer, intent(in) :: n
    integer :: i
    open(10, file='fortran.data', form='unformatted', access='stream', status='replace')
    do i = 1, n
      write(10) i
    end do
    close(10)
  end subroutine writes
end module work
program main
  use work
  call grows(300)
  call writes(50000)
end program main
