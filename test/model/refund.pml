/* One refund, its durable record, two workers, a sweeper and a payment channel. docs/model.md describes the model.
 *
 * The class of the contract:   -DKEY=0|1   a repeated number makes no second refund, while the key lives
 *                              -DQUERY=0|1 the channel can be asked for our number
 * One planted mistake:         -DBLIND_RESEND, -DEARLY_ABSENCE, ... (see the list in ./run)
 *
 * Each atomic block is one transaction of the database, or one event at the channel. Between two of them a worker may be
 * paused for ever, or be killed.
 */
#ifndef KEY
#define KEY 1
#endif
#ifndef QUERY
#define QUERY 1
#endif
#ifndef CRASHES
#define CRASHES 2   /* kills in one run */
#endif
#ifndef SENDS
#define SENDS 3     /* at most 3; then the deadline */
#endif
#ifndef ASKS
#define ASKS 3      /* then the deadline */
#endif

/* Time is counted down in ticks. A send may leave while its timer is above H+V, may be executed while it is above V, and its
 * refund may be hidden from a query while it is above 0. */
#define W 1         /* send window */
#define H 1         /* in-flight horizon */
#define V 1         /* visibility lag */
#define LEASE 2     /* longer than the window, by the margin */
#define KEYLIFE 8   /* of a key, from the first send; only where the channel cannot be asked, elsewhere keys do not expire */

#define MAY_LEAVE(i) (t[i] > H+V)
#define MAY_ACT(i)   (t[i] > V)
#define HIDDEN(i)    (t[i] > 0)

/* states */
#define PENDING    0
#define PROCESSING 1
#define UNKNOWN    2
#define ACCEPTED   3
#define SUCCESS    4
#define FAILED     5

/* answers */
#define NONE      0
#define OK        1
#define ACC       2   /* acknowledged, the result comes later */
#define NEGATIVE  3   /* the final negative status of our number */
#define REFUSED   4   /* did nothing, never will */
#define RETRYABLE 5   /* did nothing, may be sent again */
#define NOTSENT   6
#define ECHO      7   /* refused with a code that our own effect could cause */
#define AMBIGUOUS 8   /* timeout, broken connection, unreadable */
#define NOTFOUND  9

/* next steps of a worker */
#define DO_SEND   1
#define DO_ASK    2
#define DO_SETTLE 3
#define DO_CASE   4

/* ---- the durable record ---- */
byte state = PENDING;
bit  case_open;
bit  exposed;            /* computed from all answers in every transaction */
bit  acknowledged;       /* the number was acknowledged */
bit  ended_negative;     /* the number's final negative status is known */
byte lease;              /* ticks */
bit  owner;              /* of the last claim */
byte sends;              /* attempts that are sends, in order */
byte asks;
byte ans[3];             /* their answers */
bit  cleared[3];         /* disproved by a counting absence */
byte key_left = KEYLIFE;
bit  key_started;

/* ---- time ---- */
byte t[3];

/* ---- the channel ---- */
#define IN_FLIGHT 1
#define ARRIVED    2
byte net[3];             /* requests */
byte reply[3];           /* answers that are returning */
byte effects;            /* how often money moved */
byte object;             /* the channel's record of our number: 0 none, 1 pending, 2 succeeded, 3 failed */
byte object_of;          /* the send that made it */

/* ---- the workers' memory, as far as the assertions need it ---- */
bit  waiting[3];         /* a running worker may still send, or waits for the answer */
bit  fresh[2];           /* the record is as the worker has read it */
byte crashes = CRASHES;
#ifdef WIRE_TWICE
bit  again;
#endif

#define OVER       (state == SUCCESS || state == FAILED)
#define FINISHED   (case_open || (OVER && !exposed))
#define ANSWERABLE (state == PROCESSING || state == UNKNOWN || state == ACCEPTED)

