// The library's exceptions as Python's.
#pragma once

#include <exception>

namespace taquin::python {

/// Sets the Python error of what the library has thrown; none for other exceptions.
void set_error(std::exception_ptr thrown);

/// From now on, what the library throws arrives in Python as the classes of taquin._errors.
void register_errors();

}  // namespace taquin::python
