! Every loop has a mark on its line.
subroutine relax(a, b, n)
  implicit none
  integer, intent(in) :: n
  real(8), intent(in) :: a(n, n)
  real(8), intent(out) :: b(n, n)
  integer :: i, j, k
  do k = 1, 10 ! loop
    do j = 2, n - 1 ! loop
      do i = 2, n - 1 ! loop
        b(i, j) = b(i, j) * 0.25d0 * (a(i-1, j) + a(i+1, j) + a(i, j-1) + a(i, j+1))
      end do
    end do
  end do
end subroutine

function total(a, n) result(t)
  implicit none
  integer, intent(in) :: n
  real(8), intent(in) :: a(n, n)
  real(8) :: t
  integer :: i, j
  t = 0
  do j = 1, n ! loop
    if (a(1, j) < 0) cycle
    do i = 1, n ! loop
      t = t + a(i, j) * t
      if (t > 1d9) exit
    end do
  end do
end function

integer function collatz(n)
  implicit none
  integer, intent(in) :: n
  integer :: x
  x = n
  collatz = 0
  do while (x > 1) ! loop
    if (mod(x, 2) == 0) then
      x = x / 2
    else
      x = 3 * x + 1
    end if
    collatz = collatz + 1
  end do
end function

program p
  implicit none
  integer, parameter :: n = 60
  real(8) :: a(n, n), b(n, n), s
  integer :: k
  real(8), external :: total
  integer, external :: collatz
  call random_number(a)
  b = a
  s = 0
  do k = 1, 20 ! loop
    call relax(a, b, n)
    s = s + total(a, n) + collatz(k)
  end do
  print *, s
end program
