// A thread that progresses started operations while the program does other work.
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

#include "mpi/check.hpp"
#include "mpi/progress.hpp"
#include "mpi/threads.hpp"

namespace taquin::mpi {

void (*at_begin_of_progress_thread)() noexcept = nullptr;

bool can_progress_by_thread() {
#ifdef TAQUIN_SMPI
  return false;  // simulated ranks are threads of one process
#else
  static const bool multiple = has_many_threads();
  return multiple;
#endif
}

namespace {

class progress_thread {
 public:
  progress_thread() : running_([this] { run(); }) {
    try {
      end_with_mpi();
    } catch (...) {  // a thread that runs cannot be destroyed
      stop();
      throw;
    }
  }
  progress_thread(const progress_thread&) = delete;
  progress_thread& operator=(const progress_thread&) = delete;
  ~progress_thread() { stop(); }

  void want(int more) {
    const std::scoped_lock lock(guard_);
    wanted_ += more;
    if (more > 0) changed_.notify_one();
  }

 private:
  // Between two polls it leaves the core to the program.
  void run() {
    constexpr std::chrono::microseconds pause(50);
    if (at_begin_of_progress_thread != nullptr) at_begin_of_progress_thread();
    std::unique_lock lock(guard_);
    while (true) {
      changed_.wait(lock, [this] { return stopped_ || wanted_ > 0; });
      if (stopped_) return;
      lock.unlock();
      progress_started();
      std::this_thread::sleep_for(pause);
      lock.lock();
    }
  }

  void stop() {
    {
      const std::scoped_lock lock(guard_);
      stopped_ = true;
    }
    changed_.notify_one();
    if (running_.joinable()) running_.join();
  }

  // MPI_Finalize first deletes the attributes of MPI_COMM_SELF.
  void end_with_mpi() {
    int key = MPI_KEYVAL_INVALID;
    const auto on_delete = [](MPI_Comm, int, void* self, void*) -> int {
      static_cast<progress_thread*>(self)->stop();
      return MPI_SUCCESS;
    };
    TAQUIN_MPI(PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, on_delete, &key, nullptr));
    const int set = PMPI_Comm_set_attr(MPI_COMM_SELF, key, this);
    PMPI_Comm_free_keyval(&key);  // no error: the attribute that is set would outlive this object
    TAQUIN_MPI(set);
  }

  std::mutex guard_;
  std::condition_variable changed_;
  int wanted_ = 0;
  bool stopped_ = false;
  std::thread running_;  // last: it uses the others
};

}  // namespace

bool want_progress_thread(int more) noexcept {
  try {
    static progress_thread one;
    one.want(more);
    return true;
  } catch (...) {  // the system has no thread left
    return false;
  }
}

}  // namespace taquin::mpi
