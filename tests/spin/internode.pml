/* Steps among two nodes: ranks write into their parts of the node's memory, the first rank of each node exchanges messages
 * with that of the other, and every rank reads the parts of its node and the message of the other node.
 *
 * CASE  ranks of the second node, 1 or 2; the first node has 2
 * AUX   0: as built. 1: one half. 2: a message is put together before all ranks of the node have written. 3: the flag of
 *       a received message is set before the message is there. The last three must fail.
 *
 * A value is the number of the step it belongs to, so that whoever reads a value of another step has read too early or
 * too late. */
#define STEPS 4
#if AUX == 1
#define HALVES 1
#else
#define HALVES 2
#endif
#define MEMBERS(n) ((n) == 0 -> 2 : CASE)

byte part[4 * HALVES];      /* node, member, half */
byte flag[4];               /* the step up to which a member has written its part */
byte inbox[4 * HALVES];     /* node, member of the other node, half */
byte came[2];               /* the step up to which messages have come to a node */
chan wire[2] = [2] of { byte, byte }; /* messages to a node */

#define AT(n, i, s) [(2 * (n) + (i)) * HALVES + (s) % HALVES]

proctype rank(byte node; byte me) {
  byte step = 1;
  byte i;
  byte a;
  byte b;
  do
  :: step > STEPS -> break
  :: else ->
     part AT(node, me, step) = step;
     flag[2 * node + me] = step;
     if
     :: me == 0 ->
#if AUX != 2
        i = 0;
        do
        :: i == MEMBERS(node) -> break
        :: else -> flag[2 * node + i] >= step; i++ /* waits */
        od;
#endif
        a = part AT(node, 0, step);
        b = (MEMBERS(node) == 2 -> part AT(node, 1, step) : step);
        wire[1 - node] ! a, b;
#if AUX == 3
        came[node] = step;
#endif
        wire[node] ? a, b;
        inbox AT(node, 0, step) = a;
        inbox AT(node, 1, step) = b;
#if AUX != 3
        came[node] = step
#endif
     :: else
     fi;
     came[node] >= step; /* waits: it is set when all of the node have written as well */
     i = 0;
     do
     :: i == MEMBERS(node) -> break
     :: else -> assert(part AT(node, i, step) == step); i++
     od;
     assert(inbox AT(node, 0, step) == step);
     assert(inbox AT(node, 1, step) == step);
     step++
  od
}

init {
  atomic {
    run rank(0, 0);
    run rank(0, 1);
    run rank(1, 0);
    if
    :: CASE == 2 -> run rank(1, 1)
    :: else
    fi
  }
}
