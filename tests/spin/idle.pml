/* Calls in which nothing moves between ranks: ranks meet in some of them, through lines, and go through the others
 * alone; who has data for another in one of these sends them by the MPI library, and the other waits there.
 *
 * CASE  ranks: 3
 * AUX   0: as built. 1: a rank goes by what it sends itself, instead of by what all send. 2: a rank that has data in a
 *       call without a meeting meets in the next one. 3: lines do not tell those to whom nothing is sent whether
 *       anything is sent to others. The last three must fail.
 *
 * In a call rank 0 has data for rank 1, or nobody has any. Ranks that meet, and ranks that send and receive, must be in
 * the same call; that all ranks come to their ends is the absence of invalid end states. */
#define RANKS CASE
#define CALLS 5
#define HALVES 2

bool moves[CALLS + 1];
byte line[RANKS * RANKS * HALVES]; /* the step, written last: writer, reader, half */
byte of_call[RANKS * RANKS * HALVES];
bool sends[RANKS * RANKS * HALVES];
chan library = [CALLS] of { byte };
bool begin = false;

#define AT(w, r, s) (((w) * RANKS + (r)) * HALVES + (s) % HALVES)

proctype rank(byte me) {
  byte call = 1, step = 0, until = 0, period = 0, peer, got;
  bool mine, any;
  begin;
  do
  :: call > CALLS -> break
  :: else ->
     mine = moves[call] && me == 0;
     if
     :: call <= until ->
        if
        :: mine -> library ! call
        :: moves[call] && me == 1 -> library ? got; assert(got == call)
        :: else
        fi;
#if AUX == 2
        if
        :: moves[call] && me <= 1 -> until = call
        :: else
        fi;
#endif
     :: else ->
        step++;
        peer = 0;
        do
        :: peer == RANKS -> break
        :: else ->
           of_call[AT(me, peer, step)] = call;
#if AUX == 3
           sends[AT(me, peer, step)] = mine && peer == 1;
#else
           sends[AT(me, peer, step)] = mine;
#endif
           line[AT(me, peer, step)] = step;
           peer++
        od;
        any = mine;
        peer = 0;
        do
        :: peer == RANKS -> break
        :: else ->
           line[AT(peer, me, step)] >= step;
           assert(line[AT(peer, me, step)] == step && of_call[AT(peer, me, step)] == call);
           any = any || sends[AT(peer, me, step)];
           peer++
        od;
#if AUX == 1
        any = mine;
#endif
        if
        :: any -> period = 0
        :: !any && period == 0 -> period = 1; until = call + period
        :: else -> period = 2 * period; until = call + period
        fi
     fi;
     call++
  od
}

init {
  byte i = 1;
  do
  :: i > CALLS -> break
  :: i <= CALLS -> moves[i] = false; i++
  :: i <= CALLS -> moves[i] = true; i++
  od;
  i = 0;
  atomic {
    do
    :: i == RANKS -> break
    :: else -> run rank(i); i++
    od;
    begin = true
  }
}
