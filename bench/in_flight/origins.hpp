// Where a message comes from: a function of the MPI library's by which all ranks do something together, or a message of
// the program's or of taquin's own. The functions that taquin calls are defined in this program once more, in front of
// the MPI library's.
#pragma once

#include <mpi.h>

#include <array>
#include <string_view>

namespace taquin::in_flight {

inline constexpr std::string_view own_messages = "own messages";
/// The first ones make communicators or are small collectives; the others are exchanges (algorithm `native`).
inline constexpr std::size_t by_hand_functions = 7;
inline constexpr std::array functions{
    std::string_view("MPI_Comm_create"), std::string_view("MPI_Comm_create_group"), std::string_view("MPI_Comm_dup"),
    std::string_view("MPI_Iallgather"),  std::string_view("MPI_Iallreduce"),        std::string_view("MPI_Ibarrier"),
    std::string_view("MPI_Ibcast"),      std::string_view("MPI_Alltoallv"),         std::string_view("MPI_Ialltoallv")};

/// Of a message that is sent or received now. The MPI library's own have negative tags: each collective has one of its
/// own, so that a message of a later round is known as well. Empty: of another function.
std::string_view origin_of(int tag, MPI_Comm comm);

}  // namespace taquin::in_flight
