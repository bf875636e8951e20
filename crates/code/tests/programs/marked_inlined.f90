! Every loop has a mark on its line; those of the subroutine are in the program when it was inlined.
program p
  implicit none
  real(8) :: a(50, 60)
  integer :: l
  call random_number(a)
  do l = 1, 3 ! loop
    call smooth(a, 50, 60)
    print *, a(3, 3)
  end do
contains
  subroutine smooth(a, n, m)
    integer, intent(in) :: n, m
    real(8), intent(inout) :: a(n, m)
    integer :: i, j, k
    do k = 1, 10 ! loop
      do j = 2, m - 1 ! loop
        do i = 2, n - 1 ! loop
          a(i, j) = 0.25d0 * (a(i-1, j) + a(i+1, j) + a(i, j-1) + a(i, j+1))
        end do
      end do
    end do
  end subroutine
end program
