# Made by CMake.
VERSION: str
MPI: str
COMMAND: str
