/* The version of taquin that a program is compiled for. CMake compares it with the project's. */
#ifndef TAQUIN_VERSION_H
#define TAQUIN_VERSION_H

#define TAQUIN_VERSION_MAJOR 0 /**< before 1.0 a program must be compiled again when the minor version changes */
#define TAQUIN_VERSION_MINOR 1 /**< new functions */
#define TAQUIN_VERSION_PATCH 0 /**< mended defects */
#define TAQUIN_VERSION "0.1.0" /**< the three of them as a string */
/** The three of them as one number, to compare: major · 10000 + minor · 100 + patch. */
#define TAQUIN_VERSION_NUMBER (TAQUIN_VERSION_MAJOR * 10000 + TAQUIN_VERSION_MINOR * 100 + TAQUIN_VERSION_PATCH)

#endif
