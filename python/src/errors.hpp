// The library's exceptions as Python's.
#pragma once

#include <exception>

namespace taquin::python {

/// Sets the Python error of the library's exception; none for other exceptions.
void set_error(std::exception_ptr thrown);

/// From now on, the library's exceptions arrive in Python as the classes of taquin._errors.
void register_errors();

}  // namespace taquin::python
