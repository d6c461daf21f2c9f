/* Channels of freed communicators, and the first calls on later communicators of the same ranks: a rank that has kept a
 * channel uses it without asking, says so, and finds out by the others' words whether all do. Otherwise all must come to
 * the reduction. No rank knows what another one has kept.
 *
 * CASE  ranks: 2 or 3
 * AUX   0: as built. 1: a rank says nothing of the channels that it still uses. 2: a rank that goes to the reduction says
 *       nothing of the channels that it has kept. 3: a rank that drops a channel says nothing. 4: a rank keeps a channel
 *       after as many steps as when it said that it is gone. 5: a rank takes any of those that it has kept. The last
 *       five must fail.
 *
 * There are two channels of earlier communicators, and two new communicators one after the other. Before each first call
 * a rank frees earlier communicators or does not, and keeps their channels or does not. Steps, which tell words of one
 * use from those of another, are the number of a channel's uses. */
#define RANKS CASE
#define CHANNELS 2
#define CALLS 2
#define NONE 9

mtype = { in_use, spare, dropped };
mtype has[RANKS * CHANNELS];
byte step[RANKS * CHANNELS];
/* Words: the step, and what is said of it. */
byte here_at[RANKS * CHANNELS]; /* step + 1; 0: not said */
byte gone_at[RANKS * CHANNELS];
byte line_at[RANKS * CHANNELS]; /* the first step's line */
byte reduced[CALLS + 1];        /* ranks that have come to the reduction of a call */
byte served[CALLS + 1];         /* ranks that a channel has served in it */
byte by[CALLS + 1];             /* which one */

#define AT(r, c) ((r) * CHANNELS + (c))
#define SAY_GONE(r, c) d_step { here_at[AT(r, c)] = 0; gone_at[AT(r, c)] = step[AT(r, c)] + 1 }
#define SAY_HERE(r, c) d_step { gone_at[AT(r, c)] = 0; here_at[AT(r, c)] = step[AT(r, c)] + 1 }
#define SAY_KEPT(r, c) d_step { gone_at[AT(r, c)] = 0; here_at[AT(r, c)] = 0 }

proctype rank(byte me) {
  byte call = 1, c, other, mine;
  bool gone, seen;
  do
  :: call > CALLS -> break
  :: else ->
     /* What the program has freed by now. */
     c = 0;
     do
     :: c == CHANNELS -> break
     :: else ->
        if
#if AUX == 4
        :: has[AT(me, c)] == in_use -> SAY_KEPT(me, c); has[AT(me, c)] = spare
#else
        :: has[AT(me, c)] == in_use && gone_at[AT(me, c)] != step[AT(me, c)] + 1 ->
           SAY_KEPT(me, c); has[AT(me, c)] = spare
#endif
        :: has[AT(me, c)] == in_use ->
#if AUX != 3
           SAY_GONE(me, c);
#endif
           has[AT(me, c)] = dropped
        :: has[AT(me, c)] == spare ->
#if AUX != 3
           SAY_GONE(me, c);
#endif
           has[AT(me, c)] = dropped
        :: skip
        fi;
        c++
     od;
     /* The first call. */
     mine = NONE;
     c = 0;
     do
     :: c == CHANNELS -> break
     :: else ->
#if AUX != 1
        if
        :: has[AT(me, c)] == in_use -> SAY_GONE(me, c)
        :: else
        fi;
#endif
#if AUX == 5
        if
        :: has[AT(me, c)] == spare -> mine = c
        :: has[AT(me, c)] == spare && mine != NONE
        :: has[AT(me, c)] != spare
        fi;
#else
        if /* the last in an order that all ranks have */
        :: has[AT(me, c)] == spare -> mine = c
        :: else
        fi;
#endif
        c++
     od;
     gone = (mine == NONE);
     if
     :: mine != NONE ->
        SAY_HERE(me, mine);
        line_at[AT(me, mine)] = step[AT(me, mine)] + 1;
        other = 0;
        do
        :: other == RANKS || gone -> break
        :: else ->
           if
           :: other == me
           :: other != me ->
              /* Waits for either. */
              if
              :: line_at[AT(other, mine)] >= step[AT(me, mine)] + 1
              :: gone_at[AT(other, mine)] == step[AT(me, mine)] + 1 -> gone = true
              fi
           fi;
           other++
        od
     :: else
     fi;
     if
     :: gone ->
#if AUX != 2
        c = 0;
        do
        :: c == CHANNELS -> break
        :: else ->
           if
           :: has[AT(me, c)] == spare -> SAY_GONE(me, c); has[AT(me, c)] = dropped
           :: else
           fi;
           c++
        od;
#else
        if
        :: mine != NONE -> SAY_GONE(me, mine); has[AT(me, mine)] = dropped
        :: else
        fi;
#endif
        assert(served[call] == 0);
        reduced[call]++;
        reduced[call] == RANKS /* waits for all */
     :: else ->
        assert(reduced[call] == 0);
        assert(served[call] == 0 || by[call] == mine);
        by[call] = mine;
        served[call]++;
        step[AT(me, mine)]++;
        has[AT(me, mine)] = in_use
     fi;
     call++
  od
}

init {
  byte i = 0;
  do
  :: i == RANKS * CHANNELS -> break
  :: else -> has[i] = in_use; i++
  od;
  i = 0;
  do
  :: i == RANKS -> break
  :: else -> run rank(i); i++
  od
}
