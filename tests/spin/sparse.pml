/* The data of sparse exchanges behind each other: a receiver posts a receive and asks for a piece, a sender takes a request
 * when it has a send to spare. Every rank has PIECES pieces for every rank, itself included.
 *
 * CASE  ranks, 2 or 3
 * AUX   0: as built. 1: ranks do not agree before a call, whose messages have the tag of the one before. 2: a piece is asked
 *       for before its receive is posted. 3: a sender answers when all that it waits for has come. The last three must fail.
 */
#define RANKS CASE
#if RANKS == 2
#define PIECES 2
#define WINDOW 2
#else
#define PIECES 1
#define WINDOW 1
#endif
#define CALLS 2
#define ALL (RANKS * PIECES)

byte begun;                                          /* calls, of all ranks */
byte posted[RANKS];                                  /* receives of a rank that wait for a piece */
chan requests[RANKS] = [RANKS * WINDOW] of { byte, byte }; /* who asks, in which call */
chan pieces[RANKS] = [RANKS * WINDOW] of { byte };         /* of which call */

active [RANKS] proctype rank() {
  byte me = _pid;
  byte call, asked, came, sent, from, in_call;

  do
  :: call < CALLS ->
#if AUX != 1
     begun++;
     begun >= RANKS * (call + 1);
#endif
     asked = 0; came = 0; sent = 0;
     do
     :: asked < ALL && asked - came < WINDOW ->
#if AUX == 2
        requests[asked / PIECES]!me, call;
        posted[me]++;
#else
        posted[me]++;
        requests[asked / PIECES]!me, call;
#endif
        asked++
#if AUX == 3
     :: came == ALL && sent < ALL && nempty(requests[me]) -> requests[me]?from, in_call;
#else
     :: sent < ALL && nempty(requests[me]) -> requests[me]?from, in_call;
#endif
        assert(in_call == call);
        assert(posted[from] > 0); /* so the send is complete whatever its receiver does */
        assert(len(pieces[from]) < WINDOW);
        pieces[from]!call;
        sent++
     :: pieces[me]?in_call ->
        assert(in_call == call);
        posted[me]--;
        came++
     :: came == ALL && sent == ALL -> break
     od;
     call++
  :: else -> break
  od;
  assert(empty(requests[me]) && empty(pieces[me]) && posted[me] == 0)
}
