#include "simulation/moves.hpp"
#include "simulation/whole.hpp"

namespace taquin::detail {

std::size_t moves_of_native(const whole_exchange&, const shape&, const options&, const moves_target& to) {
  to.all.note =
      "The MPI library chooses its algorithm itself and does not report its messages: there is nothing to "
      "draw.";
  return to.first;
}

}  // namespace taquin::detail