/* rule R2 of docs/rules.md: these answers of a send prove that it did nothing */
#define DISPROVES(a) (a == REFUSED || a == RETRYABLE || a == NOTSENT)
#define OPEN_ANSWER(a) (a == NONE || a == AMBIGUOUS || a == ECHO)
#define STILL(i)     (sends > i && MAY_ACT(i) && OPEN_ANSWER(ans[i]))
#define UNPROVEN(i)  (sends > i && !DISPROVES(ans[i]) && !cleared[i])
#ifdef LAST_ANSWER_WINS
#define FOLD (sends > 0 && UNPROVEN(sends-1))
#else
#define FOLD (UNPROVEN(0) || UNPROVEN(1) || UNPROVEN(2))
#endif
#define ACTING (STILL(0) || STILL(1) || STILL(2))

/* rule R37: the set of answers ends the refund, once nothing is exposed */
#define NO(i)        (sends > i && (ans[i] == REFUSED || ans[i] == ECHO))
#ifdef LAST_REFUSAL_ONLY
#define REFUSED_EVER (sends > 0 && NO(sends-1))
#else
#define REFUSED_EVER (NO(0) || NO(1) || NO(2))
#endif
#define NEWER_OPEN(i) ((i < 1 && sends > 1 && ans[1] == NONE) || (i < 2 && sends > 2 && ans[2] == NONE))

/* What is true, whatever the record says: no request of ours was executed, is in flight or can still leave. */
#define CAN_HAPPEN(i) (sends > i && ((net[i] == IN_FLIGHT && MAY_ACT(i)) || (waiting[i] && net[i] == 0 && MAY_LEAVE(i))))
#define NOTHING_DONE  (effects == 0 && object != 1 && !CAN_HAPPEN(0) && !CAN_HAPPEN(1) && !CAN_HAPPEN(2))

inline touched() { fresh[0] = 0; fresh[1] = 0; owner = (lease > 0 -> owner : 0) }

inline fold() {
  exposed = (FOLD || acknowledged) && !(ended_negative && !ACTING) && state != SUCCESS
}

/* enter a state; the assertions compare it with what is true */
inline enter(to) {
  state = to;
  if
  :: to == PENDING -> lease = 0; assert(!exposed); assert(NOTHING_DONE && object == 0)
  :: to == FAILED  -> lease = 0; assert(!exposed); assert(NOTHING_DONE)
  :: to == SUCCESS -> lease = 0; exposed = 0; assert(effects > 0)
  :: else
  fi
}

/* leave the open states when nothing is exposed any more */
inline settle() {
  if
  :: ANSWERABLE && !exposed ->
    if
    :: ended_negative || REFUSED_EVER -> enter(FAILED)
    :: else -> enter(PENDING)
    fi
  :: state == PENDING && !exposed && REFUSED_EVER -> enter(FAILED) /* a late answer */
  :: else
  fi
}

/* a number's status: answers, queries and notices alike */
inline fact(what) {
  if
  :: what == OK ->
    if
    :: state == FAILED -> case_open = 1
    :: else
    fi;
    enter(SUCCESS)
  :: what == ACC && state != SUCCESS && !ended_negative ->
    acknowledged = 1;
    fold();
    if
    :: state == PENDING -> case_open = 1; enter(UNKNOWN)
    :: state == FAILED -> case_open = 1
    :: else -> enter(ACCEPTED)
    fi
  :: what == NEGATIVE && state != SUCCESS ->
    ended_negative = 1;
    fold()
  :: else
  fi
}

/* the answer to a send, by its own attempt, whoever owns the refund meanwhile */
inline answered(i, what) {
  if
  :: ans[i] != NONE
  :: else ->
    ans[i] = what;
    fold();
    if
    :: what == OK || what == ACC || what == NEGATIVE -> fact(what)
    :: DISPROVES(what) && exposed && state == PROCESSING && !NEWER_OPEN(i) -> enter(UNKNOWN)
    :: DISPROVES(what) && !exposed && what == REFUSED && ANSWERABLE -> enter(FAILED)
    :: DISPROVES(what) && !exposed && what != REFUSED && (state == PROCESSING || state == UNKNOWN) ->
      if
      :: ended_negative || REFUSED_EVER -> enter(FAILED)
      :: else -> enter(PENDING)
      fi
    :: (what == ECHO || what == AMBIGUOUS) && state == PROCESSING && !NEWER_OPEN(i) -> enter(UNKNOWN)
    :: else
    fi;
    if
    :: owner == me && state != PROCESSING -> lease = 0
    :: else
    fi;
    settle();
    touched()
  fi
}

