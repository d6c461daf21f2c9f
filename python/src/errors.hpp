// The library's exceptions as Python's.
#pragma once

namespace taquin::python {

/// From now on, what the library throws arrives in Python as the classes of taquin._errors.
void register_errors();

}  // namespace taquin::python
