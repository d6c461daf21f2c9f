// The C API's plans.
#include "taquin/plan.hpp"

#include <memory>
#include <new>
#include <optional>
#include <utility>

#include "base/invalid_argument.hpp"
#include "c/argument_lists.hpp"
#include "c/invalid_text.hpp"
#include "c/options.hpp"
#include "c/translate.hpp"
#include "taquin/error.hpp"
#include "taquin/taquin.h"

using taquin::exchange;
using taquin::usage_error;
using namespace taquin::detail;

struct TAQUIN_Plan_state {
  handle_comm comm;
  taquin::statistics counted{};
  std::optional<taquin::plan> plan{};
};

namespace {

template <class Build>
int init(Build build, MPI_Comm comm, MPI_Info info, TAQUIN_Plan* plan, const char* function) noexcept {
  const auto make = [&] {
    if (plan != nullptr) *plan = TAQUIN_PLAN_NULL;
    // An error on this rank alone goes into the call, so that all ranks have it.
    const char* invalid_text = plan == nullptr ? "null address for the plan" : nullptr;
    std::unique_ptr<TAQUIN_Plan_state> made(new (std::nothrow) TAQUIN_Plan_state{.comm = handle_comm(comm)});
    if (made == nullptr) invalid_text = lacks_memory_text;
    std::optional<owned_options> own;
    std::optional<usage_error> wrong_hint;
    try {
      own.emplace(options_of(comm, info));
    } catch (const usage_error& e) {
      invalid_text = wrong_hint.emplace(e).what();
    } catch (const std::bad_alloc&) {
      invalid_text = lacks_memory_text;
    }
    exchange x = with_invalid_text(build());
    if (invalid_text != nullptr) invalid_exchange::set(x, invalid_text);
    taquin::options o = own ? own->view() : taquin::options{};
    if (made != nullptr) o.stats = &made->counted;
    taquin::plan p(x, o);
    if (made == nullptr || plan == nullptr) return;  // never: all ranks have thrown
    made->plan.emplace(std::move(p));
    made->comm.keep();
    *plan = made.release();
  };
  return guarded(comm, make, function);
}

template <class F>
int with(TAQUIN_Plan plan, F f, const char* function = __builtin_FUNCTION()) noexcept {
  return taquin::detail::guarded_handle(
      plan, "null plan", MPI_ERR_REQUEST, [&](auto& p) { f(*p.plan); }, function);
}

}  // namespace

#define TAQUIN_PREPARING(NAME, FORM, SUFFIX, COUNT, DISPL)                                                        \
  int TAQUIN_##NAME##_init##SUFFIX(TAQUIN_PARAMETERS_##FORM(COUNT, DISPL, MPI_Datatype, MPI_Comm), MPI_Info info, \
                                   TAQUIN_Plan* plan) {                                                           \
    return init([&] { return TAQUIN_EXCHANGE_##FORM; }, comm, info, plan, __func__);                              \
  }
TAQUIN_EACH_EXCHANGE(TAQUIN_PREPARING)

int TAQUIN_Start(TAQUIN_Plan plan) {
  return with(plan, [](taquin::plan& p) { p.start(); });
}

int TAQUIN_Test(TAQUIN_Plan plan, int* flag) {
  return with(plan, [&](taquin::plan& p) {
    if (flag == nullptr) throw usage_error("null address for the flag", MPI_ERR_ARG);
    *flag = p.test() ? 1 : 0;
  });
}

int TAQUIN_Wait(TAQUIN_Plan plan) {
  return with(plan, [](taquin::plan& p) { p.wait(); });
}

int TAQUIN_Plan_memory(TAQUIN_Plan plan, size_t* bytes) {
  return with(plan, [&](const taquin::plan& p) {
    if (bytes == nullptr) throw usage_error("null address for the bytes", MPI_ERR_ARG);
    *bytes = p.memory();
  });
}

int TAQUIN_Plan_get_statistics(TAQUIN_Plan plan, TAQUIN_Statistics* statistics) {
  return with(plan, [&](taquin::plan&) { give_statistics(plan->counted, statistics); });
}

int TAQUIN_Plan_free(TAQUIN_Plan* plan) {
  if (plan == nullptr || *plan == nullptr) return refuse(__func__, "null plan", MPI_ERR_REQUEST);
  delete *plan;
  *plan = TAQUIN_PLAN_NULL;
  return MPI_SUCCESS;
}