inline clear_sends(n) {
  cleared[0] = cleared[0] || n > 0;
  cleared[1] = cleared[1] || n > 1;
  cleared[2] = cleared[2] || n > 2
}

/* the answer to a question that left when `counts` sends could not be executed any more and would be visible */
inline asked(what, counts) {
  if
  :: what == OK || what == ACC || what == NEGATIVE -> fact(what)
#ifdef EARLY_ABSENCE
  :: what == NOTFOUND && !acknowledged -> clear_sends(sends); fold()
#else
#ifdef STALE_ABSENCE
  :: what == NOTFOUND && !acknowledged && counts > 0 -> clear_sends(sends); fold()
#else
  :: what == NOTFOUND && !acknowledged && counts > 0 -> clear_sends(counts); fold()
#endif
#endif
  :: else
  fi;
  if
  :: owner == me && state != PROCESSING -> lease = 0
  :: else
  fi;
  settle();
  touched()
}

#define ALL_QUIET    (!(sends > 0 && MAY_ACT(0)) && !(sends > 1 && MAY_ACT(1)) && !(sends > 2 && MAY_ACT(2)))
#define ALL_VISIBLE  (!(sends > 0 && HIDDEN(0)) && !(sends > 1 && HIDDEN(1)) && !(sends > 2 && HIDDEN(2)))

#if KEY && !QUERY
#ifdef EXPIRED_KEY
#define KEY_USABLE 1
#else
#define KEY_USABLE (!key_started || key_left >= W+H+1) /* not_after = key expiry - horizon - margin */
#endif
#define KEY_ALIVE  (!key_started || key_left > 0)
#else
#define KEY_USABLE 1
#define KEY_ALIVE  1
#endif

/* a step is due; else the worker waits */
#ifdef BLIND_RESEND
#define DUE (lease == 0 && (state == PENDING || state == UNKNOWN || state == ACCEPTED))
#else
#if KEY && !QUERY
#define DUE (lease == 0 && (state == PENDING || ((state == UNKNOWN || state == ACCEPTED) && (ALL_QUIET || !KEY_USABLE))))
#else
#define DUE (lease == 0 && (state == PENDING || ((state == UNKNOWN || state == ACCEPTED) && !(ended_negative && ACTING))))
#endif
#endif

/* Decide, on the record as it was read */
inline decide() {
  fold();
  if
  :: state == PENDING && sends < SENDS && KEY_USABLE -> what = DO_SEND
  :: state == PENDING && !(sends < SENDS && KEY_USABLE) -> what = DO_CASE
#ifdef BLIND_RESEND
  :: state != PENDING && sends < SENDS -> what = DO_SEND
  :: state != PENDING && sends >= SENDS -> what = DO_CASE
#else
  :: state != PENDING && !exposed -> what = DO_SETTLE
#if QUERY
  :: state != PENDING && exposed && asks < ASKS -> what = DO_ASK
  :: state != PENDING && exposed && asks >= ASKS -> what = DO_CASE
#else
#if KEY
  :: state != PENDING && exposed && sends < SENDS && KEY_USABLE -> what = DO_SEND
  :: state != PENDING && exposed && !(sends < SENDS && KEY_USABLE) -> what = DO_CASE
#else
  :: state != PENDING && exposed -> what = DO_CASE
#endif
#endif
#endif
  fi
}

/* the claim computes not_after anew, because the worker may have read the record long ago */
#ifdef CLAIM_BY_OLD_TIME
#define CLAIMABLE 1
#else
#define CLAIMABLE KEY_USABLE
#endif

#ifdef UNGUARDED_CLAIM
#define OWNED 1
#else
#define OWNED (fresh[me] && lease == 0)
#endif

