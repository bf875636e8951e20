! Regions, parameters and phases that a program names itself, for Tareweight.
!
! Compile this file with your own compiler and link it with your program. It looks the runtime up when it is first
! called; where there is none, all of this does nothing. Before glibc 2.34, link with -ldl.
!
!     use tare
!     call tare_begin('solve')           a region, up to ...
!     call tare_end('solve')             ... here, in the same procedure
!     call tare_parameter('level', 3)    what is below ran with this value; ends with the region around
!     call tare_phase_begin('warm-up')
!     call tare_phase_end('warm-up')
!     call tare_record(.false.)          from here on nothing is recorded
module tare
  use, intrinsic :: iso_c_binding
  implicit none
  private
  public :: tare_begin, tare_end, tare_parameter, tare_phase_begin, tare_phase_end, tare_record

  ! The functions of the runtime, as tare.h has them.
  type, bind(c) :: table
    integer(c_int) :: version, size
    type(c_funptr) :: region, begin, end, parameter, parameter_number, record
  end type table

  abstract interface
    function get_table() bind(c) result(found)
      import :: c_ptr
      type(c_ptr) :: found
    end function get_table
    function get_region(kind, name, file, line) bind(c) result(region)
      import :: c_int, c_char
      integer(c_int), value :: kind, line
      character(kind=c_char), intent(in) :: name(*), file(*)
      integer(c_int) :: region
    end function get_region
    subroutine with_number(region) bind(c)
      import :: c_int
      integer(c_int), value :: region
    end subroutine with_number
    subroutine with_texts(name, value) bind(c)
      import :: c_char
      character(kind=c_char), intent(in) :: name(*), value(*)
    end subroutine with_texts
    subroutine with_value(name, value) bind(c)
      import :: c_char, c_long_long
      character(kind=c_char), intent(in) :: name(*)
      integer(c_long_long), value :: value
    end subroutine with_value
  end interface

  interface
    function dlsym(handle, name) bind(c, name='dlsym') result(address)
      import :: c_ptr, c_funptr, c_char
      type(c_ptr), value :: handle
      character(kind=c_char), intent(in) :: name(*)
      type(c_funptr) :: address
    end function dlsym
  end interface

  interface tare_parameter
    module procedure parameter_number, parameter_wide, parameter_text
  end interface tare_parameter

  logical, save :: is_looked_for = .false., is_there = .false.
  procedure(get_region), pointer, save :: region_of => null()
  procedure(with_number), pointer, save :: begin_of => null(), end_of => null(), record_of => null()
  procedure(with_texts), pointer, save :: text_of => null()
  procedure(with_value), pointer, save :: number_of => null()

contains

  subroutine look
    type(c_funptr) :: found
    procedure(get_table), pointer :: get
    type(table), pointer :: functions
    found = dlsym(c_null_ptr, 'tare_api' // c_null_char)
    if (c_associated(found)) then
      call c_f_procpointer(found, get)
      call c_f_pointer(get(), functions)
      call c_f_procpointer(functions%region, region_of)
      call c_f_procpointer(functions%begin, begin_of)
      call c_f_procpointer(functions%end, end_of)
      call c_f_procpointer(functions%parameter, text_of)
      call c_f_procpointer(functions%parameter_number, number_of)
      call c_f_procpointer(functions%record, record_of)
      is_there = .true.
    end if
    is_looked_for = .true.
  end subroutine look

  function id(kind, name) result(region)
    integer(c_int), intent(in) :: kind
    character(len=*), intent(in) :: name
    integer(c_int) :: region
    region = region_of(kind, trim(name) // c_null_char, c_null_char, 0_c_int)
  end function id

  subroutine tare_begin(name)
    character(len=*), intent(in) :: name
    if (.not. is_looked_for) call look
    if (is_there) call begin_of(id(0_c_int, name))
  end subroutine tare_begin

  subroutine tare_end(name)
    character(len=*), intent(in) :: name
    if (is_there) call end_of(id(0_c_int, name))
  end subroutine tare_end

  subroutine tare_phase_begin(name)
    character(len=*), intent(in) :: name
    if (.not. is_looked_for) call look
    if (is_there) call begin_of(id(1_c_int, name))
  end subroutine tare_phase_begin

  subroutine tare_phase_end(name)
    character(len=*), intent(in) :: name
    if (is_there) call end_of(id(1_c_int, name))
  end subroutine tare_phase_end

  subroutine parameter_number(name, value)
    character(len=*), intent(in) :: name
    integer(c_int), intent(in) :: value
    call parameter_wide(name, int(value, c_long_long))
  end subroutine parameter_number

  subroutine parameter_wide(name, value)
    character(len=*), intent(in) :: name
    integer(c_long_long), intent(in) :: value
    if (.not. is_looked_for) call look
    if (is_there) call number_of(trim(name) // c_null_char, value)
  end subroutine parameter_wide

  subroutine parameter_text(name, value)
    character(len=*), intent(in) :: name, value
    if (.not. is_looked_for) call look
    if (is_there) call text_of(trim(name) // c_null_char, trim(value) // c_null_char)
  end subroutine parameter_text

  subroutine tare_record(on)
    logical, intent(in) :: on
    if (.not. is_looked_for) call look
    if (is_there) call record_of(merge(1_c_int, 0_c_int, on))
  end subroutine tare_record

end module tare
