/* Two ranks have PARTS parts of data in each other's places. Either of them swaps parts, without the other's help: a counter
 * says which is the next, another how many are done. A rank leaves when all are, and its program uses the buffer.
 *
 * CASE  parts, 1 to 3
 * AUX   0: as built. 1: a rank leaves when no part is left to begin with. 2: the counter is read and then written, in two
 *       steps. 3: a rank begins before the other has said that its data are there. The last three must fail. */
#define PARTS CASE
#define NONE 0
#define USED 9

byte data[2 * PARTS] = NONE; /* rank r's parts begin at r * PARTS; a part's value names the rank that it comes from, plus 1 */
bool here[2];
byte begun;
byte swapped;

proctype rank(byte me) {
  byte other = 1 - me;
  byte part = 0;
  byte room;
  do /* the program fills its buffer, then calls */
  :: part < PARTS -> data[me * PARTS + part] = me + 1; part++
  :: else -> break
  od;
  here[me] = true;
#if AUX != 3
  here[other];
#endif
  do
  ::
#if AUX == 2
     part = begun;
     begun = part + 1;
#else
     atomic { part = begun; begun = begun + 1 }
#endif
     if
     :: part >= PARTS -> break
     :: else
     fi;
     room = data[other * PARTS + part];
     data[other * PARTS + part] = data[me * PARTS + part];
     data[me * PARTS + part] = room;
     swapped = swapped + 1 /* one step, as an addition to an atomic counter is */
  od;
#if AUX != 1
  swapped == PARTS;
#endif
  part = 0;
  do
  :: part < PARTS ->
     assert(data[me * PARTS + part] == other + 1);
     data[me * PARTS + part] = USED;
     part++
  :: else -> break
  od
}

init {
  run rank(0);
  run rank(1)
}