proctype worker(bit me) {
  byte what;    /* first the step, then the answer */
  byte mine;    /* our send, or the number of sends that the question covers */
idle:
  atomic {
    do
    :: FINISHED -> goto stop
    :: !FINISHED && DUE -> fresh[me] = 1; decide(); break
    od
  };
  if
  :: what == DO_SEND   -> goto send
  :: what == DO_ASK    -> goto ask
  :: what == DO_SETTLE -> atomic { if :: fresh[me] -> settle(); touched() :: else fi }
  :: what == DO_CASE   -> atomic { if :: fresh[me] -> case_open = 1; touched() :: else fi }
  fi;
  atomic { fresh[me] = 0; what = 0; goto idle };

send: /* claim: attempt and exposure are committed before anything leaves */
  atomic {
    if
    :: !OWNED || case_open || sends >= SENDS || !CLAIMABLE -> fresh[me] = 0; what = 0; mine = 0; goto idle
    :: else
    fi;
#if !KEY && !QUERY
    assert(sends == 0 || (DISPROVES(ans[0]) && (sends < 2 || DISPROVES(ans[1])))); /* never an automatic repeat */
#endif
    assert(state != PENDING || !(NO(0) || NO(1) || NO(2))); /* what was refused is not sent again */
    touched();
    mine = sends; sends++;
    ans[mine] = NONE; t[mine] = W+H+V; waiting[mine] = 1;
    lease = LEASE; owner = me; key_started = 1; exposed = 1;
    if
    :: state == PENDING -> state = PROCESSING
    :: else
    fi
  };
  if
  :: atomic { crashes > 0 -> crashes--; waiting[mine] = 0; what = 0; mine = 0; goto idle }
#ifdef NO_NOT_AFTER
  :: atomic { net[mine] == 0 -> t[mine] = W+H+V; net[mine] = IN_FLIGHT }
#else
  :: atomic { MAY_LEAVE(mine) -> net[mine] = IN_FLIGHT }
  :: atomic { !MAY_LEAVE(mine) -> what = NOTSENT; goto enter_answer }
#endif
  fi;
  if
  :: atomic { reply[mine] != NONE -> what = reply[mine]; reply[mine] = NONE }
  :: what = AMBIGUOUS
  :: atomic { crashes > 0 -> crashes--; waiting[mine] = 0; reply[mine] = NONE; what = 0; mine = 0; goto idle }
  fi;
enter_answer:
  if
  :: atomic {
      waiting[mine] = 0; reply[mine] = NONE;
#ifdef DROP_LATE
      if
      :: owner == me && lease > 0 -> answered(mine, what)
      :: else
      fi;
#else
      answered(mine, what);
#endif
      assert(ans[mine] != NONE && (what != OK || state == SUCCESS)); /* an answer that arrived is never lost */
      what = 0; mine = 0; goto idle
    }
  :: atomic { crashes > 0 -> crashes--; waiting[mine] = 0; reply[mine] = NONE; what = 0; mine = 0; goto idle }
  fi;

ask:
  atomic {
    if
    :: !OWNED || asks >= ASKS || case_open -> fresh[me] = 0; what = 0; mine = 0; goto idle
    :: else
    fi;
    touched();
    asks++; lease = LEASE; owner = me;
    mine = (ALL_VISIBLE -> sends : 0)
  };
  if
  :: atomic { /* the channel reads its own record */
      if
      :: object == 0 || HIDDEN(object_of) -> what = NOTFOUND
      :: object == 1 -> what = ACC
      :: object == 2 -> what = OK
      :: object == 3 -> what = NEGATIVE
      fi
    }
  :: what = AMBIGUOUS
  :: atomic { crashes > 0 -> crashes--; what = 0; mine = 0; goto idle }
  fi;
  if
  :: atomic { asked(what, mine); assert(what != OK || state == SUCCESS); what = 0; mine = 0; goto idle }
  :: atomic { crashes > 0 -> crashes--; what = 0; mine = 0; goto idle }
  fi;
stop:
  skip
}

proctype sweeper() {
  bit me; /* the sweeper owns nothing; the inlines need the name */
end_sweeper:
  do
  :: atomic { state == PROCESSING && lease == 0 ->
#ifdef LEASE_END_IS_PENDING
      exposed = 0;
      enter(PENDING);
#else
      enter(UNKNOWN);
#endif
      touched()
    }
  od
}

