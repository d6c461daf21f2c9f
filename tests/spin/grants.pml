/* The grant protocol of the algorithm in_place: ranks that ask each other for units, answers, free places and auxiliary
 * slots. A model of counts: which unit goes where is abstracted to what the proof needs. A rank holds `unsent` units for
 * others and expects units of others; its locations are as many as it expects at the start or holds, whichever are
 * more. A unit that arrives where a location is free is placed; otherwise it takes one of the auxiliary slots, which is
 * given back when a location has become free. A location becomes free when its unit has left.
 *
 * The ranks' counts are a matrix; -DCASE chooses it. Checked: no deadlock (an invalid end state), and that every run
 * comes to its end: each step of the protocol moves a unit on, so a cycle without progress would be one of its steps
 * repeated (np-cycles are searched for).
 */
#ifndef CASE
#define CASE 0
#endif
#ifndef AUX
#define AUX 1
#endif
#define P 3

byte expect[9];  /* expect[r * P + s]: units that r has not asked s for */
byte unsent[P];  /* units that lie at r and have not been given to a send */
byte leaving[P]; /* units that are being sent */
byte coming[P];  /* units that r has asked for and that have not arrived, going to a free place */
byte detoured[P]; /* the same, going to an auxiliary slot */
byte parked[P];  /* units in auxiliary slots */
byte left[P];    /* free places: expected at r, and not occupied by unsent or leaving units */
byte useless[P];  /* unsent units that lie where nothing is expected: their leaving frees nothing */

/* Requests and answers; a request says whether a slot or a place waits for the unit. */
chan request[P] = [4] of { byte };
chan answer[P] = [4] of { byte };
chan gone[P] = [4] of { byte };

inline ask(r, s) {
  atomic {
    if
    :: left[r] > parked[r] -> left[r]--; coming[r]++
    :: left[r] <= parked[r] && parked[r] + detoured[r] < AUX -> detoured[r]++
    fi;
    expect[r * P + s]--;
  }
progress_ask:
  request[s] ! r
}

#define may_ask(r, s) (expect[r * P + s] > 0 && (left[r] > parked[r] || parked[r] + detoured[r] < AUX) && nfull(request[s]))
#define expects(r) (expect[r * P] + expect[r * P + 1] + expect[r * P + 2])

proctype rank(byte r) {
  byte s;
  do
  :: may_ask(r, 0) -> ask(r, 0)
  :: may_ask(r, 1) -> ask(r, 1)
  :: may_ask(r, 2) -> ask(r, 2)
  :: atomic { request[r] ? s -> unsent[r]--; leaving[r]++ };
progress_answer:
     answer[s] ! r
  :: atomic { answer[r] ? s ->
       if
       :: coming[r] > 0 -> coming[r]--
       :: detoured[r] > 0 -> detoured[r]--; parked[r]++
       fi };
progress_arrived:
     gone[s] ! r
  :: atomic { gone[r] ? s -> leaving[r]--;
       if
       :: useless[r] > 0 -> useless[r]--
       :: unsent[r] + leaving[r] >= useless[r] -> left[r]++
       fi };
progress_gone:
     skip
  :: atomic { parked[r] > 0 && left[r] > 0 -> parked[r]--; left[r]-- };
progress_unparked:
     skip
  :: atomic { expects(r) == 0 && unsent[r] == 0 && leaving[r] == 0 && coming[r] + detoured[r] + parked[r] == 0 -> break }
  od
}

/* Places that are expected beyond what is held are free; what is held beyond what is expected is useless: its leaving frees nothing. */
inline set(r, a, b, c, held) {
  expect[r * P] = a;
  expect[r * P + 1] = b;
  expect[r * P + 2] = c;
  unsent[r] = held;
  if
  :: a + b + c > held -> left[r] = a + b + c - held
  :: else -> useless[r] = held - (a + b + c)
  fi
}

init {
  atomic {
#if CASE == 0 /* a cycle without any slack */
    set(0, 0, 0, 2, 2); set(1, 2, 0, 0, 2); set(2, 0, 2, 0, 2);
#elif CASE == 1 /* all to all, no slack */
    set(0, 0, 1, 1, 2); set(1, 1, 0, 1, 2); set(2, 1, 1, 0, 2);
#elif CASE == 2 /* one sends everything */
    set(0, 0, 0, 0, 4); set(1, 2, 0, 0, 0); set(2, 2, 0, 0, 0);
#elif CASE == 3 /* one receives everything */
    set(0, 0, 2, 2, 0); set(1, 0, 0, 0, 2); set(2, 0, 0, 0, 2);
#elif CASE == 4 /* a chain */
    set(0, 0, 0, 0, 2); set(1, 2, 0, 0, 2); set(2, 0, 2, 0, 0);
#else /* a pair swaps, one looks on and sends more than it gets */
    set(0, 0, 2, 1, 2); set(1, 2, 0, 1, 2); set(2, 0, 0, 0, 2);
#endif
    run rank(0); run rank(1); run rank(2)
  }
}
