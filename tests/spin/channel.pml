/* Ranks of a node exchange through a channel: lines and room in HALVES halves, used in turn, and blocks that readers
 * fetch out of the sender's own buffer.
 *
 * CASE  ranks, 2 or 3
 * AUX   0: as built. 1: one half. 2: a sender does not wait until its block has been fetched. 3: a line is published
 *       before its room is written. The last three must fail.
 *
 * A value is the number of the step it belongs to, so that whoever reads a value of another step has read too early or
 * too late. What a rank reads is asserted; that all ranks come to their ends is the absence of invalid end states. */
#define RANKS CASE
#define STEPS 5
#if AUX == 1
#define HALVES 1
#else
#define HALVES 2
#endif

byte line[RANKS * RANKS * HALVES]; /* the step number, written last: writer, reader, half */
byte room[RANKS * HALVES];         /* what the sender has put there */
byte buffer[RANKS];                /* the sender's own buffer, which it may change once its call is over */
byte fetched[RANKS];               /* the step up to which a rank has fetched */

#define LINE(w, r, s) line[((w) * RANKS + (r)) * HALVES + (s) % HALVES]
#define ROOM(w, s) room[(w) * HALVES + (s) % HALVES]

proctype rank(byte me) {
  byte step = 1;
  byte peer;
  do
  :: step > STEPS -> break
  :: else ->
     buffer[me] = step;
#if AUX != 3
     ROOM(me, step) = step;
#endif
     peer = 0;
     do
     :: peer == RANKS -> break
     :: else -> LINE(me, peer, step) = step; peer++
     od;
#if AUX == 3
     ROOM(me, step) = step;
#endif
     peer = 0;
     do
     :: peer == RANKS -> break
     :: else -> LINE(peer, me, step) >= step; peer++ /* waits */
     od;
     peer = 0;
     do
     :: peer == RANKS -> break
     :: else ->
        assert(LINE(peer, me, step) == step);
        assert(ROOM(peer, step) == step);
        assert(buffer[peer] == step);
        peer++
     od;
     fetched[me] = step;
#if AUX != 2
     peer = 0;
     do
     :: peer == RANKS -> break
     :: else -> fetched[peer] >= step; peer++
     od;
#endif
     step++
  od
}

/* The same without blocks that are fetched: nobody waits at the end of a step. */
proctype rank_of_small_blocks(byte me) {
  byte step = 1;
  byte peer;
  do
  :: step > STEPS -> break
  :: else ->
#if AUX != 3
     ROOM(me, step) = step;
#endif
     peer = 0;
     do
     :: peer == RANKS -> break
     :: else -> LINE(me, peer, step) = step; peer++
     od;
#if AUX == 3
     ROOM(me, step) = step;
#endif
     peer = 0;
     do
     :: peer == RANKS -> break
     :: else -> LINE(peer, me, step) >= step; peer++
     od;
     peer = 0;
     do
     :: peer == RANKS -> break
     :: else ->
        assert(LINE(peer, me, step) == step);
        assert(ROOM(peer, step) == step);
        peer++
     od;
     step++
  od
}

init {
  byte i = 0;
  bool small;
  if
  :: small = false
#if AUX != 2
  :: small = true
#endif
  fi;
  atomic {
    do
    :: i == RANKS -> break
    :: i < RANKS && small -> run rank_of_small_blocks(i); i++
    :: i < RANKS && !small -> run rank(i); i++
    od
  }
}
