/* Redistribution where receivers read blocks out of their owners' arrays and tell the owners by notes which are gone: block k of
 * each rank goes to the next rank, to place PLACES - 1 - k. All these places are taken; each rank has one staging place. One block
 * more goes from rank 0 to a free place of rank 1.
 *
 * CASE  1: two ranks with one place. 2: three with one. 3: two with two.
 * AUX   0: as built. 1: a note is sent before the whole block is copied. 2: a staged block goes to its place before the note that
 *       frees it has come. 3: a rank ends its call when all its blocks have come. The last three must fail.
 *
 * A block is copied in two steps, and is the number of its destination. After the call its rank writes to all places. */
#if CASE == 2
#define RANKS 3
#else
#define RANKS 2
#endif
#if CASE == 3
#define PLACES 2
#else
#define PLACES 1
#endif
#define NONE 255
#define OTHER 254
#define PLACE(r, k) ((r) * (PLACES + 1) + (k))
#define SOURCE(r) (((r) + RANKS - 1) % RANKS)
#define OF(k) ((k) == PLACES -> PLACES : PLACES - 1 - (k)) /* the place at the source, and the other way round */

byte first[RANKS * (PLACES + 1)];  /* the halves of the block at each place */
byte second[RANKS * (PLACES + 1)];
chan notes[RANKS] = [PLACES + 1] of { byte }; /* places that are left */

/* The block for place k, to it or into the staging place. */
inline fetch(k) {
  read[k] = true;
  from = PLACE(SOURCE(me), OF(k));
  a = first[from];
#if AUX == 1
  notes[SOURCE(me)] ! OF(k);
#endif
  b = second[from];
  assert(a == PLACE(me, k) && b == PLACE(me, k));
  if
  :: free[k] ->
     first[PLACE(me, k)] = a;
     second[PLACE(me, k)] = b;
     home++
  :: else -> staged = k
  fi;
#if AUX != 1
  notes[SOURCE(me)] ! OF(k)
#endif
}

proctype rank(byte me) {
  bool free[PLACES + 1];
  bool read[PLACES + 1];
  byte staged = NONE; /* the place that the staged block waits for */
  byte home;
  byte expected = (me == 1 -> PLACES + 1 : PLACES);
  byte unsent = (me == 0 -> PLACES + 1 : PLACES);
  byte from;
  byte a;
  byte b;
  byte left;
  free[PLACES] = (me == 1);
  do
  :: notes[me] ? left ->
     free[left] = true;
     unsent--
  :: staged != NONE && (free[staged % (PLACES + 1)] || AUX == 2) ->
     first[PLACE(me, staged)] = PLACE(me, staged);
     second[PLACE(me, staged)] = PLACE(me, staged);
     home++;
     staged = NONE
  :: !read[0] && (free[0] || staged == NONE) -> fetch(0)
#if PLACES > 1
  :: !read[1] && (free[1] || staged == NONE) -> fetch(1)
#endif
  :: me == 1 && !read[PLACES] -> fetch(PLACES)
  :: home == expected && (unsent == 0 || AUX == 3) -> break
  od;
  assert(me != 1 || (first[PLACE(1, PLACES)] == PLACE(1, PLACES) && second[PLACE(1, PLACES)] == PLACE(1, PLACES)));
  first[PLACE(me, PLACES)] = OTHER;
  second[PLACE(me, PLACES)] = OTHER;
  left = 0;
  do
  :: left == PLACES -> break
  :: else ->
     assert(first[PLACE(me, left)] == PLACE(me, left) && second[PLACE(me, left)] == PLACE(me, left));
     first[PLACE(me, left)] = OTHER;
     second[PLACE(me, left)] = OTHER;
     left++
  od
}

init {
  byte r = 0;
  byte k;
  atomic {
    do
    :: r == RANKS -> break
    :: else ->
       k = 0;
       do
       :: k == PLACES -> break
       :: else ->
          first[PLACE(r, k)] = PLACE((r + 1) % RANKS, PLACES - 1 - k);
          second[PLACE(r, k)] = PLACE((r + 1) % RANKS, PLACES - 1 - k);
          k++
       od;
       r++
    od;
    first[PLACE(0, PLACES)] = PLACE(1, PLACES);
    second[PLACE(0, PLACES)] = PLACE(1, PLACES);
    r = 0;
    do
    :: r == RANKS -> break
    :: else -> run rank(r); r++
    od
  }
}
