/* A rank offers PARTS parts of data to a reader, which fetches them one by one; the rank takes the offer back at any
 * moment and then moves what is left, or finds by the notes that a part is gone and uses its place for something else.
 *
 * CASE  parts, 1 to 3
 * AUX   0: as built. 1: the rank moves data without taking the offer back. 2: the reader looks whether there is an
 *       offer, but does not claim it. 3: the reader notes a part before it has copied it. The last three must fail.
 *
 * What the reader copies must be the data that were offered; a copy is two reads, so that a change between is seen. */
#define PARTS CASE
#define NOTHING 0
#define OFFERED 1
#define CLAIMED 2
#define DATA 1
#define OTHER 2

byte now = OFFERED;
byte place[PARTS] = DATA;
byte noted;  /* parts that the reader has, in order */
byte asked;  /* the reader asks for the rest by message: it fetches no more */

proctype writer() {
  byte seen = 0;
  do
  :: seen < noted -> place[seen] = OTHER; seen++ /* its place is free */
  :: seen == PARTS -> break
  :: true -> /* moves what is left */
#if AUX != 1
     do
     :: atomic { now == OFFERED -> now = NOTHING }; break
     :: now == NOTHING -> break
     :: now == CLAIMED && seen < noted -> place[seen] = OTHER; seen++
     od;
#endif
     do
     :: seen < noted -> place[seen] = OTHER; seen++
     :: else -> break
     od;
     byte part = seen;
     do
     :: part < PARTS -> place[part] = OTHER; part++
     :: else -> break
     od;
     break
  od
}

proctype reader() {
  byte part = 0;
  byte first;
  byte second;
  do
  :: part == PARTS -> break
  :: else ->
#if AUX == 2
     if
     :: now == OFFERED
     :: now == NOTHING -> asked = 1; break
     fi;
#else
     if
     :: atomic { now == OFFERED -> now = CLAIMED }
     :: now == NOTHING -> asked = 1; break
     fi;
#endif
#if AUX == 3
     noted = part + 1;
#endif
     first = place[part];
     second = place[part];
     assert(first == DATA && second == DATA);
#if AUX != 3
     noted = part + 1;
#endif
#if AUX != 2
     now = OFFERED;
#endif
     part++
  od
}

init {
  run writer();
  run reader()
}
