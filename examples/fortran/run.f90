! Loads a program, calls it with a matrix of Fortran's, and prints what it gives.
!
!     gfortran run.f90 $(pkg-config --libs sconce) -o run && ./run ../classifier.pt
!
! A matrix of Fortran's lies column by column. Its strides say so, and nothing is transposed or copied.
module sconce
    use, intrinsic :: iso_c_binding
    implicit none
    private
    public :: sconce_module_load, sconce_session_new, sconce_tensor_from_blob, sconce_value_tensor, sconce_session_call
    public :: sconce_value_as_tensor, sconce_tensor_copy_to, sconce_error_message, sconce_error_delete
    public :: sconce_value_delete, sconce_session_delete, sconce_module_delete, check

    integer(c_int32_t), parameter, public :: float32 = 6, float64 = 7

    interface
        type(c_ptr) function sconce_module_load(path, out) bind(c)
            import :: c_ptr, c_char
            character(kind=c_char), intent(in) :: path(*)
            type(c_ptr), intent(out) :: out
        end function
        type(c_ptr) function sconce_session_new(module, options, out) bind(c)
            import :: c_ptr
            type(c_ptr), value :: module, options
            type(c_ptr), intent(out) :: out
        end function
        type(c_ptr) function sconce_tensor_from_blob(data, dtype, sizes, strides, ndim, deleter, context, out) bind(c)
            import :: c_ptr, c_funptr, c_int32_t, c_int64_t, c_size_t
            type(c_ptr), value :: data, context
            integer(c_int32_t), value :: dtype
            integer(c_int64_t), intent(in) :: sizes(*), strides(*)
            integer(c_size_t), value :: ndim
            type(c_funptr), value :: deleter
            type(c_ptr), intent(out) :: out
        end function
        type(c_ptr) function sconce_value_tensor(taken) bind(c)
            import :: c_ptr
            type(c_ptr), value :: taken
        end function
        type(c_ptr) function sconce_session_call(session, method, args, n, names, out) bind(c)
            import :: c_ptr, c_char, c_size_t
            type(c_ptr), value :: session, names
            character(kind=c_char), intent(in) :: method(*)
            type(c_ptr), intent(in) :: args(*)
            integer(c_size_t), value :: n
            type(c_ptr), intent(out) :: out
        end function
        type(c_ptr) function sconce_value_as_tensor(val) bind(c)
            import :: c_ptr
            type(c_ptr), value :: val
        end function
        type(c_ptr) function sconce_tensor_copy_to(tensor, into, bytes, dtype) bind(c)
            import :: c_ptr, c_size_t, c_int32_t
            type(c_ptr), value :: tensor, into
            integer(c_size_t), value :: bytes
            integer(c_int32_t), value :: dtype
        end function
        type(c_ptr) function sconce_error_message(error) bind(c)
            import :: c_ptr
            type(c_ptr), value :: error
        end function
        subroutine sconce_error_delete(error) bind(c)
            import :: c_ptr
            type(c_ptr), value :: error
        end subroutine
        subroutine sconce_value_delete(val) bind(c)
            import :: c_ptr
            type(c_ptr), value :: val
        end subroutine
        subroutine sconce_session_delete(session) bind(c)
            import :: c_ptr
            type(c_ptr), value :: session
        end subroutine
        subroutine sconce_module_delete(module) bind(c)
            import :: c_ptr
            type(c_ptr), value :: module
        end subroutine
        integer(c_size_t) function strlen(text) bind(c)
            import :: c_ptr, c_size_t
            type(c_ptr), value :: text
        end function
    end interface

contains

    ! Stops the program where a function failed.
    subroutine check(error)
        type(c_ptr), intent(in) :: error
        character(kind=c_char), pointer :: message(:)
        if (.not. c_associated(error)) return
        call c_f_pointer(sconce_error_message(error), message, [strlen(sconce_error_message(error))])
        print '(*(a))', message
        call sconce_error_delete(error)
        error stop 1
    end subroutine
end module

program run
    use, intrinsic :: iso_c_binding
    use sconce
    implicit none
    integer(c_int64_t), parameter :: rows = 3, columns = 8, classes = 4
    type(c_ptr) :: module, session, tensor, args(1), result
    real(c_float), target :: x(rows, columns)
    ! What comes back lies row by row: the first index is the class.
    real(c_float), target :: scores(classes, rows)
    character(len=1024) :: path
    integer :: row, column

    call get_command_argument(1, path)
    do column = 1, int(columns)
        do row = 1, int(rows)
            x(row, column) = real(row, c_float) - real(column, c_float) / 4
        end do
    end do
    call check(sconce_module_load(trim(path)//c_null_char, module))
    call check(sconce_session_new(module, c_null_ptr, session))
    call check(sconce_tensor_from_blob(c_loc(x), float32, [rows, columns], [1_c_int64_t, rows], 2_c_size_t, &
                                       c_null_funptr, c_null_ptr, tensor))
    args(1) = sconce_value_tensor(tensor)
    call check(sconce_session_call(session, 'forward'//c_null_char, args, 1_c_size_t, c_null_ptr, result))
    call check(sconce_tensor_copy_to(sconce_value_as_tensor(result), c_loc(scores), &
                                     int(4 * rows * classes, c_size_t), float32))
    do row = 1, int(rows)
        print '(*(f0.6, 1x))', scores(:, row)
    end do
    call sconce_value_delete(result)
    call sconce_value_delete(args(1))
    call sconce_session_delete(session)
    call sconce_module_delete(module)
end program
