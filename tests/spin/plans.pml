/* Starts of a plan whose blocks are offered: a reader claims a block and copies it out of the sender's buffer, or the
 * sender takes the offer back, puts the block into its room and goes on. In each start one rank, or none, is late: it looks
 * at its lines only when all others have completed the start, as a program may have it.
 *
 * CASE  ranks, 2 or 3; of 3 only the first has blocks for others
 * AUX   0: as built. 1: one half. 2: a reader looks at an offer, but does not claim it. 3: nothing is taken back. 4: a
 *       block is said to be in the room before it is there. 5: a sender goes on while a reader copies. The last five must
 *       fail.
 *
 * A value is the number of the start it belongs to; a block is read in two steps, so that a change between is seen. After a
 * start its rank writes something else into its buffer. */
#define RANKS CASE
#if RANKS == 2
#define STARTS 4
#define HAS_BLOCKS(r) true
#else
#define STARTS 3
#define HAS_BLOCKS(r) ((r) == 0)
#endif
#define OTHER 99
#if AUX == 1
#define HALVES 1
#else
#define HALVES 2
#endif
#define OFFERED 0
#define CLAIMED 1
#define WITHDRAWN 2
#define MOVED 3
#define TAKEN 4

byte line[RANKS * RANKS * HALVES];  /* the number of the start, written last: writer, reader, half */
byte state[RANKS * RANKS * HALVES]; /* of the offer */
byte room[RANKS * RANKS * HALVES];
byte buffer[RANKS];  /* the sender's own, which it changes once its start is complete */
byte looking[RANKS]; /* the start whose lines a rank looks at, and waits for nothing meanwhile */
byte done[RANKS];    /* starts that are complete */
byte late[STARTS + 1] = RANKS; /* the rank that is late, RANKS: none */

#define AT(w, r, s) [((w) * RANKS + (r)) * HALVES + (s) % HALVES]

/* Either claims what is offered, or finds it withdrawn or moved. */
inline take(w) {
#if AUX == 2
  found = state AT(w, me, start);
#else
  atomic {
    if
    :: state AT(w, me, start) == OFFERED -> state AT(w, me, start) = CLAIMED
    :: else
    fi;
    found = state AT(w, me, start)
  };
#endif
  if
  :: found == WITHDRAWN || found == TAKEN
  :: found == MOVED ->
     assert(room AT(w, me, start) == start);
     state AT(w, me, start) = TAKEN
  :: else ->
     assert(buffer[w] == start);
     assert(buffer[w] == start);
     state AT(w, me, start) = TAKEN
  fi
}

inline take_back(r) {
  if
  :: atomic { state AT(me, r, start) == OFFERED -> state AT(me, r, start) = WITHDRAWN };
#if AUX == 4
     state AT(me, r, start) = MOVED;
     room AT(me, r, start) = buffer[me];
#else
     room AT(me, r, start) = buffer[me];
     state AT(me, r, start) = MOVED;
#endif
  :: state AT(me, r, start) != OFFERED
  fi
}

proctype rank(byte me) {
  byte start = 1;
  byte peer;
  byte found;
  do
  :: start > STARTS -> break
  :: else ->
     buffer[me] = start;
     peer = 0;
     do
     :: peer == RANKS -> break
     :: peer == me -> peer++
     :: else ->
        atomic { /* nobody looks at the state of a line that has not come */
          state AT(me, peer, start) = (HAS_BLOCKS(me) -> OFFERED : TAKEN);
          line AT(me, peer, start) = start;
          peer++
        }
     od;
     if
     :: late[start] == me ->
        peer = 0;
        do
        :: peer == RANKS -> break
        :: else -> (peer == me || done[peer] >= start) -> peer++ /* waits */
        od
     :: else
     fi;
     peer = 0;
     do
     :: peer == RANKS -> break
     :: else -> (peer == me || line AT(peer, me, start) >= start) -> peer++ /* waits */
     od;
     looking[me] = start;
     peer = 0;
     do /* all lines, without waiting */
     :: peer == RANKS -> break
     :: peer == me -> peer++
     :: else -> take(peer); peer++
     od;
     peer = 0;
     do /* those that were just being moved */
     :: peer == RANKS -> break
     :: peer == me -> peer++
     :: else ->
        state AT(peer, me, start) != WITHDRAWN; /* waits */
        if
        :: state AT(peer, me, start) == MOVED -> take(peer)
        :: else
        fi;
        peer++
     od;
     peer = 0;
     do /* its own blocks */
     :: peer == RANKS -> break
     :: peer == me -> peer++
     :: else ->
        do
        :: state AT(me, peer, start) == MOVED || state AT(me, peer, start) == TAKEN -> break
#if AUX == 5
        :: state AT(me, peer, start) == CLAIMED -> break
#endif
#if AUX != 3
        :: state AT(me, peer, start) == OFFERED && looking[peer] < start -> take_back(peer)
#endif
        od;
        peer++
     od;
     buffer[me] = OTHER;
     done[me] = start;
     start++
  od
}

init {
  byte i = 1;
  atomic {
    do
    :: i > STARTS -> break
    :: else ->
       if
#if RANKS == 2
       :: late[i] = 0
#endif
       :: late[i] = 1
       :: late[i] = RANKS
       fi;
       i++
    od;
    i = 0;
    do
    :: i == RANKS -> break
    :: else -> run rank(i); i++
    od
  }
}
