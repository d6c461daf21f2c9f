// MPI's three forms, blocking and persistent: their argument lists as the preloaded library takes them, with handles
// that are passed on unchanged.
#pragma once

#include <mpi.h>

#include "c/argument_lists.hpp"
#include "interpose/serve/next.hpp"

#define TAQUIN_TAKES(FORM, COUNT, DISPL) \
  TAQUIN_PARAMETERS_##FORM(COUNT, DISPL, ::taquin::interpose::handle, ::taquin::interpose::handle)

/// DO(SUFFIX, COUNT, DISPL) for each width of counts that the MPI library has.
#if MPI_VERSION >= 4
#define TAQUIN_EACH_COUNT(DO) DO(, int, int) DO(_c, MPI_Count, MPI_Aint)
#else
#define TAQUIN_EACH_COUNT(DO) DO(, int, int)
#endif

// Persistent calls: an info and a request follow the arguments. MPI 4 has them, Open MPI 5 before it reports MPI 4, and
// Open MPI 4 and 5 under names of their own.
#if MPI_VERSION >= 4 || (defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5)
#define TAQUIN_HAS_INIT
#endif
#if defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION <= 5
#define TAQUIN_HAS_MPIX_INIT
#endif
#define PARAMETERS_INIT(FORM, COUNT, DISPL) \
  (TAQUIN_TAKES(FORM, COUNT, DISPL), ::taquin::interpose::handle info, MPI_Request * request)
#define ARGUMENTS_INIT(FORM) (TAQUIN_ARGUMENTS_##FORM, info, request)
/// Both names of PREFIX_X; `intercepted_PREFIX_X` does the work.
#define TAQUIN_INIT_NAMES(PREFIX, X, PARAMETERS, ARGUMENTS)                                                        \
  TAQUIN_NAME(PREFIX##_##X, #PREFIX "_" #X, #PREFIX "_" #X, "P" #PREFIX "_" #X, intercepted_##PREFIX##_##X,        \
              PARAMETERS, ARGUMENTS)                                                                               \
  TAQUIN_NAME(P##PREFIX##_##X, "P" #PREFIX "_" #X, #PREFIX "_" #X, "P" #PREFIX "_" #X, intercepted_##PREFIX##_##X, \
              PARAMETERS, ARGUMENTS)
/// The next library's PREFIX_X.
// NOLINTBEGIN(bugprone-macro-parentheses): a list of parameters has its own
#define TAQUIN_NEXT_INIT(PREFIX, X, PARAMETERS)                                       \
  ([] {                                                                               \
    static auto *const f = ::taquin::interpose::next<int PARAMETERS>(#PREFIX "_" #X); \
    return f;                                                                         \
  }())
// NOLINTEND(bugprone-macro-parentheses)
/// DO(PREFIX, SUFFIX, COUNT, DISPL) for each kind of them that the library has.
#ifdef TAQUIN_HAS_INIT
#define TAQUIN_EACH_INIT_INT(DO) DO(MPI, , int, int)
#else
#define TAQUIN_EACH_INIT_INT(DO)
#endif
#ifdef TAQUIN_HAS_MPIX_INIT
#define TAQUIN_EACH_INIT_MPIX(DO) DO(MPIX, , int, int)
#else
#define TAQUIN_EACH_INIT_MPIX(DO)
#endif
#if MPI_VERSION >= 4
#define TAQUIN_EACH_INIT_LARGE(DO) DO(MPI, _c, MPI_Count, MPI_Aint)
#else
#define TAQUIN_EACH_INIT_LARGE(DO)
#endif
#define TAQUIN_EACH_INIT(DO) TAQUIN_EACH_INIT_INT(DO) TAQUIN_EACH_INIT_MPIX(DO) TAQUIN_EACH_INIT_LARGE(DO)