inline give(i, a) { reply[i] = (waiting[i] -> a : NONE) }

inline act(i) {
  assert(state != FAILED && state != PENDING);
  effects++;
  assert(effects == 1)
}

/* one request reaches the channel */
inline arrive(i) {
#ifdef WIRE_TWICE
  net[i] = (again -> ARRIVED : IN_FLIGHT); again = 1;
#else
  net[i] = ARRIVED;
#endif
  if
  :: KEY && KEY_ALIVE && object != 0 -> /* the number is known: nothing is executed again */
    if
    :: object == 1 -> give(i, ACC)
    :: object == 2 -> give(i, OK)
    :: object == 3 -> give(i, NEGATIVE)
    :: give(i, RETRYABLE)
    :: give(i, ECHO)
    fi
  :: !(KEY && KEY_ALIVE && object != 0) ->
    if
    :: object = 2; object_of = i; act(i); give(i, OK)
    :: object = 1; object_of = i; give(i, ACC)
    :: give(i, REFUSED)
    :: give(i, RETRYABLE)
    :: effects > 0 -> give(i, ECHO)
    fi
  fi
}

proctype channel() {
end_channel:
  do
  :: atomic { net[0] == IN_FLIGHT && MAY_ACT(0) -> arrive(0) }
  :: atomic { net[1] == IN_FLIGHT && MAY_ACT(1) -> arrive(1) }
  :: atomic { net[2] == IN_FLIGHT && MAY_ACT(2) -> arrive(2) }
  :: atomic { object == 1 -> if :: object = 2; act(object_of) :: object = 3 fi }
  od
}

#if KEY || QUERY
/* the channel sends a notice once, at any time after the effect, or never */
proctype notice() {
  bit me;
end_notice:
  effects > 0;
  if
  :: atomic { fact(OK); touched() }
  :: skip
  fi
}
#endif

#define MINUS(x) x = (x > 0 -> x-1 : 0)
#define LOST(i)  net[i] = (net[i] == IN_FLIGHT && !MAY_ACT(i) -> ARRIVED : net[i])

proctype clock() {
end_clock:
  do
  :: atomic { lease > 0 || t[0] > 0 || t[1] > 0 || t[2] > 0 || (KEY && !QUERY && key_started && key_left > 0) ->
      MINUS(lease); owner = (lease > 0 -> owner : 0); MINUS(t[0]); MINUS(t[1]); MINUS(t[2]);
      LOST(0); LOST(1); LOST(2);
#if KEY && !QUERY
      if
      :: key_started -> MINUS(key_left)
      :: else
      fi
#endif
    }
  od
}

#ifdef WITNESS
/* A state that must be reachable: reaching it is the "error" that ./run expects. */
#if WITNESS == 1
#define REACHED (state == SUCCESS && sends == 2 && cleared[0])
#elif WITNESS == 2
#define REACHED (state == SUCCESS && sends == 1 && asks > 0 && ans[0] == OK)
#elif WITNESS == 3
#define REACHED (state == SUCCESS && sends == 3 && effects == 1)
#elif WITNESS == 4
#define REACHED (state == FAILED && ended_negative)
#elif WITNESS == 5
#define REACHED (state == FAILED && ans[0] == REFUSED)
#elif WITNESS == 6
#define REACHED (state == SUCCESS && sends == 3)
#elif WITNESS == 7
#define REACHED (case_open && effects == 1 && state == UNKNOWN)
#elif WITNESS == 8
#define REACHED (case_open && key_left == 0 && sends < 3 && state == UNKNOWN)
#elif WITNESS == 9
#define REACHED (case_open && state == SUCCESS)
#endif
proctype witness() {
end_witness:
  atomic { REACHED -> assert(false) }
}
#endif

init {
  atomic {
#ifdef WITNESS
    run witness();
#endif
    run worker(0); run worker(1); run sweeper(); run channel(); run clock();
#if KEY || QUERY
    run notice()
#endif
  }
}
