! Arrays, modules, internal procedures as arguments, and formatted output.
module solver
  implicit none
contains
  subroutine relax(u, n, rounds)
    integer, intent(in) :: n, rounds
    real(8), intent(inout) :: u(n, n)
    integer :: i, j, k
    do k = 1, rounds
      do j = 2, n - 1
        do i = 2, n - 1
          u(i, j) = 0.25d0 * (u(i - 1, j) + u(i + 1, j) + u(i, j - 1) + u(i, j + 1))
        end do
      end do
    end do
  end subroutine
  real(8) function norm(u)
    real(8), intent(in) :: u(:, :)
    norm = sqrt(sum(u**2))
  end function
  recursive integer function ackermann(m, n) result(answer)
    integer, intent(in) :: m, n
    if (m == 0) then
      answer = n + 1
    else if (n == 0) then
      answer = ackermann(m - 1, 1)
    else
      answer = ackermann(m - 1, ackermann(m, n - 1))
    end if
  end function
  real(8) function integral(f, steps)
    interface
      real(8) function f(x)
        real(8), intent(in) :: x
      end function
    end interface
    integer, intent(in) :: steps
    integer :: i
    integral = 0
    do i = 1, steps
      integral = integral + f((i - 0.5d0) / steps) / steps
    end do
  end function
end module

program numeric
  use solver
  implicit none
  real(8) :: u(40, 40), scale
  integer :: kind
  u = 0
  u(1, :) = 1
  call relax(u, 40, 50)
  print '(f12.8)', norm(u)
  print '(i6)', ackermann(2, 6)
  scale = 3
  print '(f12.8)', integral(scaled, 1000)
  do kind = 0, 6
    select case (kind)
    case (0); print *, 'zero'
    case (1:2); print *, 'few'
    case (5); print *, 'five'
    case default; print *, 'other'
    end select
  end do
contains
  real(8) function scaled(x)
    real(8), intent(in) :: x
    scaled = scale * x * x
  end function
end program
